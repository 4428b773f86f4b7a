// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// An event of a parser. Its names and text are ranges of the bytes of its list.
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
        /// Readers disagree about such text: some join the pieces, some take only the first. An identifier must not
        /// depend on the reader, so consumers of text refuse it. Pieces of white space do not count.
        case interruption
        /// An end tag, or the end of an empty element.
        case end
    }

    package let kind: Kind
    private let lineNumber: UInt32
    private let places: (namespace: Place, name: Place, value: Place)

    /// A range of the list's bytes in half of its size: most of the work on events is to copy them.
    private struct Place {
        let start: UInt32
        let end: UInt32

        init(_ range: Range<Int>) {
            start = UInt32(range.lowerBound)
            end = UInt32(range.upperBound)
        }

        var range: Range<Int> { Int(start)..<Int(end) }
    }

    init(
        kind: Kind,
        namespace: Range<Int> = 0..<0,
        name: Range<Int> = 0..<0,
        value: Range<Int> = 0..<0,
        line: Int
    ) {
        self.kind = kind
        lineNumber = UInt32(clamping: line)
        places = (Place(namespace), Place(name), Place(value))
    }

    /// The namespace as libxml2 reports it. ``XMLEventList/namespace(_:)`` returns its name.
    package var namespace: Range<Int> { places.namespace.range }
    package var name: Range<Int> { places.name.range }
    package var value: Range<Int> { places.value.range }
    /// The line, from 1, on which a start tag begins (also for its attributes) or any other event ends.
    package var line: Int { Int(lineNumber) }
}

/// The events of a document, or of the part that was read since the list was last emptied.
///
/// Flat lists that keep their storage, so reading one small document after another allocates nothing.
package struct XMLEventList {
    @usableFromInline
    package private(set) var events: [XMLEvent] = []
    @usableFromInline
    package private(set) var bytes: [UInt8] = []

    @inlinable
    package var indices: Range<Int> { events.indices }

    @inlinable
    package subscript(index: Int) -> XMLEvent { events[index] }

    @inlinable
    package func text(_ range: Range<Int>) -> ArraySlice<UInt8> { bytes[range] }

    /// Returns the name of a namespace. libxml2 reports it as the value of an attribute, with every `&` as `&#38;`. It
    /// is stored in that form, because few events have a namespace and fewer are asked for its name.
    package func namespace(_ range: Range<Int>) -> [UInt8] {
        var name: [UInt8] = []
        var rest = bytes[range]
        while let byte = rest.popFirst() {
            name.append(byte)
            if byte == UInt8(ascii: "&"), rest.starts(with: "#38;".utf8) { rest = rest.dropFirst(4) }
        }
        return name
    }

    @inlinable
    package func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Returns true if the bytes of `range` are `literal`.
    package func equals(_ range: Range<Int>, _ literal: StaticString) -> Bool {
        range.count == literal.utf8CodeUnitCount && bytes.span.starts(with: literal, at: range.lowerBound)
    }

    package mutating func removeAll() {
        events.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func append(_ event: XMLEvent) { events.append(event) }

    /// Copies `source` into the list's bytes and returns its range.
    mutating func store(_ source: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = bytes.count
        unsafe bytes.append(contentsOf: source)
        return start..<bytes.count
    }

    /// Copies a piece of a CDATA section, with its line ends as line feeds (XML 1.0 §2.11). libxml2 converts them in
    /// pull mode, but not in push mode.
    ///
    /// - Parameter next: The byte after the piece, because a line end of two bytes may be in two pieces.
    mutating func storeSection(_ source: UnsafeBufferPointer<UInt8>, next: UInt8) -> Range<Int> {
        let start = bytes.count
        var rest = unsafe source[...]
        while let end = unsafe rest.firstIndex(of: 0xD) {
            unsafe bytes.append(contentsOf: rest[..<end])
            unsafe rest = rest[(end + 1)...]
            if unsafe (rest.first ?? next) != 0xA { bytes.append(0xA) }
        }
        unsafe bytes.append(contentsOf: rest)
        return start..<bytes.count
    }

    /// Copies the value of an attribute. libxml2 reports every `&` in it as `&#38;`, for a tree that would parse it again.
    mutating func storeAttributeValue(_ source: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = bytes.count
        var rest = unsafe source[...]
        while let ampersand = unsafe rest.firstIndex(of: UInt8(ascii: "&")) {
            unsafe bytes.append(contentsOf: rest[...ampersand])
            unsafe rest = rest[(ampersand + 1)...]
            if unsafe rest.starts(with: "#38;".utf8) { unsafe rest = rest.dropFirst(4) }
        }
        unsafe bytes.append(contentsOf: rest)
        return start..<bytes.count
    }
}
