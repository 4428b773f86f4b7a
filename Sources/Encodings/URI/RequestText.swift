// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The pieces of targets and header fields. All comparisons are by bytes: a combining character after a separator would form
// another character with it.

extension UInt8 {
    /// True for a space and a tab.
    package var isBlank: Bool { self == 0x20 || self == 0x09 }
}

extension Span<UInt8> {
    /// True if the bytes begin with those of `prefix`.
    package func hasPrefix(_ prefix: Span<UInt8>) -> Bool {
        count >= prefix.count && extracting(..<prefix.count).hasSameBytes(as: prefix)
    }

    /// Returns the length of the prefix of a token at the beginning of this path segment, in bytes; `nil` if the segment begins otherwise.
    ///
    /// A tilde may be percent-encoded, as older libraries of clients do (RFC 3986 §2.3).
    package func lengthOfTokenPrefix(_ prefix: String) -> Int? {
        let prefix = prefix.utf8.span
        if hasPrefix(prefix) { return prefix.count }
        var (position, read) = (0, 0)
        while read < prefix.count {
            if prefix[read] == UInt8(ascii: "~"), percentEncodedByte(at: position) == prefix[read] {
                position += 3
            } else if position < count, self[position] == prefix[read] {
                position += 1
            } else {
                return nil
            }
            read += 1
        }
        return position
    }
}

extension Substring {
    /// Calls `body` with each part between the `separator`s.
    package func forEachPart(of separator: UInt8, _ body: (Substring) -> Void) {
        let bytes = utf8.span
        var (start, position) = (startIndex, 0)
        while let end = bytes.firstIndex(of: separator, from: position) {
            let mark = utf8.index(start, offsetBy: end - position)
            body(self[start..<mark])
            start = utf8.index(after: mark)
            position = end + 1
        }
        body(self[start...])
    }

    /// The parts of a list that is separated by commas, without blanks.
    package var listItems: [Substring] {
        var items: [Substring] = []
        forEachPart(of: UInt8(ascii: ",")) { items.append($0.trimmingBlanks) }
        return items
    }

    /// True if the text begins with the bytes of `prefix`.
    package func hasBytePrefix(_ prefix: String) -> Bool { utf8.span.hasPrefix(prefix.utf8.span) }

    /// Returns the text of some of the bytes.
    package func bytes(_ range: Range<Int>) -> Substring {
        let start = utf8.index(startIndex, offsetBy: range.lowerBound)
        return self[start..<utf8.index(start, offsetBy: range.count)]
    }

    /// Returns the text without its first bytes.
    package func droppingBytes(_ count: Int) -> Substring { self[utf8.index(startIndex, offsetBy: count)...] }

    /// Returns the text after `name=`; `nil` if this has another name.
    package func after(name: String) -> Substring? {
        let bytes = utf8.span
        let length = name.utf8.count
        guard bytes.count > length, bytes[length] == UInt8(ascii: "="), bytes.hasPrefix(name.utf8.span) else {
            return nil
        }
        return droppingBytes(length + 1)
    }

    /// The text without spaces and tabs at its ends.
    package var trimmingBlanks: Substring {
        let text = utf8.span
        var (start, end) = (0, text.count)
        while start < end, text[start].isBlank { start += 1 }
        while start < end, text[end - 1].isBlank { end -= 1 }
        return end - start == text.count ? self : bytes(start..<end)
    }

    /// The media token, percent-decoded once. Base64 has no percent sign; a raw token begins with `<`, may contain one, and is
    /// not decoded. Malformed encoding is retained, because it is no valid token either way.
    package var percentDecodedToken: Substring {
        guard utf8.first != UInt8(ascii: "<"), utf8.span.firstIndex(of: UInt8(ascii: "%"), from: 0) != nil else {
            return self
        }
        return percentDecoded.map { $0[...] } ?? self
    }
}
