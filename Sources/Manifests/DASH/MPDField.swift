// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// The location of a value in the bytes of an MPD, without white space at its ends.
struct MPDField {
    /// The bytes of the value, as escaped in the document.
    let range: Range<Int>
    /// The number of the tag.
    let tag: Int
    /// True if the value is the text of an element, and not that of an attribute.
    let isText: Bool
    /// True if nothing in the bytes is escaped.
    let isLiteral: Bool
    /// The bytes that are replaced by another value: with the marks around them if they are a CDATA section.
    let replaced: Range<Int>

    init(
        _ range: Range<Int>,
        tag: Int,
        isText: Bool,
        isLiteral: Bool,
        isCharacterData: Bool = false,
        in document: Span<UInt8>
    ) {
        var (start, end) = (range.lowerBound, range.upperBound)
        while start < end, document[start].isXMLSpace { start += 1 }
        while end > start, document[end - 1].isXMLSpace { end -= 1 }
        self.range = start..<end
        replaced = isCharacterData ? range.lowerBound - 9..<range.upperBound + 3 : start..<end
        self.tag = tag
        self.isText = isText
        self.isLiteral = isLiteral
    }

    /// Returns the value, unescaped; nil if it cannot be, which the parser has ruled out.
    func value(in document: Span<UInt8>) -> [UInt8]? {
        isLiteral ? [UInt8](document.extracting(range)) : document.decodedXML(range, isAttribute: !isText)
    }
}

/// An edit of a document: bytes that replace others.
struct MPDEdit {
    let range: Range<Int>
    let replacement: [UInt8]
}

extension [UInt8] {
    /// Appends `value` so that it can stand in an element and between quotation marks of both kinds.
    mutating func appendEscaped(_ value: Span<UInt8>) {
        appendXML(value) { $0 == UInt8(ascii: "'") ? "&apos;" : $0.referenceInValue }
    }
}

extension XMLPositions {
    /// Returns the edit that writes `value` at a location.
    func edit(_ field: MPDField, to value: [UInt8], in document: Span<UInt8>) -> MPDEdit {
        var replacement: [UInt8] = []
        guard field.isText, tags[field.tag].isEmpty else {
            replacement.appendEscaped(value.span)
            return MPDEdit(range: field.replaced, replacement: replacement)
        }
        // `<BaseURL/>` becomes `<BaseURL>…</BaseURL>`.
        let tag = tags[field.tag]
        let start = Int(tag.start) + 1
        var end = start
        while !document[end].isXMLSpace, document[end] != UInt8(ascii: "/") { end += 1 }
        replacement.append(UInt8(ascii: ">"))
        replacement.appendEscaped(value.span)
        replacement += "</".utf8
        replacement.append(copying: document.extracting(start..<end))
        replacement.append(UInt8(ascii: ">"))
        return MPDEdit(range: Int(tag.end) - 2..<Int(tag.end), replacement: replacement)
    }
}
