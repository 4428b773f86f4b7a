// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Header fields that are put together one after the other, from bytes of a peer that does not speak HTTP.
package struct HTTPFieldsBuilder {
    private var text: [UInt8] = []
    private var places: [HTTPFields.Place] = []

    /// Creates a builder without fields, with room for some.
    ///
    /// - Parameters:
    ///   - bytes: The size of all names and values.
    ///   - count: The number of fields.
    package init(bytes: Int, count: Int) {
        text.reserveCapacity(bytes)
        places.reserveCapacity(count)
    }

    /// Adds a field. Bytes that are not UTF-8 are replaced by U+FFFD.
    package mutating func add(_ name: Span<UInt8>, _ value: Span<UInt8>) {
        let start = text.count
        append(name)
        let end = text.count
        append(value)
        places.append(HTTPFields.Place(name: start..<end, value: end..<text.count))
    }

    /// Adds a field with a value of valid UTF-8.
    package mutating func add(_ name: StaticString, _ value: String) {
        add(name.description.utf8.span, value.utf8.span)
    }

    /// Adds a field with a name that is known.
    package mutating func add(_ name: StaticString, _ value: Span<UInt8>) { add(name.description.utf8.span, value) }

    private mutating func append(_ bytes: Span<UInt8>) {
        if (try? UTF8Span(validating: bytes)) != nil {
            text.append(copying: bytes)
        } else {
            text += String(decoding: [UInt8](copying: bytes), as: UTF8.self).utf8
        }
    }

    /// The fields that were added.
    package consuming func fields() -> HTTPFields { HTTPFields(copying: text.span, places) }
}
