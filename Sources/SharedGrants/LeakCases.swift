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
    /// The playbacks that other observers have seen, and the last times.
    private var seenElsewhere: [UInt64: Timestamp] = [:]
    /// True if other observers are told what happens here, and tell what happens there.
    package var isShared = false { didSet { terms.patience = isShared ? Self.patience : .zero } }
    /// The reports that wait for other observers.
    private var outgoing: [LeakReport] = []
    /// The number of reports that had no room.
    package private(set) var dropped = 0

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
        let challenge: LeakChallenge
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
    /// The time for which uses wait for those of other observers, which arrive late.
    private static let patience = Duration.seconds(4)
    /// The maximum numbers of reports that wait, and of playbacks that others have seen.
    private static let (reportCapacity, seenCapacity) = (2000, 131_072)
    /// The time for which a playback counts as seen elsewhere, and the greatest lead of another clock, in milliseconds.
    private static let (seenLength, greatestLead): (Int64, Int64) = (65_000, 5000)
    /// The pause after the first watch without a proof, and the longest one, in milliseconds. Each is twice the one before.
    private static let (firstPause, longestPause): (Int64, Int64) = (60_000, 1_800_000)

    /// Creates an empty list.
    package init() {}

    /// The number of playbacks that are watched.
    package var watchCount: Int { watches.count }

    /// Sets the consequence of a proof, and its terms. Returns the proven playbacks that are due now.
    package mutating func set(_ action: LeakWatch.Action?, handover: Duration) -> [Event] {
        (self.action, terms.handover) = (action, handover)
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
        let challenge = LeakChallenge(
            playback: holder.playback,
            session: holder.session,
            sessionEnd: holder.sessionEnd,
            profile: holder.profile,
            time: now
        )
        begin(challenge, of: &leak)
        report(.challenged(challenge))
        events.append(.challenged(leak))
        return events
    }

    private mutating func begin(_ challenge: LeakChallenge, of leak: inout Leak) {
        watches[challenge.playback] = Watch(
            challenge: challenge,
            evidence: ForkEvidence(since: challenge.time, terms: terms)
        )
        leak.challenged = challenge.time
        leak.watchedUntil = max(leak.watchedUntil, challenge.end)
        leak.uses = []
        cases[leak.session] = leak
    }

    /// True if a grant was issued before its playback was challenged, so that its holder gets a new one.
    package func demandsFreshGrant(from holder: GrantHolder, at now: Timestamp) -> Bool {
        guard let challenge = watches[holder.playback]?.challenge else { return false }
        return holder.issued < challenge.before && now <= challenge.end
    }

    /// Records the use of a grant of a watched playback; other playbacks are ignored.
    package mutating func record(_ use: GrantUse, of playback: UInt64, at now: Timestamp) -> [Event] {
        let events = now < nextSweep ? [] : sweep(at: now)
        guard watches[playback] != nil else { return events }
        report(.used(playback: playback, use))
        return events + add(use, to: playback, at: now)
    }

    private mutating func add(_ use: GrantUse, to playback: UInt64, at now: Timestamp) -> [Event] {
        guard var watch = watches[playback], var leak = cases[watch.challenge.session] else { return [] }
        watch.evidence.record(use, at: now)
        leak.append(use, numbers: &watch.numbers, capacity: Self.useCapacity)
        watches[playback] = watch
        return judge(&leak, by: watch, of: playback, at: now)
    }

    /// Updates a case by the evidence of its watch, and ends the watch with a proof.
    private mutating func judge(_ leak: inout Leak, by watch: Watch, of playback: UInt64, at now: Timestamp) -> [Event]
    {
        var events: [Event] = []
        if watch.evidence.returns > leak.returns { leak.last = now }
        (leak.grants, leak.returns) = (watch.evidence.grants, watch.evidence.returns)
        if watch.evidence.isProof {
            watches[playback] = nil
            prove(&leak, by: .forks, at: now, events: &events)
            if action == .revoke, leak.end == .none {
                leak.end = .pending
                events.append(.due(leak))
            }
        }
        cases[leak.session] = leak
        return events
    }

    // MARK: Other observers

    /// Records that a playback was seen here, and suspects it if it was seen elsewhere too.
    package mutating func noteSeen(_ holder: GrantHolder, at now: Timestamp) -> [Event] {
        guard isShared, action != nil else { return [] }
        report(.seen(playback: holder.playback, time: now))
        guard let other = seenElsewhere[holder.playback], now <= other.advanced(byMilliseconds: Self.seenLength) else {
            return []
        }
        return suspect(holder, at: now)
    }

    /// Applies a report of another observer. Reports of other times, and uses of playbacks that are not watched, are ignored.
    package mutating func apply(_ report: LeakReport, at now: Timestamp) -> [Event] {
        let latest = now.advanced(byMilliseconds: Self.greatestLead)
        guard action != nil, report.time <= latest,
            now <= report.time.advanced(byMilliseconds: LeakChallenge.length)
        else { return [] }
        switch report {
        case .seen(let playback, let time):
            guard seenElsewhere.count < Self.seenCapacity || seenElsewhere[playback] != nil else { return [] }
            seenElsewhere[playback] = max(seenElsewhere[playback] ?? time, time)
        case .used(let playback, let use): return add(use, to: playback, at: now)
        case .challenged(let challenge): adopt(challenge)
        case .proven(let session, let evidence, let time):
            guard var leak = cases[session], leak.proven == nil else { return [] }
            (leak.proven, leak.evidence, leak.last, leak.isAdopted) = (time, evidence, time, true)
            cases[session] = leak
            for (playback, watch) in watches where watch.challenge.session == session { watches[playback] = nil }
        }
        return []
    }

    /// Begins the watch that another observer has begun.
    private mutating func adopt(_ challenge: LeakChallenge) {
        guard watches[challenge.playback] == nil, watches.count < Self.watchCapacity,
            cases[challenge.session]?.proven == nil
        else { return }
        var leak: Leak
        if let present = cases[challenge.session] {
            leak = present
        } else {
            makeRoom()
            leak = Leak(
                session: challenge.session,
                until: challenge.sessionEnd,
                profile: challenge.profile,
                evidence: .forks,
                at: challenge.time
            )
            leak.isAdopted = true
        }
        begin(challenge, of: &leak)
    }

    /// Takes the reports that wait for other observers.
    package mutating func takeReports() -> [LeakReport] {
        defer { outgoing = [] }
        return outgoing
    }

    /// Puts back reports that could not be sent, before those that came meanwhile.
    package mutating func putBack(_ reports: [LeakReport]) {
        let late = outgoing
        outgoing = []
        for report in reports + late { self.report(report) }
    }

    /// Adds a report for other observers. Without room, the oldest one leaves.
    private mutating func report(_ report: LeakReport) {
        guard isShared else { return }
        if outgoing.count >= Self.reportCapacity {
            outgoing.removeFirst(Self.reportCapacity / 4)
            dropped += Self.reportCapacity / 4
        }
        outgoing.append(report)
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

    private mutating func prove(
        _ leak: inout Leak,
        by evidence: Leak.Evidence,
        at now: Timestamp,
        events: inout [Event]
    ) {
        guard leak.proven == nil else { return }
        (leak.proven, leak.evidence, leak.last) = (now, evidence, now)
        report(.proven(session: leak.session, evidence: evidence, time: now))
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
        var events: [Event] = []
        for (playback, watch) in watches where watch.challenge.end < now {
            watches[playback] = nil
            pause(playback, at: now)
        }
        if isShared {
            events += advance(to: now)
            seenElsewhere = seenElsewhere.filter { now <= $0.value.advanced(byMilliseconds: Self.seenLength) }
        }
        let over = cases.values.filter { $0.proven == nil && $0.watchedUntil < now }
        for leak in over { cases[leak.session] = nil }
        // The observer that has suspected it says so.
        let own = over.filter { !$0.isAdopted }.sorted { $0.suspected < $1.suspected }
        return events + own.map { .unproven($0) }
    }

    /// Judges by the uses that have waited for those of other observers.
    private mutating func advance(to now: Timestamp) -> [Event] {
        var events: [Event] = []
        for (playback, var watch) in watches {
            guard var leak = cases[watch.challenge.session] else { continue }
            watch.evidence.advance(to: now)
            watches[playback] = watch
            events += judge(&leak, by: watch, of: playback, at: now)
        }
        return events
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
