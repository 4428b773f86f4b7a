// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import NIOCore

/// The variables of a transaction that an acknowledgement sets (HAProxy's doc/SPOE.txt §3.4).
///
/// A variable that does not fit into the frame is omitted as a whole, and so are all after it. Required variables are
/// therefore set first.
package struct SPOPActions {
    private var writer: ByteWriter
    /// The most bytes in the writer, with those before the actions.
    private let limit: Int
    private var isFull = false

    /// The room after the limit, in bytes: a text may need less than is reserved for it.
    private static let margin = 4096

    /// Returns the actions that `body` sets, at most `limit` bytes, to be appended to many frames.
    package static func bytes(limit: Int, _ body: (inout Self) -> Void) -> [UInt8] {
        var buffer = ByteBuffer()
        buffer.write(atMost: limit + margin) { set(in: &$0, limit: limit, body) }
        return Array(buffer.readableBytesView)
    }

    /// Appends a frame with the actions that `body` sets, at most `limit` bytes without its length.
    fileprivate static func writeFrame(
        of id: SPOPFrame.ID,
        to buffer: inout ByteBuffer,
        limit: Int,
        _ body: (inout Self) -> Void
    ) {
        buffer.write(atMost: 4 + limit + margin) { writer in
            writer.write(headOf: .acknowledge, id)
            set(in: &writer, limit: 4 + limit, body)
            let length = writer.count - 4
            _ = writer.rewrite(from: 0) { $0.write(word: UInt32(length)) }
        }
    }

    /// - Parameter limit: The number of bytes that `writer` may have at the end.
    private static func set(in writer: inout ByteWriter, limit: Int, _ body: (inout Self) -> Void) {
        var actions = Self(writer: writer, limit: limit)
        body(&actions)
        writer = actions.writer
    }

    private init(writer: ByteWriter, limit: Int) {
        self.writer = writer
        self.limit = limit
    }

    /// Appends encoded actions, of which `body` writes exactly `size` bytes.
    ///
    /// - Returns: False if they do not fit; nothing is appended then.
    package mutating func append(size: Int, body: (inout ByteWriter) -> Void) -> Bool {
        guard !isFull, writer.count + size <= limit else { return false }
        body(&writer)
        return true
    }

    /// Sets a variable to a truth value.
    package mutating func set(_ name: StaticString, to value: Bool) {
        set(name, atMost: 1) { writer in
            writer.write(value ? 17 as UInt8 : 1)
            return true
        }
    }

    /// Sets a variable to a number.
    package mutating func set(_ name: StaticString, to value: Int64) {
        set(name, atMost: 11) { writer in
            writer.write(4 as UInt8)
            writer.write(spopNumber: UInt64(bitPattern: value))
            return true
        }
    }

    /// Sets a variable to a text of at most `limit` bytes that `body` writes; an empty one is not set.
    package mutating func set(_ name: StaticString, atMost limit: Int, body: (inout ByteWriter) -> Void) {
        set(name, atMost: 11 + limit) { writer in
            writer.write(8 as UInt8)
            // The room for the length of the largest text; that of the text itself may be shorter.
            let start = writer.count
            writer.write(spopNumber: UInt64(limit))
            let text = writer.count
            body(&writer)
            let length = writer.count - text
            let end = writer.rewrite(from: start) { $0.write(spopNumber: UInt64(length)) }
            writer.remove(end..<text)
            return length > 0
        }
    }

    /// Sets a variable to a value of at most `size` bytes that `value` writes; `value` returns false to leave it out.
    private mutating func set(_ name: StaticString, atMost size: Int, value: (inout ByteWriter) -> Bool) {
        guard !isFull else { return }
        let start = writer.count
        guard writer.room >= 13 + name.utf8CodeUnitCount + size else {
            isFull = true
            return
        }
        // A set-var with three arguments, in the scope of the transaction.
        writer.write(1)
        writer.write(3)
        writer.write(2)
        writer.write(spopNumber: UInt64(name.utf8CodeUnitCount))
        writer.write(name)
        let isSet = value(&writer)
        isFull = isSet && writer.count > limit
        if isFull || !isSet { writer.truncate(to: start) }
    }
}

/// The buffer that gathers the frames of a connection until they are written.
package struct SPOPOutput {
    private var buffer = ByteBuffer()
    private var isEmpty = true

    /// The largest buffer, in bytes, that a connection retains for its next frames: those that are gathered, and the
    /// largest one.
    private static let keptCapacity = 64 * 1024

    package init() {}

    /// The number of bytes gathered.
    package var count: Int { isEmpty ? 0 : buffer.readableBytes }

    /// Removes and returns the gathered bytes. A buffer of ordinary size is retained for the next frames.
    package mutating func drain() -> ByteBuffer {
        if isEmpty { return ByteBuffer() }
        isEmpty = true
        guard buffer.capacity > Self.keptCapacity else { return buffer }
        defer { buffer = ByteBuffer() }
        return buffer
    }

    /// Empties the buffer whose bytes were removed.
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
    package mutating func acknowledge(_ id: SPOPFrame.ID, limit: Int, with answer: some SPOPAnswer) {
        begin()
        SPOPActions.writeFrame(of: id, to: &buffer, limit: limit) { answer.write(into: &$0) }
    }
}
