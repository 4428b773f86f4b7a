// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The escapes of JSON strings (RFC 8259 §7).
enum JSONEscape {
    /// Reads the escape whose backslash stands at `position`, and moves behind it.
    static func read(from bytes: Span<UInt8>, at position: inout Int) throws(JSONFault) -> Unicode.Scalar {
        guard position + 1 < bytes.count else { throw .notJSON }
        let letter = bytes[position + 1]
        position += 2
        switch letter {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): return Unicode.Scalar(letter)
        case UInt8(ascii: "b"): return "\u{8}"
        case UInt8(ascii: "f"): return "\u{C}"
        case UInt8(ascii: "n"): return "\n"
        case UInt8(ascii: "r"): return "\r"
        case UInt8(ascii: "t"): return "\t"
        case UInt8(ascii: "u"):
            var code = try hexadecimal(from: bytes, at: &position)
            if 0xD800...0xDBFF ~= code {
                guard bytes.starts(with: "\\u", at: position) else { throw .notJSON }
                position += 2
                let low = try hexadecimal(from: bytes, at: &position)
                guard 0xDC00...0xDFFF ~= low else { throw .notJSON }
                code = 0x10000 + (code - 0xD800) << 10 + (low - 0xDC00)
            }
            guard let scalar = Unicode.Scalar(code) else { throw .notJSON }
            return scalar
        default: throw .notJSON
        }
    }

    private static func hexadecimal(from bytes: Span<UInt8>, at position: inout Int) throws(JSONFault) -> UInt32 {
        guard position + 4 <= bytes.count else { throw .notJSON }
        var code: UInt32 = 0
        for index in position..<position + 4 {
            guard let digit = bytes[index].hexadecimalDigit else { throw .notJSON }
            code = code << 4 | UInt32(digit)
        }
        position += 4
        return code
    }

    /// Returns the UTF-8 of the text between the quotes of a string.
    @inline(never)
    static func unescaped(_ text: Span<UInt8>) throws(JSONFault) -> [UInt8] {
        var plain: [UInt8] = []
        plain.reserveCapacity(text.count)
        var index = 0
        while let escape = text.firstIndex(of: UInt8(ascii: "\\"), from: index) {
            plain.append(copying: text.extracting(index..<escape))
            index = escape
            plain.append(try read(from: text, at: &index))
        }
        plain.append(copying: text.extracting(index...))
        return plain
    }
}

extension [UInt8] {
    /// Appends the UTF-8 of a character.
    mutating func append(_ scalar: Unicode.Scalar) {
        if scalar.isASCII {
            append(UInt8(truncatingIfNeeded: scalar.value))
        } else {
            append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        }
    }
}
