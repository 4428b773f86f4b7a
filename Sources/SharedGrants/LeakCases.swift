// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Platform
package import ReplayStores

/// The suspected and proven playbacks of a gate, and the watches of those that were challenged. A pure state machine: each
/// change returns its events.
package struct LeakCases: Sendable {
    /// The consequence of a proof; `nil` if no grants are watched.
    package private(set) var action: LeakWatch.Action?
    private var terms = ForkEvidence.Terms()
    private var cases: [SessionID: Leak] = [:]
    private var watches: [UInt64: Watch] = [:]
    /// The playbacks that were watched without a proof, and are not watched again for a time.
    private var pauses: [UInt64: Pause] = [:]
    private var nextSweep = Timestamp(millisecondsSince1970: .min)

    /// A change of a case.
    package enum Event: Sendable {
        case suspected(Leak)
        case challenged(Leak)
        case proven(Leak)
        case unproven(Leak)
        /// The playback is to be revoked.
        case due(Leak)
    }

    /// The challenge of a playback, and what followed.
    private struct Watch: Sendable {
        let session: SessionID
        /// Grants that were issued before this time are replaced.
        let before: Timestamp
        let end: Timestamp
        var evidence: ForkEvidence
        /// The numbers of the grants, in the order of their first use.
        var numbers: [UInt64: Int] = [:]
    }

    private struct Pause: Sendable {
        var count: Int
        var end: Timestamp
    }

    /// The maximum numbers of suspected and proven playbacks, of watches, and of pauses.
    private static let (caseCapacity, watchCapacity, pauseCapacity) = (1000, 4096, 16384)
    /// The maximum number of requests that a case lists.
    private static let useCapacity = 256
    /// The length of a watch, in milliseconds.
    private static let watchLength: Int64 = 180_000
    /// The pause after the first watch without a proof, and the longest one, in milliseconds. Each is twice the one before.
    private static let (firstPause, longestPause): (Int64, Int64) = (60_000, 1_800_000)

    /// Creates an empty list.
    package init() {}

    /// The number of playbacks that are watched.
    package var watchCount: Int { watches.count }

    /// Sets the consequence of a proof, and its terms. Returns the proven playbacks that are due now.
    package mutating func set(_ action: LeakWatch.Action?, terms: ForkEvidence.Terms) -> [Event] {
        (self.action, self.terms) = (action, terms)
        if action == nil { watches = [:] }
        guard action == .revoke else { return [] }
        return cases.values.filter { $0.proven != nil && $0.end == .none }.map { due($0) }
    }

    /// The suspected and the proven playbacks, the newest first.
    package func leaks(at now: Timestamp) -> [Leak] {
        cases.values.filter { $0.proven != nil || now <= $0.watchedUntil }
            .sorted { ($0.last, $0.session.hexadecimal) > ($1.last, $1.session.hexadecimal) }
    }

    /// The case of a playback; `nil` if there is none.
    package func leak(_ session: SessionID) -> Leak? { cases[session] }

    /// Records whether a playback that was due is revoked. If it is not, the next evidence tries again.
    package mutating func setRevoked(_ session: SessionID, _ isRevoked: Bool) {
        cases[session]?.end = isRevoked ? .revoked : .none
    }

    // MARK: Renewals

    /// Updates the case of a playback by the outcome of a renewal.
    package mutating func record(
        _ outcome: RenewalOutcome,
        of renewal: GrantRenewal,
        profile: String,
        until sessionEnd: Timestamp,
        at now: Timestamp
    ) -> [Event] {
        var events = sweep(at: now)
        let session = renewal.session
        if case .sibling(let generations) = outcome {
            var leak = suspect(session, until: sessionEnd, profile: profile, by: .renewals, at: now, events: &events)
            leak.generations = max(leak.generations, generations)
            leak.watchedUntil = max(leak.watchedUntil, renewal.expires)
            if generations >= 2 { prove(&leak, by: .renewals, at: now, events: &events) }
            cases[session] = leak
        }
        if let leak = cases[session], leak.proven != nil, leak.end == .none, action == .revoke {
            events.append(due(leak))
        }
        return events
    }

    // MARK: Challenges

    /// Begins to watch a playback whose players take turns.
    package mutating func suspect(_ holder: GrantHolder, at now: Timestamp) -> [Event] {
        guard action != nil, watches[holder.playback] == nil, watches.count < Self.watchCapacity,
            cases[holder.session]?.proven == nil, pauses[holder.playback].map({ $0.end <= now }) ?? true
        else { return [] }
        var events = sweep(at: now)
        var leak = suspect(
            holder.session,
            until: holder.sessionEnd,
            profile: holder.profile,
            by: .forks,
            at: now,
            events: &events
        )
        let end = now.advanced(byMilliseconds: Self.watchLength)
        watches[holder.playback] = Watch(
            session: holder.session,
            before: Timestamp(secondsSince1970: now.seconds),
            end: end,
            evidence: ForkEvidence(since: now, terms: terms)
        )
        leak.challenged = now
        leak.watchedUntil = max(leak.watchedUntil, end)
        leak.uses = []
        cases[holder.session] = leak
        events.append(.challenged(leak))
        return events
    }

    /// True if a grant was issued before its playback was challenged, so that its holder gets a new one.
    package func demandsFreshGrant(from holder: GrantHolder, at now: Timestamp) -> Bool {
        guard let watch = watches[holder.playback] else { return false }
        return holder.issued < watch.before && now <= watch.end
    }

    /// Records the use of a grant of a watched playback; other playbacks are ignored.
    package mutating func record(_ use: GrantUse, of playback: UInt64, at now: Timestamp) -> [Event] {
        var events = now < nextSweep ? [] : sweep(at: now)
        guard var watch = watches[playback], var leak = cases[watch.session] else { return events }
        watch.evidence.record(use, at: now)
        leak.append(use, numbers: &watch.numbers, capacity: Self.useCapacity)
        leak.grants = watch.evidence.grants
        leak.returns = watch.evidence.returns
        if leak.returns > 0 { leak.last = use.time }
        watches[playback] = watch
        if watch.evidence.isProof {
            watches[playback] = nil
            prove(&leak, by: .forks, at: now, events: &events)
            if action == .revoke, leak.end == .none { events.append(due(leak)) }
            if case .due(let pending)? = events.last { leak = pending }
        }
        cases[leak.session] = leak
        return events
    }

    // MARK: Cases

    /// The case of a playback, which is begun if there is none.
    private mutating func suspect(
        _ session: SessionID,
        until sessionEnd: Timestamp,
        profile: String,
        by evidence: Leak.Evidence,
        at now: Timestamp,
        events: inout [Event]
    ) -> Leak {
        if var present = cases[session] {
            present.last = now
            return present
        }
        makeRoom()
        let leak = Leak(session: session, until: sessionEnd, profile: profile, evidence: evidence, at: now)
        events.append(.suspected(leak))
        return leak
    }

    private func prove(_ leak: inout Leak, by evidence: Leak.Evidence, at now: Timestamp, events: inout [Event]) {
        guard leak.proven == nil else { return }
        (leak.proven, leak.evidence, leak.last) = (now, evidence, now)
        events.append(.proven(leak))
    }

    private mutating func due(_ leak: Leak) -> Event {
        var leak = leak
        leak.end = .pending
        cases[leak.session] = leak
        return .due(leak)
    }

    /// Ends the watches and the suspicions that nothing has followed.
    package mutating func sweep(at now: Timestamp) -> [Event] {
        nextSweep = now.advanced(byMilliseconds: 1000)
        for (playback, watch) in watches where watch.end < now {
            watches[playback] = nil
            pause(playback, at: now)
        }
        let over = cases.values.filter { $0.proven == nil && $0.watchedUntil < now }
        for leak in over { cases[leak.session] = nil }
        return over.sorted { $0.suspected < $1.suspected }.map { .unproven($0) }
    }

    private mutating func pause(_ playback: UInt64, at now: Timestamp) {
        if pauses.count >= Self.pauseCapacity {
            pauses = pauses.filter { now < $0.value.end }
            if pauses.count >= Self.pauseCapacity { return }
        }
        let count = pauses[playback].map { $0.count + 1 } ?? 0
        let length = min(Self.firstPause << Int64(min(count, 10)), Self.longestPause)
        pauses[playback] = Pause(count: count, end: now.advanced(byMilliseconds: length))
    }

    /// Forgets the oldest case if there are too many, if possible one without a proof.
    private mutating func makeRoom() {
        guard cases.count >= Self.caseCapacity else { return }
        let oldest = cases.values.min { left, right in
            (left.proven == nil ? 0 : 1, left.last) < (right.proven == nil ? 0 : 1, right.last)
        }
        if let oldest { cases[oldest.session] = nil }
    }
}

extension Leak {
    /// Lists a use of a grant, the latest ones.
    fileprivate mutating func append(_ use: GrantUse, numbers: inout [UInt64: Int], capacity: Int) {
        let next = numbers.count
        guard let number = numbers[use.grant] ?? (next < capacity ? next : nil) else { return }
        numbers[use.grant] = number
        if uses.count >= capacity { uses.removeFirst() }
        uses.append(Use(time: use.time, index: use.segment.index, grant: number, track: use.segment.track))
    }
}
