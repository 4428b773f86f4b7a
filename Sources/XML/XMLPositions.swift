// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The limits of a reader of locations.
package struct XMLPositionLimits: Sendable {
    /// The largest depth of an element; the root has depth 1.
    package var depth: Int
    /// The largest number of elements in a document.
    package var elements: Int
    /// The largest number of attributes of a tag, with declarations of namespaces.
    package var attributes: Int
    /// The largest size of a start tag, in bytes.
    package var tagSize: Int

    /// Creates limits.
    package init(depth: Int, elements: Int, attributes: Int, tagSize: Int) {
        self.depth = depth
        self.elements = elements
        self.attributes = attributes
        self.tagSize = tagSize
    }
}

/// A reason why a reader of locations refuses a document.
package enum XMLPositionFault: Error, Hashable {
    /// libxml2's reason, or the same found before.
    case parsing(XMLFailure)
    /// A start tag is longer, or has more attributes, than the limit.
    case tagTooLong
    /// The scanner of tags and libxml2 read the document differently, or it has no end.
    case disagreement
}

/// The names that a reader of locations reports. Elements are identified by the index in the list.
package struct XMLSelection: Sendable {
    /// The local names of elements.
    let elements: XMLNameTable
    /// The local names of attributes of these elements.
    let attributes: XMLNameTable
    /// The index from which on the text of elements is read.
    let firstText: Int
    /// A namespace of which an attribute makes an element reported, with any name.
    let linkNamespace: StaticString

    /// Creates a selection. `texts` are names of elements of which the text is read; their indices follow `elements`.
    package init(
        elements: [StaticString],
        texts: [StaticString],
        attributes: [StaticString],
        linkNamespace: StaticString
    ) {
        self.elements = XMLNameTable(elements + texts)
        self.attributes = XMLNameTable(attributes)
        firstText = elements.count
        self.linkNamespace = linkNamespace
    }
}

/// The locations of selected elements and attributes in the bytes of a document.
package struct XMLPositions {
    /// The namespace of an attribute or element.
    package enum Namespace: UInt8 {
        /// None for an attribute; that of the root for an element.
        case own
        /// The namespace of links, for an attribute.
        case link
        /// Any other.
        case other
    }

    /// An element. Small, because a document may have very many.
    package struct Element {
        let index: UInt8
        /// The namespace of its name.
        package let namespace: Namespace
        let number: Int32
        let above: Int32
        let firstAttribute: Int32
        let attributeCount: Int32
        /// The end of the text: -1 if none is read, -2 if it is mixed.
        var textEnd: Int32 = -1
        var textStart: Int32 = 0
        /// True if the text is that of a CDATA section.
        var isCharacterData = false

        /// The index of its name in the selection; nil if only an attribute of links got it here.
        package var name: Int? { index == .max ? nil : Int(index) }
        /// The number of its start tag in the document, from 0.
        package var tag: Int { Int(number) }
        /// The number of its parent's start tag; -1 for the root.
        package var parent: Int { Int(above) }
        /// Its attributes, as a range of ``XMLPositions/attributes``.
        package var attributes: Range<Int> { Int(firstAttribute)..<Int(firstAttribute) + Int(attributeCount) }

        /// Its text.
        package var text: Text {
            switch textEnd {
            case -1: .unread
            case -2: .mixed
            default:
                isCharacterData ? .characterData(Int(textStart)..<Int(textEnd)) : .plain(Int(textStart)..<Int(textEnd))
            }
        }
    }

    /// The text of an element.
    package enum Text {
        /// No text: it is not read for this element.
        case unread
        /// Bytes without comments, CDATA sections, processing instructions and elements.
        case plain(Range<Int>)
        /// One CDATA section, with only white space around it: the bytes between `<![CDATA[` and `]]>`.
        case characterData(Range<Int>)
        /// The other case.
        case mixed
    }

    /// An attribute.
    package struct Attribute {
        let index: UInt8
        /// The namespace of its name.
        package let namespace: Namespace
        /// True if the bytes are the value: nothing in them is escaped.
        package let isLiteral: Bool
        let start: Int32
        let end: Int32

        /// The index of its name in the selection; nil for another one in the namespace of links.
        package var name: Int? { index == .max ? nil : Int(index) }
        /// The value between the quotation marks.
        package var value: Range<Int> { Int(start)..<Int(end) }
    }

    /// The selected elements, in order.
    package internal(set) var elements: [Element] = []
    /// The selected attributes of these elements, in order.
    package internal(set) var attributes: [Attribute] = []
    /// All start tags, in order.
    package internal(set) var tags: [XMLTag] = []
    /// The namespace of the root; empty if it has none.
    package internal(set) var rootNamespace = ""
    /// The local name of the root.
    package internal(set) var rootName = ""
}
