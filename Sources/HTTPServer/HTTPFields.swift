// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOHTTP1

/// The header fields of a request, in its order: places in one text, so that no field is copied.
package struct HTTPFields: Sendable {
    /// The places of a field's name and value in the text, in bytes.
    struct Place {
        let name: Range<UInt32>
        let value: Range<UInt32>

        init(name: Range<Int>, value: Range<Int>) {
            self.name = UInt32(name.lowerBound)..<UInt32(name.upperBound)
            self.value = UInt32(value.lowerBound)..<UInt32(value.upperBound)
        }
    }

    private let text: String
    private let places: [Place]
    /// True if the text is a plain head, whose fields are told apart by its bytes alone.
    private let isHead: Bool

    /// Creates the fields at `places` of a text. Traps later if a place is outside of it.
    ///
    /// - Parameter isHead: True if the text is a plain head: its bytes alone tell the fields apart.
    init(_ text: String, _ places: [Place], isHead: Bool = true) {
        self.text = text
        self.places = places
        self.isHead = isHead
    }

    /// The whole head; `nil` if the fields have none of which they are places.
    var head: String? { isHead ? text : nil }

    /// Copies the fields of a head that NIO has parsed.
    package init(_ headers: HTTPHeaders) {
        var (text, places): (String, [Place]) = ("", [])
        text.reserveCapacity(headers.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count })
        places.reserveCapacity(headers.count)
        for (name, value) in headers {
            let start = text.utf8.count
            text += name
            let end = text.utf8.count
            text += value
            places.append(Place(name: start..<end, value: end..<text.utf8.count))
        }
        self.text = text
        self.places = places
        isHead = false
    }

    /// The numbers of the fields.
    package var indices: Range<Int> { places.indices }

    /// Returns true if the field at `index` has a name, which is in lower case, ignoring the case of ASCII letters.
    package func isField(_ index: Int, _ name: StaticString) -> Bool {
        let place = places[index].name
        // Most names differ in their lengths.
        return place.count == name.utf8CodeUnitCount && text.utf8.span.extracting(place.bounds).isSameField(name)
    }

    /// Returns true if the field at `index` has a name, ignoring the case of ASCII letters.
    package func isField(_ index: Int, as name: String) -> Bool {
        let place = places[index].name
        guard place.count == name.utf8.count else { return false }
        let (bytes, wanted) = (text.utf8.span.extracting(place.bounds), name.utf8.span)
        return wanted.indices.allSatisfy { bytes[$0].lowercasedASCII == wanted[$0].lowercasedASCII }
    }

    /// The length of the name of the field at `index`, in bytes.
    func nameLength(_ index: Int) -> Int { places[index].name.count }

    /// Calls `body` with the name of the field at `index`.
    func withName(_ index: Int, _ body: (Span<UInt8>) -> Void) {
        body(text.utf8.span.extracting(places[index].name.bounds))
    }

    /// Returns the name of the field at `index`.
    package func name(_ index: Int) -> Substring { slice(places[index].name.bounds) }

    /// The place of the value of the field at `index` in the head.
    package func place(_ index: Int) -> Range<Int> { places[index].value.bounds }

    /// Returns the value of the field at `index`.
    package func value(_ index: Int) -> Substring { slice(places[index].value.bounds) }

    /// Returns the value of the first field with a name, which is in lower case; `nil` if there is none.
    package func first(_ name: StaticString) -> Substring? {
        indices.first { isField($0, name) }.map(value)
    }

    /// Returns some bytes of the text.
    func slice(_ place: Range<Int>) -> Substring {
        let start = text.utf8.index(text.startIndex, offsetBy: place.lowerBound)
        return text[start..<text.utf8.index(start, offsetBy: place.count)]
    }
}

extension Range<UInt32> {
    var bounds: Range<Int> { Int(lowerBound)..<Int(upperBound) }
}
