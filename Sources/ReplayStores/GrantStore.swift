// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import MediaTokens
public import Platform

/// A store of the grants that may be used once (`catreplay` 1 of CTA-5007, `jti` of RFC 9246). It knows nothing of media
/// tokens.
public protocol GrantReplayStore: Sendable {
    /// Records a grant unless it was recorded before, atomically for all gates that share the store.
    ///
    /// - Parameters:
    ///   - identity: The SHA-256 of the grant's issuer and identifier.
    ///   - expires: The expiry of the grant: the record is stored until then.
    ///   - now: The time of receipt.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether the grant was recorded. The caller must refuse the grant.
    func insert(
        _ identity: SHA256Digest,
        until expires: Timestamp,
        at now: Timestamp
    ) async throws(ReplayStoreError)
        -> GrantUseOutcome
}

/// The outcome of recording a grant that may be used once.
@nonexhaustive
public enum GrantUseOutcome: Hashable, Sendable {
    /// This is the grant's first use.
    case first
    /// The grant was used before, or may have been: records with an expiry as late as its own are already deleted.
    case replayed
    /// There is no room for another grant.
    case full
}

/// A store of all data of the gate: uses of media tokens, revocations and their changes, uses of grants, and leases.
public protocol GrantStore: ReplayStore, LeaseStore, GrantReplayStore, RevocationFeed {
    /// Lifts the revocation of a subject, for media tokens and for grants. Caches are informed by a record that is
    /// ``RevocationRecord/isLifted``.
    ///
    /// - Parameters:
    ///   - key: The subject's key in stores: ``RevocationRecord/key``.
    ///   - now: The time of receipt.
    /// - Returns: False if the subject is not revoked.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether it was lifted.
    func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool
}

/// A store of everything that answers without input or output.
public protocol LocalGrantStore: GrantStore, LocalReplayStore {
    /// Acquires a slot for a session, or prolongs its own.
    func acquireNow(_ lease: StreamLease, at now: Timestamp) -> LeaseOutcome

    /// Frees the slot of a session. Returns true if it had a slot that had not ended.
    func freeNow(_ session: SessionID, at now: Timestamp) -> Bool

    /// Records a grant unless it was recorded before.
    func insertNow(_ identity: SHA256Digest, until expires: Timestamp, at now: Timestamp) -> GrantUseOutcome
}

extension LocalGrantStore {
    public func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
        acquireNow(lease, at: now)
    }

    public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        freeNow(session, at: now)
    }

    public func insert(
        _ identity: SHA256Digest,
        until expires: Timestamp,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> GrantUseOutcome { insertNow(identity, until: expires, at: now) }
}
