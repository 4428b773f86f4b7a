// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform
import Synchronization

/// A program that runs beside a test, until the test is done with it.
///
/// Not Foundation's `Process`: it learns of an end by a socket that another program, started in the same moment, may
/// inherit, and then waits for that one too.
package final class Program: Sendable {
    private let identifier: pid_t
    private let end = Mutex<Int32?>(nil)
    /// Those that run. At its end this process kills them: a task may hold one longer than the last test lasts.
    private static let running: Mutex<Set<pid_t>> = {
        atexit { Program.running.withLock { for identifier in $0 { kill(identifier, SIGKILL) } } }
        return Mutex([])
    }()
    /// What the program writes to standard output and standard error.
    package let log: String

    package struct NotStarted: Error { let program: String, reason: Int32 }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: Its path.
    ///   - log: The file that its output is appended to.
    ///   - keeping: A file descriptor that it gets as its number 3; it gets no other.
    package init(_ program: String, _ arguments: [String], log: String, keeping descriptor: Int32? = nil) throws {
        self.log = log
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o600)
        unsafe posix_spawn_file_actions_adddup2(&actions, 1, 2)
        if let descriptor { unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, 3) }
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd") {
            guard let number = Int32(name), number > (descriptor == nil ? 2 : 3) else { continue }
            unsafe posix_spawn_file_actions_addclose(&actions, number)
        }
        // Threads of tests have signals blocked, and a program would never know of one that it inherits so.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = unsafe ([program] + arguments).map { unsafe strdup($0) }
        defer { unsafe words.forEach { unsafe free($0) } }
        unsafe words.append(nil)
        var identifier: pid_t = 0
        let result = unsafe posix_spawn(&identifier, program, &actions, &attributes, words, environ)
        guard result == 0 else { throw NotStarted(program: program, reason: result) }
        self.identifier = identifier
        _ = Self.running.withLock { $0.insert(identifier) }
    }

    deinit {
        if isRunning {
            signal(SIGKILL)
            _ = waitUntilExit()
        }
    }

    package var isRunning: Bool { status == nil }

    /// Sends a signal, if the program still runs.
    package func signal(_ number: Int32) { end.withLock { if $0 == nil { kill(identifier, number) } } }

    /// Waits until the program has ended, and returns its exit status; that of a signal is the signal's number, negative.
    /// One that does not end within a minute is killed.
    package func waitUntilExit() -> Int32 {
        if !eventually(within: 60, { !isRunning }) { signal(SIGKILL) }
        _ = eventually { !isRunning }
        return status ?? Int32.min
    }

    private var status: Int32? {
        end.withLock { end in
            if end == nil {
                var status: Int32 = 0
                if unsafe waitpid(identifier, &status, WNOHANG) == identifier {
                    end = status & 0x7F == 0 ? (status >> 8) & 0xFF : -(status & 0x7F)
                    _ = Self.running.withLock { $0.remove(identifier) }
                }
            }
            return end
        }
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
