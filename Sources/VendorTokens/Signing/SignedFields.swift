// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The fields `name=value` of a token, of which the last is the authentication code.
struct SignedFields {
    /// The fields before the last, in order.
    let fields: [(name: Substring, value: Substring)]
    /// The text up to the delimiter before the last field.
    let signed: Substring
    /// The value of the last field.
    let code: Substring

    /// Splits a token strictly: every field has a name and occurs once, and the last one is `last`. Returns `nil` otherwise.
    init?(_ token: Substring, delimiter: Character, last: String) {
        guard token.utf8.count <= SigningText.maximumSize, token.utf8.allSatisfy(SigningText.isPrintable) else {
            return nil
        }
        let parts = token.split(separator: delimiter, omittingEmptySubsequences: false)
        guard 2...16 ~= parts.count else { return nil }
        var fields: [(name: Substring, value: Substring)] = []
        for part in parts {
            guard let mark = part.firstIndex(of: "=") else { return nil }
            let name = part[..<mark]
            guard !name.isEmpty, !fields.contains(where: { $0.name == name }) else { return nil }
            fields.append((name, part[part.index(after: mark)...]))
        }
        guard let code = fields.popLast(), code.name == last, let end = parts.last?.startIndex else { return nil }
        self.fields = fields
        self.code = code.value
        signed = token[..<token.index(before: end)]
    }

    /// Returns the value of a field; `nil` if the token has none of that name.
    subscript(_ name: String) -> Substring? { fields.first { $0.name == name }?.value }
}
