// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A writer of CBOR in deterministic form: shortest heads, and maps in the bytewise order of their encoded keys.
///
/// Arrays and tags are written by their heads, and the items after them; maps by ``map(_:)`` in any order of entries:
///
/// ```swift
/// var writer = CBORWriter()
/// writer.map { map in
///     map.entry(4) { $0.write(1_925_000_420) }
///     map.entry(3) { value in
///         value.write(arrayOf: 2)
///         value.write("edge-1")
///         value.write("edge-2")
///     }
/// }
/// let bytes = try writer.finish()
/// ```
///
/// Source: RFC 8949 §4.2.1.
package struct CBORWriter {
    fileprivate(set) var bytes: [UInt8]
    /// The first thing that could not be written.
    fileprivate var fault: CBORFault?

    /// Creates a writer with room for `capacity` bytes.
    package init(capacity: Int = 256) {
        bytes = []
        if capacity > 0 { bytes.reserveCapacity(capacity) }
    }

    /// Creates a writer that goes on after items that another writer has finished.
    package init(continuing bytes: consuming [UInt8]) { self.bytes = bytes }

    /// The number of bytes that are written.
    package var count: Int { bytes.count }

    /// Returns the written bytes. Throws `duplicateKey` if a map got two equal keys, `invalidFloat` if a number was not
    /// finite or was negative zero.
    package consuming func finish() throws(CBORFault) -> [UInt8] {
        if let fault { throw fault }
        return bytes
    }

    // MARK: Items

    /// Writes an integer.
    @inlinable
    package mutating func write<Number: FixedWidthInteger & SignedInteger>(_ number: Number) {
        let isNegative = number < 0
        writeInteger(UInt64(truncatingIfNeeded: isNegative ? -1 - number : number), isNegative: isNegative)
    }

    /// Writes an unsigned integer.
    @inlinable
    package mutating func write<Number: FixedWidthInteger & UnsignedInteger>(_ number: Number) {
        writeInteger(UInt64(truncatingIfNeeded: number), isNegative: false)
    }

    /// Writes an integer: `number`, or -1 - `number` if it is negative.
    package mutating func writeInteger(_ number: UInt64, isNegative: Bool) {
        head(isNegative ? .negative : .unsigned, value: number)
    }

    /// Writes a text string.
    package mutating func write(_ text: String) {
        let utf8 = text.utf8
        head(.text, value: UInt64(utf8.count))
        bytes.append(copying: utf8.span)
    }

    /// Writes a byte string.
    package mutating func write(_ content: Span<UInt8>) {
        head(.bytes, value: UInt64(content.count))
        bytes.append(copying: content)
    }

    /// Writes a byte string.
    package mutating func write(_ content: [UInt8]) { write(content.span) }

    /// Writes a truth value.
    package mutating func write(_ value: Bool) { bytes.append(value ? 0xF5 : 0xF4) }

    /// Writes null.
    package mutating func writeNull() { bytes.append(0xF6) }

    /// Writes a float in its shortest form, never as an integer. ``finish()`` throws if it is not finite or negative zero.
    package mutating func write(_ number: Double) {
        guard number.isFinite, !(number.isZero && number.sign == .minus) else {
            fault = fault ?? .invalidFloat
            return
        }
        if let half = number.halfBits {
            append(0xF9, value: UInt64(half), size: 2)
        } else if Double(Float(number)) == number {
            append(0xFA, value: UInt64(Float(number).bitPattern), size: 4)
        } else {
            append(0xFB, value: number.bitPattern, size: 8)
        }
    }

    /// Writes the head of an array. Its `count` elements are to be written next.
    package mutating func write(arrayOf count: Int) { head(.array, value: UInt64(count)) }

    /// Writes a tag. The item that it is for is to be written next.
    package mutating func write(tag: UInt64) { head(.tag, value: tag) }

    /// Writes one encoded item as it is. It must come from a ``CBORReader`` or another writer.
    package mutating func write(encoded item: Span<UInt8>) { bytes.append(copying: item) }

    /// Writes a map of the entries that `body` adds, in the bytewise order of their encoded keys.
    package mutating func map(_ body: (inout CBORMapWriter) -> Void) {
        var map = CBORMapWriter(writer: self.taken())
        body(&map)
        self = map.finished()
    }

    /// Returns this writer and leaves an empty one. The array thus has one owner and grows without a copy.
    fileprivate mutating func taken() -> CBORWriter {
        let taken = self
        self = CBORWriter(capacity: 0)
        return taken
    }

    // MARK: Bytes

    fileprivate mutating func head(_ kind: CBORScan.Kind, value: UInt64) {
        let first = kind.rawValue << 5
        switch value {
        case 0..<24: bytes.append(first | UInt8(value))
        case 24..<1 << 8: append(first | 24, value: value, size: 1)
        case 1 << 8..<1 << 16: append(first | 25, value: value, size: 2)
        case 1 << 16..<1 << 32: append(first | 26, value: value, size: 4)
        default: append(first | 27, value: value, size: 8)
        }
    }

    private mutating func append(_ first: UInt8, value: UInt64, size: Int) {
        bytes.append(first)
        var rest = value << UInt64(64 - 8 * size)
        for _ in 0..<size {
            bytes.append(UInt8(truncatingIfNeeded: rest >> 56))
            rest <<= 8
        }
    }
}

