// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import MediaTokens
internal import Platform
internal import Synchronization

/// A table of uses in shards, each with its own lock.
final class UseShards: Sendable {
    private let shards: [Shard]

    private final class Shard: Sendable {
        let table: Mutex<UseTable>

        init(capacity: Int) { table = Mutex(UseTable(capacity: capacity)) }
    }

    /// Creates shards for `capacity` uses, at least 1, and allocates all their memory.
    init(capacity: Int) {
        // Small shards have short waits. In a shard of thousands, its share of all uses hardly varies.
        let count = min(64, max(1, capacity / 4096))
        let share = capacity / count
        // Seven standard deviations above the share, so that no shard is full long before the others.
        let slack = count == 1 ? 0 : Int(7 * Double(share).squareRoot())
        shards = (0..<count).map { _ in Shard(capacity: share + slack) }
    }

    /// The number of stored uses, including those that can be deleted.
    var count: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.count } } }

    /// Records a use if its token or grant has one left.
    func record(
        _ fingerprint: SHA256Digest,
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
}
