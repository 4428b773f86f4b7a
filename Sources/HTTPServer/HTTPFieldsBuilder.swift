// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// Header fields that are put together one after the other, from bytes of a peer that does not speak HTTP.
///
/// They become one text of lines, `name:value`, whose bytes suffice to separate them, as in a head.
package struct HTTPFieldsBuilder {
    /// The lines. The first one is empty, as no head begins.
    private var text: [UInt8] = []
    private var ranges: [HTTPFields.FieldRanges] = []
    /// True while no value has a line feed.
    private var isHead = true

    /// Creates a builder without fields, with room for some.
    ///
    /// - Parameters:
    ///   - bytes: The size of all names and values.
    ///   - count: The number of fields.
    package init(bytes: Int, count: Int) {
        text.reserveCapacity(bytes)
        ranges.reserveCapacity(count)
        text.append(Self.lineFeed)
    }

    private static var lineFeed: UInt8 { UInt8(ascii: "\n") }

    /// Adds a field.
    ///
    /// - Parameters:
    ///   - name: The name, of ASCII, without a colon except as the first character.
    ///   - value: The value. Bytes that are not UTF-8 are replaced by U+FFFD.
    package mutating func add(name: Span<UInt8>, value: Span<UInt8>) {
        let start = text.count
        text.append(copying: name)
        addLine(from: start, value)
    }

    /// Adds a field with a name that is known.
    package mutating func add(name: StaticString, value: Span<UInt8>) {
        let start = text.count
        text.append(name)
        addLine(from: start, value)
    }

    /// Adds a field with a name and a value that are known.
    package mutating func add(name: StaticString, value: StaticString) {
        let start = text.count
        text.append(name)
        let end = text.count
        text.append(UInt8(ascii: ":"))
        text.append(value)
        endLine(start..<end)
    }

    /// Adds a field with an IPv4 address as its value: four numbers with dots between them.
    package mutating func add(_ name: StaticString, ipv4 address: UInt32) {
        let start = text.count
        text.append(name)
        let end = text.count
        for shift in stride(from: 24, through: 0, by: -8) {
            text.append(shift == 24 ? UInt8(ascii: ":") : UInt8(ascii: "."))
            text.append(decimal: Int64(address >> shift & 255))
        }
        endLine(start..<end)
    }

    private mutating func addLine(from start: Int, _ value: Span<UInt8>) {
        let end = text.count
        text.append(UInt8(ascii: ":"))
        if value.firstIndex(of: Self.lineFeed, from: 0) != nil { isHead = false }
        text.append(copying: value)
        endLine(start..<end)
    }

    /// Ends the line of a field whose value is behind its name and a colon.
    private mutating func endLine(_ name: Range<Int>) {
        ranges.append(HTTPFields.FieldRanges(name: name, value: name.upperBound + 1..<text.count))
        text.append(Self.lineFeed)
    }

    /// The fields that were added.
    package consuming func fields() -> HTTPFields {
        if let valid = try? UTF8Span(validating: text.span) {
            return HTTPFields(String(copying: valid), locations: ranges, isHead: isHead)
        }
        return repaired()
    }

    /// The fields with U+FFFD instead of bytes that are not UTF-8. Each value is repaired separately, because the bytes
    /// of one must not affect another.
    private func repaired() -> HTTPFields {
        var fields = Self(bytes: 2 * text.count, count: ranges.count)
        for field in ranges {
            let value = String(decoding: text.span.extracting(field.value.bounds))
            fields.add(name: text.span.extracting(field.name.bounds), value: value.utf8.span)
        }
        return HTTPFields(String(copying: fields.text.span), locations: fields.ranges, isHead: fields.isHead)
    }
}
