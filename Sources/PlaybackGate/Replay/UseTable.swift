// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import MediaTokens
internal import Platform

/// A table of uses with a fixed number of places: a shard of the memory store.
///
/// Open addressing with linear probing. A use takes 44 bytes: the whole fingerprint, since two tokens must never be taken
/// for one, the playback and the time at which the use can be forgotten. Every insertion looks at a few places more and
/// removes what can be forgotten there, so that no sweep ever holds up a decision.
///
/// Times need not come in order: a use that would have been forgotten with those that were is taken for one of them, and is
/// never recorded anew.
struct UseTable {
    private var fingerprints: [UInt64]
    private var playbacks: [UInt64]
    /// Seconds since 1970, rounded up; 0 is a free place. Good until 2106.
    private var forgettable: [UInt32]
    private let limit: Int
    private(set) var count = 0
    /// Where the next look for what can be forgotten begins.
    private var hand = 0
    /// No use can be forgotten before, after a sweep that made no room.
    private var fullUntil: UInt32 = 0
    /// The latest of the times at which uses that were forgotten could be. Not the time of a sweep: after a leap of the clock,
    /// it is no further ahead than tokens lived.
    private var forgotten: UInt32 = 0

    /// Makes a table.
    ///
    /// - Parameter capacity: The most uses that it holds, at least 1.
    init(capacity: Int) {
        limit = capacity
        let places = capacity + capacity / 5 + 1
        fingerprints = [UInt64](repeating: 0, count: 4 * places)
        playbacks = [UInt64](repeating: 0, count: places)
        forgettable = [UInt32](repeating: 0, count: places)
    }

    private var places: Int { forgettable.count }

    /// Records a use where the token has one left.
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
        var place = home(fingerprint)
        var uses = 0
        while forgettable[place] != 0 {
            if holds(place, fingerprint) {
                if let playback, playbacks[place] == playback { return .repeated }
                uses += 1
            }
            place = next(place)
        }
        let until = max(Self.seconds(until, roundedUp: true), 1)
        guard uses < maximumUses, until > forgotten else { return .usedUp }
        if count >= limit {
            guard makeRoom(at: seconds) else { return .full }
            place = home(fingerprint)
            while forgettable[place] != 0 { place = next(place) }
        }
        store(fingerprint, playback ?? 0, until, at: place)
        count += 1
        return .recorded
    }

    private mutating func store(_ fingerprint: Quarters, _ playback: UInt64, _ until: UInt32, at place: Int) {
        fingerprints[4 * place] = fingerprint.0
        fingerprints[4 * place + 1] = fingerprint.1
        fingerprints[4 * place + 2] = fingerprint.2
        fingerprints[4 * place + 3] = fingerprint.3
        playbacks[place] = playback
        forgettable[place] = until
    }

    private typealias Quarters = (UInt64, UInt64, UInt64, UInt64)

    private func fingerprint(_ place: Int) -> Quarters {
        (fingerprints[4 * place], fingerprints[4 * place + 1], fingerprints[4 * place + 2], fingerprints[4 * place + 3])
    }

    private func holds(_ place: Int, _ wanted: Quarters) -> Bool { fingerprint(place) == wanted }

    /// A fingerprint is a digest, so any part of it is spread evenly. The shard was chosen by the first quarter.
    private func home(_ fingerprint: Quarters) -> Int { Int(fingerprint.1 % UInt64(places)) }

    private func next(_ place: Int) -> Int { place + 1 == places ? 0 : place + 1 }

    /// How many steps lead from one place to another.
    private func distance(_ start: Int, _ end: Int) -> Int { end >= start ? end - start : end + places - start }

    // MARK: Forgetting

    /// Looks at four places: much faster than uses come in, as a table with fewer uses is a faster one.
    private mutating func forgetSome(at now: UInt32) {
        for _ in 0..<4 {
            if isForgettable(hand, at: now) {
                forget(hand)
            } else {
                hand = next(hand)
            }
        }
    }

    /// Looks at all places, unless it is known to be in vain.
    private mutating func makeRoom(at now: UInt32) -> Bool {
        guard now >= fullUntil else { return false }
        var place = 0
        while place < places {
            if isForgettable(place, at: now) { forget(place) } else { place += 1 }
        }
        guard count >= limit else { return true }
        fullUntil = (forgettable.lazy.filter { $0 != 0 }.min() ?? now) &+ 1
        return false
    }

    private func isForgettable(_ place: Int, at now: UInt32) -> Bool {
        forgettable[place] != 0 && forgettable[place] < now
    }

    private mutating func forget(_ place: Int) {
        forgotten = max(forgotten, forgettable[place])
        remove(place)
    }

    /// Frees a place, and closes the gap: what stands behind it must be found from its home still.
    private mutating func remove(_ place: Int) {
        var gap = place
        var following = next(place)
        while forgettable[following] != 0 {
            let home = home(fingerprint(following))
            if distance(home, following) >= distance(gap, following) {
                store(fingerprint(following), playbacks[following], forgettable[following], at: gap)
                gap = following
            }
            following = next(following)
        }
        forgettable[gap] = 0
        count -= 1
    }

    private static func seconds(_ time: Timestamp, roundedUp: Bool) -> UInt32 {
        let seconds = (time.millisecondsSince1970 &+ (roundedUp ? 999 : 0)) / 1000
        return UInt32(clamping: seconds)
    }
}
