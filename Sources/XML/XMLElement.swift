// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// An element with all that is in it, attributes aside: for small documents that are read as a whole, where speed does not
/// matter.
package struct XMLElement: Hashable, Sendable {
    /// The URI of its namespace; empty where it has none.
    package var namespace: String
    /// Its name without a prefix.
    package var name: String
    package var children: [XMLElement]
    /// The text directly in it, from all pieces.
    package var text: String

    package init(
        _ name: String,
        namespace: String = "",
        text: String = "",
        children: [XMLElement] = []
    ) {
        self.namespace = namespace
        self.name = name
        self.text = text
        self.children = children
    }

    /// The first element of that name directly in this one, whatever its namespace.
    package func first(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// Why a document cannot be read.
    package struct Fault: Error, Hashable {
        package let reason: String
    }

    /// Reads a document of at most 16 levels, 50,000 elements and 1 KiB a tag. No document type, no entity but the predefined and
    /// numeric ones, no network. Text in several pieces, with elements, comments or processing instructions between them, is
    /// a fault: other readers may take one of them for the whole.
    package init(reading document: Span<UInt8>) throws(Fault) {
        // libxml2 compares each attribute of a tag with all before it.
        guard document.tagsHaveAtMost(1024) else { throw Fault(reason: "a tag is too long") }
        let limits = XMLLimits(depth: 16, elements: 50_000, root: nil, utf8Only: true)
        guard var parser = XMLEventParser(limits: limits) else { throw Fault(reason: "no memory") }
        parser.read(document, isLast: true)
        switch parser.failure {
        case nil: break
        case .doctype: throw Fault(reason: "it has a document type")
        case .tooDeep, .tooManyElements: throw Fault(reason: "it has too many elements, or nests them too deep")
        case .syntax(_, let line, let column): throw Fault(reason: "not well-formed, line \(line), column \(column)")
        default: throw Fault(reason: "not XML in UTF-8")
        }
        let events = parser.events
        // The elements that are open, from the root on; the first holds what is done.
        var open = [XMLElement("")]
        for index in events.indices {
            let event = events[index]
            switch event.kind {
            case .start:
                let namespace = String(decoding: events.namespace(event.namespace), as: UTF8.self)
                open.append(XMLElement(events.string(event.name), namespace: namespace))
            case .attribute: break
            case .interruption: throw Fault(reason: "a comment or processing instruction within text")
            case .text: open[open.count - 1].text += events.string(event.value)
            case .end:
                guard open.count > 1 else { throw Fault(reason: "an end without a start") }
                let done = open.removeLast()
                guard done.children.isEmpty || done.text.utf8.allSatisfy(\.isXMLSpace) else {
                    throw Fault(reason: "text beside elements")
                }
                open[open.count - 1].children.append(done)
            }
        }
        guard open.count == 1, open[0].children.count == 1 else { throw Fault(reason: "no root element") }
        self = open[0].children[0]
    }

    /// This element as a document, in one line and without a declaration. A namespace is declared where it begins, with
    /// `prefix` on the element itself; what is in it has none.
    ///
    /// - Throws: Where a text has a character that XML does not allow.
    package func document(prefix: String = "") throws(Fault) -> String {
        var bytes: [UInt8] = []
        write(to: &bytes, prefix: namespace.isEmpty ? "" : prefix)
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.isLegalXML else { throw Fault(reason: "a text has a character that XML does not allow") }
        return text
    }

    private func write(to bytes: inout [UInt8], prefix: String) {
        let full = prefix.isEmpty ? name : "\(prefix):\(name)"
        bytes += "<\(full)".utf8
        if !namespace.isEmpty {
            bytes += (prefix.isEmpty ? " xmlns=\"" : " xmlns:\(prefix)=\"").utf8
            bytes.appendXMLAttributeValue(namespace.utf8)
            bytes += "\"".utf8
        }
        bytes += ">".utf8
        bytes.appendXMLText(text.utf8)
        for child in children { child.write(to: &bytes, prefix: "") }
        bytes += "</\(full)>".utf8
    }
}

extension Span<UInt8> {
    /// Whether what stands between a `<` and the next `>` is never longer than `limit`.
    fileprivate func tagsHaveAtMost(_ limit: Int) -> Bool {
        var start: Int?
        for place in indices {
            switch self[place] {
            case UInt8(ascii: "<"): start = start ?? place
            case UInt8(ascii: ">"): start = nil
            default: break
            }
            if let start, place - start > limit { return false }
        }
        return true
    }
}
