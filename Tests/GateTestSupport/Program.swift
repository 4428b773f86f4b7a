// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform

/// A program that runs beside a test, until the test ends it. ``CommandRun`` is for programs that end by themselves.
package final class Program: Sendable {
    private let process: ChildProcess
    /// The file with the standard output and standard error of the program.
    package let log: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - log: The file to which its output is appended.
    ///   - descriptor: A file descriptor that it inherits with the number 3; it inherits no other.
    package init(_ program: String, arguments: [String], log: String, keeping descriptor: Int32? = nil) throws {
        self.log = log
        let kept = descriptor.map { [ChildProcess.Stream.descriptor($0)] } ?? []
        process = try ChildProcess([program] + arguments, streams: [.none, .file(log), .file(log)] + kept)
    }

    package var isRunning: Bool { process.isRunning }

    /// The number of its process.
    package var identifier: Int32 { process.identifier }

    /// Sends a signal, if the program still runs.
    package func signal(_ number: Int32) { process.signal(number) }

    /// Waits for the program to exit, and returns its exit status, or the negative number of the signal that ended it.
    ///
    /// - Throws: ``ProgramFailure`` if it does not exit in time. It is then killed.
    @discardableResult
    package func waitUntilExit(within seconds: Double = 60) throws -> Int32 {
        if eventually(within: seconds, { !isRunning }), let status = process.status { return status }
        process.kill()
        throw ProgramFailure.notEnded(process.command, reason: "did not end within \(seconds) s", output: output)
    }

    package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The path of an executable of this package, next to the test bundle.
    package static func built(_ name: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// The path of an installed program; `nil` if it is not installed.
    package static func installed(_ name: String) -> String? {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + [
                "/usr/bin", "/usr/sbin", "/usr/local/bin",
            ]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// The path of a file of a package from PyPI that `scripts/setup test` installs; `nil` if it is not installed.
    package static func oracle(_ file: String) -> String? { packaged(file, in: ".build-oracles") }

    /// Returns the path of a file of the players of web pages, as ``oracle(_:)`` does.
    package static func player(_ file: String) -> String? { packaged(file, in: ".build-players") }

    private static func packaged(_ file: String, in environment: String) -> String? {
        let folder = "\(repository)/\(environment)/lib"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return versions.map { "\(folder)/\($0)/site-packages/\(file)" }.first {
            FileManager.default.isReadableFile(atPath: $0)
        }
    }
}
