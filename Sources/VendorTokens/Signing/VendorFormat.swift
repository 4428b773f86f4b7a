// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A vendor's format of signed URLs, cookies and tokens. The raw values name it in configurations and on the command line.
@nonexhaustive
public enum VendorFormat: String, Hashable, Sendable, CaseIterable {
    /// Akamai EdgeAuth 2.0.
    case edgeAuth = "edgeauth"
    /// Signed URLs and signed cookies of Amazon CloudFront.
    case cloudFront = "cloudfront"
    /// Tokens of Google Media CDN.
    case mediaCDN = "media-cdn"
    /// Token authentication of Bunny, with HMAC.
    case bunny
    /// The HMAC function of Cloudflare's rules, `is_timed_hmac_valid_v0`.
    case cloudflare
    /// The token functions of Fastly.
    case fastly
    /// The module `secure_link` of nginx, with `secure_link_md5`.
    case secureLink = "secure-link"
    /// The plugin `access_control` of Traffic Server.
    case accessControl = "access-control"
    /// The plugin `url_sig` of Traffic Server.
    case urlSig = "url-sig"

    /// True if tokens of the format are verified here too.
    public var isVerified: Bool {
        switch self {
        case .edgeAuth, .secureLink, .accessControl: true
        case .cloudFront, .mediaCDN, .bunny, .cloudflare, .fastly, .urlSig: false
        }
    }
}

/// An issuer of a vendor's format with one key and the parameters of one profile.
public protocol VendorIssuer: Sendable {
    /// The format.
    var format: VendorFormat { get }
    /// The carriers of the format with these parameters; a delivery has those that suit its request.
    var carriers: Set<SignedDelivery.Carrier> { get }
    /// The weaknesses of key and parameters, which are reported to the operator at the start.
    var warnings: [SigningWarning] { get }

    /// Signs for a folder or a file.
    ///
    /// - Throws: ``SigningError`` if the format cannot express the request.
    func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery
}

/// A verifier of a vendor's format.
public protocol VendorVerifier: Sendable {
    /// The format.
    var format: VendorFormat { get }

    /// Checks a token for a request.
    ///
    /// - Parameters:
    ///   - token: The token as ``SignedDelivery/token`` has it, of any bytes and size.
    ///   - request: The facts of the request.
    ///   - now: The time.
    func verify(_ token: String, for request: SignedRequest, at now: Timestamp) -> SignedVerdict
}

/// A weakness of a key or an algorithm.
@nonexhaustive
public enum SigningWarning: String, Hashable, Sendable, CaseIterable {
    /// The secret has fewer than 32 bytes.
    case shortSecret = "secret_short"
    /// The algorithm is MD5 or SHA-1, or HMAC or RSA with one of them.
    case weakAlgorithm = "algorithm_weak"
}

/// A key for a vendor's format.
public enum VendorKey: Sendable {
    /// A shared secret.
    case secret(SigningSecret)
    /// A private key.
    case privateKey(SigningPrivateKey)

    package func secret() throws(SigningError) -> SigningSecret {
        guard case .secret(let secret) = self else { throw SigningError(.key) }
        return secret
    }
}

extension VendorFormat {
    /// The form of the secret that the vendor hands out; `nil` if the format has only a private key.
    public var secretForm: SigningSecret.Form? {
        switch self {
        case .edgeAuth: .hexadecimal
        case .cloudFront: nil
        case .mediaCDN, .fastly: .base64
        case .bunny, .cloudflare, .secureLink, .accessControl, .urlSig: .text
        }
    }

    /// Creates an issuer with the settings of a profile, by the names in `docs/reference/vendors.md`.
    ///
    /// - Throws: ``SigningError``, with ``SigningError/Code/setting`` for a name that the format does not have.
    public func issuer(with key: VendorKey, settings: [String: String]) throws(SigningError) -> any VendorIssuer {
        var settings = VendorSettings(settings)
        let issuer: any VendorIssuer
        switch self {
        case .edgeAuth: issuer = try EdgeAuthIssuer(try key.secret(), rules: try settings.edgeAuth())
        case .cloudFront:
            guard case .privateKey(let key) = key else { throw SigningError(.key) }
            issuer = try CloudFrontIssuer(key, rules: try settings.cloudFront())
        case .mediaCDN: issuer = try mediaCDN(with: key, settings: &settings)
        case .bunny: issuer = try BunnyIssuer(try key.secret(), rules: try settings.bunny())
        case .cloudflare: issuer = try CloudflareIssuer(try key.secret(), rules: try settings.cloudflare())
        case .fastly: issuer = try FastlyIssuer(try key.secret(), rules: try settings.fastly())
        case .secureLink: issuer = try SecureLinkIssuer(try key.secret(), rules: try settings.secureLink())
        case .accessControl:
            let key = try accessControlKey(from: key, settings: &settings)
            issuer = try AccessControlIssuer(key, rules: try settings.accessControl())
        case .urlSig: issuer = try URLSigIssuer(try key.secret(), rules: try settings.urlSig())
        }
        try settings.finish()
        return issuer
    }

    /// Creates a verifier with the settings of a profile; `nil` if the format is only issued.
    ///
    /// - Throws: ``SigningError``, as ``issuer(with:settings:)``.
    public func verifier(with key: VendorKey, settings: [String: String]) throws(SigningError) -> (any VendorVerifier)?
    {
        var settings = VendorSettings(settings)
        let verifier: any VendorVerifier
        switch self {
        case .edgeAuth: verifier = try EdgeAuthVerifier([try key.secret()], rules: try settings.edgeAuth())
        case .secureLink: verifier = try SecureLinkVerifier(try key.secret(), rules: try settings.secureLink())
        case .accessControl:
            let key = try accessControlKey(from: key, settings: &settings)
            // What else a profile has is not for verifiers, and is checked all the same.
            _ = try AccessControlIssuer(key, rules: try settings.accessControl())
            verifier = try AccessControlVerifier([key])
        case .cloudFront, .mediaCDN, .bunny, .cloudflare, .fastly, .urlSig: return nil
        }
        try settings.finish()
        return verifier
    }

    private func mediaCDN(
        with key: VendorKey,
        settings: inout VendorSettings
    ) throws(SigningError) -> any VendorIssuer {
        let algorithm = settings.text("algorithm")
        let rules = try settings.mediaCDN()
        switch (key, algorithm) {
        case (.privateKey(let key), nil), (.privateKey(let key), "ed25519"):
            return try MediaCDNIssuer(key, rules: rules)
        case (.secret(let seed), "ed25519"): return try MediaCDNIssuer(try SigningPrivateKey(seed: seed), rules: rules)
        case (.secret(let secret), nil): return try MediaCDNIssuer(secret, algorithm: .sha256, rules: rules)
        case (.secret(let secret), let name?):
            guard let algorithm = MediaCDNIssuer.Algorithm(rawValue: name) else {
                throw SigningError(.value, value: "algorithm")
            }
            return try MediaCDNIssuer(secret, algorithm: algorithm, rules: rules)
        case (.privateKey, _): throw SigningError(.value, value: "algorithm")
        }
    }

    private func accessControlKey(
        from key: VendorKey,
        settings: inout VendorSettings
    ) throws(SigningError) -> AccessControlKey {
        let algorithm: AccessControlKey.Algorithm
        switch settings.text("algorithm") {
        case nil, "sha256": algorithm = .sha256
        case "sha512": algorithm = .sha512
        default: throw SigningError(.value, value: "algorithm")
        }
        return try AccessControlKey(try key.secret(), id: try settings.demand("kid"), algorithm: algorithm)
    }
}
