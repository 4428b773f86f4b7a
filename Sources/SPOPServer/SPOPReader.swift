// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore

/// Reads the elements of SPOP (HAProxy's doc/SPOE.txt §3.1) sequentially from bytes. Every method returns `nil` if the bytes end
/// too early or are malformed, and then the rest is of no use.
package struct SPOPReader {
    private var bytes: ByteBuffer

    /// Creates a reader of `bytes`.
    package init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// True if no bytes are left.
    package var isAtEnd: Bool { bytes.readableBytes == 0 }

    /// Reads one byte.
    package mutating func byte() -> UInt8? { bytes.readInteger() }

    /// Reads a number of 32 bits in network byte order.
    package mutating func word() -> UInt32? { bytes.readInteger() }

    /// Reads a number of variable length: 1 to 10 bytes; `nil` also for more than 64 bits.
    package mutating func number() -> UInt64? {
        guard let first: UInt8 = bytes.readInteger() else { return nil }
        var number = UInt64(first)
        guard first >= 240 else { return number }
        var shift = 4 as UInt64
        while shift < 64 {
            guard let next: UInt8 = bytes.readInteger() else { return nil }
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
    package mutating func string() -> ByteBuffer? {
        guard let length = number(), length <= UInt64(bytes.readableBytes) else { return nil }
        return bytes.readSlice(length: Int(length))
    }

    /// Reads a string as text. Bytes that are not UTF-8 are replaced by U+FFFD.
    package mutating func text() -> String? { string().map { String(buffer: $0) } }

    /// Reads a typed value.
    package mutating func value() -> SPOPValue? {
        guard let type = byte() else { return nil }
        switch type & 15 {
        case 0: return .null
        case 1: return .bool(type & 16 != 0)
        case 2, 4: return number().map { .signed(Int64(bitPattern: $0)) }
        case 3, 5: return number().map { .unsigned($0) }
        case 6: return bytes.readInteger(as: UInt32.self).map { .ipv4($0) }
        case 7:
            guard let high: UInt64 = bytes.readInteger(), let low: UInt64 = bytes.readInteger() else { return nil }
            return .ipv6(UInt128(high) << 64 | UInt128(low))
        case 8: return string().map { .string($0) }
        case 9: return string().map { .binary($0) }
        default: return nil
        }
    }

    /// Reads the header fields of HAProxy's `req.hdrs_bin` (configuration manual §7.3.6): pairs of strings, of which an empty pair is
    /// the last.
    ///
    /// - Parameter body: Gets the name and the value of each field.
    /// - Returns: False if the bytes are malformed, if bytes follow the last pair, or if a name is no name of a field (RFC 9110 §5.1).
    package mutating func forEachHeaderField(_ body: (ByteBuffer, ByteBuffer) -> Void) -> Bool {
        while let name = string(), let value = string() {
            if name.readableBytes == 0 { return value.readableBytes == 0 && isAtEnd }
            guard name.readableBytesView.allSatisfy(\.isTokenCharacter) else { return false }
            body(name, value)
        }
        return false
    }
}

/// A typed value of SPOP.
package enum SPOPValue: Hashable, Sendable {
    case null
    case bool(Bool)
    case signed(Int64)
    case unsigned(UInt64)
    case ipv4(UInt32)
    case ipv6(UInt128)
    case string(ByteBuffer)
    case binary(ByteBuffer)
}
