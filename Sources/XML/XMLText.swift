// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Encodings

// Text of XML: legal characters, white space, escaping.

extension String {
    /// True if every character is allowed in an XML 1.0 document (<https://www.w3.org/TR/xml/#charsets>).
    package var isLegalXML: Bool {
        utf8.span.isPlainXML
            || unicodeScalars.allSatisfy { scalar in
                switch scalar.value {
                case 0x9, 0xA, 0xD, 0x20...0xD7FF, 0xE000...0xFFFD, 0x10000...0x10FFFF: true
                default: false
                }
            }
    }
}

extension Span<UInt8> {
    /// True for printable ASCII and delete, which nearly all text is, and which needs no decoding to be found legal.
    package var isPlainXML: Bool {
        var isPlain = true
        for index in indices where self[index] &- 0x20 >= 0x60 { isPlain = false }
        return isPlain
    }
}

extension BidirectionalCollection where Element == UInt8 {
    /// Returns the bytes without XML white space at either end.
    @inlinable
    package func trimmingXMLSpace() -> SubSequence {
        let tail = drop(while: \.isXMLSpace)
        guard let last = tail.lastIndex(where: { !$0.isXMLSpace }) else { return self[startIndex..<startIndex] }
        return tail[...last]
    }
}

extension [UInt8] {
    /// Appends `text` as character data. Writes a carriage return as a reference, because a parser reads a literal one
    /// as a line feed.
    @inlinable
    package mutating func appendXMLText(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "&"): append(contentsOf: "&amp;".utf8)
            case UInt8(ascii: "<"): append(contentsOf: "&lt;".utf8)
            case UInt8(ascii: ">"): append(contentsOf: "&gt;".utf8)
            case 0xD: append(contentsOf: "&#13;".utf8)
            default: append(byte)
            }
        }
    }

    /// Appends `text` as the value of an attribute between double quotes.
    @inlinable
    package mutating func appendXMLAttributeValue(_ text: some Sequence<UInt8>) {
        for byte in text {
            switch byte {
            case UInt8(ascii: "\""): append(contentsOf: "&quot;".utf8)
            case 0x9: append(contentsOf: "&#9;".utf8)
            case 0xA: append(contentsOf: "&#10;".utf8)
            default: appendXMLText(CollectionOfOne(byte))
            }
        }
    }
}
