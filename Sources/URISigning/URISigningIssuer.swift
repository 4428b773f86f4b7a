// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import Keys
internal import RequestTargets

/// An issuer of signed URIs (RFC 9246) with one key.
public struct URISigningIssuer: Sendable {
    /// The key.
    public let key: TokenKey
    /// The form of the token.
    public var form = JWSForm()

    /// Creates an issuer.
    ///
    /// - Parameter key: A key for signing tokens of the format `uri-signing`.
    /// - Throws: ``URISigningIssueError/key`` if the key is not one.
    public init(key: TokenKey) throws(URISigningIssueError) {
        guard key.format == .uriSigning, key.operations.contains(.sign) else { throw .key }
        self.key = key
    }

    /// Issues a token. An `issuer` that the claims lack is added: that of the key.
    ///
    /// - Throws: ``URISigningIssueError``.
    public func issue(_ claims: URISigningClaims) throws(URISigningIssueError) -> IssuedSignedURI {
        var claims = claims
        claims.issuer = claims.issuer ?? key.issuer
        guard claims.issuer == key.issuer else { throw .issuer }
        guard let expires = claims.expires else { throw .claims }
        guard let container = claims.container.text else { throw .scope }
        if let end = claims.session?.end, expires > end { throw .claims }
        if let renewal = claims.renewal {
            guard 1...(1 << 40) ~= renewal.life, 0...64 ~= renewal.depth else { throw .claims }
        }
        guard claims.audience.count <= 64, 1...256 ~= (claims.identifier ?? "-").utf8.count else { throw .claims }
        let members = try members(of: claims, expires: expires, container)
        // The token has whole seconds.
        let end = Timestamp(secondsSince1970: expires.seconds)
        return IssuedSignedURI(
            token: try sign(JSON.object(members).line),
            expires: end,
            renewalStart: claims.renewal.map { end.advanced(byMilliseconds: -Int64($0.life) * 500) },
            identifier: claims.identifier,
            session: claims.session
        )
    }

    /// Returns 16 random bytes in hexadecimal for `jti`.
    public static func randomIdentifier() throws(URISigningIssueError) -> String {
        do { return try RandomBytes.make(16).hexadecimal } catch { throw .random }
    }

    private func members(
        of claims: URISigningClaims,
        expires: Timestamp,
        _ container: String
    ) throws(URISigningIssueError) -> [JSON.Member] {
        var members: [JSON.Member] = []
        func add(_ claim: URISigningClaim, value: JSON?) {
            if let value { members.append((name: claim.rawValue, value: value)) }
        }
        add(.issuer, value: claims.issuer.map { .string($0) })
        if let subject = claims.subject {
            add(.subject, value: .string(try encrypted(subject, by: claims.encryptionKey)))
        }
        if let first = claims.audience.first {
            add(.audience, value: claims.audience.count == 1 ? .string(first) : .strings(claims.audience))
        }
        add(.expiration, value: .number(expires.seconds))
        add(.notBefore, value: claims.notBefore.map { .number($0.seconds) })
        add(.issuedAt, value: claims.issued.map { .number($0.seconds) })
        add(.identifier, value: claims.identifier.map { .string($0) })
        add(.version, value: .number(1))
        if let network = claims.network {
            add(.address, value: .string(try encrypted([UInt8](network.text.utf8), by: claims.encryptionKey)))
        }
        add(.container, value: .string(container))
        if let renewal = claims.renewal {
            add(.life, value: .number(Int64(renewal.life)))
            add(.transport, value: .number(renewal.transport.rawValue))
            if renewal.depth > 0 { add(.depth, value: .number(Int64(renewal.depth))) }
        }
        if let session = claims.session {
            add(.session, value: .string(Base64.encodeURLSafe(session.id.bytes)))
            add(.sessionEnd, value: .number(session.end.seconds))
            add(.revocation, value: session.revocation.map { .string($0.claim) })
        }
        add(.protection, value: claims.protection.map { .string(Base64.encodeURLSafe($0.bytes)) })
        add(.profile, value: claims.profile.map { .string($0) })
        return members
    }

    private func encrypted(_ text: [UInt8], by key: EncryptionKey?) throws(URISigningIssueError) -> String {
        guard let key else { throw .encryption }
        do { return try key.encrypt(text) } catch { throw .encryption }
    }

    /// Signs a payload.
    package func sign(_ payload: String) throws(URISigningIssueError) -> String {
        let token: String
        do { token = try key.signJWS([UInt8](payload.utf8), form: form) } catch { throw .key }
        guard token.utf8.count <= JWS.maximumSize else { throw .size }
        return token
    }
}

/// A signed URI's token that was issued.
public struct IssuedSignedURI: Hashable, Sendable {
    /// The text of the token.
    public let token: String
    /// The time from which on the token is expired.
    public let expires: Timestamp
    /// The time from which on the token is renewed here; `nil` if it is not renewable.
    public let renewalStart: Timestamp?
    /// The identity of the token among those of its issuer; `nil` if it has none.
    public let identifier: String?
    /// The playback session, if the token has one.
    public let session: PlaybackSession?
}

/// The reason why a signed URI is not issued.
@nonexhaustive
public enum URISigningIssueError: String, Error, Sendable, CaseIterable {
    /// The key is for another format, or does not sign.
    case key = "grant_key_unusable"
    /// The issuer is not that of the key.
    case issuer = "grant_issuer_mismatch"
    /// No random bytes can be had.
    case random = "grant_random_unavailable"
    /// The claims contradict each other, or are out of range.
    case claims = "grant_claims_invalid"
    /// A URI, pattern or folder that is not in normal form, or a pattern that is not one from `^` to `$`.
    case scope = "grant_scope_invalid"
    /// A subject or network without a key that encrypts it.
    case encryption = "grant_encryption_key_missing"
    /// The token would have more than 8,192 characters.
    case size = "grant_too_large"
    /// The token is not renewable, or its session has ended.
    case notRenewable = "grant_not_renewable"
    /// A redirect from https to http.
    case downgrade = "grant_redirect_insecure"
}

extension ClientNetwork {
    /// The address, and the length if it is not a single one.
    fileprivate var text: String { isAddress ? address.text : description }
}

extension PlaybackSession.Revocability {
    /// The issue time and the tags, as the private claim has them.
    fileprivate var claim: String {
        let number = UInt64(bitPattern: issued.millisecondsSince1970)
        let time = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: number >> UInt64($0)) }
        return Base64.encodeURLSafe(time + tags.flatMap(\.bytes))
    }
}
