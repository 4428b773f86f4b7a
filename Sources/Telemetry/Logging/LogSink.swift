// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Dispatch
internal import Synchronization
package import SystemPackage

/// Accepts lines from any thread, and writes them in batches from one thread.
///
/// A decision never waits for a disk or a pipe and wakes no thread. Lines are gathered for 10 ms, because waking a thread
/// for every line costs more than the decision. The buffer is bounded: if the reader of the log has stopped, lines are
/// dropped and counted, and the gate continues.
package final class LogSink: Sendable {
    private let buffer = Mutex(Buffer())
    private let writer = DispatchQueue(label: "playgate.log")
    private let descriptor: FileDescriptor

    /// The size of the buffer at which lines are dropped, in bytes.
    private static let limit = 8 << 20

    /// The time for which lines are gathered.
    private static let delay = DispatchTimeInterval.milliseconds(10)

    private struct Buffer {
        var bytes: [UInt8] = []
        var isWriting = false
        var dropped = 0
    }

    package init(_ descriptor: FileDescriptor) { self.descriptor = descriptor }

    /// The number of dropped lines.
    package var dropped: Int { buffer.withLock { $0.dropped } }

    /// Accepts a line that `write` appends, without its line end.
    package func line(_ write: (inout [UInt8]) -> Void) {
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

    /// Waits until all lines accepted so far are written.
    package func flush() { writer.sync { drain() } }

    private func drain() {
        let bytes = buffer.withLock { buffer in
            defer {
                buffer.bytes = []
                buffer.isWriting = false
            }
            return buffer.bytes
        }
        // Lines that cannot be written are lost: there is no other output for that.
        _ = try? descriptor.writeAll(bytes)
    }
}
