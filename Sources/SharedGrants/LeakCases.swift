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
    /// True if other gates read what happens here, and report what happens there.
    package var isShared = false { didSet { setPatience() } }
    /// The edges that count by themselves.
    private var edges: [UInt64: Edge] = [:] { didSet { setPatience() } }
    private var recentGrants = RecentGrants()
    /// The playbacks whose next holder an edge is to report, until a time.
    private var looks: [UInt64: [UInt64: Timestamp]] = [:]
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
        /// The owner of the edge by whose report it began; 0 for this gate.
        let owner: UInt64
        /// The edges that have a grant of the playback: the uses that others report do not count.
        var edges: Set<UInt64> = []
        /// The grants that a gate has seen or issued: what edges report of others does not count.
        var grants: Set<UInt32> = []
        /// The numbers of the grants, in the order of their first use.
        var numbers: [UInt32: Int] = [:]
    }

    /// An edge that counts by itself.
    private struct Edge: Sendable {
        /// The time of its last report.
        var last: Timestamp
        /// A hash of the name of its key.
        let owner: UInt64
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
    /// The maximum numbers of edges, of those of a playback, of its grants that a gate knows, and of holders that an edge is to
    /// report. The edges of one key have half of all edges, and half of all watches.
    private static let (edgeCapacity, edgesPerWatch, grantsPerWatch, lookCapacity) = (1024, 64, 1024, 512)
    /// The time for which an edge is known after a report, and for which it is to report a holder, in milliseconds.
    private static let (edgeLife, lookLife): (Int64, Int64) = (30_000, 60_000)
    /// The longest time for which a playback is revoked by an edge's report.
    private static let longestSession: Int64 = 30 * 86_400_000
    /// The pause after a watch for turns without a proof; that after one for sightings, of which each is twice the one before, up to
    /// the longest. In milliseconds.
    private static let (turnsPause, firstPause, longestPause): (Int64, Int64, Int64) = (120_000, 60_000, 1_800_000)

    /// Creates an empty list.
    package init() {}

    /// True if other gates or edges report what happens there.
    package var isObserved: Bool { isShared || !edges.isEmpty }

    private mutating func setPatience() {
        let patience = isObserved ? Self.patience : .zero
        guard patience != terms.patience else { return }
        terms.patience = patience
        // Uses that wait are applied in time: without patience, they would be applied as often as they are reported.
        if isObserved { for playback in watches.keys { watches[playback]?.evidence.terms.patience = patience } }
    }

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
        let challenge = LeakChallenge(
            playback: holder.playback,
            session: holder.session,
            sessionEnd: holder.sessionEnd,
            profile: holder.profile,
            time: now
        )
        return begin(suspected: challenge, because: cause, by: 0)
    }

    private mutating func begin(suspected challenge: LeakChallenge, because cause: Cause, by owner: UInt64) -> [Event] {
        let now = challenge.time
        guard action != nil, watches[challenge.playback] == nil, watches.count < Self.watchCapacity,
            cases[challenge.session]?.proven == nil, pauses[challenge.playback].map({ $0.end <= now }) ?? true
        else { return [] }
        var events = sweepIfDue(at: now)
        let facts = (session: challenge.session, end: challenge.sessionEnd, profile: challenge.profile)
        guard beginCase(of: facts, evidence: .forks, at: now, events: &events) else { return events }
        begin(challenge, because: cause, by: owner)
        report(.challenged(challenge))
        if let leak = cases[challenge.session] { events.append(.challenged(leak)) }
        return events
    }

    private mutating func begin(_ challenge: LeakChallenge, because cause: Cause, by owner: UInt64 = 0) {
        let evidence = ForkEvidence(since: challenge.time, terms: terms)
        watches[challenge.playback] = Watch(challenge: challenge, cause: cause, evidence: evidence, owner: owner)
        note(grants: recentGrants[challenge.playback], of: challenge.playback)
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

    /// Notes a grant that this gate has issued, so that edges may report its uses.
    package mutating func note(issued grant: UInt32, of playback: UInt64, at now: Timestamp) {
        if isObserved { recentGrants.insert(grant, of: playback, at: now) }
        note(grants: [grant], of: playback)
    }

    /// Notes the grants of a playback that this gate has seen, so that edges may report their uses.
    package mutating func note(grants: [UInt32], of playback: UInt64) {
        guard let index = watches.index(forKey: playback),
            watches.values[index].grants.count < Self.grantsPerWatch
        else { return }
        watches.values[index].grants.formUnion(grants)
    }

    /// Records the use of a grant of a watched playback; other playbacks are ignored.
    package mutating func record(_ use: GrantUse, of playback: UInt64, at now: Timestamp) -> [Event] {
        let events = sweepIfDue(at: now)
        guard watches[playback] != nil else { return events }
        report(.used(playback: playback, use))
        note(grants: [use.grant], of: playback)
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
        guard isObserved, action != nil else { return [] }
        report(.seen(playback: holder.playback, time: now))
        let isAgain = sightings.note(holder.playback, by: 0, isFirst: isFirst, time: now, at: now)
        lookForReturns(of: holder.playback, at: now)
        if isFirst { return [] }
        sightings.countAgain(holder.playback, by: 0, of: 0)
        guard isAgain, sightings.isShared(holder.playback, since: 0, of: 0) else { return [] }
        return suspect(holder, because: .sightings, at: now)
    }

    /// Has the next request looked at where a playback was seen before others saw it.
    private mutating func lookForReturns(of playback: UInt64, at now: Timestamp) {
        for observer in sightings.observers(of: playback)
        where sightings.isShared(playback, since: observer, of: edges[observer]?.owner ?? 0) {
            if observer == 0 {
                changes.append((playback, true))
            } else if edges[observer] != nil, watches[playback] == nil,
                looks[observer, default: [:]].count < Self.lookCapacity
            {
                looks[observer, default: [:]][playback] = now.advanced(byMilliseconds: Self.lookLife)
            }
        }
    }

    /// Suspects a playback that another observer has seen since it was seen here before, and that is here again.
    package mutating func noteReturn(_ holder: GrantHolder, at now: Timestamp) -> [Event] {
        guard isObserved, action != nil, sightings.isShared(holder.playback, since: 0, of: 0) else { return [] }
        return suspect(holder, because: .sightings, at: now)
    }

    /// Applies a report of another gate. Reports of other times are counted and dropped; uses of playbacks that are not
    /// watched are ignored.
    ///
    /// - Parameter gate: The number of the gate.
    package mutating func apply(_ report: LeakReport, of gate: UInt64, at now: Timestamp) -> [Event] {
        guard action != nil, isTimely(report, at: now) else { return [] }
        switch report {
        case .seen(let playback, let time):
            sightings.note(playback, by: gate, time: time, at: now)
            lookForReturns(of: playback, at: now)
        case .used(let playback, let use):
            note(grants: [use.grant], of: playback)
            return add(use, to: playback, at: now)
        case .challenged(let challenge): adopt(challenge)
        case .proven(let session, let evidence, let time): adoptProof(of: session, by: evidence, at: time)
        // Gates report what follows from it.
        case .held: dropped += 1
        }
        return []
    }

    private mutating func isTimely(_ report: LeakReport, at now: Timestamp) -> Bool {
        let isTimely =
            report.time <= now.advanced(byMilliseconds: Self.greatestLead)
            && now <= report.time.advanced(byMilliseconds: LeakChallenge.length)
        if !isTimely { dropped += 1 }
        return isTimely
    }

    // MARK: Edges

    /// Notes that an edge counts by itself. Returns false if there are too many.
    ///
    /// - Parameter owner: A hash of the name of its key.
    package mutating func note(edge: UInt64, of owner: UInt64, at now: Timestamp) -> Bool {
        if edges[edge]?.owner == owner {
            edges[edge]?.last = now
            return true
        }
        let count = edges.values.count { $0.owner == owner }
        guard edge != 0, edges[edge] == nil, edges.count < Self.edgeCapacity, count < Self.edgeCapacity / 2 else {
            return false
        }
        edges[edge] = Edge(last: now, owner: owner)
        return true
    }

    /// True if an edge of this number counts by itself.
    package func isEdge(_ number: UInt64) -> Bool { edges[number] != nil }

    /// Applies a report of an edge. Only what it can know counts: sightings, and uses of playbacks of which it has a grant.
    package mutating func apply(_ report: LeakReport, ofEdge edge: UInt64, at now: Timestamp) -> [Event] {
        guard action != nil, let owner = edges[edge]?.owner, isTimely(report, at: now) else { return [] }
        switch report {
        case .seen(let playback, let time):
            guard sightings.hasRoom(for: owner) else {
                dropped += 1
                return []
            }
            self.report(report)
            if sightings.note(playback, by: edge, of: owner, time: time, at: now) {
                sightings.countAgain(playback, by: edge, of: owner)
            }
            lookForReturns(of: playback, at: now)
            return []
        case .held(let held): return apply(held, ofEdge: edge, owner: owner, at: now)
        case .used(let playback, let use):
            // The edge is no witness of a playback of which it has no grant.
            guard let watch = watches[playback], watch.edges.contains(edge) else { return [] }
            // A proof needs grants that a gate has issued, and not only the word of an edge.
            guard watch.grants.contains(use.grant) else {
                dropped += 1
                return []
            }
            return record(use, of: playback, at: now)
        case .challenged, .proven:
            dropped += 1
            return []
        }
    }

    private mutating func apply(
        _ held: HeldPlayback,
        ofEdge edge: UInt64,
        owner: UInt64,
        at now: Timestamp
    ) -> [Event] {
        looks[edge]?[held.playback] = nil
        // An invented session must not hold the number of a playback that others serve.
        if let watch = watches[held.playback], watch.challenge.session != held.session,
            watch.owner != 0, watch.owner != owner, watch.numbers.isEmpty
        {
            endWatch(of: held.playback)
        }
        let isSighted = held.cause == .sighted && sightings.isShared(held.playback, since: edge, of: owner)
        let isSuspected = held.cause == .turns || isSighted
        var events: [Event] = []
        if isSuspected, watches.values.count(where: { $0.owner == owner }) < Self.watchCapacity / 2 {
            let challenge = LeakChallenge(
                playback: held.playback,
                session: held.session,
                sessionEnd: min(held.sessionEnd, now.advanced(byMilliseconds: Self.longestSession)),
                profile: held.profile,
                time: now
            )
            events = begin(suspected: challenge, because: isSighted ? .sightings : .turns, by: owner)
        }
        if let index = watches.index(forKey: held.playback), watches.values[index].challenge.session == held.session,
            watches.values[index].edges.count < Self.edgesPerWatch
        {
            watches.values[index].edges.insert(edge)
        }
        return events
    }

    /// The orders for an edge: about playbacks that it has seen.
    package mutating func orders(for edge: UInt64, at now: Timestamp) -> [LeakOrders.Order] {
        var orders: [LeakOrders.Order] = []
        for (playback, watch) in watches where now <= watch.challenge.end {
            let isKnown = watch.edges.contains(edge)
            guard isKnown || sightings.hasSeen(playback, by: edge) else { continue }
            let (before, end) = (watch.challenge.before, watch.challenge.end)
            orders.append(.watch(playback: playback, before: before, end: end, isKnown: isKnown))
        }
        looks[edge] = looks[edge]?.filter { now <= $0.value && watches[$0.key] == nil }
        return orders + (looks[edge] ?? [:]).map { .look(playback: $0.key, end: $0.value) }
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
        for (number, edge) in edges where edge.last.advanced(byMilliseconds: Self.edgeLife) < now {
            (edges[number], looks[number]) = (nil, nil)
        }
        var events: [Event] = []
        for playback in Array(watches.keys) {
            guard let index = watches.index(forKey: playback) else { continue }
            if watches.values[index].challenge.end < now {
                pause(playback, after: watches.values[index].cause, at: now)
                endWatch(of: playback)
            } else if watches.values[index].evidence.advance(to: now) {
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
