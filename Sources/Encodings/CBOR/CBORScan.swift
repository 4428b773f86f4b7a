// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The heads of CBOR items, and the order of encoded keys.
enum CBORScan {
    /// The major type of an item (RFC 8949 §3.1).
    enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, other
    }

    struct Head {
        let kind: Kind
        /// The five low bits of the first byte.
        let additional: UInt8
        let value: UInt64
        /// The length of a string in bytes, which are all there, and 0 for other items.
        let byteCount: Int
    }

    enum Order { case less, equal, greater }

    /// Reads a head, and moves `position` behind it.
    @inline(__always)
    static func head(in bytes: Span<UInt8>, at position: inout Int, allowsLongTags: Bool) throws(CBORFault) -> Head {
        guard position < bytes.count else { throw .truncated }
        let first = bytes[position]
        position += 1
        let additional = first & 0x1F
        guard let kind = Kind(rawValue: first >> 5) else { throw .reserved }  // Never: three bits have eight values.
        var value = UInt64(additional)
        if additional >= 24 {
            guard additional < 28 else { throw additional == 31 ? .indefiniteLength : .reserved }
            value = try argument(in: bytes, at: &position, size: 1 << Int(additional - 24))
            if kind != .other, value < least(additional), kind != .tag || !allowsLongTags { throw .notShortest }
        }
        guard kind == .bytes || kind == .text else {
            return Head(kind: kind, additional: additional, value: value, byteCount: 0)
        }
        guard let count = Int(exactly: value), count <= bytes.count - position else { throw .truncated }
        return Head(kind: kind, additional: additional, value: value, byteCount: count)
    }

    private static func argument(in bytes: Span<UInt8>, at position: inout Int, size: Int) throws(CBORFault) -> UInt64 {
        guard size <= bytes.count - position else { throw .truncated }
        var value: UInt64 = 0
        for index in position..<position + size { value = value << 8 | UInt64(bytes[index]) }
        position += size
        return value
    }

    /// The least number that needs the form of `additional`.
    private static func least(_ additional: UInt8) -> UInt64 {
        switch additional {
        case 24: 24
        case 25: 1 << 8
        case 26: 1 << 16
        default: 1 << 32
        }
    }

    static func isUTF8(_ text: Span<UInt8>) -> Bool {
        do {
            _ = try UTF8Span(validating: text)
            return true
        } catch {
            return false
        }
    }

    /// Compares two ranges of bytes in bytewise lexicographic order, in which RFC 8949 §4.2.1 sorts encoded keys.
    static func order(in bytes: Span<UInt8>, left: Range<Int>, right: Range<Int>) -> Order {
        for offset in 0..<min(left.count, right.count) {
            let (first, second) = (bytes[left.lowerBound + offset], bytes[right.lowerBound + offset])
            if first != second { return first < second ? .less : .greater }
        }
        return left.count == right.count ? .equal : left.count < right.count ? .less : .greater
    }

    /// True if the entries from `start` up to the encoded `key` have the same key. They were read before.
    static func hasKey(in bytes: Span<UInt8>, at key: Range<Int>, from start: Int) -> Bool {
        var position = start
        while position < key.lowerBound {
            let known = end(in: bytes, ofItemAt: position)
            if order(in: bytes, left: position..<known, right: key) == .equal { return true }
            position = end(in: bytes, ofItemAt: known)
        }
        return false
    }

    /// Returns the end of the well-formed item at `start`.
    static func end(in bytes: Span<UInt8>, ofItemAt start: Int) -> Int {
        var position = start
        var left = 1
        while left > 0 {
            // Nothing that was read before is refused now. If it were, the search would end here.
            guard let head = try? head(in: bytes, at: &position, allowsLongTags: true) else { return bytes.count }
            left -= 1
            position += head.byteCount
            switch head.kind {
            case .array: left += Int(truncatingIfNeeded: head.value)
            case .map: left += 2 * Int(truncatingIfNeeded: head.value)
            case .tag: left += 1
            default: break
            }
        }
        return position
    }
}

extension Double {
    /// Creates the number that the IEEE 754 half-precision `bits` stand for (RFC 8949 §3.3). Exact.
    init(halfBits bits: UInt16) {
        let fraction = UInt64(bits & 0x3FF)
        let exponent = UInt64(bits >> 10 & 0x1F)
        let sign = UInt64(bits >> 15) << 63
        switch exponent {
        case 0: self = Double(fraction) * 0x1p-24 * (sign == 0 ? 1 : -1)
        case 31: self = Double(bitPattern: sign | 0x7FF << 52 | fraction << 42)
        default: self = Double(bitPattern: sign | (exponent + 1008) << 52 | fraction << 42)
        }
    }

    /// The least number of bytes, 2, 4 or 8, that a float of this finite number has.
    var shortestFloatSize: Int {
        if halfBits != nil { return 2 }
        return Double(Float(self)) == self ? 4 : 8
    }

    /// The bits of this number in half precision, or `nil` if it has none exactly.
    var halfBits: UInt16? {
        let sign = UInt16(bitPattern >> 63) << 15
        if isZero { return sign }
        guard isFinite else { return nil }
        let scaled = magnitude * 0x1p24
        // Subnormal numbers are multiples of 2⁻²⁴ below 2⁻¹⁴.
        if scaled < 1024 { return scaled.rounded() == scaled ? sign | UInt16(scaled) : nil }
        let power = Int(exponent)
        guard power <= 15, significandBitPattern & (1 << 42 - 1) == 0 else { return nil }
        return sign | UInt16(power + 15) << 10 | UInt16(significandBitPattern >> 42)
    }
}
