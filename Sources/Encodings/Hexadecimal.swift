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

extension Sequence<UInt8> {
    /// The bytes in lower-case hexadecimal, two digits for each.
    @inlinable
    package var hexadecimal: String {
        let digit = { (value: UInt8) in value < 10 ? 0x30 + value : 0x57 + value }
        var digits: [UInt8] = []
        digits.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            digits.append(digit(byte >> 4))
            digits.append(digit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }
}
