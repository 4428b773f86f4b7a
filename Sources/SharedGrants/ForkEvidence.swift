// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// A segment that was fetched with a grant of a playback that is watched.
package struct GrantUse: Hashable, Sendable {
    package let segment: Segment
    /// The grant: 8 bytes of its identity.
    package let grant: UInt64
    package let time: Timestamp

    /// Creates a use of its members.
    package init(_ segment: Segment, by grant: UInt64, at time: Timestamp) {
        (self.segment, self.grant, self.time) = (segment, grant, time)
    }
}

/// The uses of the grants of a playback that was challenged: each answer handed over a grant of its own.
///
/// A cookie jar only goes forward: once it has left a grant, it never returns to it. Two jars go forth and back between the
/// grants of both. A return is a grant that was used, left and used again, on one track.
package struct ForkEvidence: Sendable {
    /// The terms of a proof.
    package struct Terms: Sendable {
        /// The time that the returns must span: a viewer who hands a playback over to another device needs less.
        package var handover: Duration
        /// The time for which uses wait for those that other gates report.
        package var patience: Duration

        /// Creates a value of its members.
        package init(handover: Duration = .seconds(45), patience: Duration = .zero) {
            (self.handover, self.patience) = (handover, patience)
        }
    }

    /// The first time whose uses count: answers that crossed the challenge have arrived.
    private let start: Timestamp
    private let terms: Terms
    private var tracks: [UInt16: Track] = [:]
    /// The uses that wait, by their times.
    private var waiting: [GrantUse] = []
    /// True if the playback has more than one holder.
    package private(set) var isProof = false
    /// The number of returns, on the track with the most.
    package private(set) var returns = 0
    /// The number of grants in use, on the track with the most.
    package private(set) var grants = 0

    /// The time after a challenge in which answers still cross, in milliseconds.
    private static let settling: Int64 = 5000
    /// The returns that a proof has at least.
    private static let neededReturns = 3
    /// The longest time between two returns of a proof, in milliseconds.
    private static let longestGap: Int64 = 90_000
    /// The maximum number of tracks, and of waiting uses.
    private static let (trackCapacity, waitingCapacity) = (8, 512)

    /// Creates evidence without a use.
    ///
    /// - Parameter challenged: The time of the challenge.
    package init(since challenged: Timestamp, terms: Terms) {
        start = challenged.advanced(byMilliseconds: Self.settling)
        self.terms = terms
    }

    /// Records a use. A use that was recorded before changes nothing.
    package mutating func record(_ use: GrantUse, at now: Timestamp) {
        if terms.patience == .zero { return apply(use) }
        guard waiting.count < Self.waitingCapacity, !waiting.contains(use) else { return }
        waiting.append(use)
        advance(to: now)
    }

    /// Applies the uses that have waited for long enough, in the order of their times.
    package mutating func advance(to now: Timestamp) {
        let end = now.advanced(byMilliseconds: -terms.patience.milliseconds)
        guard waiting.contains(where: { $0.time <= end }) else { return }
        let due = waiting.filter { $0.time <= end }
        waiting.removeAll { $0.time <= end }
        for use in due.sorted(by: { ($0.time, $0.grant) < ($1.time, $1.grant) }) { apply(use) }
    }

    private mutating func apply(_ use: GrantUse) {
        guard use.time >= start, tracks[use.segment.track] != nil || tracks.count < Self.trackCapacity else { return }
        var track = tracks[use.segment.track] ?? Track()
        track.record(use, terms: terms)
        tracks[use.segment.track] = track
        returns = max(returns, track.returns)
        grants = max(grants, track.grants.count)
        if track.isProof { isProof = true }
    }

    /// The uses of one track.
    private struct Track: Sendable {
        var grants: [Grant] = []
        var returns = 0
        var isProof = false
        private var last: UInt64?
        /// The returns without a gap: their number, and the times of the first and the last one.
        private var run: (count: Int, start: Timestamp, end: Timestamp)?

        struct Grant: Sendable {
            let id: UInt64
            var uses = 1
            let first: Timestamp
            var last: Timestamp
        }

        private static let capacity = 32
        /// The grants, the uses of each, and the returns that prove more than two holders, and the shortest time of each grant.
        private static let (manyGrants, manyUses, manyReturns, shortest): (Int, Int, Int, Int64) = (3, 3, 6, 5000)

        mutating func record(_ use: GrantUse, terms: Terms) {
            defer { last = use.grant }
            guard let index = grants.firstIndex(where: { $0.id == use.grant }) else {
                if grants.count < Self.capacity {
                    grants.append(Grant(id: use.grant, first: use.time, last: use.time))
                }
                return
            }
            grants[index].uses += 1
            grants[index].last = use.time
            if use.grant != last { addReturn(at: use.time) }
            isProof = isProof || hasLongRun(terms.handover) || hasManyHolders
        }

        private mutating func addReturn(at time: Timestamp) {
            returns += 1
            guard let present = run, time <= present.end.advanced(byMilliseconds: ForkEvidence.longestGap) else {
                run = (1, time, time)
                return
            }
            run = (present.count + 1, present.start, time)
        }

        private func hasLongRun(_ handover: Duration) -> Bool {
            guard let run, run.count >= ForkEvidence.neededReturns else { return false }
            return run.start.advanced(byMilliseconds: handover.milliseconds) <= run.end
        }

        private var hasManyHolders: Bool {
            let holders = grants.filter {
                $0.uses >= Self.manyUses && $0.first.advanced(byMilliseconds: Self.shortest) <= $0.last
            }
            return holders.count >= Self.manyGrants && returns >= Self.manyReturns
        }
    }
}
