// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Cryptography
internal import EdgeTokens
internal import Encodings
public import Platform

/// A key of Traffic Server's `access_control`, bound to its id and its one algorithm.
public struct AccessControlKey: Sendable {
    /// The id (`kid`), the name before `=` in the plugin's file.
    public let id: String
    /// The algorithm (`st`).
    public let algorithm: Algorithm
    package let key: HMACKey
    package let isShort: Bool

    /// Creates a key.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, id: String, algorithm: Algorithm = .sha256) throws(SigningError) {
        guard 1...64 ~= id.utf8.count else { throw SigningError(.value, value: "kid") }
        try SigningText.demand(id, named: "kid", allowing: \.isUnreserved)
        // The plugin reads the secret up to the end of a line, and passes it on as text that a zero byte ends.
        guard secret.bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else { throw SigningError(.key) }
        key = try secret.key(algorithm == .sha256 ? .sha256 : .sha512)
        isShort = secret.isShort
        self.id = id
        self.algorithm = algorithm
    }

    /// An algorithm of the plugin, within HMAC.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// SHA-256.
        case sha256 = "HMAC-SHA-256"
        /// SHA-512.
        case sha512 = "HMAC-SHA-512"
    }
}

/// The parameters of a profile for Traffic Server's `access_control`.
public struct AccessControlRules: Hashable, Sendable {
    /// The name of the cookie (`--check-cookie`).
    public var cookie = "TokenCookie"
    /// The subject (`sub`) of requests without a session; `nil` to refuse those.
    public var subject: String?
    /// True to include the time of issue (`iat`).
    public var hasIssueTime = true
    /// True to include a start (`nbf`), one second before the issue, because the plugin refuses the second itself.
    public var hasStart = false
    /// The id of the token (`tid`); `nil` for none.
    public var tokenID: String?
    /// The version (`ver`), which the plugin ignores; `nil` for none.
    public var version: String?
    /// The scope (`scope`), which the plugin ignores; `nil` for none.
    public var scope: String?

    /// Creates the default rules.
    public init() {}
}

/// An issuer of tokens for Traffic Server's `access_control`: `sub=…&exp=…&kid=…&st=…&md=…` in a cookie.
///
/// The token names no path: the plugin's line in `remap.config` is its scope, and the path of the cookie.
public struct AccessControlIssuer: VendorIssuer {
    /// The parameters.
    public let rules: AccessControlRules
    private let key: AccessControlKey

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ key: AccessControlKey, rules: AccessControlRules = AccessControlRules()) throws(SigningError) {
        guard !rules.cookie.isEmpty else { throw SigningError(.value, value: "cookie") }
        try SigningText.demand(rules.cookie, named: "cookie", allowing: SigningText.isName)
        for (name, value) in [
            ("subject", rules.subject), ("tid", rules.tokenID), ("version", rules.version), ("scope", rules.scope),
        ] {
            guard let value else { continue }
            guard !value.isEmpty else { throw SigningError(.value, value: name) }
            try SigningText.demand(value, named: name, allowing: \.isUnreserved)
        }
        self.key = key
        self.rules = rules
    }

    public var format: VendorFormat { .accessControl }
    public var carriers: Set<SignedDelivery.Carrier> { [.cookie] }
    public var warnings: [SigningWarning] { key.isShort ? [.shortSecret] : [] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        // The plugin has no address. An unbound token in answer to a request for a bound one opens more than was meant.
        guard request.client == nil else { throw SigningError(.value, value: "client") }
        guard let subject = try signing.session(\.isUnreserved) ?? rules.subject else {
            throw SigningError(.missing, value: "session")
        }
        var text = "sub=\(subject)&exp=\(signing.expires)"
        if rules.hasStart { text += "&nbf=\(signing.issued - 1)" }
        if rules.hasIssueTime { text += "&iat=\(signing.issued)" }
        if let id = rules.tokenID { text += "&tid=\(id)" }
        if let version = rules.version { text += "&ver=\(version)" }
        if let scope = rules.scope { text += "&scope=\(scope)" }
        text += "&kid=\(key.id)&st=\(key.algorithm.rawValue)&md="
        text += try key.key.code(of: text).hexadecimal
        let token = Base64.encodeURLSafe(Array(text.utf8))
        guard token.utf8.count <= SigningText.maximumSize else { throw SigningError(.size) }
        var delivery = SignedDelivery(format: format, token: token, expires: signing.expires)
        delivery.cookies = [SignedDelivery.Cookie(name: rules.cookie, value: token, path: signing.cookiePath)]
        return delivery
    }
}

/// A verifier of tokens for Traffic Server's `access_control`, stricter than the plugin: every field occurs once,
/// numbers are numbers, and the algorithm is the key's. Times are compared as in the plugin: the second of `exp` is
/// valid, that of `nbf` is not.
public struct AccessControlVerifier: VendorVerifier {
    private let keys: [AccessControlKey]
    private static let fields: Set<Substring> = ["sub", "exp", "nbf", "iat", "tid", "ver", "scope", "kid", "st"]

    /// Creates a verifier.
    ///
    /// - Throws: ``SigningError`` with ``SigningError/Code/key`` without keys, or if two have one id.
    public init(_ keys: [AccessControlKey]) throws(SigningError) {
        guard !keys.isEmpty, Set(keys.map(\.id)).count == keys.count else { throw SigningError(.key) }
        self.keys = keys
    }

    public var format: VendorFormat { .accessControl }

    /// Checks a token, the value of the cookie. It names no path: the caller's own entry for the path is its scope.
    public func verify(_ token: String, for request: SignedRequest, at now: Timestamp) -> SignedVerdict {
        guard token.utf8.count <= SigningText.maximumSize else { return .refused(.tooLarge) }
        guard let bytes = Base64.decodeURLSafe(token), let text = String(validating: bytes, as: UTF8.self),
            let fields = SignedFields(text[...], delimiter: "&", last: "md"), Self.isWellFormed(fields),
            let expires = fields["exp"].flatMap({ SigningText.number($0) }), let id = fields["kid"],
            let code = SigningText.bytes(hexadecimal: fields.code)
        else { return .refused(.malformed) }
        guard let key = keys.first(where: { $0.id == id }) else { return .refused(.keyUnknown) }
        guard fields["st"] ?? AccessControlKey.Algorithm.sha256.rawValue[...] == key.algorithm.rawValue[...] else {
            return .refused(.algorithmRefused)
        }
        guard code.count == key.key.size else { return .refused(.malformed) }
        guard key.key.isValid(code, of: "\(fields.signed)&md=") else { return .refused(.signatureInvalid) }
        guard now.wholeSeconds <= expires else { return .refused(.expired) }
        if let start = fields["nbf"].flatMap({ SigningText.number($0) }), now.wholeSeconds <= start {
            return .refused(.notYetValid)
        }
        return .allowed(SignedGrant(expires: expires, session: fields["sub"].map { String($0) }, keyID: key.id))
    }

    private static func isWellFormed(_ fields: SignedFields) -> Bool {
        let areKnown = fields.fields.allSatisfy { field in
            Self.fields.contains(field.name) && !field.value.isEmpty && field.value.utf8.allSatisfy(\.isUnreserved)
        }
        let areTimes = ["exp", "nbf", "iat"].allSatisfy { name in
            fields[name].map { SigningText.number($0) != nil } ?? true
        }
        return areKnown && areTimes && fields["sub"] != nil
    }
}
