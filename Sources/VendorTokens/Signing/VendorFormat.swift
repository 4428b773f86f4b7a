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
