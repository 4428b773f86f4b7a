// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// A program that runs beside a test, until the test is done with it.
package final class Program: Sendable {
    private let process: Process
    /// What the program writes to standard output and standard error.
    package let log: String

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - log: The file that its output is appended to.
    package init(_ program: String, _ arguments: [String], log: String) throws {
        if !FileManager.default.fileExists(atPath: log) {
            _ = FileManager.default.createFile(atPath: log, contents: nil)
        }
        let output = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
        try output.seekToEnd()
        process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = output
        self.log = log
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    package var isRunning: Bool { process.isRunning }

    /// Sends a signal.
    package func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits until the program has ended, and returns its exit status; that of a signal is the signal's number, negative.
    package func waitUntilExit() -> Int32 {
        process.waitUntilExit()
        return process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    package var output: String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }

    /// The executable of this package that was built beside the tests.
    package static func built(_ name: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent().appendingPathComponent(name).path
    }

    /// Where a program is installed; nil where it is not.
    package static func installed(_ name: String) -> String? {
        let folders =
            (ProcessInfo.processInfo.environment["PATH"] ?? "").split(separator: ":") + [
                "/usr/bin", "/usr/sbin", "/usr/local/bin",
            ]
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }
}

/// Waits until `condition` holds, which another process or thread brings about; false where it takes too long.
package func eventually(within seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
        if try condition() { return true }
        usleep(5000)
    }
    return try condition()
}

/// Runs `body` on a thread of its own: it may wait without holding up tasks.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
