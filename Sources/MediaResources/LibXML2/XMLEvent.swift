// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// One thing that a parser saw, with its names and text as ranges of the list that it stands in.
struct XMLEvent {
    enum Kind: UInt8 {
        /// A start tag. Its attributes follow as events of their own.
        case start
        /// An attribute of the start tag before it. Namespace declarations are not attributes.
        case attribute
        /// Character data, from text, CDATA or character references. Neighbouring pieces may come as several events.
        case text
        /// An end tag, or the end of an empty element.
        case end
    }

    var kind: Kind
    var namespace: Range<Int>
    var name: Range<Int>
    var value: Range<Int>
    /// The line of the document that the event ends on, from 1.
    var line: Int
}

/// The events of a document, or of the part of it that was read since the list was last emptied.
///
/// Flat lists that keep their storage: reading one small document after another allocates nothing.
struct XMLEventList {
    private(set) var events: [XMLEvent] = []
    private(set) var bytes: [UInt8] = []

    var indices: Range<Int> { events.indices }

    subscript(index: Int) -> XMLEvent { events[index] }

    func text(_ range: Range<Int>) -> ArraySlice<UInt8> { bytes[range] }

    func string(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    /// Whether the bytes of `range` are `literal`.
    func equals(_ range: Range<Int>, _ literal: StaticString) -> Bool {
        guard range.count == literal.utf8CodeUnitCount else { return false }
        return literal.withUTF8Buffer { expected in
            for offset in 0..<expected.count where unsafe expected[offset] != bytes[range.lowerBound + offset] {
                return false
            }
            return true
        }
    }

    mutating func removeAll() {
        events.removeAll(keepingCapacity: true)
        bytes.removeAll(keepingCapacity: true)
    }

    mutating func append(_ event: XMLEvent) { events.append(event) }

    /// Copies `source` into the list's bytes and returns where it stands.
    mutating func store(_ source: UnsafeBufferPointer<UInt8>) -> Range<Int> {
        let start = bytes.count
        unsafe bytes.append(contentsOf: source)
        return start..<bytes.count
    }

    /// Copies the value of an attribute. libxml2 hands out every `&` in it as `&#38;`, for a tree that would read it again.
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