/// A writer of the entries of a map, in any order. Not copied, so that the bytes have one owner.
package struct CBORMapWriter: ~Copyable {
    private var writer: CBORWriter
    private var count = 0
    /// The position of the head, which is one byte until the map is complete.
    private let start: Int
    private var lastKey = 0..<0
    private var isSorted = true

    fileprivate init(writer: consuming CBORWriter) {
        start = writer.bytes.count
        // Before it is stored: while two names hold the array, it would be copied.
        writer.bytes.append(0)
        self.writer = writer
    }

    /// Adds an entry with an integer as its key. `value` writes exactly one item.
    package mutating func entry(_ key: Int64, value: (inout CBORWriter) -> Void) {
        let position = writer.bytes.count
        writer.write(key)
        add(keyAt: position, value: value)
    }

    /// Adds an entry with a text as its key. `value` writes exactly one item.
    package mutating func entry(_ key: String, value: (inout CBORWriter) -> Void) {
        let position = writer.bytes.count
        writer.write(key)
        add(keyAt: position, value: value)
    }

    private mutating func add(keyAt position: Int, value: (inout CBORWriter) -> Void) {
        let key = position..<writer.bytes.count
        value(&writer)
        count += 1
        if !lastKey.isEmpty {
            switch CBORScan.order(in: writer.bytes.span, left: lastKey, right: key) {
            case .less: break
            case .equal: writer.fault = writer.fault ?? .duplicateKey
            case .greater: isSorted = false
            }
        }
        lastKey = key
    }

    fileprivate consuming func finished() -> CBORWriter {
        if !isSorted { sort() }
        guard count >= 24 else {
            writer.bytes[start] = CBORScan.Kind.map.rawValue << 5 | UInt8(count)
            return writer
        }
        var head = CBORWriter(capacity: 9)
        head.head(.map, value: UInt64(count))
        writer.bytes.replaceSubrange(start...start, with: head.bytes)
        return writer
    }

    private mutating func sort() {
        var entries: [(key: [UInt8], value: ArraySlice<UInt8>)] = []
        var position = start + 1
        while position < writer.bytes.count {
            let keyEnd = CBORScan.end(in: writer.bytes.span, ofItemAt: position)
            let end = CBORScan.end(in: writer.bytes.span, ofItemAt: keyEnd)
            entries.append((key: Array(writer.bytes[position..<keyEnd]), value: writer.bytes[keyEnd..<end]))
            position = end
        }
        entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
        for (one, other) in zip(entries, entries.dropFirst()) where one.key == other.key {
            writer.fault = writer.fault ?? .duplicateKey
        }
        let sorted = entries.flatMap { $0.key + $0.value }
        writer.bytes.replaceSubrange((start + 1)..., with: sorted)
    }
}
