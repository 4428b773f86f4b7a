// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// A segment that was fetched with a grant of a playback that is watched.
package struct GrantUse: Hashable, Sendable {
    package let segment: Segment
    /// The grant: a hash of its identity.
    package let grant: UInt32
    package let time: Timestamp

    /// Creates a use of its members.
    package init(_ segment: Segment, by grant: UInt32, at time: Timestamp) {
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
    /// The terms of the proof. Others may begin to report in the middle of a watch.
    var terms: Terms
    private var tracks: [UInt16: Track] = [:]
    private var waiting: [GrantUse] = []
    /// The time up to which uses have counted.
    private var appliedUntil = Timestamp(millisecondsSince1970: .min)
    /// True if the playback has more than one holder.
    package private(set) var isProof = false
    /// The number of returns, on the track with the most.
    package private(set) var returns = 0
    /// The number of grants in use, on the track with the most.
    package private(set) var grants = 0

    /// The time after a challenge in which answers still cross, in milliseconds.
    private static let settling: Int64 = 5000
    /// The time after a challenge from which on its grants may be renewed, in milliseconds: see `leaks` in the configuration.
    private static let earliestRenewal: Int64 = 40_000
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

    /// Records a use. One that comes after others of later times have counted is ignored: then this returns false.
    package mutating func record(_ use: GrantUse, at now: Timestamp) -> Bool {
        if terms.patience == .zero {
            apply(use)
            return true
        }
        guard use.time > appliedUntil else { return false }
        // One that was reported before changes nothing.
        if waiting.contains(use) { return true }
        if waiting.count >= Self.waitingCapacity { applyWaiting(until: waiting.map(\.time).min() ?? now) }
        waiting.append(use)
        _ = advance(to: now)
        return true
    }

    /// Applies the uses that have waited for long enough, in the order of their times. Returns true if there were any.
    package mutating func advance(to now: Timestamp) -> Bool {
        applyWaiting(until: now.advanced(byMilliseconds: -terms.patience.milliseconds))
    }

    @discardableResult
    private mutating func applyWaiting(until end: Timestamp) -> Bool {
        guard waiting.contains(where: { $0.time <= end }) else { return false }
        let due = waiting.filter { $0.time <= end }
        waiting.removeAll { $0.time <= end }
        for use in due.sorted(by: { ($0.time, $0.grant) < ($1.time, $1.grant) }) { apply(use) }
        appliedUntil = max(appliedUntil, end)
        return true
    }

    private mutating func apply(_ use: GrantUse) {
        guard use.time >= start else { return }
        if tracks[use.segment.track] == nil, tracks.count >= Self.trackCapacity {
            // Invented tracks push each other out, and not those that say something.
            let least = tracks.min {
                ($0.value.returns, $0.value.uses, $0.key) < ($1.value.returns, $1.value.uses, $1.key)
            }
            if let least { tracks[least.key] = nil }
        }
        tracks[use.segment.track, default: Track()].record(use, since: start, terms: terms)
        guard let track = tracks[use.segment.track] else { return }
        returns = max(returns, track.returns)
        grants = max(grants, track.grants.count)
        if track.isProof { isProof = true }
    }

    /// The uses of one track.
    private struct Track: Sendable {
        var grants: [Grant] = []
        var uses = 0
        var returns = 0
        var isProof = false
        private var last: UInt32?
        /// The time of the last grant that was new, such as by a renewal. Those right after the challenge are not.
        private var newest: Timestamp?
        /// The returns that did not count since a grant was new.
        private var ignored = 0
        /// The returns without a gap: their number, and the times of the first and the last one.
        private var run: (count: Int, start: Timestamp, end: Timestamp)?

        struct Grant: Sendable {
            let id: UInt32
            var uses = 1
            var returns = 0
            let first: Timestamp
            var last: Timestamp
        }

        private static let capacity = 32
        /// The grants, the uses and returns of each, and the returns that prove more than two holders; the shortest time of each
        /// grant, in milliseconds.
        private static let (manyGrants, manyUses, ownReturns, manyReturns, shortest): (Int, Int, Int, Int, Int64) =
            (3, 3, 2, 6, 5000)
        /// The returns that may not count, in all: who always comes with new grants must not prevent a proof.
        private static let maximumIgnored = 8

        mutating func record(_ use: GrantUse, since start: Timestamp, terms: Terms) {
            defer { last = use.grant }
            uses += 1
            guard let index = grants.firstIndex(where: { $0.id == use.grant }) else { return add(use, since: start) }
            grants[index].uses += 1
            grants[index].last = use.time
            guard use.grant != last, isCounted(at: use.time) else { return }
            grants[index].returns += 1
            addReturn(at: use.time)
            isProof = isProof || hasLongRun(terms.handover) || hasManyHolders
        }

        /// Adds a grant that was not used before. Without room, the one with the fewest uses leaves.
        private mutating func add(_ use: GrantUse, since start: Timestamp) {
            if start.advanced(byMilliseconds: ForkEvidence.earliestRenewal) <= use.time { newest = use.time }
            if grants.count >= Self.capacity {
                let least = grants.indices.min { grants[$0].uses < grants[$1].uses } ?? 0
                grants.remove(at: least)
            }
            grants.append(Grant(id: use.grant, first: use.time, last: use.time))
        }

        /// False for a return while answers with a new grant may cross, such as at a renewal.
        private mutating func isCounted(at time: Timestamp) -> Bool {
            guard let newest, time < newest.advanced(byMilliseconds: ForkEvidence.settling),
                ignored < Self.maximumIgnored
            else { return true }
            ignored += 1
            return false
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
                $0.uses >= Self.manyUses && $0.returns >= Self.ownReturns
                    && $0.first.advanced(byMilliseconds: Self.shortest) <= $0.last
            }
            return holders.count >= Self.manyGrants && returns >= Self.manyReturns
        }
    }
}
