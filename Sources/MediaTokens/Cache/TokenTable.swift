// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import Synchronization

/// A bounded, thread-safe table from token bytes to objects with a validity period.
///
/// Set-associative, like a processor's cache: the hash of a token selects a shard and two sets of eight slots in it. A
/// new entry goes into the set with more free slots, and replaces the least recently used entry of both if they are
/// full. With one set, every eighth of 10,000 viewers would have no slot in a table for 16,384, as others fill it.
/// There is no list to maintain and no rehashing, and the time of every operation is bounded.
///
/// Each thread has shards of its own, up to ``maximumThreads``: it finds only what it has stored. Threads that find the same value
/// would otherwise wait for each other's counts of its references, and two would do less than one. A token that several threads see
/// is stored by each, so few threads have shards of their own, and more share them.
///
/// The values are objects of any class. A generic class that is used across modules would cost a metadata look-up on every
/// call, and a value of several references would cost a retain of each.
package final class TokenTable: Sendable {
    /// A value of the table.
    package typealias Value = AnyObject & Sendable

    private let shards: [Shard]
    private let shardsOfThread: Int
    /// The number of threads that have shards of their own, a power of two.
    package let threads: Int
    private let setsPerShard: Int
    private let seed: UInt64

    /// The number of tokens in a set.
    private static var ways: Int { 8 }

    /// The largest number of threads that have shards of their own. Of more, several share theirs.
    package static var maximumThreads: Int { 4 }

    /// Returns the number of threads that have shards of their own in a table for `threads`: a power of two.
    package static func parts(of threads: Int = onlineCores()) -> Int {
        var count = 1
        while count < min(threads, maximumThreads) { count *= 2 }
        return count
    }

    /// Creates a table of at most `capacity` tokens of each thread, rounded down to full sets, with at least one set.
    ///
    /// - Parameter threads: The number of threads that work at the same time, rounded up to a power of two.
    package init(capacity: Int, threads: Int = onlineCores()) {
        let sets = max(1, capacity / Self.ways)
        shardsOfThread = sets >= 128 ? 32 : 1
        setsPerShard = sets / shardsOfThread
        let slotCount = setsPerShard * Self.ways
        self.threads = Self.parts(of: threads)
        shards = (0..<shardsOfThread * self.threads).map { _ in Shard(slotCount: slotCount) }
        seed = UInt64.random(in: .min ... .max)
    }

    /// The hits and misses since the table was created, and the number of tokens in it.
    package struct Counters {
        /// The number of look-ups that found a value.
        package var hits = 0
        /// The number of look-ups that found none.
        package var misses = 0
        /// The number of tokens.
        package var count = 0
    }

    /// The possible slots of a token.
    private struct CandidateSets {
        let first: Range<Int>
        let second: Range<Int>
    }

    /// A slot of the table: the hash beside the entry, since a look-up reads both.
    private struct Slot {
        var hash: UInt64 = 0
        var entry: TokenEntry?
    }

    private struct State {
        /// Empty until something is stored: most threads of a process verify nothing.
        var slots: [Slot] = []
        var clock: UInt64 = 0
        var counters = Counters()

        mutating func allocate(_ count: Int) { slots = Array(repeating: Slot(), count: count) }

        /// Returns the slot of a token among the slots of its hash; `nil` if it is not there.
        func index(of token: Span<UInt8>, hash: UInt64, in sets: CandidateSets) -> Int? {
            index(of: token, hash: hash, in: sets.first) ?? index(of: token, hash: hash, in: sets.second)
        }

        private func index(of token: Span<UInt8>, hash: UInt64, in set: Range<Int>) -> Int? {
            for index in set where slots[index].hash == hash {
                if let entry = slots[index].entry, entry.isOf(token) { return index }
            }
            return nil
        }

        /// Returns the slot for a new token: a free one in the set that has more of them, or the least recently used
        /// one.
        func freeIndex(_ sets: CandidateSets) -> Int {
            let (first, second) = (freeIndices(sets.first), freeIndices(sets.second))
            if let free = first.count < second.count ? second.first : first.first { return free }
            let (one, other) = (leastRecentlyUsed(sets.first), leastRecentlyUsed(sets.second))
            return lastUse(one) <= lastUse(other) ? one : other
        }

        private func freeIndices(_ set: Range<Int>) -> [Int] { set.filter { slots[$0].entry == nil } }

        private func leastRecentlyUsed(_ set: Range<Int>) -> Int {
            set.min { lastUse($0) < lastUse($1) } ?? set.lowerBound
        }

        private func lastUse(_ index: Int) -> UInt64 { slots[index].entry?.header.lastUse ?? 0 }

        mutating func remove(at index: Int) {
            guard slots[index].entry != nil else { return }
            slots[index] = Slot()
            counters.count -= 1
        }
    }

    private final class Shard: Sendable {
        let slotCount: Int
        private let state = Mutex(State())
        #if THREAD_SANITIZER
            private let lastUnlock = Atomic(0)
        #endif

        init(slotCount: Int) { self.slotCount = slotCount }

        func withLock<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
            state.withLock { state in
                #if THREAD_SANITIZER
                    // The thread sanitizer does not see the mutex of the Swift runtime. These accesses show it the same
                    // order.
                    _ = lastUnlock.load(ordering: .acquiring)
                    defer { lastUnlock.store(1, ordering: .releasing) }
                #endif
                return body(&state)
            }
        }
    }

    /// Returns the value of `token` if it was stored under `generation` and its period contains `now`.
    package func lookUp(_ token: Span<UInt8>, generation: UInt64, at now: Timestamp) -> (any Value)? {
        let hash = TokenBytes.hash(token, seed: seed)
        let sets = sets(hash)
        return shard(hash).withLock { state in
            guard !state.slots.isEmpty, let index = state.index(of: token, hash: hash, in: sets),
                let entry = state.slots[index].entry
            else {
                state.counters.misses += 1
                return nil
            }
            guard entry.isGood(generation, at: now) else {
                state.remove(at: index)
                state.counters.misses += 1
                return nil
            }
            state.clock += 1
            state.counters.hits += 1
            return entry.use(at: state.clock)
        }
    }

    /// Stores `value` for `token`, instead of the token's entry or of the least recently used entry of its full sets.
    package func insert(_ token: Span<UInt8>, value: any Value, generation: UInt64, life: ClosedRange<Timestamp>) {
        let hash = TokenBytes.hash(token, seed: seed)
        let sets = sets(hash)
        let shard = shard(hash)
        shard.withLock { state in
            if state.slots.isEmpty { state.allocate(shard.slotCount) }
            let index = state.index(of: token, hash: hash, in: sets) ?? state.freeIndex(sets)
            state.remove(at: index)
            state.clock += 1
            let entry = TokenEntry.make(
                for: token,
                value: value,
                generation: generation,
                life: life,
                lastUse: state.clock
            )
            state.slots[index] = Slot(hash: hash, entry: entry)
            state.counters.count += 1
        }
    }

    package func removeAll() { remove { _ in true } }

    package func removeExpired(at now: Timestamp) { remove { $0.life.upperBound < now } }

    package var counters: Counters {
        shards.reduce(into: Counters()) { sum, shard in
            let counters = shard.withLock { $0.counters }
            sum.hits += counters.hits
            sum.misses += counters.misses
            sum.count += counters.count
        }
    }

    private func remove(where isOver: (TokenEntry.Facts) -> Bool) {
        for shard in shards {
            shard.withLock { state in
                for index in state.slots.indices where state.slots[index].entry.map({ isOver($0.header) }) ?? false {
                    state.remove(at: index)
                }
            }
        }
    }

    private func shard(_ hash: UInt64) -> Shard {
        shards[(ThreadNumber.current & (threads - 1)) * shardsOfThread + Int(hash >> 59) & (shardsOfThread - 1)]
    }

    private func sets(_ hash: UInt64) -> CandidateSets {
        CandidateSets(first: set(hash), second: set((hash &* 0xD6E8_FEB8_6659_FD93) >> 24))
    }

    /// Returns the slots of the set that the lower half of a hash selects.
    private func set(_ hash: UInt64) -> Range<Int> {
        let set = Int(((hash & 0xFFFF_FFFF) * UInt64(setsPerShard)) >> 32)
        return set * Self.ways..<(set + 1) * Self.ways
    }
}
