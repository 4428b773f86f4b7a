// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform
import Synchronization

/// A program that runs during a test, until the test ends it.
///
/// It does not use Foundation's `Process`, which detects the exit with a socket. Another program that is started at the same
/// moment may inherit the socket, and `Process` then waits for that program too.
package final class Program: Sendable {
    private let identifier: pid_t
    private let end = Mutex<Int32?>(nil)
    /// The running programs. This process kills them at its exit, because a task may hold one beyond the last test.
    private static let running: Mutex<Set<pid_t>> = {
        atexit { Program.running.withLock { for identifier in $0 { kill(identifier, SIGKILL) } } }
        return Mutex([])
    }()
    /// The file with the standard output and standard error of the program.
    package let log: String

    package struct NotStarted: Error { let program: String, reason: Int32 }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - log: The file to which its output is appended.
    ///   - keeping: A file descriptor that it inherits with the number 3; it inherits no other.
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
        // Test threads have signals blocked. A program that inherits the mask would not receive signals.
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

    /// Waits for the program to exit, and returns its exit status, or the negative number of the signal that ended it. The
    /// program is killed after a minute.
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
}

/// Waits until `condition` holds; false after the time limit. Another process or thread must bring the condition about.
package func eventually(within seconds: Double = 20, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
        if try condition() { return true }
        usleep(5000)
    }
    return try condition()
}

/// Runs `body` on its own thread, so that it can block without blocking tasks.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}
