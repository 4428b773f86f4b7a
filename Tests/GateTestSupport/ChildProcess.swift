// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform
import Synchronization

/// A process that a test has started, which is killed with the value.
///
/// It does not use Foundation's `Process`, which detects the exit with a socket. Another program that is started at the same
/// moment may inherit the socket, and `Process` then waits for that program too.
final class ChildProcess: Sendable {
    /// The path of the program, and its arguments.
    let command: [String]
    let identifier: pid_t
    private let end = Mutex<Int32?>(nil)
    /// The running processes. This process kills them at its exit, because a task may hold one beyond the last test.
    private static let running: Mutex<Set<pid_t>> = {
        atexit { ChildProcess.running.withLock { for identifier in $0 { Glibc.kill(identifier, SIGKILL) } } }
        return Mutex([])
    }()

    /// An input or output of a process.
    enum Stream {
        case none
        /// A file that is appended to.
        case file(String)
        /// A descriptor of this process that is greater than 2.
        case descriptor(Int32)
    }

    /// Starts a process.
    ///
    /// - Parameter streams: The streams that it gets with the numbers 0, 1, 2 and so on; it inherits nothing else.
    init(_ command: [String], streams: [Stream]) throws {
        self.command = command
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe _ = posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams.enumerated() {
            let number = Int32(number)
            switch stream {
            case .none: unsafe posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
            case .file(let path):
                unsafe posix_spawn_file_actions_addopen(&actions, number, path, O_WRONLY | O_CREAT | O_APPEND, 0o600)
            case .descriptor(let descriptor):
                unsafe posix_spawn_file_actions_adddup2(&actions, descriptor, number)
            }
        }
        // Test threads have signals blocked. A program that inherits the mask would not receive signals.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe _ = posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var words: [UnsafeMutablePointer<CChar>?] = unsafe command.map { unsafe strdup($0) }
        defer { unsafe words.forEach { unsafe free($0) } }
        unsafe words.append(nil)
        var identifier: pid_t = 0
        // Other threads open descriptors until the process starts. They get the lowest free numbers, so that the highest of
        // now and a few beyond it are all; to close a number that is free is no error. (glibc has an action for this, but
        // not for Swift: it is declared for _GNU_SOURCE only.)
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap(Int32.init)
        for number in Int32(streams.count)...(open.max() ?? 0) + 256 {
            unsafe posix_spawn_file_actions_addclose(&actions, number)
        }
        let result = unsafe posix_spawn(&identifier, command[0], &actions, &attributes, words, environ)
        guard result == 0 else { throw ProgramFailure.notStarted(command, errno: result) }
        self.identifier = identifier
        _ = Self.running.withLock { $0.insert(identifier) }
    }

    deinit { kill() }

    var isRunning: Bool { status == nil }

    /// The exit status, or the negative number of the signal that ended the process; `nil` if it still runs.
    var status: Int32? {
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

    /// Sends a signal, if the process still runs.
    func signal(_ number: Int32) { end.withLock { if $0 == nil { Glibc.kill(identifier, number) } } }

    /// Kills the process, if it still runs, and waits until it has ended.
    func kill() {
        guard isRunning else { return }
        signal(SIGKILL)
        _ = eventually { !isRunning }
    }
}

/// A program that did not start, or did not end in time.
package enum ProgramFailure: Error, CustomStringConvertible {
    case notStarted(_ command: [String], errno: Int32)
    /// The program was killed. `output` is what it had printed.
    case notEnded(_ command: [String], reason: String, output: String)

    package var description: String {
        switch self {
        case .notStarted(let command, let errno):
            "cannot start \(command.joined(separator: " ")): \(unsafe String(cString: strerror(errno)))"
        case .notEnded(let command, let reason, let output):
            """
            killed, because it \(reason): \(command.joined(separator: " "))
            the end of its output: \(output.suffix(8000))
            """
        }
    }
}
