// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Platform

/// The names of the claims that are read of an issuer's tokens: those of RFC 7519, and those that its rules name.
struct ClaimNames: Sendable {
    /// The claims that each token may have.
    enum Known: Int, CaseIterable {
        case issuer, audience, expiration, notBefore, issued, identifier, confirmation, active

        var name: String {
            switch self {
            case .issuer: "iss"
            case .audience: "aud"
            case .expiration: "exp"
            case .notBefore: "nbf"
            case .issued: "iat"
            case .identifier: "jti"
            case .confirmation: "cnf"
            case .active: "active"
            }
        }
    }

    let names: JSONNames
    let count: Int
    private let all: [String]

    init(_ paths: [ClaimPath]) {
        var all = Known.allCases.map(\.name)
        for path in paths where !all.contains(where: { $0.hasSameBytes(as: path.name) }) { all.append(path.name) }
        (self.all, count, names) = (all, all.count, JSONNames(all))
    }

    /// Returns the number of the claim at the top of a path.
    func index(of path: ClaimPath) -> Int { all.firstIndex { $0.hasSameBytes(as: path.name) } ?? 0 }
}

/// The claims of a token, as ranges of its payload.
struct Claims {
    private let payload: [UInt8]
    private var members: [JSONMemberReader.Member?]

    private static let limits = JSONLimits(depth: 8, members: 64, elements: 1024)
    /// The last second of the year 9999.
    private static let latest: Int64 = 253_402_300_799

    /// Reads a payload: one JSON object without a name twice.
    init(_ payload: [UInt8], names: ClaimNames) throws(AccessTokenRefusal) {
        self.payload = payload
        members = Array(repeating: nil, count: names.count)
        do throws(JSONFault) {
            var reader = JSONMemberReader(payload.span, limits: Self.limits)
            while let member = try reader.next() {
                if let index = try reader.index(of: member, in: names.names), member.kind != .null {
                    members[index] = member
                }
            }
        } catch { throw .malformed }
    }

    func has(_ claim: ClaimNames.Known) -> Bool { members[claim.rawValue] != nil }

    /// Returns a time (RFC 7519 §2, NumericDate); `nil` if there is none. Fractions of a second are cut off.
    func time(_ claim: ClaimNames.Known) throws(AccessTokenRefusal) -> Timestamp? {
        guard let member = members[claim.rawValue] else { return nil }
        return try time(of: member)
    }

    private func time(of member: JSONMemberReader.Member) throws(AccessTokenRefusal) -> Timestamp {
        let text = payload.span.extracting(member.value)
        var end = text.count
        switch member.kind {
        case .integer: break
        case .decimal: end = text.firstIndex(of: UInt8(ascii: "."), from: 0) ?? 0
        default: throw .malformed
        }
        for index in end..<text.count where text[index] | 0x20 == UInt8(ascii: "e") { throw .malformed }
        guard let seconds = Int64(jsonInteger: text.extracting(..<end)), 0...Self.latest ~= seconds else {
            throw .malformed
        }
        return Timestamp(secondsSince1970: seconds)
    }

    /// Calls `body` with the value of each text, number or truth value of a claim: one, or those of a list.
    ///
    /// - Parameters:
    ///   - index: The number of the claim at the top.
    ///   - path: The path of the claim.
    ///   - isSeparated: True if a text is several values with blanks between them.
    ///   - body: Returns true to end the search.
    /// - Returns: True if `body` did; `nil` if there is no such claim.
    func contains(
        at index: Int,
        _ path: ClaimPath,
        isSeparated: Bool = false,
        where body: (Span<UInt8>) -> Bool
    ) throws(AccessTokenRefusal) -> Bool? {
        guard let member = members[index] else { return nil }
        let span = payload.span
        if path.members.isEmpty {
            switch member.kind {
            case .string(let isEscaped):
                let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
                guard isEscaped else {
                    return Self.matches(span.extracting(inner), isSeparated: isSeparated, where: body)
                }
                return Self.matches(try text(of: member).utf8.span, isSeparated: isSeparated, where: body)
            case .integer, .bool: return body(span.extracting(member.value))
            case .null, .decimal: return false
            case .array, .object: break
            }
        }
        guard let value = try nested(in: member, path) else { return nil }
        return Self.matches(value, isSeparated: isSeparated, where: body)
    }

