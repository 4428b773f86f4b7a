// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The names of members that a caller of ``JSONMemberReader`` looks for, which are found without a copy of any.
package struct JSONNames: Sendable {
    private let names: [[UInt8]]
    /// The last 8 bytes of each name.
    private let endings: [UInt64]

    /// Creates a list of names.
    package init(_ names: [String]) {
        self.names = names.map { [UInt8]($0.utf8) }
        endings = self.names.map { Self.ending(of: $0.span) }
    }

    /// Returns the index of a name in the list; `nil` if the list does not have it.
    ///
    /// - Parameter ending: ``ending(of:)`` the name.
    func index(of name: Span<UInt8>, ending: UInt64) -> Int? {
        for index in endings.indices where endings[index] == ending {
            let known = names[index]
            if known.span.hasSameBytes(as: name) { return index }
        }
        return nil
    }

    /// Returns the last 8 bytes of a name as a number. Names with different numbers differ.
    static func ending(of name: Span<UInt8>) -> UInt64 {
        var number: UInt64 = 0
        for index in name.indices { number = number << 8 | UInt64(name[index]) }
        return number
    }
}

extension JSONMemberReader {
    /// Returns the index of a member's name in a list; `nil` if the list does not have it.
    package func index(of member: Member, in names: JSONNames) throws(JSONFault) -> Int? {
        guard member.isEscaped else { return names.index(of: bytes.extracting(member.name), ending: member.ending) }
        let name = try JSONEscape.unescaped(bytes.extracting(member.name))
        return names.index(of: name.span, ending: JSONNames.ending(of: name.span))
    }

    /// Calls `body` with the UTF-8 of a member's value; returns `nil` unless that is a string.
    package func withText<Value>(of member: Member, body: (Span<UInt8>) -> Value) throws(JSONFault) -> Value? {
        guard case .string(let isEscaped) = member.kind else { return nil }
        let range = member.value.lowerBound + 1..<member.value.upperBound - 1
        guard isEscaped else { return body(bytes.extracting(range)) }
        let text = try JSONEscape.unescaped(bytes.extracting(range))
        return body(text.span)
    }
}
