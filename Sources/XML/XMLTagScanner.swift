// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The place of a start tag.
package struct XMLTag {
    /// The offset of its `<`.
    package var start: Int32
    /// The offset behind its `>`.
    package var end: Int32
    /// The depth of its element; the root has depth 1.
    package var depth: Int32
    /// True if the tag is that of an empty element, `<a/>`.
    package var isEmpty: Bool
}

/// A search for the start tags of a document, by its bytes alone.
///
/// Knows the shape of a document and nothing else: what is between `<` and `>`, which of it are comments, processing
/// instructions and CDATA sections, and how deep the elements are. libxml2 judges the rest; ``XMLPlaceReader`` compares
/// both. Runs before libxml2, so that a tag with very many attributes, which libxml2 compares with each other, never gets
/// there.
struct XMLTagScanner: ~Copyable {
    var tags: [XMLTag] = []
    private var place: Int
    private var depth: Int32 = 0

    /// Scans `document`, at most 2 GiB. Returns the reason if it is refused.
    static func tags(of document: Span<UInt8>, limits: XMLPlaceLimits) -> Result<[XMLTag], XMLPlaceFault> {
        guard document.count < Int(Int32.max) else { return .failure(.parsing(.tooManyElements)) }
        var scanner = XMLTagScanner(document)
        scanner.tags.reserveCapacity(min(document.count / 64 + 8, limits.elements, 1024))
        guard let fault = scanner.scan(document, limits) else { return .success(scanner.tags) }
        return .failure(fault)
    }

    private init(_ document: Span<UInt8>) { place = document.starts(with: "\u{FEFF}", at: 0) ? 3 : 0 }

    private mutating func scan(_ document: Span<UInt8>, _ limits: XMLPlaceLimits) -> XMLPlaceFault? {
        while let start = document.firstIndex(of: UInt8(ascii: "<"), from: place) {
            guard start + 1 < document.count else { return .disagreement }
            switch document[start + 1] {
            case UInt8(ascii: "?"): guard skip("?>", document, from: start + 2) else { return .disagreement }
            case UInt8(ascii: "!"):
                if document.starts(with: "<!--", at: start) {
                    guard skip("-->", document, from: start + 4) else { return .disagreement }
                } else if document.starts(with: "<![CDATA[", at: start) {
                    guard skip("]]>", document, from: start + 9) else { return .disagreement }
                } else {
                    return .parsing(.doctype)
                }
            case UInt8(ascii: "/"):
                guard depth > 0, skip(">", document, from: start + 2) else { return .disagreement }
                depth -= 1
            default:
                if let fault = readTag(document, from: start, limits) { return fault }
            }
        }
        return depth == 0 ? nil : .disagreement
    }

    /// Moves behind the next `end`; false if there is none.
    private mutating func skip(_ end: StaticString, _ document: Span<UInt8>, from start: Int) -> Bool {
        let last = end.utf8CodeUnitCount - 1
        var place = start + last
        while let found = document.firstIndex(of: UInt8(ascii: ">"), from: place) {
            if document.starts(with: end, at: found - last) {
                self.place = found + 1
                return true
            }
            place = found + 1
        }
        return false
    }

    /// Reads a start tag, within the limits.
    private mutating func readTag(_ document: Span<UInt8>, from start: Int, _ limits: XMLPlaceLimits) -> XMLPlaceFault?
    {
        let limit = min(document.count, start + limits.tagSize)
        var place = start + 1
        var attributes = 0
        while place < limit, document[place] != UInt8(ascii: ">") {
            let byte = document[place]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                attributes += 1
                guard let end = document.firstIndex(of: byte, from: place + 1) else { return .disagreement }
                place = end
            }
            place += 1
        }
        guard place < limit, attributes <= limits.attributes else {
            return limit == document.count && attributes <= limits.attributes ? .disagreement : .tagTooLong
        }
        let isEmpty = document[place - 1] == UInt8(ascii: "/")
        guard Int(depth) < limits.depth else { return .parsing(.tooDeep) }
        guard tags.count < limits.elements else { return .parsing(.tooManyElements) }
        tags.append(XMLTag(start: Int32(start), end: Int32(place + 1), depth: depth + 1, isEmpty: isEmpty))
        if !isEmpty { depth += 1 }
        self.place = place + 1
        return nil
    }
}
