// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import MediaTokens
public import Platform

/// A revocation of a token, a session, an MVPD or a playback. Revoked tokens are refused although they verify, and so are the
/// grants of the playbacks that they started.
public struct Revocation: Hashable, Sendable {
    /// The revoked subject.
    public let subject: Subject
    /// The last moment at which the revocation applies.
    public let expires: Timestamp

    /// The subject of a revocation.
    public enum Subject: Hashable, Sendable {
        /// One token, by the SHA-256 of its signed bytes.
        case token(TokenFingerprint)
        /// The tokens of a viewer's session that were issued before a time.
        case session(guid: String, issuedBefore: Timestamp)
        /// All tokens of an MVPD that were issued before a time.
        case mvpd(id: String, issuedBefore: Timestamp)
        /// One playback session, with all its grants. Its media token is not revoked.
        case playback(SessionID)
        /// One playback session whose grant several players had. Refusals say so.
        case sharedPlayback(SessionID)

        /// The playback session; `nil` for other subjects.
        package var session: SessionID? {
            switch self {
            case .playback(let session), .sharedPlayback(let session): session
            case .token, .session, .mvpd: nil
            }
        }
    }

    /// The kind of a revoked subject.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        /// One token.
        case token
        /// A viewer's session.
        case session
        /// An MVPD.
        case mvpd
        /// A playback session.
        case playback
    }

    /// Creates a revocation.
    public init(_ subject: Subject, expires: Timestamp) {
        self.subject = subject
        self.expires = expires
    }

    /// The kind of the revoked subject.
    public var kind: Kind {
        switch subject {
        case .token: .token
        case .session: .session
        case .mvpd: .mvpd
        case .playback, .sharedPlayback: .playback
        }
    }

    /// The time before which a token must have been issued to be revoked.
    package var issuedBefore: Timestamp {
        switch subject {
        case .token, .playback: Timestamp(millisecondsSince1970: .max)
        case .sharedPlayback: Self.everShared
        case .session(_, let time), .mvpd(_, let time): time
        }
    }

    /// The ``RevocationRecord/issuedBefore`` of a shared playback: a time that never comes, which no other revocation has.
    ///
    /// Stores, lists and policies have a time for each subject, and no room for a reason. Older versions read it as any other time.
    public static let everShared = Timestamp(millisecondsSince1970: (1 << 53) - 1)

    /// The time for which a revocation is stored after it ends, in milliseconds: requests may arrive with an earlier
    /// time of receipt.
    package static let margin: Int64 = 120_000

    /// True if a revocation that ends at `expires` can be deleted. The time of a request decides whether the revocation
    /// applies to it.
    package static func isForgettable(_ expires: Timestamp, at now: Timestamp) -> Bool {
        expires.advanced(byMilliseconds: margin) < now
    }

    /// The key of this revocation in stores. It reveals neither GUID nor MVPD.
    package var key: [UInt8] {
        switch subject {
        case .token(let fingerprint): Self.key(of: .token, name: fingerprint.bytes)
        case .session(let guid, _): Self.key(of: .session, name: guid.utf8)
        case .mvpd(let id, _): Self.key(of: .mvpd, name: id.utf8)
        case .playback(let session), .sharedPlayback(let session): Self.key(of: .playback, name: session.bytes)
        }
    }

    /// The key of this revocation in stores, as a digest.
    package var storeKey: SHA256Digest {
        guard let digest = SHA256Digest(bytes: key) else { preconditionFailure("a SHA-256 has 32 bytes") }
        return digest
    }

    /// The longest permitted time from the issue of a media token to the end of the session that it starts: twelve hours.
    /// Revocations are stored for that long for the grants of sessions, even if they end earlier for media tokens.
    public static let longestSession = Duration.seconds(12 * 3600)

    /// Returns the store keys of all revocations that may apply to `token`.
    ///
    /// The order is that of the tags of a grant: token, session GUID, MVPD, and proxy MVPD if there is one.
    package static func keys(of token: MediaToken) -> [(kind: Kind, key: [UInt8])] {
        var keys = [
            (Kind.token, key(of: .token, name: token.fingerprint.bytes)),
            (Kind.session, key(of: .session, name: token.userSessionGUID.utf8)),
            (Kind.mvpd, key(of: .mvpd, name: token.mvpdID.utf8)),
        ]
        if let proxy = token.proxyMVPDID { keys.append((.mvpd, key(of: .mvpd, name: proxy.utf8))) }
        return keys
    }

    private static func key(of kind: Kind, name: some Collection<UInt8>) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(16 + name.count)
        bytes.append(copying: kind.rawValue)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: name)
        return SHA256.digest(bytes)
    }
}
