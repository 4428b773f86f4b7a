// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The observers that have seen playbacks: the gate itself, its edges, and other gates.
struct Sightings: Sendable {
    /// The number of an observer; 0 for this gate.
    typealias Observer = UInt64

    private var present: [UInt64: [Sighting]] = [:]
    private var previous: [UInt64: [Sighting]] = [:]
    private var periodEnd = Timestamp(millisecondsSince1970: .min)
    /// The counts of each owner's observers: those of one owner must not hide what others see.
    private var owners: [UInt64: Owner] = [:]

    private struct Owner: Sendable {
        /// The playbacks that an observer has seen again in this period, and those of them that were seen elsewhere meanwhile.
        var count = 0
        var sharedCount = 0
        /// True if that was so of a large share in the last period with enough of them.
        var isBalanced = false
        /// The number of sightings in this period.
        var sightings = 0
    }

    /// The first time at which an observer saw a playback, as long as it goes on, and the last one.
    private struct Sighting: Sendable {
        let observer: Observer
        var first: Timestamp
        var last: Timestamp
    }

    /// The length of a period, the time for which a sighting counts, and the greatest usual difference of clocks, in milliseconds.
    private static let (period, life, skew): (Int64, Int64, Int64) = (60_000, 90_000, 500)
    /// The playbacks of a period from which on a share of them is meaningful; the maximum numbers of playbacks, and of observers of
    /// one.
    private static let (meaningfulCount, capacity, observerCapacity) = (40, 131_072, 8)

    private mutating func rotate(at now: Timestamp) {
        guard now >= periodEnd else { return }
        (previous, present) = (present, [:])
        periodEnd = now.advanced(byMilliseconds: Self.period)
        owners = owners.mapValues { owner in
            let isMeaningful = owner.count >= Self.meaningfulCount
            return Owner(isBalanced: isMeaningful ? owner.sharedCount * 4 >= owner.count : owner.isBalanced)
        }
    }

    /// True if most playbacks are seen by several observers, so that this says nothing about one of them: behind a load balancer, each
    /// observer sees the turns of all players.
    private func isMeaningless(for owner: UInt64) -> Bool {
        guard let owner = owners[owner] else { return false }
        return owner.count >= Self.meaningfulCount ? owner.sharedCount * 4 >= owner.count : owner.isBalanced
    }

    /// True if the observers of an owner have seen fewer playbacks in this period than there is room for, but for others.
    func hasRoom(for owner: UInt64) -> Bool { (owners[owner]?.sightings ?? 0) < Self.capacity * 3 / 4 }

    private func sightings(of playback: UInt64) -> [Sighting] { present[playback] ?? previous[playback] ?? [] }

    /// Records that an observer saw a playback. Returns true if it had seen it before.
    ///
    /// - Parameter isFirst: True if it was not seen there before. A player may have moved from another observer.
    @discardableResult
    mutating func note(
        _ playback: UInt64,
        by observer: Observer,
        of owner: UInt64 = 0,
        isFirst: Bool = false,
        time: Timestamp,
        at now: Timestamp
    ) -> Bool {
        rotate(at: now)
        owners[owner, default: Owner()].sightings += 1
        // An observer that did not see it for long begins again.
        let oldest = now.advanced(byMilliseconds: -Self.life)
        var known = sightings(of: playback).filter { oldest <= $0.last }
        let index = known.firstIndex { $0.observer == observer }
        if let index {
            if isFirst { known[index].first = time }
            known[index].last = max(known[index].last, time)
        } else {
            // The one that saw it the longest time ago leaves.
            if known.count >= Self.observerCapacity,
                let oldest = known.indices.min(by: { known[$0].last < known[$1].last })
            {
                known.remove(at: oldest)
            }
            known.append(Sighting(observer: observer, first: time, last: time))
        }
        if present.count < Self.capacity || present[playback] != nil { present[playback] = known }
        return index != nil && !isFirst
    }

    /// Counts a playback that this gate or one of its edges has seen again, by which a load balancer is recognized.
    mutating func countAgain(_ playback: UInt64, by observer: Observer, of owner: UInt64) {
        owners[owner, default: Owner()].count += 1
        if isSeenElsewhere(sightings(of: playback), since: observer) {
            owners[owner, default: Owner()].sharedCount += 1
        }
    }

    /// True if the observer has seen the playback within two periods.
    func hasSeen(_ playback: UInt64, by observer: Observer) -> Bool {
        sightings(of: playback).contains { $0.observer == observer }
    }

    /// True if the playback was seen by the observer of an owner, and then by another one.
    func isShared(_ playback: UInt64, since observer: Observer, of owner: UInt64) -> Bool {
        !isMeaningless(for: owner) && isSeenElsewhere(sightings(of: playback), since: observer)
    }

    /// The observers that have seen the playback within two periods.
    func observers(of playback: UInt64) -> [Observer] { sightings(of: playback).map(\.observer) }

    private func isSeenElsewhere(_ sightings: [Sighting], since observer: Observer) -> Bool {
        guard let own = sightings.first(where: { $0.observer == observer }) else { return false }
        let after = own.first.advanced(byMilliseconds: Self.skew)
        return sightings.contains { $0.observer != observer && after < $0.last }
    }
}
