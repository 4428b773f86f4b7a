// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The location of a start tag.
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

/// A search for the start tags of a document, only by its bytes.
///
/// Knows the shape of a document and nothing else: what is between `<` and `>`, which of it are comments, processing
/// instructions and CDATA sections, and how deep the elements are. libxml2 judges the rest; ``XMLPositionReader`` compares
/// both. Runs before libxml2, so that a tag with very many attributes, which libxml2 compares with each other, never gets
/// there.
struct XMLTagScanner: ~Copyable {
    var tags: [XMLTag] = []
    private var position: Int
    private var depth: Int32 = 0

    /// Scans `document`, at most 2 GiB. Returns the reason if it is refused.
    static func tags(of document: Span<UInt8>, limits: XMLPositionLimits) -> Result<[XMLTag], XMLPositionFault> {
        guard document.count < Int(Int32.max) else { return .failure(.parsing(.tooManyElements)) }
        var scanner = XMLTagScanner(document)
        scanner.tags.reserveCapacity(min(document.count / 64 + 8, limits.elements, 1024))
        guard let fault = scanner.scan(document, limits: limits) else { return .success(scanner.tags) }
        return .failure(fault)
    }

    private init(_ document: Span<UInt8>) { position = document.starts(with: "\u{FEFF}", at: 0) ? 3 : 0 }

    private mutating func scan(_ document: Span<UInt8>, limits: XMLPositionLimits) -> XMLPositionFault? {
        while let start = document.firstIndex(of: UInt8(ascii: "<"), from: position) {
            guard start + 1 < document.count else { return .disagreement }
            switch document[start + 1] {
            case UInt8(ascii: "?"): guard skip(past: "?>", in: document, from: start + 2) else { return .disagreement }
            case UInt8(ascii: "!"):
                if document.starts(with: "<!--", at: start) {
                    guard skip(past: "-->", in: document, from: start + 4) else { return .disagreement }
                } else if document.starts(with: "<![CDATA[", at: start) {
                    guard skip(past: "]]>", in: document, from: start + 9) else { return .disagreement }
                } else {
                    return .parsing(.doctype)
                }
            case UInt8(ascii: "/"):
                guard depth > 0, skip(past: ">", in: document, from: start + 2) else { return .disagreement }
                depth -= 1
            default:
                if let fault = readTag(in: document, from: start, limits: limits) { return fault }
            }
        }
        return depth == 0 ? nil : .disagreement
    }

    /// Moves behind the next `end`; false if there is none.
    private mutating func skip(past end: StaticString, in document: Span<UInt8>, from start: Int) -> Bool {
        let last = end.utf8CodeUnitCount - 1
        var position = start + last
        while let found = document.firstIndex(of: UInt8(ascii: ">"), from: position) {
            if document.starts(with: end, at: found - last) {
                self.position = found + 1
                return true
            }
            position = found + 1
        }
        return false
    }

    /// Reads a start tag, within the limits.
    private mutating func readTag(
        in document: Span<UInt8>,
        from start: Int,
        limits: XMLPositionLimits
    ) -> XMLPositionFault? {
        let limit = min(document.count, start + limits.tagSize)
        var position = start + 1
        var attributes = 0
        while position < limit, document[position] != UInt8(ascii: ">") {
            let byte = document[position]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                attributes += 1
                guard let end = document.firstIndex(of: byte, from: position + 1) else { return .disagreement }
                position = end
            }
            position += 1
        }
        guard position < limit, attributes <= limits.attributes else {
            return limit == document.count && attributes <= limits.attributes ? .disagreement : .tagTooLong
        }
        let isEmpty = document[position - 1] == UInt8(ascii: "/")
        guard Int(depth) < limits.depth else { return .parsing(.tooDeep) }
        guard tags.count < limits.elements else { return .parsing(.tooManyElements) }
        tags.append(XMLTag(start: Int32(start), end: Int32(position + 1), depth: depth + 1, isEmpty: isEmpty))
        if !isEmpty { depth += 1 }
        self.position = position + 1
        return nil
    }
}
