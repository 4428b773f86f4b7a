// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import NIOCore

/// The variables of a transaction that an acknowledgement sets (HAProxy's doc/SPOE.txt §3.4).
///
/// A variable that does not fit into the frame is omitted as a whole, and so are all after it: what must arrive is set first.
package struct SPOPActions {
    private var frame: ByteBuffer
    private var scratch: ByteBuffer
    /// The end of the frame in the buffer at most.
    private var limit: Int
    private var isFull = false

    /// Creates actions that are appended to a buffer until `limit` bytes are written to it.
    fileprivate init(_ frame: ByteBuffer, _ scratch: ByteBuffer, limit: Int) {
        self.frame = frame
        self.scratch = scratch
        self.limit = limit
    }

    /// Sets a variable to a truth value.
    package mutating func set(_ name: StaticString, _ value: Bool) { set(name) { $0.writeSPOP(.bool(value)) } }

    /// Sets a variable to a number.
    package mutating func set(_ name: StaticString, _ value: Int64) { set(name) { $0.writeSPOP(.signed(value)) } }

    /// Sets a variable to a text of at most `limit` bytes that `body` writes; an empty one is not set.
    package mutating func set(_ name: StaticString, atMost limit: Int, _ body: (inout ByteWriter) -> Void) {
        scratch.clear()
        scratch.write(atMost: limit, body)
        guard scratch.readableBytes > 0 else { return }
        let text = scratch
        set(name) { frame in
            frame.writeInteger(8 as UInt8)
            frame.writeSPOP(number: UInt64(text.readableBytes))
            frame.writeImmutableBuffer(text)
        }
    }

    private mutating func set(_ name: StaticString, _ value: (inout ByteBuffer) -> Void) {
        guard !isFull else { return }
        let start = frame.writerIndex
        // A set-var with three arguments, in the scope of the transaction.
        frame.writeMultipleIntegers(1 as UInt8, 3 as UInt8, 2 as UInt8)
        frame.writeSPOP(string: name)
        value(&frame)
        guard frame.writerIndex > limit else { return }
        frame.moveWriterIndex(to: start)
        isFull = true
    }

    fileprivate consuming func take() -> (frame: ByteBuffer, scratch: ByteBuffer) { (frame, scratch) }
}

/// The buffer that gathers the frames of a connection until they are written.
package struct SPOPOutput {
    private var buffer = ByteBuffer()
    private var isEmpty = true
    private var scratch = ByteBuffer()

    /// The largest buffer, in bytes, that a connection keeps for its next frames.
    private static let keptCapacity = 32 * 1024

    package init() {}

    /// The number of bytes gathered.
    package var count: Int { isEmpty ? 0 : buffer.readableBytes }

    /// Takes the gathered bytes. A buffer of ordinary size is kept for the next frames.
    package mutating func take() -> ByteBuffer {
        if isEmpty { return ByteBuffer() }
        isEmpty = true
        guard buffer.capacity > Self.keptCapacity else { return buffer }
        defer { buffer = ByteBuffer() }
        return buffer
    }

    /// Empties the buffer whose bytes were taken.
    private mutating func begin() {
        if isEmpty { buffer.clear() }
        isEmpty = false
    }

    /// Writes an AGENT-HELLO frame.
    package mutating func write(hello terms: SPOPHello) {
        begin()
        buffer.writeSPOP(hello: terms)
    }

    /// Writes an AGENT-DISCONNECT frame.
    package mutating func write(disconnect status: SPOPStatus) {
        begin()
        buffer.writeSPOP(disconnect: status)
    }

    /// Writes an acknowledgement.
    ///
    /// - Parameter limit: The most bytes of a frame, without its length.
    package mutating func acknowledge(_ id: SPOPFrame.ID, limit: Int, _ answer: some SPOPAnswer) {
        begin()
        let end = buffer.writerIndex + 4 + limit
        var scratch = ByteBuffer()
        swap(&scratch, &self.scratch)
        buffer.writeSPOP(.acknowledge, of: id) { frame in
            var whole = ByteBuffer()
            swap(&whole, &frame)
            var actions = SPOPActions(whole, scratch, limit: end)
            scratch = ByteBuffer()
            answer.write(into: &actions)
            (frame, scratch) = actions.take()
        }
        swap(&scratch, &self.scratch)
    }
}
