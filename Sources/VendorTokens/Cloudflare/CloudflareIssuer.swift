// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The parameters of a profile for Cloudflare's `is_timed_hmac_valid_v0`, which equal those of the rule.
public struct CloudflareRules: Hashable, Sendable {
    /// The name of the parameter. With `?` and `=` it is the rule's separator.
    public var name = "verify"
    /// The life in seconds, which is in the rule only: each life needs a rule.
    public var life: Int64 = 300
    /// True for URL-safe Base64 without padding, the rule's flag `s`; false for Base64 that is percent-encoded.
    public var isURLSafe = true

    /// Creates the default rules.
    public init() {}
}

/// An issuer for Cloudflare's `is_timed_hmac_valid_v0`: `verify=ISSUED-MAC`, the last parameter of the query.
///
/// The token has the time of issue; the rule adds the life. For an earlier end, the time of issue is moved back.
public struct CloudflareIssuer: VendorIssuer {
    /// The parameters.
    public let rules: CloudflareRules
    private let key: HMACKey
    private let isShort: Bool

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: CloudflareRules = CloudflareRules()) throws(SigningError) {
        guard 1...31_536_000 ~= rules.life else { throw SigningError(.value, value: "life") }
        guard !rules.name.isEmpty else { throw SigningError(.value, value: "name") }
        try SigningText.demand(rules.name, named: "name", allowing: SigningText.isName)
        key = try secret.key(.sha256)
        isShort = secret.isShort
        self.rules = rules
    }

    public var format: VendorFormat { .cloudflare }
    public var carriers: Set<SignedDelivery.Carrier> { [.query] }
    public var warnings: [SigningWarning] { isShort ? [.shortSecret] : [] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        // The rule has no address. An unbound token in answer to a request for a bound one opens more than was meant.
        guard request.client == nil else { throw SigningError(.value, value: "client") }
        let time = min(signing.issued, signing.expires - rules.life)
        // The rule reads ten digits.
        guard 1_000_000_000...9_999_999_999 ~= time else { throw SigningError(.times) }
        let own = signing.path.isFolder || request.query.isEmpty ? "" : "?" + request.query
        let code = try key.code(of: signing.path.raw + own + String(time))
        let text = rules.isURLSafe ? Base64.encodeURLSafe(code) : Base64.encode(code).percentEncoded
        var delivery = SignedDelivery(format: format, token: "\(time)-\(text)", expires: time + rules.life)
        delivery.query = "\(rules.name)=\(delivery.token)"
        delivery.makeURL(signing)
        return delivery
    }
}
