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
    private var sightings = Sightings()
    /// True if other observers read what happens here, and report what happens there.
    package var isShared = false { didSet { terms.patience = isShared ? Self.patience : .zero } }
    /// The reports that wait for other observers.
    private var outgoing: [LeakReport] = []
    /// The number of reports that had no room, or came too late or too early.
    package private(set) var dropped = 0
    /// The playbacks whose requests are to be looked at (true), or not any more, since the last call of ``removeChanges()``.
    private var changes: [(playback: UInt64, isWatched: Bool)] = []

    /// A change of a case.
    package enum Event: Sendable {
        case suspected(Leak)
        case challenged(Leak)
        case proven(Leak)
        case unproven(Leak)
        /// The playback is to be revoked.
        case due(Leak)
    }

    /// The reason of a watch.
    package enum Cause: Sendable {
        /// Players took turns.
        case turns
        /// Two observers saw the playback.
        case sightings
    }

    /// The challenge of a playback, and what followed.
    private struct Watch: Sendable {
        let challenge: LeakChallenge
        let cause: Cause
        var evidence: ForkEvidence
        /// The numbers of the grants, in the order of their first use.
        var numbers: [UInt32: Int] = [:]
    }

    private struct Pause: Sendable {
        var count: Int
        var end: Timestamp
    }

    /// The maximum numbers of suspected and proven playbacks, of those in the list, of watches, and of pauses.
    private static let (caseCapacity, listCapacity, watchCapacity, pauseCapacity) = (4096, 1000, 2048, 16384)
    /// The maximum number of requests that a case lists.
    private static let useCapacity = 256
    /// The time for which uses wait for those of other observers, which arrive late.
    private static let patience = Duration.seconds(4)
    /// The time in which an observer revokes what it has proven, in milliseconds.
    private static let revocationPatience: Int64 = 15_000
    /// The maximum number of reports that wait.
    private static let reportCapacity = 4000
    /// The greatest lead of another clock, in milliseconds.
    private static let greatestLead: Int64 = 5000
    /// The pause after a watch for turns without a proof; that after one for sightings, of which each is twice the one before, up to
    /// the longest. In milliseconds.
    private static let (turnsPause, firstPause, longestPause): (Int64, Int64, Int64) = (120_000, 60_000, 1_800_000)

    /// Creates an empty list.
    package init() {}

    /// The number of playbacks that are watched.
    package var watchCount: Int { watches.count }

    /// Sets the consequence of a proof, and its terms. Returns the proven playbacks that are due now.
    package mutating func set(_ action: LeakWatch.Action?, handover: Duration) -> [Event] {
        (self.action, terms.handover) = (action, handover)
        if action == nil { for playback in watches.keys { endWatch(of: playback) } }
        return dueEvents(at: Timestamp(millisecondsSince1970: .min))
    }

    /// All cases, in no order.
    package var all: [SessionID: Leak] { cases }

    /// The suspected and the proven playbacks among cases, the newest first.
    package static func list(_ cases: [SessionID: Leak], at now: Timestamp) -> [Leak] {
        let present = cases.values.filter { $0.proven != nil || now <= $0.watchedUntil }
        let sorted = present.sorted { ($0.last, $0.session.number) > ($1.last, $1.session.number) }
        return Array(sorted.prefix(listCapacity))
    }

    /// The case of a playback; `nil` if there is none.
    package func leak(_ session: SessionID) -> Leak? { cases[session] }

    /// Records whether a playback that was due is revoked. If it is not, it is due again at the next sweep.
    package mutating func setRevoked(_ isRevoked: Bool, for session: SessionID) {
        cases[session]?.end = isRevoked ? .revoked : .none
    }

    /// Removes and returns the playbacks whose requests are to be looked at (true), or not any more.
    package mutating func removeChanges() -> [(playback: UInt64, isWatched: Bool)] {
        if changes.isEmpty { return [] }
        defer { changes = [] }
        return changes
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
        var events = sweepIfDue(at: now)
        guard case .sibling(let generations) = outcome else { return events }
        let facts = (session: renewal.session, end: sessionEnd, profile: profile)
        guard beginCase(of: facts, evidence: .renewals, at: now, events: &events) else { return events }
        update(renewal.session) { leak in
            leak.generations = max(leak.generations, generations)
            leak.watchedUntil = max(leak.watchedUntil, renewal.expires)
        }
        if generations >= 2 { prove(renewal.session, by: .renewals, at: now, events: &events) }
        return events
    }

    // MARK: Challenges

    /// Begins to watch a playback that more than one seem to hold.
    package mutating func suspect(_ holder: GrantHolder, because cause: Cause, at now: Timestamp) -> [Event] {
        guard action != nil, watches[holder.playback] == nil, watches.count < Self.watchCapacity,
            cases[holder.session]?.proven == nil, pauses[holder.playback].map({ $0.end <= now }) ?? true
        else { return [] }
        var events = sweepIfDue(at: now)
        let facts = (session: holder.session, end: holder.sessionEnd, profile: holder.profile)
        guard beginCase(of: facts, evidence: .forks, at: now, events: &events) else { return events }
        let challenge = LeakChallenge(
            playback: holder.playback,
            session: holder.session,
            sessionEnd: holder.sessionEnd,
            profile: holder.profile,
            time: now
        )
        begin(challenge, because: cause)
        report(.challenged(challenge))
        if let leak = cases[holder.session] { events.append(.challenged(leak)) }
        return events
    }

    private mutating func begin(_ challenge: LeakChallenge, because cause: Cause) {
        let evidence = ForkEvidence(since: challenge.time, terms: terms)
        watches[challenge.playback] = Watch(challenge: challenge, cause: cause, evidence: evidence)
        changes.append((challenge.playback, true))
        update(challenge.session) { leak in
            leak.challenged = challenge.time
            leak.watchedUntil = max(leak.watchedUntil, challenge.end)
            leak.uses = []
        }
    }

    private mutating func endWatch(of playback: UInt64) {
        if watches.removeValue(forKey: playback) != nil { changes.append((playback, false)) }
    }

    /// True if the playback is watched.
    package func isWatched(_ playback: UInt64) -> Bool { watches[playback] != nil }

    /// True if a grant was issued before its playback was challenged, so that its holder gets a new one.
    package func demandsFreshGrant(from holder: GrantHolder, at now: Timestamp) -> Bool {
        guard let challenge = watches[holder.playback]?.challenge else { return false }
        return holder.issued < challenge.before && now <= challenge.end
    }

    /// Records the use of a grant of a watched playback; other playbacks are ignored.
    package mutating func record(_ use: GrantUse, of playback: UInt64, at now: Timestamp) -> [Event] {
        let events = sweepIfDue(at: now)
        guard watches[playback] != nil else { return events }
        report(.used(playback: playback, use))
        return events + add(use, to: playback, at: now)
    }

    private mutating func add(_ use: GrantUse, to playback: UInt64, at now: Timestamp) -> [Event] {
        guard let index = watches.index(forKey: playback) else { return [] }
        // Without a copy: one of the evidence for each request would cost more than the request.
        guard watches.values[index].evidence.record(use, at: now) else {
            dropped += 1
            return []
        }
        let (session, count) = (watches.values[index].challenge.session, watches.values[index].numbers.count)
        if watches.values[index].numbers[use.grant] == nil, count < Self.useCapacity {
            watches.values[index].numbers[use.grant] = count
        }
        if let number = watches.values[index].numbers[use.grant] {
            update(session) { $0.append(use, number: number, capacity: Self.useCapacity) }
        }
        return judge(playback, at: now)
    }

    /// Updates a case by the evidence of its watch, and ends the watch with a proof.
    private mutating func judge(_ playback: UInt64, at now: Timestamp) -> [Event] {
        guard let index = watches.index(forKey: playback) else { return [] }
        let session = watches.values[index].challenge.session
        let (grants, returns) = (watches.values[index].evidence.grants, watches.values[index].evidence.returns)
        update(session) { leak in
            if returns > leak.returns { leak.last = now }
            (leak.grants, leak.returns) = (grants, returns)
        }
        guard watches.values[index].evidence.isProof else { return [] }
        var events: [Event] = []
        endWatch(of: playback)
        prove(session, by: .forks, at: now, events: &events)
        return events
    }

    // MARK: Other observers

    /// Records that a playback was seen here, and suspects it if it was seen elsewhere since it was seen here before.
    ///
    /// - Parameter isFirst: True if it was not seen here before. A player may have moved from another observer.
    package mutating func noteSeen(_ holder: GrantHolder, isFirst: Bool, at now: Timestamp) -> [Event] {
        guard isShared, action != nil else { return [] }
        report(.seen(playback: holder.playback, time: now))
        guard sightings.noteSeen(holder.playback, isFirst: isFirst, at: now) else { return [] }
        return suspect(holder, because: .sightings, at: now)
    }

    /// Suspects a playback that another observer has seen since it was seen here before, and that is here again.
    package mutating func noteReturn(_ holder: GrantHolder, at now: Timestamp) -> [Event] {
        guard isShared, action != nil, sightings.isShared(holder.playback) else { return [] }
        return suspect(holder, because: .sightings, at: now)
    }

    /// Applies a report of another observer. Reports of other times are counted and dropped; uses of playbacks that are not
    /// watched are ignored.
    package mutating func apply(_ report: LeakReport, at now: Timestamp) -> [Event] {
        guard action != nil else { return [] }
        guard report.time <= now.advanced(byMilliseconds: Self.greatestLead),
            now <= report.time.advanced(byMilliseconds: LeakChallenge.length)
        else {
            dropped += 1
            return []
        }
        switch report {
        case .seen(let playback, let time):
            // The next request here is looked at.
            if sightings.noteSeenElsewhere(playback, time: time, at: now) { changes.append((playback, true)) }
        case .used(let playback, let use): return add(use, to: playback, at: now)
        case .challenged(let challenge): adopt(challenge)
        case .proven(let session, let evidence, let time): adoptProof(of: session, by: evidence, at: time)
        }
        return []
    }

    /// Begins the watch that another observer has begun.
    private mutating func adopt(_ challenge: LeakChallenge) {
        guard watches[challenge.playback] == nil, watches.count < Self.watchCapacity,
            cases[challenge.session]?.proven == nil
        else { return }
        if cases[challenge.session] == nil {
            guard makeRoom() else { return }
            var leak = Leak(
                session: challenge.session,
                until: challenge.sessionEnd,
                profile: challenge.profile,
                evidence: .forks,
                at: challenge.time
            )
            leak.isAdopted = true
            cases[challenge.session] = leak
        }
        begin(challenge, because: .sightings)
    }

    private mutating func adoptProof(of session: SessionID, by evidence: Leak.Evidence, at time: Timestamp) {
        guard let leak = cases[session], leak.proven == nil else { return }
        update(session) { ($0.proven, $0.evidence, $0.last, $0.isAdopted) = (time, evidence, time, true) }
        for (playback, watch) in watches where watch.challenge.session == session { endWatch(of: playback) }
    }

    /// Removes and returns the oldest reports that wait for other observers.
    ///
    /// - Parameter limit: The maximum number.
    package mutating func removeReports(atMost limit: Int) -> [LeakReport] {
        let reports = Array(outgoing.prefix(limit))
        outgoing.removeFirst(reports.count)
        return reports
    }

    /// Puts back reports that could not be sent, before those that came meanwhile.
    package mutating func putBack(_ reports: [LeakReport]) {
        let late = outgoing
        outgoing = []
        for report in reports + late { self.report(report) }
    }

    /// Returns the number of dropped reports since the last call.
    package mutating func removeDropped() -> Int {
        defer { dropped = 0 }
        return dropped
    }

    /// Adds a report for other observers. Without room, the oldest ones leave.
    private mutating func report(_ report: LeakReport) {
        guard isShared else { return }
        if outgoing.count >= Self.reportCapacity {
            outgoing.removeFirst(Self.reportCapacity / 4)
            dropped += Self.reportCapacity / 4
        }
        outgoing.append(report)
    }

    // MARK: Cases

    /// Changes a case without a copy of it.
    private mutating func update(_ session: SessionID, change: (inout Leak) -> Void) {
        if let index = cases.index(forKey: session) { change(&cases.values[index]) }
    }

    /// Begins the case of a playback if there is none. Returns false if there is no room for it.
    private mutating func beginCase(
        of facts: (session: SessionID, end: Timestamp, profile: String),
        evidence: Leak.Evidence,
        at now: Timestamp,
        events: inout [Event]
    ) -> Bool {
        if cases[facts.session] != nil {
            update(facts.session) { $0.last = now }
            return true
        }
        guard makeRoom() else { return false }
        let leak = Leak(
            session: facts.session,
            until: facts.end,
            profile: facts.profile,
            evidence: evidence,
            at: now
        )
        cases[facts.session] = leak
        events.append(.suspected(leak))
        return true
    }

    private mutating func prove(
        _ session: SessionID,
        by evidence: Leak.Evidence,
        at now: Timestamp,
        events: inout [Event]
    ) {
        guard let present = cases[session], present.proven == nil else { return }
        update(session) { ($0.proven, $0.evidence, $0.last, $0.isAdopted) = (now, evidence, now, false) }
        report(.proven(session: session, evidence: evidence, time: now))
        if let leak = cases[session] { events.append(.proven(leak)) }
        events += dueEvents(at: now)
    }

    /// The proven playbacks that are to be revoked and are not. What another observer has proven, it revokes itself, unless it has
    /// ended meanwhile.
    private mutating func dueEvents(at now: Timestamp) -> [Event] {
        guard action == .revoke else { return [] }
        let due = cases.values.filter { leak in
            guard let proven = leak.proven, leak.end == .none else { return false }
            return !leak.isAdopted || proven.advanced(byMilliseconds: Self.revocationPatience) <= now
        }
        for leak in due { update(leak.session) { $0.end = .pending } }
        return due.map { .due($0) }
    }

    private mutating func sweepIfDue(at now: Timestamp) -> [Event] { now < nextSweep ? [] : sweep(at: now) }

    /// Ends the watches and the suspicions that nothing has followed.
    package mutating func sweep(at now: Timestamp) -> [Event] {
        nextSweep = now.advanced(byMilliseconds: 1000)
        var events: [Event] = []
        for playback in Array(watches.keys) {
            guard let index = watches.index(forKey: playback) else { continue }
            if watches.values[index].challenge.end < now {
                pause(playback, after: watches.values[index].cause, at: now)
                endWatch(of: playback)
            } else if isShared, watches.values[index].evidence.advance(to: now) {
                // By the uses that have waited for those of other observers.
                events += judge(playback, at: now)
            }
        }
        let over = cases.values.filter { $0.proven == nil && $0.watchedUntil < now }
        for leak in over { cases[leak.session] = nil }
        // The observer that has suspected it says so.
        let own = over.filter { !$0.isAdopted }.sorted { $0.suspected < $1.suspected }
        return events + own.map { .unproven($0) } + dueEvents(at: now)
    }

    private mutating func pause(_ playback: UInt64, after cause: Cause, at now: Timestamp) {
        if pauses.count >= Self.pauseCapacity {
            pauses = pauses.filter { now < $0.value.end }
            // Those that end the soonest leave.
            if pauses.count >= Self.pauseCapacity {
                let half = pauses.values.map(\.end).sorted()[pauses.count / 2]
                pauses = pauses.filter { half < $0.value.end }
            }
        }
        let count = pauses[playback].map { $0.count + 1 } ?? 0
        let doubled = min(Self.firstPause << Int64(min(count, 10)), Self.longestPause)
        let length = cause == .turns ? Self.turnsPause : doubled
        pauses[playback] = Pause(count: count, end: now.advanced(byMilliseconds: length))
    }

    /// Forgets the oldest case that is not watched if there are too many, if possible one without a proof. Returns false if all
    /// are watched.
    private mutating func makeRoom() -> Bool {
        guard cases.count >= Self.caseCapacity else { return true }
        let watched = Set(watches.values.map(\.challenge.session))
        let oldest = cases.values.lazy.filter { !watched.contains($0.session) }.min { left, right in
            (left.proven == nil ? 0 : 1, left.last) < (right.proven == nil ? 0 : 1, right.last)
        }
        guard let oldest else { return false }
        cases[oldest.session] = nil
        return true
    }
}

extension Leak {
    /// Lists a use of a grant, the latest ones.
    fileprivate mutating func append(_ use: GrantUse, number: Int, capacity: Int) {
        if uses.count >= capacity { uses.removeFirst() }
        uses.append(Use(time: use.time, index: use.segment.index, grant: number, track: use.segment.track))
    }
}
