// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens
public import Platform
internal import Synchronization

/// The replay store of a single process: exact, bounded and lost when the process ends.
///
/// After a restart, tokens that are still live could be consumed again. Hold playbacks back for the longest life of a token,
/// or use a persistent store.
public final class MemoryReplayStore: LocalReplayStore {
    public let name = "memory"

    /// The minimum number of live uses that fit. All memory is allocated at once: 53 bytes a use.
    public let capacity: Int

    /// The maximum number of revocations.
    public static let revocationLimit = 100_000

    private let shards: [Shard]
    private let revocations = Mutex<[[UInt8]: (issuedBefore: Timestamp, expires: Timestamp)]>([:])
    private let revocationCount = Atomic<Int>(0)

    private final class Shard: Sendable {
        let table: Mutex<UseTable>

        init(capacity: Int) { table = Mutex(UseTable(capacity: capacity)) }
    }

    /// Creates a store.
    ///
    /// - Parameter capacity: The number of live uses that fit. A full store refuses; it never forgets a live use.
    ///   Sufficient: playback starts a second × (longest life of a token + 120 s).
    public init(capacity: Int = 1_000_000) {
        self.capacity = max(capacity, 1)
        // Small shards have short waits. In a shard of thousands, its share of all uses hardly varies.
        let count = min(64, max(1, self.capacity / 4096))
        let share = self.capacity / count
        // Seven standard deviations above the share, so that no shard is full long before the others.
        let slack = count == 1 ? 0 : Int(7 * Double(share).squareRoot())
        shards = (0..<count).map { _ in Shard(capacity: share + slack) }
    }

    /// The number of stored uses, including those that can be deleted.
    public var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    public var gauges: [StoreGauge] {
        [
            StoreGauge(name: "playgate_store_uses", help: "Consumed tokens in memory.", value: Double(count)),
            StoreGauge(
                name: "playgate_store_capacity",
                help: "Capacity for consumed tokens in memory.",
                value: Double(capacity)
            ),
        ]
    }

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

    public func examineNow(_ use: TokenUse, at now: Timestamp) -> UseOutcome {
        revocation(of: use.token, at: now).map { .revoked($0) } ?? .notRevoked
    }

    /// Records a use of a token that is known by its fingerprint only. Revocations are not checked.
    ///
    /// - Parameters:
    ///   - fingerprint: The SHA-256 of the token's signed bytes.
    ///   - playback: The hash that identifies this playback start, if there is one; not 0.
    ///   - until: The time after which no policy accepts the token, as ``TokenUse/forgettable``: the same in all uses of a
    ///     token.
    ///   - maximumUses: The number of times that the token may be consumed.
    ///   - now: The time of receipt.
    public func recordNow(
        _ fingerprint: TokenFingerprint,
        playback: UInt64? = nil,
        forgettable until: Timestamp,
        maximumUses: Int = 1,
        at now: Timestamp
    ) -> UseOutcome {
        let shard = shards[Int(fingerprint.quarters.0 % UInt64(shards.count))]
        return shard.table.withLock {
            $0.record(fingerprint, playback: playback, forgettable: until, maximumUses: maximumUses, at: now)
        }
    }

    public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        let (key, entry) = (revocation.key, (revocation.issuedBefore, revocation.expires))
        let isRecorded = revocations.withLock { revocations in
            if revocations.count >= Self.revocationLimit {
                revocations = revocations.filter { !Revocation.isForgettable($0.value.expires, at: now) }
            }
            guard revocations.count < Self.revocationLimit || revocations[key] != nil else { return false }
            if let present = revocations[key], !Revocation.isForgettable(present.expires, at: now) {
                // Merge both revocations of one subject, so that each stays effective.
                revocations[key] = (max(present.issuedBefore, entry.0), max(present.expires, entry.1))
            } else {
                revocations[key] = entry
            }
            revocationCount.store(revocations.count, ordering: .releasing)
            return true
        }
        guard isRecorded else {
            throw ReplayStoreError(.full, "the limit of \(Self.revocationLimit) revocations is reached")
        }
    }

    private func revocation(of token: MediaToken, at now: Timestamp) -> Revocation.Kind? {
        guard revocationCount.load(ordering: .acquiring) > 0 else { return nil }
        let keys = Revocation.keys(of: token)
        return revocations.withLock { revocations in
            for (kind, key) in keys {
                guard let entry = revocations[key], now <= entry.expires else { continue }
                if token.timeIssued < entry.issuedBefore { return kind }
            }
            return nil
        }
    }
}
