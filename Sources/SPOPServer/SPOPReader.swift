// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Reads the elements of SPOP (HAProxy's doc/SPOE.txt §3.1) sequentially from bytes, without copying them. Every method returns
/// `nil` if the bytes end too early or are malformed, and then the rest is of no use.
package struct SPOPReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var position = 0

    /// Creates a reader of `bytes`.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// True if no bytes are left.
    package var isAtEnd: Bool { position == bytes.count }

    /// Reads one byte.
    @_lifetime(self: copy self)
    package mutating func byte() -> UInt8? {
        guard position < bytes.count else { return nil }
        defer { position += 1 }
        return bytes[position]
    }

    /// Reads a number of 32 bits in network byte order.
    @_lifetime(self: copy self)
    package mutating func word() -> UInt32? { integer() }

    @_lifetime(self: copy self)
    private mutating func integer<Number: FixedWidthInteger>() -> Number? {
        let size = Number.bitWidth / 8
        guard bytes.count - position >= size else { return nil }
        var number = 0 as Number
        for index in position..<position + size { number = number << 8 | Number(truncatingIfNeeded: bytes[index]) }
        position += size
        return number
    }

    /// Reads a number of variable length: 1 to 10 bytes; `nil` also for more than 64 bits.
    @_lifetime(self: copy self)
    package mutating func number() -> UInt64? {
        guard let first = byte() else { return nil }
        var number = UInt64(first)
        guard first >= 240 else { return number }
        var shift = 4 as UInt64
        while shift < 64 {
            guard let next = byte() else { return nil }
            let part = UInt64(next) << shift
            guard part >> shift == UInt64(next) else { return nil }
            let (sum, overflows) = number.addingReportingOverflow(part)
            if overflows { return nil }
            number = sum
            if next < 128 { return number }
            shift += 7
        }
        return nil
    }

    /// Reads a string: its length, and its bytes.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    package mutating func string() -> Span<UInt8>? {
        guard let length = number(), length <= UInt64(bytes.count - position) else { return nil }
        let start = position
        position += Int(length)
        return bytes.extracting(start..<position)
    }

    /// Reads a string as text. Bytes that are not UTF-8 are replaced by U+FFFD.
    @_lifetime(self: copy self)
    package mutating func text() -> String? {
        guard let bytes = string() else { return nil }
        return String(decoding: bytes)
    }

    /// A typed value, whose strings are not copied.
    package enum Value: ~Escapable {
        case null
        case bool(Bool)
        case signed(Int64)
        case unsigned(UInt64)
        case ipv4(UInt32)
        case ipv6(UInt128)
        case string(Span<UInt8>)
        case binary(Span<UInt8>)
    }

    /// Reads a typed value.
    @_lifetime(copy self)
    @_lifetime(self: copy self)
    package mutating func value() -> Value? {
        guard let type = byte() else { return nil }
        switch type & 15 {
        case 0: return .null
        case 1: return .bool(type & 16 != 0)
        case 2, 4:
            guard let number = number() else { return nil }
            return .signed(Int64(bitPattern: number))
        case 3, 5:
            guard let number = number() else { return nil }
            return .unsigned(number)
        case 6:
            guard let address: UInt32 = integer() else { return nil }
            return .ipv4(address)
        case 7:
            guard let address: UInt128 = integer() else { return nil }
            return .ipv6(address)
        case 8:
            guard let bytes = string() else { return nil }
            return .string(bytes)
        case 9:
            guard let bytes = string() else { return nil }
            return .binary(bytes)
        default: return nil
        }
    }

    /// Reads the header fields of HAProxy's `req.hdrs_bin` (configuration manual §7.3.6): pairs of strings, of which an empty pair is
    /// the last.
    ///
    /// - Parameter body: Gets the name and the value of each field.
    /// - Returns: False if the bytes are malformed, if bytes follow the last pair, or if a name is no name of a field (RFC 9110 §5.1).
    @_lifetime(self: copy self)
    package mutating func forEachHeaderField(_ body: (Span<UInt8>, Span<UInt8>) -> Void) -> Bool {
        while let name = string(), let value = string() {
            if name.isEmpty { return value.isEmpty && isAtEnd }
            for index in name.indices where !name[index].isTokenCharacter { return false }
            body(name, value)
        }
        return false
    }
}
