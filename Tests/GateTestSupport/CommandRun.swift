// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform

/// A program that has run to its end, with input and without a terminal.
package struct CommandRun: Sendable {
    /// The exit status, or the negative number of the signal that ended the program.
    package let status: Int32
    /// The text on standard output.
    package let output: String
    /// The text on standard error.
    package let error: String

    /// The maximum size of the outputs, in bytes.
    private static let limit = 16 << 20

    /// Runs a program to its end.
    ///
    /// - Parameters:
    ///   - program: The path of the program.
    ///   - input: The bytes on standard input. A program need not read them.
    /// - Throws: ``ProgramFailure`` if it does not start, or does not end in time, or prints more than 16 MiB. It is then
    ///   killed.
    package init(
        _ program: String,
        arguments: [String],
        input: [UInt8] = [],
        within seconds: Double = 180
    ) throws {
        let stdin = try ProcessPipe(isInput: true)
        let (stdout, stderr) = (try ProcessPipe(isInput: false), try ProcessPipe(isInput: false))
        let process = try ChildProcess(
            [program] + arguments,
            streams: [stdin, stdout, stderr].map { .descriptor($0.other) }
        )
        for pipe in [stdin, stdout, stderr] { pipe.closeOther() }
        var rest = input[...]
        var (output, error) = ([UInt8](), [UInt8]())
        let end = ContinuousClock.now + .seconds(seconds)
        // The pipes take turns and none is waited for alone, because a full one blocks the program.
        while true {
            // If the program has ended, all that it wrote is in the pipes. Another process may keep them open.
            let status = process.status
            stdin.write(&rest)
            let isQuiet = [stdout.read(into: &output), stderr.read(into: &error)] == [false, false]
            if let status, isQuiet {
                self.status = status
                break
            }
            let isEndless = output.count + error.count > Self.limit
            guard ContinuousClock.now < end, !isEndless else {
                process.kill()
                throw ProgramFailure.notEnded(
                    process.command,
                    reason: isEndless ? "printed more than \(Self.limit) bytes" : "did not end within \(seconds) s",
                    output: String(decoding: output.suffix(4000) + error.suffix(4000), as: UTF8.self)
                )
            }
            if isQuiet { Self.wait(stdin: stdin, stdout: stdout, stderr: stderr) }
        }
        self.output = String(decoding: output, as: UTF8.self)
        self.error = String(decoding: error, as: UTF8.self)
    }

    /// Waits until a pipe is ready, or for 5 ms: the end of the program is seen no later.
    private static func wait(stdin: ProcessPipe, stdout: ProcessPipe, stderr: ProcessPipe) {
        var ends = [
            pollfd(fd: stdin.own, events: Int16(POLLOUT), revents: 0),
            pollfd(fd: stdout.own, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stderr.own, events: Int16(POLLIN), revents: 0),
        ]
        unsafe _ = poll(&ends, nfds_t(ends.count), 5)
    }
}

/// A pipe to or from a process, which inherits nothing by itself. The end of this process does not block.
private final class ProcessPipe {
    /// The descriptors of both ends; -1, which `poll` passes over, if closed.
    private(set) var own: Int32
    private(set) var other: Int32

    init(isInput: Bool) throws {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        (own, other) = isInput ? (ends[1], ends[0]) : (ends[0], ends[1])
        _ = fcntl(own, F_SETFL, O_NONBLOCK)
    }

    deinit {
        closeOwn()
        closeOther()
    }

    private func closeOwn() {
        if own >= 0 { close(own) }
        own = -1
    }

    /// Closes the end of the process, which only the process then holds.
    func closeOther() {
        if other >= 0 { close(other) }
        other = -1
    }

    /// Writes as many of the bytes as fit, and closes the pipe after the last one, or if the program does not read.
    func write(_ rest: inout ArraySlice<UInt8>) {
        guard own >= 0 else { return }
        let count = Self.withoutBrokenPipeSignal {
            unsafe rest.withUnsafeBytes { unsafe Glibc.write(own, $0.baseAddress, $0.count) }
        }
        if count > 0 { rest.removeFirst(count) }
        if rest.isEmpty || (count < 0 && errno != EAGAIN) { closeOwn() }
    }

    /// Reads a part of what is there; false if there is nothing.
    func read(into bytes: inout [UInt8]) -> Bool {
        guard own >= 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe Glibc.read(own, $0.baseAddress, $0.count) }
        if count == 0 { closeOwn() }
        guard count > 0 else { return false }
        bytes += buffer[..<count]
        return true
    }

    /// Runs `body` on this thread without SIGPIPE, which would end this process if the program does not read.
    private static func withoutBrokenPipeSignal(_ body: () -> Int) -> Int {
        var (signal, before) = (sigset_t(), sigset_t())
        unsafe sigemptyset(&signal)
        unsafe sigaddset(&signal, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signal, &before)
        defer { unsafe _ = pthread_sigmask(SIG_SETMASK, &before, nil) }
        let count = body()
        let failure = errno
        if count < 0, failure == EPIPE {
            var noTime = timespec()
            unsafe _ = sigtimedwait(&signal, nil, &noTime)
        }
        errno = failure
        return count
    }
}
