// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The events of a document, or of the part that was read since the parser's list was last emptied.
///
/// A view of the parser's own list: a copy of it, or of a text in it, counts no references.
package struct XMLEvents: ~Escapable {
    /// The events in document order.
    package let list: Span<XMLEvent>
    /// The bytes of their names and texts.
    package let bytes: Span<UInt8>

    @_lifetime(copy list, copy bytes)
    init(list: Span<XMLEvent>, bytes: Span<UInt8>) {
        self.list = list
        self.bytes = bytes
    }

    @inlinable @inline(__always)
    @_lifetime(copy self)
    package func text(_ range: XMLEvent.Bytes) -> Span<UInt8> {
        bytes.extracting(Int(range.lowerBound)..<Int(range.upperBound))
    }

    /// Returns the name of a namespace. libxml2 reports it as the value of an attribute, with every `&` as `&#38;`. It
    /// is stored in that form, because few events have a namespace and the name of fewer is needed.
    package func namespace(_ range: XMLEvent.Bytes) -> [UInt8] {
        var name: [UInt8] = []
        let text = text(range)
        var position = 0
        while position < text.count {
            name.append(text[position])
            let isReference = text.starts(with: "&#38;", at: position)
            position += isReference ? 5 : 1
        }
        return name
    }

    @inlinable @inline(__always)
    package func string(_ range: XMLEvent.Bytes) -> String { String(decoding: text(range)) }

    /// Returns true if the bytes of `range` are `literal`.
    @inlinable @inline(__always)
    package func equals(_ range: XMLEvent.Bytes, literal: StaticString) -> Bool {
        range.count == literal.utf8CodeUnitCount && bytes.starts(with: literal, at: Int(range.lowerBound))
    }
}
