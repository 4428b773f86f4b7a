// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .string(text) }

    package init(booleanLiteral value: Bool) { self = .bool(value) }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral values: JSON...) { self = .array(values) }

    /// Creates an object with the members in the order of the literal.
    package init(dictionaryLiteral members: (String, JSON)...) { self = .object(members.map { ($0, $1) }) }
}

extension JSON {
    /// Returns an array of strings.
    package static func strings(_ texts: [String]) -> JSON { .array(texts.map { .string($0) }) }

    /// Returns the value of the first member of that name; `nil` if this is not an object or has no such member.
    package subscript(_ name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name == name }?.value
    }

    /// The text, if this is a string.
    package var text: String? { if case .string(let text) = self { text } else { nil } }

    /// The values, if this is an array.
    package var values: [JSON]? { if case .array(let values) = self { values } else { nil } }
}
