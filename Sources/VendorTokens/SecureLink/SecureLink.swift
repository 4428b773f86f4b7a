// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import EdgeTokens
internal import Encodings
public import Platform
internal import RequestTargets

/// The parameters of a profile for nginx's `secure_link_md5`.
public struct SecureLinkRules: Hashable, Sendable {
    /// The signed text, exactly as nginx's line joins it: `{expires}{path}{address} {secret}`.
    public var template: SigningTemplate
    /// True to accept MD5, the only algorithm of the module. Without it, no token is issued.
    public var isWeak = false
    /// The name of the parameter with the digest.
    public var digestName = "md5"
    /// The name of the parameter with the expiry.
    public var expiresName = "expires"
    /// The first segment of paths with a token, `s` for `/s/DIGEST,EXPIRES/live/tnt/a.m3u8`; `nil` for a query.
    public var prefix: String?

    /// Creates rules for a template.
    public init(_ template: SigningTemplate) { self.template = template }

    /// Checks the settings that do not depend on the request.
    package func check(_ secret: SigningSecret) throws(SigningError) {
        guard isWeak else { throw SigningError(.weak, value: "algorithm") }
        // Without the secret anybody makes links.
        guard template.has(.secret) else { throw SigningError(.template, value: "{secret}") }
        guard !template.mixesPathAndExpiry else { throw SigningError(.template, value: "{path}{expires}") }
        for (name, text) in [("digest-name", digestName), ("expires-name", expiresName), ("prefix", prefix ?? "s")] {
            guard !text.isEmpty else { throw SigningError(.value, value: name) }
            try SigningText.demand(text, named: name, allowing: SigningText.isName)
        }
    }

    /// Returns the digest of the filled template.
    package func digest(
        of values: SigningTemplate.Values,
        with secret: SigningSecret
    ) throws(SigningError) -> [UInt8] {
        var values = values
        values.secret = secret.bytes
        let text = try template.filled(values)
        guard let digest = MessageDigest.md5.digest(text.span) else { throw SigningError(.key) }
        return digest
    }
}

/// An issuer of links for nginx's `secure_link_md5`, which compares the decoded path.
public struct SecureLinkIssuer: VendorIssuer {
    /// The parameters.
    public let rules: SecureLinkRules
    private let secret: SigningSecret

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: SecureLinkRules) throws(SigningError) {
        try rules.check(secret)
        self.secret = secret
        self.rules = rules
    }

    public var format: VendorFormat { .secureLink }
    public var carriers: Set<SignedDelivery.Carrier> { rules.prefix == nil ? [.query] : [.segment] }
    public var warnings: [SigningWarning] { (secret.isShort ? [.shortSecret] : []) + [.weakAlgorithm] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        let digest = try rules.digest(of: rules.template.values(signing, isDecoded: true), with: secret)
        let text = Base64.encodeURLSafe(digest)
        var delivery = SignedDelivery(format: format, token: "\(text),\(signing.expires)", expires: signing.expires)
        if let prefix = rules.prefix {
            delivery.path = "/\(prefix)/\(delivery.token)\(signing.path.raw)"
        } else {
            delivery.query = "\(rules.digestName)=\(text)&\(rules.expiresName)=\(signing.expires)"
        }
        delivery.makeURL(signing)
        return delivery
    }
}

/// A verifier of links for nginx's `secure_link_md5`. Links are valid for the whole second of their expiry, as in
/// nginx.
public struct SecureLinkVerifier: VendorVerifier {
    /// The parameters.
    public let rules: SecureLinkRules
    private let secret: SigningSecret

    /// Creates a verifier.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: SecureLinkRules) throws(SigningError) {
        try rules.check(secret)
        self.secret = secret
        self.rules = rules
    }

    public var format: VendorFormat { .secureLink }

    /// Checks a token, which is the digest and the expiry with a comma between them.
    public func verify(_ token: String, for request: SignedRequest, at now: Timestamp) -> SignedVerdict {
        guard token.utf8.count <= SigningText.maximumSize else { return .refused(.tooLarge) }
        let parts = token.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].count == 22, let digest = Base64.decodeURLSafe(String(Substring(parts[0]))),
            let expires = SigningText.number(Substring(parts[1]))
        else { return .refused(.malformed) }
        guard let path = try? SigningPath(request.path) else { return .refused(.uriMismatch) }
        var values = SigningTemplate.Values(expires: Array(parts[1]), path: Array(path.decoded.utf8))
        if rules.template.has(.scope) {
            guard let scope = request.scope else { return .refused(.contextMissing) }
            guard let folder = try? SigningPath(scope), folder.isFolder,
                path.decoded.utf8.starts(with: folder.decoded.utf8)
            else { return .refused(.uriMismatch) }
            values.scope = Array(folder.decoded.utf8)
        }
        if rules.template.has(.address) {
            guard let client = request.client else { return .refused(.contextMissing) }
            values.address = Array(client.text.utf8)
        }
        guard let computed = try? rules.digest(of: values, with: secret),
            ConstantTime.equals(digest.span, to: computed.span)
        else {
            return .refused(.signatureInvalid)
        }
        guard now.wholeSeconds <= expires else { return .refused(.expired) }
        return .allowed(SignedGrant(expires: expires))
    }
}
