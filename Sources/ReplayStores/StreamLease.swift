// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import MediaTokens
public import Platform

/// The key under which the streams of a viewer are counted together. It reveals neither the MVPD nor the viewer.
public struct LeaseKey: Hashable, Sendable {
    /// The SHA-256 of the requestor, and of the tags of the MVPD and the viewer's session GUID.
    public let digest: SHA256Digest

    /// Creates the key of a viewer.
    ///
    /// - Parameters:
    ///   - requestor: The requestor of the media token.
    ///   - mvpd: The tag of the MVPD, as grants carry it.
    ///   - viewer: The tag of the viewer's session GUID, as grants carry it.
    public init(requestor: String, mvpd: SubjectTag, viewer: SubjectTag) {
        digest = SHA256Digest(hashing: viewer.bytes + mvpd.bytes + [UInt8](requestor.utf8))
    }

    /// Creates a key from its digest.
    public init(_ digest: SHA256Digest) { self.digest = digest }
}

/// A slot for one stream of a viewer.
public struct StreamLease: Hashable, Sendable {
    /// The viewer whose streams are counted.
    public let key: LeaseKey
    /// The playback session that uses the slot. It has at most one slot.
    public let session: SessionID
    /// The number of slots of the viewer, from 1 to ``maximumLimit``. It decides about new slots only.
    public let limit: Int
    /// The time from which the slot no longer counts: the expiry of the session's grant, and ten seconds.
    public let expires: Timestamp

    /// The largest value of ``limit``.
    public static let maximumLimit = 64

    /// Creates a lease. A `limit` outside of 1 to ``maximumLimit`` is clamped to this range.
    public init(_ key: LeaseKey, session: SessionID, limit: Int, expires: Timestamp) {
        self.key = key
        self.session = session
        self.limit = min(max(limit, 1), Self.maximumLimit)
        self.expires = expires
    }

    /// Returns the end of a slot that is acquired at `now`: no earlier than a millisecond later.
    package func ends(at now: Timestamp) -> Timestamp { max(expires, now.advanced(byMilliseconds: 1)) }
}

/// The outcome of acquiring a slot.
@nonexhaustive
public enum LeaseOutcome: Hashable, Sendable {
    /// The session has acquired a slot.
    case taken
    /// The session had a slot, and retains it.
    case renewed
    /// The viewer has no slot left; `current` are in use, which is more than the limit if that was lowered.
    case limitReached(current: Int)
    /// The store has no room for another lease.
    case full
}
