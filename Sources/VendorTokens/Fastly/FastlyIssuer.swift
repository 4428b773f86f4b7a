// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings

/// The parameters of a profile for Fastly, which equal those of the service's VCL.
public struct FastlyRules: Hashable, Sendable {
    /// The name of the parameter.
    public var name = "token"
    /// The algorithm.
    public var algorithm = Algorithm.sha1
    /// True to accept HMAC with SHA-1.
    public var isWeak = false
    /// The signed text; `nil` for `{path}{expires}`, and `{scope}{expires}` for folders.
    public var template: SigningTemplate?

    /// Creates the default rules.
    public init() {}

    /// An algorithm, within HMAC.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        /// SHA-1, as the vendor's token functions have it. Weak.
        case sha1
        /// SHA-256.
        case sha256
    }
}

/// An issuer of Fastly's tokens: `token=EXPIRES_MAC`. The service's own VCL defines the signed text.
public struct FastlyIssuer: VendorIssuer {
    /// The parameters.
    public let rules: FastlyRules
    private let key: HMACKey
    private let isShort: Bool

    /// Creates an issuer.
    ///
    /// - Parameters:
    ///   - secret: The key, which the vendor's functions have in Base64.
    ///   - rules: The parameters.
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: FastlyRules = FastlyRules()) throws(SigningError) {
        guard rules.isWeak || rules.algorithm != .sha1 else { throw SigningError(.weak, value: "algorithm") }
        // A secret within the text would not be one of HMAC.
        guard rules.template?.has(.secret) != true else { throw SigningError(.template, value: "{secret}") }
        guard !rules.name.isEmpty else { throw SigningError(.value, value: "name") }
        try SigningText.demand(rules.name, named: "name", allowing: SigningText.isName)
        key = try secret.key(rules.algorithm == .sha1 ? .sha1 : .sha256)
        isShort = secret.isShort
        self.rules = rules
    }

    public var format: VendorFormat { .fastly }
    public var carriers: Set<SignedDelivery.Carrier> { [.query] }
    public var warnings: [SigningWarning] {
        (isShort ? [.shortSecret] : []) + (rules.algorithm == .sha1 ? [.weakAlgorithm] : [])
    }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        let usual = try SigningTemplate(signing.path.isFolder ? "{scope}{expires}" : "{path}{expires}")
        let template = rules.template ?? usual
        if template.mixesPathAndExpiry { try signing.path.demandEnd() }
        let code = try key.code(of: template.filled(template.values(signing, isDecoded: false)))
        var delivery = SignedDelivery(
            format: format,
            token: "\(signing.expires)_\(code.hexadecimal)",
            expires: signing.expires
        )
        delivery.query = "\(rules.name)=\(delivery.token)"
        delivery.makeURL(signing)
        return delivery
    }
}
