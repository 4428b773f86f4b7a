// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import Keys
internal import RequestTargets

/// An issuer of Common Access Tokens with one key.
///
/// Tokens are issued in deterministic CBOR: the same claims give the same payload.
public struct CATIssuer: Sendable {
    /// The key.
    public let key: TokenKey
    /// The form of the envelope.
    public var form = COSEForm()
    /// The labels of claims that differ from those of the registry.
    public var labels = CATLabels.registered

    /// Creates an issuer.
    ///
    /// - Parameter key: A key for signing tokens of the format `cat`.
    /// - Throws: ``CATIssueError/key`` if the key is not one.
    public init(key: TokenKey) throws(CATIssueError) {
        guard key.format == .cat, key.operations.contains(.sign) else { throw .key }
        self.key = key
    }

    /// Issues a token. An `issuer` or `identifier` that the claims lack is added: that of the key, and 16 random bytes.
    ///
    /// - Throws: ``CATIssueError``.
    public func issue(_ claims: CATClaims) throws(CATIssueError) -> IssuedCAT {
        var claims = claims
        claims.issuer = claims.issuer ?? key.issuer
        guard claims.issuer == key.issuer else { throw .issuer }
        if claims.identifier.isEmpty { claims.identifier = try Self.randomIdentifier() }
        if let fault = claims.fault { throw fault }
        guard let payload = claims.payload(labels) else { throw .claims }
        // The token has whole seconds.
        let expires = claims.expires.map { Timestamp(secondsSince1970: $0.seconds) }
        return IssuedCAT(
            token: try sign(payload),
            expires: expires,
            renewalStart: claims.renewal.flatMap { renewal in expires.map { renewal.start(end: $0) } },
            identifier: claims.identifier,
            session: claims.session
        )
    }

    /// Returns 16 random bytes for `cti`.
    public static func randomIdentifier() throws(CATIssueError) -> [UInt8] {
        do { return try RandomBytes.make(16) } catch { throw .random }
    }

    package func sign(_ payload: [UInt8]) throws(CATIssueError) -> String {
        let envelope: [UInt8]
        do { envelope = try key.signCOSE(payload, form: form) } catch { throw .key }
        guard envelope.count <= COSEText.maximumBytes else { throw .size }
        return COSEText.encode(envelope)
    }
}

/// A token that was issued.
public struct IssuedCAT: Hashable, Sendable {
    /// The text of the token: the URL-safe Base64 of its bytes, without padding.
    public let token: String
    /// The time from which on the token is expired, if it expires.
    public let expires: Timestamp?
    /// The time from which on the token is renewed; `nil` if it is not renewable.
    public let renewalStart: Timestamp?
    /// The identity of the token among those of its issuer.
    public let identifier: [UInt8]
    /// The playback session, if the token has one.
    public let session: PlaybackSession?
}

/// The reason why a token is not issued.
@nonexhaustive
public enum CATIssueError: String, Error, Sendable, CaseIterable {
    /// The key is for another format, or does not sign.
    case key = "grant_key_unusable"
    /// The issuer is not that of the key.
    case issuer = "grant_issuer_mismatch"
    /// No random bytes can be had.
    case random = "grant_random_unavailable"
    /// The claims contradict each other, or cannot be written.
    case claims = "grant_claims_invalid"
    /// A prefix that is empty, or a path that is not in normal form or does not end in `/`.
    case scope = "grant_scope_invalid"
    /// A network or location that identifies the viewer.
    case precision = "grant_claims_too_precise"
    /// The token would have more than 4,096 bytes.
    case size = "grant_too_large"
    /// The token is not renewable, or its session has ended.
    case notRenewable = "grant_not_renewable"
}

extension CATClaims {
    /// A fault that a verifier would refuse, or that opens more than was meant.
    fileprivate var fault: CATIssueError? {
        for rule in uri {
            switch rule.match {
            case .prefix(let text) where rule.component == .path:
                // Without the last slash, `/a` opens `/ab`.
                guard text.utf8.last == UInt8(ascii: "/"), RequestURI(text[...])?.path == text[...] else {
                    return .scope
                }
            case .prefix(let text), .suffix(let text), .contains(let text), .pattern(let text):
                guard !text.isEmpty else { return .scope }
            case .sha256(let digest), .sha512t256(let digest): guard digest.count == 32 else { return .claims }
            case .exact: continue
            }
        }
        guard identifier.count <= 64, audience.count <= 64, methods.count <= 50, networks.count <= 64 else {
            return .claims
        }
        guard confirmation.isEmpty || confirmation.count == 32 else { return .claims }
        if let end = session?.end, let expires { guard expires <= end else { return .claims } }
        for network in networks where network.isTooPrecise { return .precision }
        for geohash in geohashes where !(1...4 ~= geohash.utf8.count) { return .precision }
        return nil
    }
}

extension CATClaims.Network {
    /// True if a prefix identifies a viewer: anyone with the token can read it.
    fileprivate var isTooPrecise: Bool {
        guard case .prefix(let address, let length) = self else { return false }
        return !(0...(address.isIPv4 ? 24 : 56) ~= length)
    }
}

extension CATRenewal {
    /// Returns the time from which on a token that expires at `end` is renewed.
    fileprivate func start(end: Timestamp) -> Timestamp {
        let times = RenewalTimes(life: Int64(life) * 1000, deadline: deadline.map { Int64($0) * 1000 })
        return Timestamp(millisecondsSince1970: times.start(end: end.millisecondsSince1970))
    }
}
