// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The playbacks that were seen here, and by other observers.
struct Sightings: Sendable {
    /// The first sightings here, as long as they go on.
    private var here = Periods()
    /// The last sightings elsewhere.
    private var elsewhere = Periods()
    private var periodEnd = Timestamp(millisecondsSince1970: .min)
    /// The playbacks that were seen again here in this period, and those of them that were seen elsewhere meanwhile.
    private var (count, sharedCount) = (0, 0)
    /// True if that was so of a large share in the last period with enough of them.
    private var isBalanced = false

    /// Times by playback, of this period and the one before.
    private struct Periods: Sendable {
        private var (present, previous): ([UInt64: Timestamp], [UInt64: Timestamp]) = ([:], [:])
        private static let capacity = 65_536

        subscript(playback: UInt64) -> Timestamp? {
            get { present[playback] ?? previous[playback] }
            set { if present.count < Self.capacity || present[playback] != nil { present[playback] = newValue } }
        }

        mutating func rotate() { (previous, present) = (present, [:]) }
    }

    /// The length of a period, and the greatest usual difference of clocks, in milliseconds.
    private static let (period, skew): (Int64, Int64) = (60_000, 500)
    /// The playbacks of a period from which on a share of them is meaningful.
    private static let meaningfulCount = 40

    private mutating func rotate(at now: Timestamp) {
        guard now >= periodEnd else { return }
        here.rotate()
        elsewhere.rotate()
        periodEnd = now.advanced(byMilliseconds: Self.period)
        if count >= Self.meaningfulCount { isBalanced = sharedCount * 4 >= count }
        (count, sharedCount) = (0, 0)
    }

    /// True if most playbacks are seen by several observers, so that this says nothing about one of them.
    private var isMeaningless: Bool { count >= Self.meaningfulCount ? sharedCount * 4 >= count : isBalanced }

    /// Returns true if the playback was seen here before.
    mutating func noteSeenElsewhere(_ playback: UInt64, time: Timestamp, at now: Timestamp) -> Bool {
        rotate(at: now)
        elsewhere[playback] = max(elsewhere[playback] ?? time, time)
        return isShared(playback)
    }

    /// True if the playback was seen here, and then elsewhere.
    ///
    /// Behind a load balancer that is so of all playbacks, and means nothing: each observer sees the turns of all players then.
    func isShared(_ playback: UInt64) -> Bool { isSeenElsewhere(playback) && !isMeaningless }

    private func isSeenElsewhere(_ playback: UInt64) -> Bool {
        guard let first = here[playback], let other = elsewhere[playback] else { return false }
        return first.advanced(byMilliseconds: Self.skew) < other
    }

    /// Records that a playback was seen here. Returns true if it was seen here, then elsewhere, and here again.
    mutating func noteSeen(_ playback: UInt64, isFirst: Bool, at now: Timestamp) -> Bool {
        rotate(at: now)
        let first = isFirst ? now : here[playback] ?? now
        here[playback] = first
        if isFirst { return false }
        count += 1
        if isSeenElsewhere(playback) { sharedCount += 1 }
        return isShared(playback)
    }
}
