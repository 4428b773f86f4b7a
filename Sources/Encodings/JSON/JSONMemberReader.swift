// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A strict reader of the members of one JSON object, as ranges of its bytes: only strings with escapes are copied.
///
/// It accepts what ``JSONReader`` accepts, up to 64 members in 65,535 bytes. Numbers retain their spelling, so that a
/// value can be copied as it was written.
package struct JSONMemberReader: ~Copyable, ~Escapable {
    let bytes: Span<UInt8>
    private let limits: JSONLimits
    private var position = 0
    private var count = 0
    /// The ranges of the names so far: start and end.
    private var names: [64 of (UInt16, UInt16)] = .init(repeating: (0, 0))
    private var hasEscapedName = false
    /// A bit for each of the names so far; several names may have the same one.
    private var nameBits: UInt64 = 0
    /// The index of the first backslash behind `position`, if `position` has not passed it.
    private var backslash = -1
    /// True if the text has control characters, be they only white space.
    private var hasControls = false

    /// A member of the object.
    package struct Member {
        /// The name, without quotes.
        package let name: Range<Int>
        /// True if the name has escapes.
        package let isEscaped: Bool
        /// The last 8 bytes of the name as it is written.
        let ending: UInt64
        /// The value as it is written, with its quotes if it is a string.
        package let value: Range<Int>
        /// The kind of the value.
        package let kind: Kind
    }

    /// A kind of value.
    package enum Kind: Equatable {
        case null, bool
        /// A number without fraction and exponent.
        case integer
        /// A number with a fraction or an exponent.
        case decimal
        /// A string, with or without escapes.
        case string(isEscaped: Bool)
        case array, object
    }

    /// Creates a reader of a text that is one object and nothing else.
    @_lifetime(copy bytes)
    package init(_ bytes: Span<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    private mutating func begin() throws(JSONFault) {
        guard bytes.count <= UInt16.max, (try? UTF8Span(validating: bytes)) != nil else { throw .notJSON }
        hasControls = bytes.hasControls
        skipSpace()
        guard consume(UInt8(ascii: "{")) else { throw .notJSON }
    }

    /// Reads the next member; `nil` behind the last one, if the text ends there. Not to be called again then.
    package mutating func next() throws(JSONFault) -> Member? {
        if position == 0 { try begin() }
        skipSpace()
        if consume(UInt8(ascii: "}")) {
            skipSpace()
            guard position == bytes.count else { throw .notJSON }
            return nil
        }
        if count > 0 {
            guard consume(UInt8(ascii: ",")) else { throw .notJSON }
            skipSpace()
        }
        guard count < min(limits.members, 64) else { throw .tooManyMembers(limits.members) }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { throw .notJSON }
        let name = try string()
        let inner = name.range.lowerBound + 1..<name.range.upperBound - 1
        let ending = JSONNames.ending(of: bytes.extracting(inner))
        try add(at: inner, ending: ending, isEscaped: name.isEscaped)
        skipSpace()
        guard consume(UInt8(ascii: ":")) else { throw .notJSON }
        skipSpace()
        let start = position
        let kind = try value()
        return Member(name: inner, isEscaped: name.isEscaped, ending: ending, value: start..<position, kind: kind)
    }

    /// Returns the name of a member.
    package func name(_ member: Member) throws(JSONFault) -> String {
        try name(at: member.name, isEscaped: member.isEscaped)
    }

    private func name(at range: Range<Int>, isEscaped: Bool) throws(JSONFault) -> String {
        guard isEscaped else { return String(copying: bytes.extracting(range)) }
        return try Self.text(in: bytes, at: range.lowerBound - 1..<range.upperBound + 1)
    }

    /// Remembers a name. Throws if there is one like it already.
    private mutating func add(at range: Range<Int>, ending: UInt64, isEscaped: Bool) throws(JSONFault) {
        hasEscapedName = hasEscapedName || isEscaped
        // Names with different bits differ.
        let bit = UInt64(1) << ((ending &* 0x9E37_79B9_7F4A_7C15) >> 58)
        if nameBits & bit != 0 || hasEscapedName { try compare(bytes.extracting(range), at: range) }
        nameBits |= bit
        names[count] = (UInt16(range.lowerBound), UInt16(range.upperBound))
        count += 1
    }

    /// Compares a name with all before it.
    private func compare(_ new: Span<UInt8>, at range: Range<Int>) throws(JSONFault) {
        for index in 0..<count {
            let other = Int(names[index].0)..<Int(names[index].1)
            var isSame = bytes.extracting(other).hasSameBytes(as: new)
            if hasEscapedName, !isSame {
                let unescaped = try JSONEscape.unescaped(new)
                isSame = unescaped.hasSameBytes(as: try JSONEscape.unescaped(bytes.extracting(other)))
            }
            guard !isSame else { throw .repeatedMember(String(copying: new.extracting(first: min(64, new.count)))) }
        }
    }

    private mutating func value() throws(JSONFault) -> Kind {
        guard position < bytes.count else { throw .notJSON }
        switch bytes[position] {
        case UInt8(ascii: "\""): return .string(isEscaped: try string().isEscaped)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            let kind = bytes[position] == UInt8(ascii: "{") ? Kind.object : .array
            let start = position
            try skipNested()
            let inner = JSONLimits(depth: limits.depth - 1, members: limits.members, elements: limits.elements)
            _ = try JSONReader.read(bytes.extracting(start..<position), limits: inner)
            return kind
        case UInt8(ascii: "t"): return try word("true", as: .bool)
        case UInt8(ascii: "f"): return try word("false", as: .bool)
        case UInt8(ascii: "n"): return try word("null", as: .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, as kind: Kind) throws(JSONFault) -> Kind {
        guard bytes.starts(with: word, at: position) else { throw .notJSON }
        position += word.utf8CodeUnitCount
        return kind
    }

    private mutating func number() throws(JSONFault) -> Kind {
        _ = consume(UInt8(ascii: "-"))
        var kind = Kind.integer
        if consume(UInt8(ascii: "0")) {
            guard position == bytes.count || !bytes[position].isASCIIDigit else { throw .notJSON }
        } else {
            try digits()
        }
        if consume(UInt8(ascii: ".")) {
            kind = .decimal
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            kind = .decimal
            if !consume(UInt8(ascii: "+")) { _ = consume(UInt8(ascii: "-")) }
            try digits()
        }
        return kind
    }

    private mutating func digits() throws(JSONFault) {
        let start = position
        while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
        guard position > start else { throw .notJSON }
    }

    /// Reads a string, which begins here.
    private mutating func string() throws(JSONFault) -> (range: Range<Int>, isEscaped: Bool) {
        let start = position
        if !hasControls, let end = bytes.firstIndex(of: UInt8(ascii: "\""), from: start + 1) {
            if backslash <= start {
                backslash = bytes.firstIndex(of: UInt8(ascii: "\\"), from: start + 1) ?? bytes.count
            }
            if end < backslash {
                position = end + 1
                return (start..<position, false)
            }
        }
        return try stringByBytes()
    }

    private mutating func stringByBytes() throws(JSONFault) -> (range: Range<Int>, isEscaped: Bool) {
        let start = position
        position += 1
        var isEscaped = false
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                return (start..<position, isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                _ = try JSONEscape.read(from: bytes, at: &position)
            case 0..<0x20: throw .notJSON
            default: position += 1
            }
        }
        throw .notJSON
    }

    /// Skips a list or an object, which begins here, by its brackets.
    private mutating func skipNested() throws(JSONFault) {
        var depth = 0
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                _ = try string()
                continue
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
            position += 1
            if depth == 0 { return }
        }
        throw .notJSON
    }

    /// Returns the text of a string in `bytes`, whose range includes the quotes.
    package static func text(in bytes: Span<UInt8>, at range: Range<Int>) throws(JSONFault) -> String {
        let text = try utf8(in: bytes, at: range)
        return String(copying: text.span)
    }

    /// Returns the UTF-8 of a string in `bytes` that was read, and whose range includes the quotes.
    package static func utf8(in bytes: Span<UInt8>, at range: Range<Int>) throws(JSONFault) -> [UInt8] {
        try JSONEscape.unescaped(bytes.extracting(range.lowerBound + 1..<range.upperBound - 1))
    }

    // MARK: Bytes

    private mutating func consume(_ wanted: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == wanted else { return false }
        position += 1
        return true
    }

    @inline(__always)
    private mutating func skipSpace() {
        while position < bytes.count, bytes[position] <= 0x20 {
            guard bytes[position].isXMLSpace else { return }
            position += 1
        }
    }
}
