// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

// The meaning of bytes of a document: references to characters, and line ends.

extension Span<UInt8> {
    /// Returns the text of `range` as a parser reports it (XML 1.0 §2.11, §3.3.3, §4.1); nil if an entity is not one of
    /// the five predefined ones.
    ///
    /// - Parameter isAttribute: True if white space becomes spaces, as in the value of an attribute.
    package func decodedXML(_ range: Range<Int>, isAttribute: Bool) -> [UInt8]? {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(range.count)
        var position = range.lowerBound
        while position < range.upperBound {
            let byte = self[position]
            position += 1
            switch byte {
            case 0xD:
                if position < range.upperBound, self[position] == 0xA { position += 1 }
                decoded.append(isAttribute ? 0x20 : 0xA)
            case 0x9, 0xA: decoded.append(isAttribute ? 0x20 : byte)
            case UInt8(ascii: "&"):
                guard let end = firstIndex(of: UInt8(ascii: ";"), from: position), end < range.upperBound,
                    let character = character(of: position..<end)
                else { return nil }
                decoded += UTF8.encode(character)?.map { $0 } ?? []
                position = end + 1
            default: decoded.append(byte)
            }
        }
        return decoded
    }

    /// Returns the character that the reference with this name stands for.
    private func character(of name: Range<Int>) -> Unicode.Scalar? {
        guard 2...12 ~= name.count else { return nil }
        guard self[name.lowerBound] == UInt8(ascii: "#") else {
            switch name.count {
            case 2 where starts(with: "lt", at: name.lowerBound): return "<"
            case 2 where starts(with: "gt", at: name.lowerBound): return ">"
            case 3 where starts(with: "amp", at: name.lowerBound): return "&"
            case 4 where starts(with: "quot", at: name.lowerBound): return "\""
            case 4 where starts(with: "apos", at: name.lowerBound): return "'"
            default: return nil
            }
        }
        let isHexadecimal = self[name.lowerBound + 1] == UInt8(ascii: "x")
        let digits = name.dropFirst(isHexadecimal ? 2 : 1)
        guard !digits.isEmpty else { return nil }
        var number: UInt32 = 0
        for position in digits {
            guard let digit = self[position].hexadecimalDigit, isHexadecimal || digit < 10, number < 0x11_0000 else {
                return nil
            }
            number = number * (isHexadecimal ? 16 : 10) + UInt32(digit)
        }
        return Unicode.Scalar(number)
    }
}
