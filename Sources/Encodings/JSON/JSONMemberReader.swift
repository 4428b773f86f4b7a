// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A strict reader of the members of one JSON object, as places in its bytes: nothing is copied but strings with escapes.
///
/// It accepts what ``JSONReader`` accepts, up to 64 members in 65,535 bytes. Numbers keep their spelling, so that a value can be copied as it was written.
package struct JSONMemberReader: ~Copyable, ~Escapable {
    private let bytes: Span<UInt8>
    private let limits: JSONLimits
    private var position = 0
    private var count = 0
    /// The places of the names so far: start and end.
    private var names: [64 of (UInt16, UInt16)] = .init(repeating: (0, 0))
    private var hasEscapedName = false

    /// A member of the object.
    package struct Member {
        /// The name, without quotes.
        package let name: Range<Int>
        /// True if the name has escapes.
        package let isEscaped: Bool
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
        skipSpace()
        guard take(UInt8(ascii: "{")) else { throw .notJSON }
    }

    /// Reads the next member; `nil` behind the last one, if the text ends there. Not to be called again then.
    package mutating func next() throws(JSONFault) -> Member? {
        if position == 0 { try begin() }
        skipSpace()
        if take(UInt8(ascii: "}")) {
            skipSpace()
            guard position == bytes.count else { throw .notJSON }
            return nil
        }
        if count > 0 {
            guard take(UInt8(ascii: ",")) else { throw .notJSON }
            skipSpace()
        }
        guard count < min(limits.members, 64) else { throw .tooManyMembers(limits.members) }
        guard position < bytes.count, bytes[position] == UInt8(ascii: "\"") else { throw .notJSON }
        let name = try string()
        let inner = name.place.lowerBound + 1..<name.place.upperBound - 1
        try add(inner, isEscaped: name.isEscaped)
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw .notJSON }
        skipSpace()
        let start = position
        let kind = try value()
        return Member(name: inner, isEscaped: name.isEscaped, value: start..<position, kind: kind)
    }

    /// Returns the name of a member.
    package func name(_ member: Member) throws(JSONFault) -> String { try name(member.name, member.isEscaped) }

    private func name(_ place: Range<Int>, _ isEscaped: Bool) throws(JSONFault) -> String {
        guard isEscaped else { return String(copying: bytes.extracting(place)) }
        return try Self.text(bytes, place.lowerBound - 1..<place.upperBound + 1)
    }

    /// Remembers a name. Throws if there is one like it already.
    private mutating func add(_ place: Range<Int>, isEscaped: Bool) throws(JSONFault) {
        hasEscapedName = hasEscapedName || isEscaped
        let new = bytes.extracting(place)
        for index in 0..<count {
            let other = Int(names[index].0)..<Int(names[index].1)
            var isSame = bytes.extracting(other).hasSameBytes(as: new)
            if hasEscapedName, !isSame { isSame = try name(other, true).hasSameBytes(as: try name(place, true)) }
            guard !isSame else { throw .repeatedMember(String(copying: new.extracting(first: min(64, new.count)))) }
        }
        names[count] = (UInt16(place.lowerBound), UInt16(place.upperBound))
        count += 1
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
        case UInt8(ascii: "t"): return try word("true", .bool)
        case UInt8(ascii: "f"): return try word("false", .bool)
        case UInt8(ascii: "n"): return try word("null", .null)
        default: return try number()
        }
    }

    private mutating func word(_ word: StaticString, _ kind: Kind) throws(JSONFault) -> Kind {
        guard bytes.starts(with: word, at: position) else { throw .notJSON }
        position += word.utf8CodeUnitCount
        return kind
    }

    private mutating func number() throws(JSONFault) -> Kind {
        _ = take(UInt8(ascii: "-"))
        var kind = Kind.integer
        if take(UInt8(ascii: "0")) {
            guard position == bytes.count || !bytes[position].isASCIIDigit else { throw .notJSON }
        } else {
            try digits()
        }
        if take(UInt8(ascii: ".")) {
            kind = .decimal
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            kind = .decimal
            if !take(UInt8(ascii: "+")) { _ = take(UInt8(ascii: "-")) }
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
    private mutating func string() throws(JSONFault) -> (place: Range<Int>, isEscaped: Bool) {
        let start = position
        position += 1
        var isEscaped = false
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                position += 1
                if isEscaped { _ = try Self.text(bytes, start..<position) }
                return (start..<position, isEscaped)
            case UInt8(ascii: "\\"):
                isEscaped = true
                position += 2
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

    /// Returns the text of a string in `bytes`, whose place includes the quotes.
    package static func text(_ bytes: Span<UInt8>, _ place: Range<Int>) throws(JSONFault) -> String {
        let limits = JSONLimits(depth: 0, members: 0, elements: 0)
        guard case .string(let text) = try JSONReader.read(bytes.extracting(place), limits: limits) else {
            throw .notJSON
        }
        return text
    }

    // MARK: Bytes

    private mutating func take(_ wanted: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == wanted else { return false }
        position += 1
        return true
    }

    private mutating func skipSpace() {
        while position < bytes.count {
            switch bytes[position] {
            case 0x20, 0x09, 0x0A, 0x0D: position += 1
            default: return
            }
        }
    }
}
