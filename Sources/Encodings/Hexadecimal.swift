// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension UInt8 {
    /// The value of this byte as an ASCII hexadecimal digit of either case, or `nil` if it is not a digit.
    @inlinable
    package var hexadecimalDigit: UInt8? {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): self - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): self - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): self - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}

extension UInt64 {
    /// Returns one of the 16 lower-case hexadecimal digits, in ASCII.
    ///
    /// - Parameter position: The index of the digit, from 0 (the highest) to 15.
    @inlinable
    package func hexadecimalDigit(_ position: Int) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * position)) & 0xF
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
}

extension Span<UInt8> {
    /// The number of at most 16 lower-case hexadecimal digits, the highest first.
    ///
    /// - Parameter digits: Their indices.
    /// - Returns: `nil` if there is another byte, or if the range is empty, longer than 16, or outside the span.
    package func lowercaseHexadecimal(_ digits: Range<Int>) -> UInt64? {
        guard 1...16 ~= digits.count, digits.lowerBound >= 0, digits.upperBound <= count else { return nil }
        var (number, position) = (0 as UInt64, digits.lowerBound)
        while position <= digits.upperBound - 8, let word = word(at: position) {
            guard let eight = word.lowercaseHexadecimalDigits else { return nil }
            number = number << 32 | eight
            position += 8
        }
        while position < digits.upperBound {
            guard let digit = self[position].hexadecimalDigit, !self[position].isASCIIUppercase else { return nil }
            number = number << 4 | UInt64(digit)
            position += 1
        }
        return number
    }
}

extension UInt64 {
    /// The number that these eight bytes of ASCII write in lower-case hexadecimal digits; `nil` if one is another byte.
    fileprivate var lowercaseHexadecimalDigits: UInt64? {
        guard self & .highBits == 0 else { return nil }
        let letters = reaching(0x61) & ~reaching(0x67) & .highBits
        let numerals = reaching(0x30) & ~reaching(0x3A) & .highBits
        guard letters | numerals == .highBits else { return nil }
        var digits = (self & 0x0F0F_0F0F_0F0F_0F0F) &+ (letters >> 7) &* 9
        digits = (digits | digits >> 4) & 0x00FF_00FF_00FF_00FF
        digits = (digits | digits >> 8) & 0x0000_FFFF_0000_FFFF
        return (digits | digits >> 16) & 0xFFFF_FFFF
    }
}

extension Collection<UInt8> {
    /// The bytes in lower-case hexadecimal, two digits for each.
    @inlinable
    package var hexadecimal: String {
        var digits: [UInt8] = []
        digits.append(hexadecimal: self)
        return String(decoding: digits, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Reads pairs of hexadecimal digits of either case; `nil` for other bytes, or an odd number of them.
    package init?(hexadecimalDigits digits: some Collection<UInt8>) {
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        var high: UInt8?
        for byte in digits {
            guard let digit = byte.hexadecimalDigit else { return nil }
            if let first = high { append(first << 4 | digit) }
            high = high == nil ? digit : nil
        }
    }
}

extension [UInt8] {
    /// Appends bytes in lower-case hexadecimal, two digits for each.
    @inlinable
    package mutating func append(hexadecimal bytes: some Collection<UInt8>) {
        let digit = { (value: UInt8) in value < 10 ? 0x30 + value : 0x57 + value }
        var position = count
        // Room for all at once: an append for each digit is twice as slow.
        append(contentsOf: repeatElement(0, count: 2 * bytes.count))
        for byte in bytes {
            self[position] = digit(byte >> 4)
            self[position + 1] = digit(byte & 15)
            position += 2
        }
    }
}