    /// Returns the value of a path below a list or an object at the top; `nil` if there is none.
    private func nested(
        in member: JSONMemberReader.Member,
        _ path: ClaimPath
    ) throws(AccessTokenRefusal) -> JSON? {
        var value: JSON
        do throws(JSONFault) {
            value = try JSONReader.read(payload.span.extracting(member.value), limits: Self.limits)
        } catch { throw .malformed }
        for name in path.members {
            guard case .object(let members) = value,
                let next = members.first(where: { $0.name.hasSameBytes(as: name) })?.value
            else { return nil }
            value = next
        }
        return value == .null ? nil : value
    }

    private static func matches(_ value: JSON, isSeparated: Bool, where body: (Span<UInt8>) -> Bool) -> Bool {
        switch value {
        case .string(let text): matches(text.utf8.span, isSeparated: isSeparated, where: body)
        case .number(let number): body(String(number).utf8.span)
        case .bool(let isTrue): body((isTrue ? "true" : "false").utf8.span)
        // A text in a list is one value, whatever blanks it has.
        case .array(let values):
            values.contains { value in
                if case .array = value { false } else { matches(value, isSeparated: false, where: body) }
            }
        case .null, .otherNumber, .object: false
        }
    }

    private static func matches(_ text: Span<UInt8>, isSeparated: Bool, where body: (Span<UInt8>) -> Bool) -> Bool {
        guard isSeparated else { return body(text) }
        var start = 0
        while start < text.count {
            let end = text.firstIndex(of: UInt8(ascii: " "), from: start) ?? text.count
            if end > start, body(text.extracting(start..<end)) { return true }
            start = end + 1
        }
        return false
    }

    /// Returns the one text or whole number of a claim; `nil` if there is none.
    func text(at index: Int, _ path: ClaimPath) throws(AccessTokenRefusal) -> String? {
        guard let member = members[index] else { return nil }
        if path.members.isEmpty {
            switch member.kind {
            case .string: return try text(of: member)
            case .integer: return String(copying: payload.span.extracting(member.value))
            default: throw .malformed
            }
        }
        switch try nested(in: member, path) {
        case nil: return nil
        case .string(let text): return text
        case .number(let number): return String(number)
        default: throw .malformed
        }
    }

    /// True if a claim is a text, byte for byte; `nil` if there is no such claim.
    func isText(_ claim: ClaimNames.Known, equalTo wanted: String) throws(AccessTokenRefusal) -> Bool? {
        guard let member = members[claim.rawValue] else { return nil }
        guard case .string(let isEscaped) = member.kind else { throw .malformed }
        if isEscaped { return try text(of: member).hasSameBytes(as: wanted) }
        let inner = member.value.lowerBound + 1..<member.value.upperBound - 1
        return payload.span.extracting(inner).hasSameBytes(as: wanted.utf8.span)
    }

    /// Returns a text claim; `nil` if there is none.
    func text(_ claim: ClaimNames.Known) throws(AccessTokenRefusal) -> String? {
        guard let member = members[claim.rawValue] else { return nil }
        guard case .string = member.kind else { throw .malformed }
        return try text(of: member)
    }

    private func text(of member: JSONMemberReader.Member) throws(AccessTokenRefusal) -> String {
        do throws(JSONFault) { return try JSONMemberReader.text(in: payload.span, at: member.value) } catch {
            throw .malformed
        }
    }

    /// Returns the members of an object; `nil` if there is no such claim.
    func object(_ claim: ClaimNames.Known) throws(AccessTokenRefusal) -> [JSON.Member]? {
        guard let member = members[claim.rawValue] else { return nil }
        do throws(JSONFault) {
            let value = try JSONReader.read(payload.span.extracting(member.value), limits: Self.limits)
            if case .object(let members) = value { return members }
        } catch { throw .malformed }
        throw .malformed
    }

    /// True if the claim is exactly the truth value `true`.
    func isTrue(_ claim: ClaimNames.Known) -> Bool {
        guard let member = members[claim.rawValue], member.kind == .bool else { return false }
        return payload[member.value.lowerBound] == UInt8(ascii: "t")
    }
}
