// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens
public import Platform

/// The word that tokens are no longer good although they verify.
public struct Revocation: Hashable, Sendable {
    /// What is revoked.
    public let subject: Subject
    /// Until when it is revoked.
    public let expires: Timestamp

    /// What is revoked.
    public enum Subject: Hashable, Sendable {
        /// One token, by the SHA-256 of its signed bytes.
        case token(TokenFingerprint)
        /// The tokens of a viewer's session that were issued before a time.
        case session(guid: String, issuedBefore: Timestamp)
        /// All tokens of an MVPD that were issued before a time.
        case mvpd(id: String, issuedBefore: Timestamp)
    }

    /// What sort of thing is revoked.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// One token.
        case token
        /// A viewer's session.
        case session
        /// An MVPD.
        case mvpd
    }

    /// Makes a revocation.
    public init(_ subject: Subject, expires: Timestamp) {
        self.subject = subject
        self.expires = expires
    }

    /// What sort of thing is revoked.
    public var kind: Kind {
        switch subject {
        case .token: .token
        case .session: .session
        case .mvpd: .mvpd
        }
    }

    /// The time before which a token must have been issued to be revoked by this.
    package var issuedBefore: Timestamp {
        switch subject {
        case .token: Timestamp(millisecondsSince1970: .max)
        case .session(_, let time), .mvpd(_, let time): time
        }
    }

    /// How much longer than it holds a revocation is kept, in milliseconds: for requests whose time is behind that of others.
    package static let margin: Int64 = 120_000

    /// Whether a revocation that ends at `expires` need not be kept any more. Whether it holds is for the time of a request to
    /// say.
    package static func isForgettable(_ expires: Timestamp, at now: Timestamp) -> Bool {
        expires.advanced(byMilliseconds: margin) < now
    }

    /// The name under which stores keep this. Neither GUID nor MVPD can be read in it.
    package var key: [UInt8] {
        switch subject {
        case .token(let fingerprint): Self.key(.token, fingerprint.bytes)
        case .session(let guid, _): Self.key(.session, [UInt8](guid.utf8))
        case .mvpd(let id, _): Self.key(.mvpd, [UInt8](id.utf8))
        }
    }

    /// The names under which stores would keep what revokes `token`.
    package static func keys(of token: MediaToken) -> [(kind: Kind, key: [UInt8])] {
        var keys = [
            (Kind.token, key(.token, token.fingerprint.bytes)),
            (Kind.session, key(.session, [UInt8](token.userSessionGUID.utf8))),
            (Kind.mvpd, key(.mvpd, [UInt8](token.mvpdID.utf8))),
        ]
        if let proxy = token.proxyMVPDID { keys.append((.mvpd, key(.mvpd, [UInt8](proxy.utf8)))) }
        return keys
    }

    private static func key(_ kind: Kind, _ name: [UInt8]) -> [UInt8] {
        SHA256.digest([UInt8]("\(kind.rawValue):".utf8) + name)
    }
}
