// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import MediaTokens
public import Platform
internal import Synchronization

/// The use store of a single process: exact, bounded, and gone with the process.
///
/// After a restart, tokens that are still alive could be used once more: hold playbacks back for the longest life of a
/// token, or take a store that lasts.
public final class MemoryReplayStore: LocalReplayStore {
    public let name = "memory"

    /// How many live uses there is room for, at least. All room is taken at once: 53 bytes a use.
    public let capacity: Int

    /// How many revocations there is room for.
    public static let revocationLimit = 100_000

    private let shards: [Shard]
    private let revocations = Mutex<[[UInt8]: (issuedBefore: Timestamp, expires: Timestamp)]>([:])
    private let revocationCount = Atomic<Int>(0)

    private final class Shard: Sendable {
        let table: Mutex<UseTable>

        init(capacity: Int) { table = Mutex(UseTable(capacity: capacity)) }
    }

    /// Makes a store.
    ///
    /// - Parameter capacity: How many live uses there is room for. A store that is full of them refuses; it never
    ///   forgets. Needed are playback starts a second, times the longest life of a token and two minutes more in seconds.
    public init(capacity: Int = 1_000_000) {
        self.capacity = max(capacity, 1)
        // Small shards have short waits; in a shard of thousands, the share of all uses that falls to it hardly varies.
        let count = min(64, max(1, self.capacity / 4096))
        let share = self.capacity / count
        // Room for seven standard deviations more than the share, so that no shard is full long before the others.
        let slack = count == 1 ? 0 : Int(7 * Double(share).squareRoot())
        shards = (0..<count).map { _ in Shard(capacity: share + slack) }
    }

    /// The number of uses that are kept, the forgettable among them.
    public var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

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

    /// Records a use of a token of which no more than the fingerprint is known, whatever was revoked.
    ///
    /// - Parameters:
    ///   - fingerprint: The SHA-256 of the token's signed bytes.
    ///   - playback: What names this start of a playback, if anything does; not 0.
    ///   - until: When no policy can take the token any more, as ``TokenUse/forgettable``: the same in all uses of a token.
    ///   - maximumUses: How often the token may be used.
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
                // Of two words on one thing, what each revokes stays revoked.
                revocations[key] = (max(present.issuedBefore, entry.0), max(present.expires, entry.1))
            } else {
                revocations[key] = entry
            }
            revocationCount.store(revocations.count, ordering: .releasing)
            return true
        }
        guard isRecorded else {
            throw ReplayStoreError(.full, "there are \(Self.revocationLimit) revocations already")
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
