// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// A Redis of a test's own, on a socket in a folder that goes with it.
package final class RedisServer: Sendable {
    package let folder: TemporaryFolder
    private let options: [String]

    /// The socket that it listens on.
    package var socket: String { folder.file("redis.sock") }

    /// Whether there is a Redis on this machine. Where there is none, tests that need one say so and do nothing else.
    package static var isInstalled: Bool {
        if Program.installed("redis-server") != nil { return true }
        // In continuation integration nothing is skipped.
        if ProcessInfo.processInfo.environment["CI"] != nil { return true }
        FileHandle.standardError.write(Data("SKIPPED: redis-server is not installed; run scripts/setup test\n".utf8))
        return false
    }

    package init(_ options: [String] = []) throws {
        folder = try TemporaryFolder()
        self.options = options
    }

    /// Starts the server, which keeps its data from start to start.
    package func start() throws -> Program {
        guard let program = Program.installed("redis-server") else { throw NotInstalled() }
        try? FileManager.default.removeItem(atPath: socket)
        let arguments = [
            "--port", "0", "--unixsocket", socket, "--dir", folder.path, "--save", "", "--appendonly", "yes",
            "--appendfsync", "always", "--daemonize", "no",
        ]
        let server = try Program(program, arguments + options, log: folder.file("redis.log"))
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
