// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// A Redis server for one test, on a socket in a temporary folder.
package final class RedisServer: Sendable {
    package let folder: TemporaryFolder
    private let options: [String]

    /// The socket that it listens on.
    package var socket: String { folder.file("redis.sock") }

    /// True if Redis is installed. Otherwise tests that need it are skipped; in continuous integration they fail.
    package static var isInstalled: Bool { Requirement.areInstalled("redis-server") }

    package init(_ options: [String] = []) throws {
        folder = try TemporaryFolder()
        self.options = options
    }

    /// Starts the server. It retains its data between starts.
    package func start() throws -> Program {
        guard let program = Program.installed("redis-server") else { throw NotInstalled() }
        try? FileManager.default.removeItem(atPath: socket)
        let arguments = [
            "--port", "0", "--unixsocket", socket, "--dir", folder.path, "--save", "", "--appendonly", "yes",
            "--appendfsync", "always", "--daemonize", "no",
        ]
        let server = try Program(program, arguments: arguments + options, log: folder.file("redis.log"))
        guard eventually({ (try? HTTPConnection("unix:\(socket)")) != nil }) else {
            throw NotStarted(log: server.output)
        }
        return server
    }

    /// Removes all keys.
    package func flush() throws {
        let connection = try HTTPConnection("unix:\(socket)")
        try connection.send("FLUSHALL\r\n")
        _ = try connection.line()
    }

    package struct NotInstalled: Error {}
    package struct NotStarted: Error { let log: String }
}
