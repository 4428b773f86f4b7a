// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A walker over CBOR that was read before, with types and limits checked. It repeats none of the checks.
///
/// Claims are evaluated on every call, and strict reading is slower than comparison. A claim with an unchecked type
/// would be misread or trap, but never be read beyond its bytes.
struct ItemWalker: ~Copyable, ~Escapable {
    let bytes: Span<UInt8>
    private var position: Int

    /// Creates a walker over the item at a position.
    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, at range: Range<Int>) {
        self.bytes = bytes.extracting(..<range.upperBound)
        position = range.lowerBound
    }

    /// The kind of an item: its major type (RFC 8949 §3.1).
    enum Kind: UInt8 {
        case unsigned, negative, bytes, text, array, map, tag, other
    }

    /// Reads the head of an item: its kind and its number, length or count.
    @inline(__always)
    mutating func head() -> (kind: Kind, value: UInt64) {
        let first = bytes[position]
        position &+= 1
        let additional = first & 0x1F
        let kind = Kind(rawValue: first >> 5) ?? .other
        guard additional >= 24 else { return (kind, UInt64(additional)) }
        var value: UInt64 = 0
        for _ in 0..<(1 << Int(additional & 3)) {
            value = value << 8 | UInt64(bytes[position])
            position &+= 1
        }
        return (kind, value)
    }

    /// Reads the head of an array or map. Returns the number of elements or entries.
    mutating func count() -> Int { Int(truncatingIfNeeded: head().value) }

    /// Reads an integer.
    mutating func integer() -> Int64 {
        let (kind, value) = head()
        return kind == .negative ? -1 - Int64(truncatingIfNeeded: value) : Int64(truncatingIfNeeded: value)
    }

    /// Reads a string. Returns its range.
    mutating func string() -> Range<Int> {
        string(length: Int(truncatingIfNeeded: head().value))
    }

    /// Reads the bytes of a string whose head was read. Returns their range.
    mutating func string(length: Int) -> Range<Int> {
        position &+= length
        return position - length..<position
    }

    /// Reads a text, or an array of texts. Returns the range of the text or of the first one.
    mutating func firstText() -> Range<Int> {
        let start = position
        let (kind, count) = head()
        guard kind == .array else {
            position = start
            return string()
        }
        let first = string()
        for _ in 1..<max(1, count) { _ = string() }
        return first
    }

    /// Reads texts or byte strings, in an array or a single one, until one equals `value`. Returns true if one does.
    mutating func hasString(_ isWanted: (Span<UInt8>) -> Bool) -> Bool {
        let start = position
        let (kind, count) = head()
        var left = 1
        if kind == .array { left = Int(truncatingIfNeeded: count) } else { position = start }
        for _ in 0..<left {
            let range = string()
            if isWanted(bytes.extracting(range)) { return true }
        }
        return false
    }
}
