// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

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

    /// Creates an issuer with the settings of a profile, by the names in `docs/vendors.md`.
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
