// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Dispatch
internal import Synchronization
internal import SystemPackage

/// Takes lines from any thread and writes them from one, many at a time.
///
/// Whoever decides never waits for a disk or a pipe, and wakes nobody: lines are gathered for a hundredth of a second,
/// since a thread that is woken for every line costs more than the decision. What is not written yet is bounded: where the
/// reader of the log has stopped, lines are dropped and counted, and the gate goes on.
final class LogSink: Sendable {
    private let buffer = Mutex(Buffer())
    private let writer = DispatchQueue(label: "playgate.log")
    private let descriptor: FileDescriptor

    /// The most bytes that wait for being written.
    private static let limit = 8 << 20

    /// How long lines are gathered.
    private static let delay = DispatchTimeInterval.milliseconds(10)

    private struct Buffer {
        var bytes: [UInt8] = []
        var isWriting = false
        var dropped = 0
    }

    init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// How many lines were dropped.
    var dropped: Int { buffer.withLock { $0.dropped } }

    /// Takes a line that `write` appends, without its end.
    func line(_ write: (inout [UInt8]) -> Void) {
        let mustStart = buffer.withLock { buffer in
            guard buffer.bytes.count < Self.limit else {
                buffer.dropped += 1
                return false
            }
            write(&buffer.bytes)
            buffer.bytes.append(UInt8(ascii: "\n"))
            defer { buffer.isWriting = true }
            return !buffer.isWriting
        }
        if mustStart { writer.asyncAfter(deadline: .now() + Self.delay) { self.drain() } }
    }

    /// Waits until what was taken is written.
    func flush() { writer.sync { drain() } }

    private func drain() {
        let bytes = buffer.withLock { buffer in
            defer {
                buffer.bytes = []
                buffer.isWriting = false
            }
            return buffer.bytes
        }
        // What cannot be written is lost: there is nowhere to say so.
        _ = try? descriptor.writeAll(bytes)
    }
}
