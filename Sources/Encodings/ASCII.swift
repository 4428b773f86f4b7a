// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension UInt8 {
    /// True for `0` to `9`.
    @inlinable
    package var isASCIIDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    /// True for `A` to `Z`.
    @inlinable
    package var isASCIIUppercase: Bool { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= self }

    /// True for `A` to `Z` and `a` to `z`.
    @inlinable
    package var isASCIILetter: Bool { UInt8(ascii: "a")...UInt8(ascii: "z") ~= self | 0x20 }

    /// True for letters and digits.
    @inlinable
    package var isASCIIAlphanumeric: Bool { isASCIILetter || isASCIIDigit }

    /// The small letter of a capital one; any other byte as it is.
    @inlinable
    package var lowercasedASCII: UInt8 { isASCIIUppercase ? self | 0x20 : self }

    /// True for the white space of XML: space, tab, line feed, carriage return.
    @inlinable
    package var isXMLSpace: Bool { self == 0x20 || self == 0x9 || self == 0xA || self == 0xD }

    /// True for the characters of a token, such as the name of a header field (RFC 9110 §5.6.2).
    @inlinable
    package var isTokenCharacter: Bool {
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#")...UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^")...UInt8(ascii: "`"), UInt8(ascii: "|"),
            UInt8(ascii: "~"):
            true
        default: isASCIIAlphanumeric
        }
    }

    /// True for the unreserved characters of URIs (RFC 3986 §2.3).
    @inlinable
    package var isUnreserved: Bool {
        switch self {
        case UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "~"): true
        default: isASCIIAlphanumeric
        }
    }
}

extension String {
    /// True if this equals `name`, which is in lower case, ignoring the case of ASCII letters. No other characters are
    /// folded: `_` is not `-`.
    @inlinable
    package func isSameField(_ name: StaticString) -> Bool {
        // Most names differ in their lengths, which are compared without a call.
        utf8.count == name.utf8CodeUnitCount && hasSameLetters(as: name)
    }

    /// True if this equals `name`, which has the same length.
    @usableFromInline
    func hasSameLetters(as name: StaticString) -> Bool { utf8.span.hasSameLetters(as: name) }
}

extension Substring {
    /// True if this equals `name`, which is in lower case, ignoring the case of ASCII letters.
    @inlinable
    package func isSameField(_ name: StaticString) -> Bool {
        utf8.count == name.utf8CodeUnitCount && utf8.span.hasSameLetters(as: name)
    }
}

extension Span<UInt8> {
    /// True if these bytes are `name`, which is in lower case, ignoring the case of ASCII letters.
    @inlinable
    package func isSameField(_ name: StaticString) -> Bool {
        count == name.utf8CodeUnitCount && hasSameLetters(as: name)
    }

    /// True if these bytes are `name`, which has the same length.
    @usableFromInline
    func hasSameLetters(as name: StaticString) -> Bool {
        name.withUTF8Buffer { name in
            for index in indices {
                guard unsafe self[index].lowercasedASCII == name[index] else { return false }
            }
            return true
        }
    }
}
