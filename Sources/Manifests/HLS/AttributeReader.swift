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

    private var position: Int

    /// Creates a reader of the list that begins at this index.
    init(at position: Int) { self.position = position }

    /// Returns the next attribute; `nil` at the end of the line.
    mutating func next(in line: Span<UInt8>) throws(Malformed) -> Attribute? {
        skipBlanks(line)
        guard position < line.count else { return nil }
        let start = position
        while position < line.count, line[position] != UInt8(ascii: "=") {
            guard line[position] != UInt8(ascii: ","), line[position] != UInt8(ascii: "\"") else { throw Malformed() }
            position += 1
        }
        var end = position
        while end > start, line[end - 1].isBlank { end -= 1 }
        guard position < line.count, end > start else { throw Malformed() }
        position += 1
        guard position < line.count, line[position] == UInt8(ascii: "\"") else {
            return Attribute(name: start..<end, value: try readPlain(line), isQuoted: false)
        }
        guard let quote = line.firstIndex(of: UInt8(ascii: "\""), from: position + 1) else { throw Malformed() }
        let value = position + 1..<quote
        position = quote + 1
        skipBlanks(line)
        if position < line.count {
            guard line[position] == UInt8(ascii: ",") else { throw Malformed() }
            position += 1
        }
        return Attribute(name: start..<end, value: value, isQuoted: true)
    }

    private mutating func readPlain(_ line: Span<UInt8>) throws(Malformed) -> Range<Int> {
        let start = position
        while position < line.count, line[position] != UInt8(ascii: ",") {
            guard line[position] != UInt8(ascii: "\"") else { throw Malformed() }
            position += 1
        }
        defer { position += 1 }
        return start..<position
    }

    private mutating func skipBlanks(_ line: Span<UInt8>) {
        while position < line.count, line[position].isBlank { position += 1 }
    }
}

extension UInt8 {
    /// True for a space or a tab.
    var isBlank: Bool { self == 0x20 || self == 0x09 }
}
