// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why a text is refused.
package enum JSONFault: Error, Equatable {
    /// The text is not exactly one JSON value in UTF-8.
    case notJSON
    /// Lists and objects are nested deeper than the limit.
    case tooDeep
    /// An object has more members than this limit. Each name is compared with all others.
    case tooManyMembers(Int)
    /// A list has more members than this limit.
    case tooLong(Int)
    /// An object has two members of the same name, given by its first 64 bytes.
    case repeatedMember(String)
}

/// The limits of a reader.
package struct JSONLimits: Sendable {
    let depth: Int
    let members: Int
    let elements: Int

    /// Creates limits.
    ///
    /// - Parameters:
    ///   - depth: The largest depth of nested lists and objects.
    ///   - members: The largest number of members of an object.
    ///   - elements: The largest number of members of a list.
    package init(depth: Int, members: Int, elements: Int) {
        self.depth = depth
        self.members = members
        self.elements = elements
    }
}

/// A strict JSON reader for untrusted bytes, with bounded depth and no name twice in an object.
///
/// Foundation's decoder traps on a text that ends exactly at its depth limit. It accepts either of two members with the
/// same name, and costs more than half as much as a decision.
///
/// Source: RFC 8259; for two members with the same name see §4.
package struct JSONReader: ~Copyable, ~Escapable {
    private let bytes: Span<UInt8>
    private let limits: JSONLimits
    private var position = 0
    /// The positions of the values so far, each before those in it; `nil` if they are not recorded.
    private var offsets: [Int]?

    @_lifetime(copy bytes)
    private init(_ bytes: Span<UInt8>, limits: JSONLimits) {
        self.bytes = bytes
        self.limits = limits
    }

    /// Parses a text that is one value and nothing else, and records the position of each value in it.
    package static func readLocated(
        _ bytes: Span<UInt8>,
        limits: JSONLimits
    ) throws(LocatedJSON.Fault) -> LocatedJSON {
        var reader = JSONReader(bytes, limits: limits)
        reader.offsets = []
        do throws(JSONFault) {
            let value = try reader.value(depth: 0)
            reader.skipSpace()
            guard reader.position == bytes.count else { throw .notJSON }
            return LocatedJSON(value, offsets: reader.offsets ?? [])
        } catch {
            throw LocatedJSON.Fault(fault: error, offset: reader.position)
        }
    }

    /// Parses a text that is one value and nothing else.
    package static func read(_ bytes: Span<UInt8>, limits: JSONLimits) throws(JSONFault) -> JSON {
        var reader = JSONReader(bytes, limits: limits)
        let value = try reader.value(depth: 0)
        reader.skipSpace()
        guard reader.position == bytes.count else { throw .notJSON }
        return value
    }

    // MARK: Values

    private mutating func value(depth: Int) throws(JSONFault) -> JSON {
        skipSpace()
        offsets?.append(position)
        switch try peek() {
        case UInt8(ascii: "{"): return try object(depth: depth)
        case UInt8(ascii: "["): return try list(depth: depth)
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", as: .bool(true))
        case UInt8(ascii: "f"): return try word("false", as: .bool(false))
        case UInt8(ascii: "n"): return try word("null", as: .null)
        default: return try number()
        }
    }

    private mutating func object(depth: Int) throws(JSONFault) -> JSON {
        try enter(depth)
        var members: [JSON.Member] = []
        if try isAtEnd(of: UInt8(ascii: "}")) { return .object([]) }
        while true {
            skipSpace()
            let name = try string()
            // Compared by characters: a dictionary treats two spellings of one character as the same name.
            guard !members.contains(where: { $0.name == name }) else {
                throw .repeatedMember(String(decoding: name.utf8.prefix(64), as: UTF8.self))
            }
            skipSpace()
            guard try next() == UInt8(ascii: ":") else { throw .notJSON }
            members.append((name: name, value: try value(depth: depth + 1)))
            // Each name is compared with all names before it.
            guard members.count <= limits.members else { throw .tooManyMembers(limits.members) }
            if try !goesOn(until: UInt8(ascii: "}")) { return .object(members) }
        }
    }

    private mutating func list(depth: Int) throws(JSONFault) -> JSON {
        try enter(depth)
        var values: [JSON] = []
        if try isAtEnd(of: UInt8(ascii: "]")) { return .array([]) }
        while true {
            values.append(try value(depth: depth + 1))
            guard values.count <= limits.elements else { throw .tooLong(limits.elements) }
            if try !goesOn(until: UInt8(ascii: "]")) { return .array(values) }
        }
    }

    private mutating func enter(_ depth: Int) throws(JSONFault) {
        guard depth < limits.depth else { throw .tooDeep }
        position += 1
    }

    /// Reads `end` if it follows at once. Returns true if it did: there are no members.
    private mutating func isAtEnd(of end: UInt8) throws(JSONFault) -> Bool {
        skipSpace()
        guard try peek() == end else { return false }
        position += 1
        return true
    }

    /// Reads a comma or `end`. Returns true for a comma.
    private mutating func goesOn(until end: UInt8) throws(JSONFault) -> Bool {
        skipSpace()
        switch try next() {
        case UInt8(ascii: ","): return true
        case end: return false
        default: throw .notJSON
        }
    }

    private mutating func word(_ word: StaticString, as value: JSON) throws(JSONFault) -> JSON {
        for letter in "\(word)".utf8 {
            guard try next() == letter else { throw .notJSON }
        }
        return value
    }

    // MARK: Numbers

    private mutating func number() throws(JSONFault) -> JSON {
        let isNegative = try consume(UInt8(ascii: "-"))
        var magnitude: Int64? = 0
        let first = try peek()
        guard first.isASCIIDigit else { throw .notJSON }
        while position < bytes.count, bytes[position].isASCIIDigit {
            magnitude = magnitude.flatMap { $0.shifted(by: bytes[position], isNegative: isNegative) }
            position += 1
            // A leading zero must be the only digit.
            if first == UInt8(ascii: "0") { break }
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            position += 1
            try digits()
            magnitude = nil
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if try !consume(UInt8(ascii: "+")) { _ = try consume(UInt8(ascii: "-")) }
            try digits()
            magnitude = nil
        }
        return magnitude.map { .number($0) } ?? .otherNumber
    }

    private mutating func digits() throws(JSONFault) {
        guard try peek().isASCIIDigit else { throw .notJSON }
        while position < bytes.count, bytes[position].isASCIIDigit { position += 1 }
    }

    // MARK: Strings

    private mutating func string() throws(JSONFault) -> String {
        guard try next() == UInt8(ascii: "\"") else { throw .notJSON }
        let start = position
        while position < bytes.count {
            switch bytes[position] {
            case UInt8(ascii: "\""):
                defer { position += 1 }
                return try Self.text(bytes.extracting(start..<position))
            case UInt8(ascii: "\\"):
                return try escapedString(from: start)
            case 0..<0x20: throw .notJSON
            default: position += 1
            }
        }
        throw .notJSON
    }

    /// Reads a string with escapes. The bytes before the first escape were read already.
    private mutating func escapedString(from start: Int) throws(JSONFault) -> String {
        var plain = [UInt8](copying: bytes.extracting(start..<position))
        while true {
            let byte = try peek()
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try Self.text(plain.span)
            case UInt8(ascii: "\\"): plain.append(try JSONEscape.read(from: bytes, at: &position))
            case 0..<0x20: throw .notJSON
            default:
                plain.append(byte)
                position += 1
            }
        }
    }

    private static func text(_ bytes: Span<UInt8>) throws(JSONFault) -> String {
        do { return String(copying: try UTF8Span(validating: bytes)) } catch { throw .notJSON }
    }

    // MARK: Bytes

    private func peek() throws(JSONFault) -> UInt8 {
        guard position < bytes.count else { throw .notJSON }
        return bytes[position]
    }

    private mutating func next() throws(JSONFault) -> UInt8 {
        let byte = try peek()
        position += 1
        return byte
    }

    private mutating func consume(_ wanted: UInt8) throws(JSONFault) -> Bool {
        guard try peek() == wanted else { return false }
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

extension Int64 {
    /// Creates a number from the spelling of a JSON number without fraction and exponent; `nil` beyond 64 bits.
    package init?(jsonInteger spelling: Span<UInt8>) {
        let isNegative = spelling.starts(with: "-", at: 0)
        let start = isNegative ? 1 : 0
        guard spelling.count > start else { return nil }
        var number: Int64 = 0
        for index in start..<spelling.count {
            let digit = spelling[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            // 18 digits never overflow.
            if index < 18 {
                number = number &* 10 &- Int64(digit)
            } else {
                guard let next = number.shifted(by: spelling[index], isNegative: true) else { return nil }
                number = next
            }
        }
        // Collected below zero, where there is one number more.
        guard isNegative || number != .min else { return nil }
        self = isNegative ? number : -number
    }

    /// Returns this number with one more digit at its end, or `nil` beyond 64 bits.
    fileprivate func shifted(by digit: UInt8, isNegative: Bool) -> Int64? {
        let (tens, overflow) = multipliedReportingOverflow(by: 10)
        let value = Int64(digit - UInt8(ascii: "0"))
        let (sum, carry) = isNegative ? tens.subtractingReportingOverflow(value) : tens.addingReportingOverflow(value)
        return overflow || carry ? nil : sum
    }
}
