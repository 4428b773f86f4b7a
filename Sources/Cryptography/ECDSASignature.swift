// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The two forms of an ECDSA signature: r and s of fixed size one after the other (RFC 7518 §3.4), and DER (RFC 3279 §2.2.3).
package enum ECDSASignature {
    /// The largest size of the DER form: P-521.
    static let maximumDERSize = 3 + 2 * (2 + 67)

    /// Writes the DER form of `raw` to the front of `output`. Returns its size, or `nil` if `raw` is no pair.
    ///
    /// Numbers out of range are written as they are: OpenSSL refuses them.
    static func writeDER(_ raw: Span<UInt8>, into output: inout MutableSpan<UInt8>) -> Int? {
        guard raw.count > 0, raw.count.isMultiple(of: 2), raw.count <= 132, output.count >= maximumDERSize else {
            return nil
        }
        let half = raw.count / 2
        let first = integer(from: raw, in: 0..<half)
        let second = integer(from: raw, in: half..<raw.count)
        let content = first.size + second.size
        output[0] = 0x30
        var position = 1
        if content > 127 {
            output[position] = 0x81
            position += 1
        }
        output[position] = UInt8(content)
        position = put(first, of: raw, into: &output, at: position + 1)
        return put(second, of: raw, into: &output, at: position)
    }

    /// Writes a number at `start`. Returns the position behind it.
    private static func put(
        _ number: Integer,
        of raw: Span<UInt8>,
        into output: inout MutableSpan<UInt8>,
        at start: Int
    ) -> Int {
        var position = start
        output[position] = 0x02
        output[position + 1] = UInt8(number.size - 2)
        position += 2
        if number.hasSignByte {
            output[position] = 0
            position += 1
        }
        for index in number.digits {
            output[position] = raw[index]
            position += 1
        }
        return position
    }

    /// Returns the DER form of `raw`, or `nil` if that is no pair.
    package static func der(_ raw: [UInt8]) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: maximumDERSize)
        var output = buffer.mutableSpan
        guard let count = writeDER(raw.span, into: &output) else { return nil }
        return Array(buffer[..<count])
    }

    private struct Integer {
        /// The significant bytes, at least one.
        let digits: Range<Int>
        /// True if a zero stands before them, as the first bit is the sign.
        let hasSignByte: Bool
        /// The size of tag, length and content.
        var size: Int { 2 + digits.count + (hasSignByte ? 1 : 0) }
    }

    private static func integer(from raw: Span<UInt8>, in range: Range<Int>) -> Integer {
        var start = range.lowerBound
        while start < range.upperBound - 1, raw[start] == 0 { start += 1 }
        return Integer(digits: start..<range.upperBound, hasSignByte: raw[start] >= 0x80)
    }

    /// Returns the raw form of a DER signature that OpenSSL made, each half of `size` bytes.
    static func raw(der: [UInt8], size: Int) -> [UInt8]? {
        var position = der.count > 2 && der[1] == 0x81 ? 3 : 2
        var raw: [UInt8] = []
        for _ in 0..<2 {
            guard position + 2 <= der.count, der[position] == 0x02 else { return nil }
            let start = position + 2
            let end = start + Int(der[position + 1])
            guard end <= der.count, start < end else { return nil }
            let digits = der[start..<end].drop { $0 == 0 }
            guard digits.count <= size else { return nil }
            raw += [UInt8](repeating: 0, count: size - digits.count) + digits
            position = end
        }
        return position == der.count ? raw : nil
    }

    /// Returns `raw` with the lower of s and n − s. Both are valid, and some verifiers accept only the lower one.
    static func lowered(_ raw: [UInt8], on curve: EllipticCurve) -> [UInt8] {
        let order = order(curve)
        let s = Array(raw[curve.size...])
        var difference = [UInt8](repeating: 0, count: curve.size)
        var borrow = 0
        for index in (0..<curve.size).reversed() {
            let value = Int(order[index]) - Int(s[index]) - borrow
            difference[index] = UInt8(truncatingIfNeeded: value)
            borrow = value < 0 ? 1 : 0
        }
        guard borrow == 0, difference.lexicographicallyPrecedes(s) else { return raw }
        return raw[..<curve.size] + difference
    }

    /// The order n of the base point, big-endian (FIPS 186-5 and SP 800-186 §3.2.1).
    private static func order(_ curve: EllipticCurve) -> [UInt8] {
        let hexadecimal: String
        switch curve {
        case .p256: hexadecimal = "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551"
        case .p384:
            hexadecimal =
                "ffffffffffffffffffffffffffffffffffffffffffffffffc7634d81f4372ddf581a0db248b0a77aecec196accc52973"
        case .p521:
            hexadecimal =
                "01" + String(repeating: "f", count: 64)
                + "fa51868783bf2f966b7fcc0148f709a5d03bb5c9b8899c47aebb6fb71e91386409"
        }
        let digits = hexadecimal.utf8.compactMap(\.hexadecimalDigit)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
