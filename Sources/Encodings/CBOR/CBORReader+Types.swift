// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Items of one type. Each function throws `unexpectedType` for an item of another.

extension CBORReader {
    /// Reads an integer of 64 bits.
    package mutating func readInteger() throws(CBORFault) -> Int64 {
        guard let integer = try next().integer else { throw .unexpectedType }
        return integer
    }

    /// Reads an unsigned integer.
    package mutating func readUnsigned() throws(CBORFault) -> UInt64 {
        guard case .unsigned(let value) = try next() else { throw .unexpectedType }
        return value
    }

    /// Reads an integer or a float, such as a NumericDate.
    package mutating func readNumber() throws(CBORFault) -> Double {
        switch try next() {
        case .unsigned(let value): return Double(value)
        case .negative(let value): return -1 - Double(value)
        case .float(let value): return value
        default: throw .unexpectedType
        }
    }

    /// Reads a byte string. Returns its range in ``bytes``.
    package mutating func readBytes() throws(CBORFault) -> Range<Int> {
        guard case .bytes(let range) = try next() else { throw .unexpectedType }
        return range
    }

    /// Reads a text string. Returns its range in ``bytes``.
    package mutating func readText() throws(CBORFault) -> Range<Int> {
        guard case .text(let range) = try next() else { throw .unexpectedType }
        return range
    }

    /// Reads the head of an array. Returns the number of its elements, which follow.
    package mutating func readArray() throws(CBORFault) -> Int {
        guard case .array(let count) = try next() else { throw .unexpectedType }
        return count
    }

    /// Reads the head of a map. Returns the number of its entries, which follow.
    package mutating func readMap() throws(CBORFault) -> Int {
        guard case .map(let count) = try next() else { throw .unexpectedType }
        return count
    }

    /// Returns a copy of the text at a range that this reader returned for a text string.
    package func string(_ range: Range<Int>) -> String {
        String(decoding: self[range], as: UTF8.self)
    }

    /// Returns a copy of the bytes at a range that this reader returned.
    package subscript(range: Range<Int>) -> [UInt8] {
        var copy: [UInt8] = []
        copy.append(copying: bytes.extracting(range))
        return copy
    }

    /// True if the string at a range that this reader returned has the bytes of `literal`.
    package func matches(_ range: Range<Int>, literal: StaticString) -> Bool {
        range.count == literal.utf8CodeUnitCount && bytes.starts(with: literal, at: range.lowerBound)
    }
}
