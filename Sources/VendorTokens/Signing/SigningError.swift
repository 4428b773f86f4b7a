// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A reason why a vendor's token is not issued: a mistake of the caller, never of a viewer.
public struct SigningError: Error, Hashable, Sendable {
    /// The reason.
    public let code: Code
    /// The name of the faulty value, such as `path` or `data`; `nil` for none.
    public let value: String?
    /// The character that the format does not accept in the value; `nil` for other reasons.
    public let character: Unicode.Scalar?

    /// Creates an error.
    public init(_ code: Code, value: String? = nil, character: Unicode.Scalar? = nil) {
        self.code = code
        self.value = value
        self.character = character
    }

    /// The reason. The raw values are stable.
    @nonexhaustive
    public enum Code: String, Sendable, CaseIterable {
        /// The key is empty, malformed, or of a type that the format does not have.
        case key = "grant_key_unusable"
        /// The algorithm is weak, and the profile does not have `weak: true`.
        case weak = "grant_algorithm_weak"
        /// A value has a character that delimits in the format. It is never escaped silently.
        case character = "grant_character_refused"
        /// A value is missing that the format or the profile demands.
        case missing = "grant_value_missing"
        /// A value is out of range, or unknown to the format.
        case value = "grant_value_invalid"
        /// A setting that the format does not have.
        case setting = "grant_setting_unknown"
        /// The path is not in a form that all servers read alike, or the format has no folders or no files.
        case scope = "grant_scope_invalid"
        /// The expiry is not after the issue, or beyond the range of the format.
        case times = "grant_times_invalid"
        /// The template has an unknown placeholder, or lacks one that restricts the token.
        case template = "grant_template_invalid"
        /// The token would have more than 4,096 bytes.
        case size = "grant_too_large"
    }
}

extension SigningError: CustomStringConvertible {
    /// The reason, value and character in one line.
    public var description: String {
        let name = value.map { " (\($0))" } ?? ""
        guard let character else { return code.rawValue + name }
        let text =
            0x21..<0x7F ~= character.value
            ? "'\(character)'" : "U+\(String(character.value, radix: 16, uppercase: true))"
        return "\(code.rawValue)\(name): \(text)"
    }
}
