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
    /// True for printable ASCII, delete and white space, which nearly all text is, and which needs no decoding to be found legal.
    package var isPlainXML: Bool {
        var position = 0
        while true {
            position = firstIndex(outside: 0x20, from: position)
            guard position < count else { return true }
            guard self[position].isXMLSpace || self[position] == 0x7F else { return false }
            position += 1
        }
    }
}

extension Span<UInt8> {
    /// True if there is nothing but XML white space.
    @inlinable
    package var isXMLSpace: Bool {
        for position in indices where !self[position].isXMLSpace { return false }
        return true
    }

    /// Returns the bytes without XML white space at either end.
    @inlinable
    @_lifetime(copy self)
    package func trimmingXMLSpace() -> Span<UInt8> {
        var (start, end) = (0, count)
        while start < end, self[start].isXMLSpace { start += 1 }
        while end > start, self[end - 1].isXMLSpace { end -= 1 }
        return extracting(start..<end)
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
    package mutating func appendXMLText(_ text: Span<UInt8>) {
        appendXML(text) { $0.referenceInText }
    }

    /// Appends `text` as the value of an attribute between double quotes.
    package mutating func appendXMLAttributeValue(_ text: Span<UInt8>) {
        appendXML(text) { $0.referenceInValue }
    }

    /// Appends `text`, with references instead of some bytes.
    @inline(__always)
    package mutating func appendXML(_ text: Span<UInt8>, by reference: (UInt8) -> StaticString?) {
        // Most text has no such byte, and is copied at once.
        var start = 0
        for position in text.indices {
            // No letter has a reference: `>` is the last byte that may have one.
            guard text[position] <= UInt8(ascii: ">"), let reference = reference(text[position]) else { continue }
            append(copying: text.extracting(start..<position))
            append(reference)
            start = position + 1
        }
        append(copying: text.extracting(start...))
    }
}

extension UInt8 {
    /// The reference by which character data has this byte; `nil` for the byte itself.
    @inline(__always)
    package var referenceInText: StaticString? {
        switch self {
        case UInt8(ascii: "&"): "&amp;"
        case UInt8(ascii: "<"): "&lt;"
        case UInt8(ascii: ">"): "&gt;"
        case 0xD: "&#13;"
        default: nil
        }
    }

    /// The reference by which the value of an attribute has this byte; `nil` for the byte itself.
    @inline(__always)
    package var referenceInValue: StaticString? {
        switch self {
        case UInt8(ascii: "\""): "&quot;"
        case 0x9: "&#9;"
        case 0xA: "&#10;"
        default: referenceInText
        }
    }
}
