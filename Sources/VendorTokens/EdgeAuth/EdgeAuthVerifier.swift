// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
internal import RequestTargets

/// A verifier of Akamai EdgeAuth 2.0, for edges of one's own beside Akamai's.
public struct EdgeAuthVerifier: VendorVerifier {
    /// The parameters.
    public let rules: EdgeAuthRules
    private let keys: [HMACKey]

    /// The number of patterns of an access list that are tried.
    private static let maximumPatterns = 16

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - secrets: The key of the property, and others while they change: 1 to 4.
    ///   - rules: The parameters.
    /// - Throws: ``SigningError``.
    public init(_ secrets: [SigningSecret], rules: EdgeAuthRules = EdgeAuthRules()) throws(SigningError) {
        guard 1...4 ~= secrets.count else { throw SigningError(.key) }
        var keys: [HMACKey] = []
        for secret in secrets { keys.append(try rules.key(secret)) }
        self.keys = keys
        self.rules = rules
    }

    public var format: VendorFormat { .edgeAuth }

    public func verify(_ token: String, for request: SignedRequest, at now: Timestamp) -> SignedVerdict {
        guard token.utf8.count <= SigningText.maximumSize else { return .refused(.tooLarge) }
        guard let fields = SignedFields(token[...], delimiter: "~", last: "hmac"), Self.isOrdered(fields),
            let expires = fields["exp"].flatMap({ SigningText.number($0) }),
            let code = SigningText.bytes(hexadecimal: fields.code), code.count == rules.algorithm.function.size
        else { return .refused(.malformed) }
        let start = fields["st"].map { SigningText.number($0) }
        if case .some(nil) = start { return .refused(.malformed) }
        let list = fields["acl"]?.split(separator: "!", omittingEmptySubsequences: false)
        guard list?.count ?? 0 <= Self.maximumPatterns else { return .refused(.malformed) }

        let path = try? SigningPath(request.path)
        var url: String?
        if list == nil {
            guard let path, let value = try? rules.value(path.raw, named: "path") else { return .refused(.uriMismatch) }
            url = value
        }
        let message = rules.message(String(fields.signed), url: url)
        // Every key is tried, so that the time does not tell which one it was.
        guard keys.reduce(false, { $1.isValid(code, of: message) || $0 }) else { return .refused(.signatureInvalid) }

        if now.millisecondsSince1970 >= expires * 1000 { return .refused(.expired) }
        if let start = start ?? nil, now.millisecondsSince1970 < start * 1000 { return .refused(.notYetValid) }
        if let refusal = addressRefusal(of: fields["ip"], for: request.client) { return .refused(refusal) }
        if let list {
            guard let path, list.contains(where: { Wildcard.matches($0, text: path.raw) }) else {
                return .refused(.uriMismatch)
            }
        }
        return .allowed(SignedGrant(expires: expires, session: fields["id"].map { text($0) }))
    }

    private static func isOrdered(_ fields: SignedFields) -> Bool {
        let indices = fields.fields.map { field in EdgeAuthRules.fields.firstIndex { $0 == field.name } }
        return indices.allSatisfy { $0 != nil } && zip(indices, indices.dropFirst()).allSatisfy { $0 ?? 0 < $1 ?? 0 }
    }

    private func addressRefusal(of value: Substring?, for client: IPAddress?) -> GrantCode? {
        guard let value else { return nil }
        guard let client else { return .contextMissing }
        return IPAddress(text(value)) == client ? nil : .addressMismatch
    }

    /// Returns a value without the escapes of a form.
    private func text(_ value: Substring) -> String {
        guard rules.isEscaped else { return String(value) }
        return String(value.map { $0 == "+" ? " " : $0 })[...].percentDecoded ?? String(value)
    }
}

/// Patterns in which `*` is any text and `?` any character.
enum Wildcard {
    /// True if the whole text matches. The time is at most proportional to the product of both lengths.
    static func matches(_ pattern: Substring, text: String) -> Bool {
        let (pattern, text) = (Array(pattern.utf8), Array(text.utf8))
        var (patternIndex, position) = (0, 0)
        // The index after the last star, and the text that it covers up to now.
        var star: (patternIndex: Int, position: Int)?
        while position < text.count {
            if patternIndex < pattern.count, pattern[patternIndex] == UInt8(ascii: "*") {
                patternIndex += 1
                star = (patternIndex, position)
            } else if patternIndex < pattern.count,
                pattern[patternIndex] == UInt8(ascii: "?") || pattern[patternIndex] == text[position]
            {
                patternIndex += 1
                position += 1
            } else if let last = star {
                star = (last.patternIndex, last.position + 1)
                (patternIndex, position) = (last.patternIndex, last.position + 1)
            } else {
                return false
            }
        }
        return pattern[patternIndex...].allSatisfy { $0 == UInt8(ascii: "*") }
    }
}
