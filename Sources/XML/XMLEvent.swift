// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An event of a parser. Its names and text are ranges of the bytes of ``XMLEvents``.
package struct XMLEvent {
    package enum Kind: UInt8 {
        /// A start tag. Its attributes follow as separate events.
        case start
        /// An attribute of the start tag before it. Namespace declarations are not attributes.
        case attribute
        /// Character data from text, CDATA sections or character references. Adjacent pieces may come as several events.
        case text
        /// A comment or processing instruction between two pieces of text of one element. Comes before the second piece.
        ///
        /// Readers disagree about such text: some join the pieces, some use only the first. An identifier must not
        /// depend on the reader, so consumers of text refuse it. Pieces of white space do not count.
        case interruption
        /// An end tag, or the end of an empty element.
        case end
    }

    package let kind: Kind
    /// The line, from 1, on which a start tag begins (also for its attributes) or any other event ends.
    package let line: UInt32
    /// The namespace as libxml2 reports it. ``XMLEvents/namespace(_:)`` returns its name.
    package let namespace: Bytes
    package let name: Bytes
    package let value: Bytes

    /// A range of bytes, in half of the size of its usual type: most of the work on events is to copy them.
    package typealias Bytes = Range<UInt32>

    init(kind: Kind, namespace: Bytes = 0..<0, name: Bytes = 0..<0, value: Bytes = 0..<0, line: UInt32) {
        self.kind = kind
        self.line = line
        self.namespace = namespace
        self.name = name
        self.value = value
    }
}
