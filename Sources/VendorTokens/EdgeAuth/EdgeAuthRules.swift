// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
internal import Encodings

/// The parameters of a profile for Akamai EdgeAuth 2.0, which equal those of the property.
public struct EdgeAuthRules: Hashable, Sendable {
    /// The name of parameter, cookie and segment: `hdnts`, `hdntl`, `hdnea`, `__token__` or another.
    public var name = "hdnts"
    /// The algorithm.
    public var algorithm = Algorithm.sha256
    /// True to accept a weak algorithm.
    public var isWeak = false
    /// The salt, which is not in the token; `nil` for none.
    public var salt: String?
    /// True to escape address, session, data and URL as a form does (`escapeEarly`).
    public var isEscaped = false
    /// True to include the start (`st`).
    public var hasStart = false
    /// True to sign the URL of a single file instead of an access list.
    public var signsURL = true
    /// The patterns of the access list besides the request's path: `*` is any text, `?` any character.
    public var patterns: [String] = []
    /// The payload (`data`); `nil` for none.
    public var data: String?

    /// Creates the default rules.
    public init() {}

    /// An algorithm of EdgeAuth, within HMAC.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// SHA-256.
        case sha256
        /// SHA-1, which is weak.
        case sha1
        /// MD5, which is weak.
        case md5

        package var function: MessageDigest {
            switch self {
            case .sha256: .sha256
            case .sha1: .sha1
            case .md5: .md5
            }
        }
    }

    /// The names of the fields, in the order of a token.
    package static let fields = ["ip", "st", "exp", "acl", "id", "data"]

    /// True for a character of a value: neither a delimiter nor a control character.
    static func isValue(_ byte: UInt8) -> Bool {
        SigningText.isPrintable(byte) && byte != UInt8(ascii: "~") && byte != UInt8(ascii: "!")
    }

    /// Returns a value as it stands in the token. Throws for delimiters, which are never escaped.
    package func value(_ text: String, named name: String) throws(SigningError) -> String {
        guard isEscaped else {
            try SigningText.demand(text, named: name, allowing: Self.isValue)
            return text
        }
        // Escaping covers all but the tilde; the exclamation mark is refused all the same.
        if let found = text.unicodeScalars.first(where: {
            $0.value < 0x20 || $0.value == 0x7F || $0 == "~" || $0 == "!"
        }) {
            throw SigningError(.character, value: name, character: found)
        }
        return Self.escaped(text)
    }

    /// Returns text as a form encodes it, with digits in lower case.
    package static func escaped(_ text: String) -> String {
        text.unicodeScalars.map { scalar in
            if scalar == " " { return "+" }
            if scalar.isASCII, UInt8(scalar.value).isUnreserved { return String(scalar) }
            return String(scalar).utf8.map { "%" + [$0].hexadecimal }.joined()
        }.joined()
    }

    /// Returns the text that is authenticated.
    ///
    /// - Parameter url: The URL's path as signed; `nil` with an access list.
    package func message(_ fields: String, url: String?) -> String {
        var text = fields
        if let url { text += "~url=" + url }
        if let salt { text += "~salt=" + salt }
        return text
    }

    /// Makes the key, and checks the settings that do not depend on the request.
    package func key(_ secret: SigningSecret) throws(SigningError) -> HMACKey {
        guard isWeak || algorithm == .sha256 else { throw SigningError(.weak, value: "algorithm") }
        try SigningText.demand(salt ?? "", named: "salt", allowing: Self.isValue)
        for pattern in patterns {
            guard pattern.utf8.first == UInt8(ascii: "/") || pattern.utf8.first == UInt8(ascii: "*") else {
                throw SigningError(.value, value: "acl")
            }
            try SigningText.demand(pattern, named: "acl") { Self.isValue($0) && $0 != 0x20 }
        }
        if let data { _ = try value(data, named: "data") }
        return try secret.key(algorithm.function)
    }
}
