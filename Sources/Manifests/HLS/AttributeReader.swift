// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A reader of the attribute list of a tag, `NAME=VALUE,…`.
///
/// Source: RFC 8216 §4.2. Blanks around names and behind quoted values are skipped, as players do.
struct AttributeReader {
    /// An attribute, as ranges of the line.
    struct Attribute {
        let name: Range<Int>
        /// The value, without quotes.
        let value: Range<Int>
        let isQuoted: Bool
    }

    /// The list is malformed: two readers could find other attributes in it.
    struct Malformed: Error {}

    private var place: Int

    /// Creates a reader of the list that begins at `place`.
    init(at place: Int) { self.place = place }

    /// Returns the next attribute; `nil` at the end of the line.
    mutating func next(in line: Span<UInt8>) throws(Malformed) -> Attribute? {
        skipBlanks(line)
        guard place < line.count else { return nil }
        let start = place
        while place < line.count, line[place] != UInt8(ascii: "=") {
            guard line[place] != UInt8(ascii: ","), line[place] != UInt8(ascii: "\"") else { throw Malformed() }
            place += 1
        }
        var end = place
        while end > start, line[end - 1].isBlank { end -= 1 }
        guard place < line.count, end > start else { throw Malformed() }
        place += 1
        guard place < line.count, line[place] == UInt8(ascii: "\"") else {
            return Attribute(name: start..<end, value: try readPlain(line), isQuoted: false)
        }
        guard let quote = line.firstIndex(of: UInt8(ascii: "\""), from: place + 1) else { throw Malformed() }
        let value = place + 1..<quote
        place = quote + 1
        skipBlanks(line)
        if place < line.count {
            guard line[place] == UInt8(ascii: ",") else { throw Malformed() }
            place += 1
        }
        return Attribute(name: start..<end, value: value, isQuoted: true)
    }

    private mutating func readPlain(_ line: Span<UInt8>) throws(Malformed) -> Range<Int> {
        let start = place
        while place < line.count, line[place] != UInt8(ascii: ",") {
            guard line[place] != UInt8(ascii: "\"") else { throw Malformed() }
            place += 1
        }
        defer { place += 1 }
        return start..<place
    }

    private mutating func skipBlanks(_ line: Span<UInt8>) {
        while place < line.count, line[place].isBlank { place += 1 }
    }
}

extension UInt8 {
    /// True for a space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }
}
