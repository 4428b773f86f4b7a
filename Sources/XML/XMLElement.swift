// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// An element with its content but without its attributes, for small documents that are read as a whole and without
/// need for speed.
package struct XMLElement: Hashable, Sendable {
    /// The URI of the namespace; empty if there is none.
    package var namespace: String
    /// The name without a prefix.
    package var name: String
    /// The child elements in document order.
    package var children: [XMLElement]
    /// The text directly in the element, joined from all pieces.
    package var text: String

    /// Creates an element.
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

    /// Returns the first child element of that name, in any namespace.
    package func first(_ name: String) -> XMLElement? { children.first { $0.name == name } }

    /// An error in reading or writing a document.
    package struct Fault: Error, Hashable {
        /// The explanation in words, for people.
        package let reason: String
    }

    /// Parses a document of at most 16 levels, 50,000 elements and 1 KiB for each tag.
    ///
    /// Refuses a document type and all entities but the predefined and numeric ones. Uses no network. Refuses text in
    /// several pieces, with elements, comments or processing instructions between them, because other readers may
    /// accept one piece as the whole.
    package init(reading document: Span<UInt8>) throws(Fault) {
        // libxml2 compares each attribute of a tag with all attributes before it.
        guard document.tagsHaveAtMost(1024) else { throw Fault(reason: "a tag is too long") }
        let limits = XMLLimits(depth: 16, elements: 50_000, root: nil, utf8Only: true)
        guard var parser = XMLEventParser(limits: limits) else { throw Fault(reason: "out of memory") }
        parser.read(document, isLast: true)
        switch parser.failure {
        case nil: break
        case .doctype: throw Fault(reason: "a document type declaration is not allowed")
        case .tooDeep, .tooManyElements, .tooLarge: throw Fault(reason: "too many elements, or nested too deeply")
        case .syntax(_, let line, let column): throw Fault(reason: "not well-formed, line \(line), column \(column)")
        default: throw Fault(reason: "not XML in UTF-8")
        }
        let events = parser.events
        // The open elements from the root on. The first entry is a container for the finished root.
        var open = [XMLElement("")]
        for index in events.list.indices {
            let event = events.list[index]
            switch event.kind {
            case .start:
                let namespace = String(decoding: events.namespace(event.namespace), as: UTF8.self)
                open.append(XMLElement(events.string(event.name), namespace: namespace))
            case .attribute: break
            case .interruption: throw Fault(reason: "a comment or processing instruction within text")
            case .text: open[open.count - 1].text += events.string(event.value)
            case .end:
                guard open.count > 1 else { throw Fault(reason: "an end tag without a start tag") }
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

    /// Returns this element as a document, in one line and without a declaration. Every element with a namespace
    /// declares it: this one with `prefix`, those in it without a prefix.
    ///
    /// - Throws: ``Fault`` if a text has a character that XML does not allow.
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
            bytes.appendXMLAttributeValue(namespace.utf8.span)
            bytes += "\"".utf8
        }
        bytes += ">".utf8
        bytes.appendXMLText(text.utf8.span)
        for child in children { child.write(to: &bytes, prefix: "") }
        bytes += "</\(full)>".utf8
    }
}

extension Span<UInt8> {
    /// Returns true if no tag is longer than `limit` bytes, from a `<` to the next `>`.
    fileprivate func tagsHaveAtMost(_ limit: Int) -> Bool {
        var start: Int?
        for position in indices {
            switch self[position] {
            case UInt8(ascii: "<"): start = start ?? position
            case UInt8(ascii: ">"): start = nil
            default: break
            }
            if let start, position - start > limit { return false }
        }
        return true
    }
}
