// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
public import MediaTokens
public import Platform
internal import Synchronization

/// The replay store of a single process: exact, bounded and lost when the process ends.
///
/// After a restart, tokens that are still live could be consumed again. Delay playbacks for the longest life of a
/// token, or use a persistent store.
public final class MemoryReplayStore: ReplayStore {
    public let name = "memory"

    /// The minimum number of live uses that fit. All memory is allocated at once: 53 bytes a use.
    public let capacity: Int

    /// The maximum number of revocations.
    public static let revocationLimit = 100_000

    /// The maximum number of leases. A lease uses 56 bytes, and memory is allocated for leases in use only.
    public let leaseCapacity: Int

    /// The maximum number of playbacks whose renewals are remembered.
    private static let renewalCapacity = 100_000

    /// The maximum number of revocations that are stored for the grants of sessions.
    private static let recordLimit = 1_000_000

    private let uses: UseShards
    /// The uses of grants; created with the first, because few grants may be used only once.
    private let grants = Mutex<UseShards?>(nil)
    private let leases: Mutex<LeaseTable>
    private let renewals = Mutex(RenewalTable(capacity: renewalCapacity))
    private let revocations = Mutex(RevocationLog(limit: revocationLimit, recordLimit: recordLimit))
    private let revocationCount = Atomic<Int>(0)

    /// Creates a store.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of live uses, and also of uses of grants. A full store refuses; it never
    ///     forgets a live use. Sufficient: playback starts a second × (longest life of a token + 120 s).
    ///   - leaseCapacity: The maximum number of live leases, which are the streams of viewers with a limit.
    public init(capacity: Int = 1_000_000, leaseCapacity: Int = 1_000_000) {
        self.capacity = max(capacity, 1)
        self.leaseCapacity = max(leaseCapacity, 1)
        uses = UseShards(capacity: self.capacity)
        leases = Mutex(LeaseTable(capacity: self.leaseCapacity))
    }

    /// The number of stored uses, including those that can be deleted.
    public var count: Int { uses.count }

    /// The number of stored leases, including expired ones.
    public var leaseCount: Int { leases.withLock { $0.count } }

    public var gauges: [StoreGauge] {
        [
            StoreGauge(name: "playgate_store_uses", help: "Consumed tokens in memory.", value: Double(count)),
            StoreGauge(
                name: "playgate_store_capacity",
                help: "Capacity for consumed tokens in memory.",
                value: Double(capacity)
            ),
            StoreGauge(name: "playgate_store_leases", help: "Leases of streams in memory.", value: Double(leaseCount)),
        ]
    }

    public func immediateOutcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome? {
        isConsumed ? recordNow(use, at: now) : examineNow(use, at: now)
    }

    public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        recordNow(use, at: now)
    }

    public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
        examineNow(use, at: now)
    }

    public func check() async throws(ReplayStoreError) {}

    /// Does the same as ``record(_:at:)``, without a task.
    public func recordNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome {
        if let kind = revocation(of: use.token, at: now) { return .revoked(kind) }
        return recordNow(
            use.token.fingerprint,
            playback: use.playback,
            forgettable: use.forgettable,
            maximumUses: use.maximumUses,
            at: now
        )
    }

    /// Does the same as ``examine(_:at:)``, without a task.
    public func examineNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome {
        revocation(of: use.token, at: now).map { .revoked($0) } ?? .notRevoked
    }

    /// Records a use of a token that is known by its fingerprint only. Revocations are not checked.
    ///
    /// - Parameters:
    ///   - fingerprint: The SHA-256 of the token's signed bytes.
    ///   - playback: The hash that identifies this playback start, if there is one; not 0.
    ///   - until: The time after which no policy accepts the token, as ``TokenUse/forgettable``. It must be equal for
    ///     all uses of a token.
    ///   - maximumUses: The number of times that the token may be consumed.
    ///   - now: The time of receipt.
    public func recordNow(
        _ fingerprint: TokenFingerprint,
        playback: UInt64? = nil,
        forgettable until: Timestamp,
        maximumUses: Int = 1,
        at now: Timestamp
    ) -> UseOutcome {
        uses.record(fingerprint, playback: playback, forgettable: until, maximumUses: maximumUses, at: now)
    }

    // MARK: Grants

    public func insert(
        _ identity: SHA256Digest,
        until expires: Timestamp,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> GrantUseOutcome { insertNow(identity, until: expires, at: now) }

    public func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
        acquireNow(lease, at: now)
    }

    public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        freeNow(session, at: now)
    }

    /// Does the same as ``insert(_:until:at:)``, without a task.
    public func insertNow(_ identity: SHA256Digest, until expires: Timestamp, at now: Timestamp) -> GrantUseOutcome {
        let grants = grants.withLock { grants in
            if let grants { return grants }
            let new = UseShards(capacity: capacity)
            grants = new
            return new
        }
        return switch grants.record(identity, forgettable: expires, at: now) {
        case .recorded: .first
        case .full: .full
        default: .replayed
        }
    }

    /// Does the same as ``acquire(_:at:)``, without a task.
    public func acquireNow(_ lease: StreamLease, at now: Timestamp) -> LeaseOutcome {
        leases.withLock { $0.acquire(lease, at: now) }
    }

    /// Does the same as ``free(_:at:)``, without a task.
    public func freeNow(_ session: SessionID, at now: Timestamp) -> Bool {
        leases.withLock { $0.free(session, at: now) }
    }

    public func note(
        _ renewal: GrantRenewal,
        at now: Timestamp
    ) async throws(ReplayStoreError) -> RenewalOutcome { renewals.withLock { $0.note(renewal, at: now) } }

    // MARK: Revocations

    public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let isRecorded = revocations.withLock { revocations in
            defer { revocationCount.store(revocations.count, ordering: .releasing) }
            return revocations.add(revocation, at: now)
        }
        guard isRecorded else {
            throw ReplayStoreError(.full, reason: "the limit of \(Self.revocationLimit) revocations is reached")
        }
    }

    public func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
        revocations.withLock { revocations in
            defer { revocationCount.store(revocations.count, ordering: .releasing) }
            return revocations.lift(key, at: now)
        }
    }

    public func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
        revocations.withLock { $0.changes(after: cursor) }
    }

    private func revocation(of token: MediaToken, at now: Timestamp) -> Revocation.Kind? {
        guard revocationCount.load(ordering: .acquiring) > 0 else { return nil }
        let keys = Revocation.keys(of: token)
        return revocations.withLock { $0.kind(covering: token, keys, at: now) }
    }
}
