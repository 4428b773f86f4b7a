// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import MediaTokens
internal import Platform

/// A hash table of uses with a fixed number of slots: a shard of the memory store.
///
/// Open addressing with linear probing. A use has 44 bytes: the whole fingerprint, the playback, and the time after
/// which the use can be deleted. A part of the fingerprint is not enough, because two tokens must never be confused.
/// Every insertion also looks at a few other slots and deletes expired uses there. A complete sweep is only needed if
/// the table is full.
///
/// Times need not come in order. A use counts as consumed, and is never recorded again, if its deletion time is not
/// later than those of the deleted uses.
struct UseTable {
    private var fingerprints: [UInt64]
    private var playbacks: [UInt64]
    /// The time after which a use can be deleted, in seconds since 1970, rounded up; 0 for a free slot. Valid until
    /// 2106.
    private var forgettable: [UInt32]
    private let limit: Int
    private(set) var count = 0
    /// The slot at which the next incremental deletion begins.
    private var hand = 0
    /// The time before which no use can be deleted, after a sweep that made no room.
    private var fullUntil: UInt32 = 0
    /// The latest deletion time of the deleted uses. It is not the time of a sweep: after a clock jump, it is ahead by no
    /// more than the life of a token.
    private var forgotten: UInt32 = 0

    /// Creates a table.
    ///
    /// - Parameter capacity: The maximum number of uses, at least 1.
    init(capacity: Int) {
        limit = capacity
        let size = capacity + capacity / 5 + 1
        fingerprints = [UInt64](repeating: 0, count: 4 * size)
        playbacks = [UInt64](repeating: 0, count: size)
        forgettable = [UInt32](repeating: 0, count: size)
    }

    private var size: Int { forgettable.count }

    /// Records a use if the token has one left.
    mutating func record(
        _ fingerprint: TokenFingerprint,
        playback: UInt64?,
        forgettable until: Timestamp,
        maximumUses: Int,
        at now: Timestamp
    ) -> UseOutcome {
        let seconds = Self.seconds(now, roundedUp: false)
        forgetSome(at: seconds)
        let fingerprint = fingerprint.quarters
        var index = home(fingerprint)
        var uses = 0
        while forgettable[index] != 0 {
            if holds(at: index, fingerprint: fingerprint) {
                if let playback, playbacks[index] == playback { return .repeated }
                uses += 1
            }
            index = next(index)
        }
        let until = max(Self.seconds(until, roundedUp: true), 1)
        guard uses < maximumUses, until > forgotten else { return .usedUp }
        if count >= limit {
            guard makeRoom(at: seconds) else { return .full }
            index = home(fingerprint)
            while forgettable[index] != 0 { index = next(index) }
        }
        store(fingerprint, playback: playback ?? 0, until: until, at: index)
        count += 1
        return .recorded
    }

    private mutating func store(_ fingerprint: Quarters, playback: UInt64, until: UInt32, at index: Int) {
        fingerprints[4 * index] = fingerprint.0
        fingerprints[4 * index + 1] = fingerprint.1
        fingerprints[4 * index + 2] = fingerprint.2
        fingerprints[4 * index + 3] = fingerprint.3
        playbacks[index] = playback
        forgettable[index] = until
    }

    private typealias Quarters = (UInt64, UInt64, UInt64, UInt64)

    private func fingerprint(_ index: Int) -> Quarters {
        (fingerprints[4 * index], fingerprints[4 * index + 1], fingerprints[4 * index + 2], fingerprints[4 * index + 3])
    }

    private func holds(at index: Int, fingerprint wanted: Quarters) -> Bool { fingerprint(index) == wanted }

    /// Returns the first slot for a fingerprint. Any part of a digest is evenly distributed; the first quarter chose
    /// the shard.
    private func home(_ fingerprint: Quarters) -> Int { Int(fingerprint.1 % UInt64(size)) }

    private func next(_ index: Int) -> Int { index + 1 == size ? 0 : index + 1 }

    /// Returns the number of steps from one slot to another.
    private func distance(from start: Int, to end: Int) -> Int { end >= start ? end - start : end + size - start }

    // MARK: Forgetting

    /// Deletes expired uses in the next four slots. This outpaces insertion, because a table with fewer uses is faster.
    private mutating func forgetSome(at now: UInt32) {
        for _ in 0..<4 {
            if isForgettable(hand, at: now) {
                forget(hand)
            } else {
                hand = next(hand)
            }
        }
    }

    /// Deletes expired uses in all slots, unless that is known to make no room.
    private mutating func makeRoom(at now: UInt32) -> Bool {
        guard now >= fullUntil else { return false }
        var index = 0
        while index < size {
            if isForgettable(index, at: now) { forget(index) } else { index += 1 }
        }
        guard count >= limit else { return true }
        fullUntil = (forgettable.lazy.filter { $0 != 0 }.min() ?? now) &+ 1
        return false
    }

    private func isForgettable(_ index: Int, at now: UInt32) -> Bool {
        forgettable[index] != 0 && forgettable[index] < now
    }

    private mutating func forget(_ index: Int) {
        forgotten = max(forgotten, forgettable[index])
        remove(index)
    }

    /// Frees a slot and closes the gap, so that later uses can still be found from their first slot.
    private mutating func remove(_ index: Int) {
        var gap = index
        var following = next(index)
        while forgettable[following] != 0 {
            let home = home(fingerprint(following))
            if distance(from: home, to: following) >= distance(from: gap, to: following) {
                store(fingerprint(following), playback: playbacks[following], until: forgettable[following], at: gap)
                gap = following
            }
            following = next(following)
        }
        forgettable[gap] = 0
        count -= 1
    }

    private static func seconds(_ time: Timestamp, roundedUp: Bool) -> UInt32 {
        let (seconds, rest) = time.millisecondsSince1970.quotientAndRemainder(dividingBy: 1000)
        return UInt32(clamping: roundedUp && rest > 0 ? seconds + 1 : seconds)
    }
}
