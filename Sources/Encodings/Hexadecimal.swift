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
    /// - Parameter place: The index of the digit, from 0 (the highest) to 15.
    @inlinable
    package func hexadecimalDigit(_ place: Int) -> UInt8 {
        let digit = UInt8(truncatingIfNeeded: self >> UInt64(60 - 4 * place)) & 0xF
        return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
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
    /// Appends bytes in lower-case hexadecimal, two digits for each.
    @inlinable
    package mutating func append(hexadecimal bytes: some Collection<UInt8>) {
        let digit = { (value: UInt8) in value < 10 ? 0x30 + value : 0x57 + value }
        var place = count
        // Room for all at once: an append for each digit takes twice as long.
        append(contentsOf: repeatElement(0, count: 2 * bytes.count))
        for byte in bytes {
            self[place] = digit(byte >> 4)
            self[place + 1] = digit(byte & 15)
            place += 2
        }
    }
}
