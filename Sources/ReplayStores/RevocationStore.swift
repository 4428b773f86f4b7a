// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import MediaTokens
public import Platform

/// A store of revocations. It lists them in the order in which they were recorded, so that each gate can cache them.
public protocol RevocationStore: Sendable {
    /// Checks a token for revocations, and records nothing: for tokens that are accepted until they expire, and for probes.
    ///
    /// - Returns: ``UseOutcome/notRevoked``, or ``UseOutcome/revoked(_:)`` with the kind of the revocation.
    /// - Throws: ``ReplayStoreError`` if it is unknown.
    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome

    /// Records a revocation.
    ///
    /// - Throws: ``ReplayStoreError`` if it is unknown whether it was recorded.
    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError)

    /// Lifts the revocation of a subject, for media tokens and for grants. Caches are informed by a record that is
    /// ``RevocationRecord/isLifted``.
    ///
    /// - Parameters:
    ///   - key: The subject's key in stores: ``RevocationRecord/key``.
    ///   - now: The time of receipt.
    /// - Returns: False if the subject is not revoked.
    /// - Throws: ``ReplayStoreError`` if it is unknown whether it was lifted. A store without a list, the default, throws
    ///   ``ReplayStoreError/Code/misconfigured``.
    func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool

    /// Returns the revocations that were recorded after `cursor`, the oldest first. Returns all of them if `cursor` is
    /// `nil`, or if it is of a store that has lost records since.
    ///
    /// - Throws: ``ReplayStoreError`` if they cannot be read. A store without a list, the default, throws
    ///   ``ReplayStoreError/Code/misconfigured``.
    func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges
}

extension RevocationStore {
    public func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        throw .noListOfRevocations
    }

    public func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
        throw .noListOfRevocations
    }
}

extension ReplayStoreError {
    fileprivate static let noListOfRevocations =
        ReplayStoreError(.misconfigured, reason: "the store keeps no list of revocations")
}

/// A position in the list of a store's revocations. Its meaning is known only to the store that created it.
public struct RevocationCursor: Hashable, Sendable {
    /// The list that the number is of: another one after a loss of records.
    public let generation: String
    /// The number of the last revocation before this position. Each recorded revocation has a higher one than those
    /// before.
    public let number: Int64

    /// Creates a cursor.
    public init(generation: String, number: Int64) {
        self.generation = generation
        self.number = number
    }
}

/// Some revocations of a store, in the order of their recording.
public struct RevocationChanges: Hashable, Sendable {
    /// The revocations.
    public let records: [RevocationRecord]
    /// The position after them.
    public let cursor: RevocationCursor
    /// True if there are more after ``cursor`` already.
    public let hasMore: Bool

    /// Creates a list of changes.
    public init(_ records: [RevocationRecord], cursor: RevocationCursor, hasMore: Bool) {
        self.records = records
        self.cursor = cursor
        self.hasMore = hasMore
    }

    /// The maximum number of revocations that a store with input and output returns at once.
    package static let limit = 1000
}

/// A revocation for grants: stored until the last session that it covers has ended.
public struct RevocationRecord: Hashable, Sendable {
    /// The kind of the subject; `nil` for a session or an MVPD of a record that was made before kinds were recorded.
    public let kind: Revocation.Kind?
    /// The subject's key in stores.
    public let key: SHA256Digest
    /// The playback session, if that is the subject.
    public let session: SessionID?
    /// A session is revoked if its media token was issued before this time.
    public let issuedBefore: Timestamp
    /// The time from which no session that is covered can be alive.
    public let kept: Timestamp

    /// Creates a record.
    public init(
        kind: Revocation.Kind?,
        key: SHA256Digest,
        session: SessionID?,
        issuedBefore: Timestamp,
        kept: Timestamp
    ) {
        self.kind = kind
        self.key = key
        self.session = session
        self.issuedBefore = issuedBefore
        self.kept = kept
    }

    /// The ``issuedBefore`` of a record whose revocation was lifted: no token is that old.
    public static let lifted = Timestamp(millisecondsSince1970: -(1 << 53))

    /// True if the revocation was lifted: nothing is covered any more.
    public var isLifted: Bool { issuedBefore <= Self.lifted }

    /// True for a playback that was revoked because several players had its grant.
    public var isShared: Bool { session != nil && issuedBefore == Revocation.everShared }

    /// The record after its revocation was lifted.
    package func lifted() -> RevocationRecord {
        RevocationRecord(kind: kind, key: key, session: session, issuedBefore: Self.lifted, kept: kept)
    }

    /// Creates the record of a revocation that is posted at `now`.
    package init(_ revocation: Revocation, at now: Timestamp) {
        kind = revocation.kind
        key = revocation.storeKey
        session = revocation.subject.session
        let before = revocation.issuedBefore
        let isOfEverything = before == Timestamp(millisecondsSince1970: .max) || session != nil
        // Whom a revocation ends for may start again: tokens that are issued after its end are not covered.
        issuedBefore = isOfEverything ? before : min(before, revocation.expires)
        let lastIssued = isOfEverything ? now : max(now, issuedBefore)
        kept = max(revocation.expires, lastIssued.advanced(byMilliseconds: Self.longestLife))
    }

    /// The longest time from the issue of a media token to the end of its session, with the leeway of clocks.
    private static let longestLife =
        (Revocation.longestSession + VerificationPolicy.leewayLimit).milliseconds

    /// True if no covered session can be alive, for requests with any permitted difference of clocks.
    package func isOver(at now: Timestamp) -> Bool { Revocation.isForgettable(kept, at: now) }

    /// Merges this record and a later one of the same subject, so that each stays effective.
    package func merged(with later: RevocationRecord, at now: Timestamp) -> RevocationRecord {
        if isOver(at: now) { return later }
        return RevocationRecord(
            kind: later.kind ?? kind,
            key: key,
            session: later.session ?? session,
            issuedBefore: max(issuedBefore, later.issuedBefore),
            kept: max(kept, later.kept)
        )
    }
}

extension SHA256Digest {
    /// Creates the digest of `bytes`.
    package init(hashing bytes: [UInt8]) {
        guard let digest = SHA256Digest(bytes: SHA256.digest(bytes)) else {
            preconditionFailure("a SHA-256 has 32 bytes")
        }
        self = digest
    }
}
