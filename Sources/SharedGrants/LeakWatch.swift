// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
public import Platform
public import ReplayStores
internal import Synchronization

/// The watch for grants that more than one hold. No address, no User-Agent and no rate is looked at.
///
/// Renewals: each gives the grant a new identity and the next generation. One holder goes forward: it renews what the last
/// renewal gave it. Two holders of one grant get a successor each, and renew both: the same generation has two parents then.
/// One such generation is a suspicion; two in a row are a proof.
///
/// Turns: two players with one grant take turns to fetch segments, which is a suspicion. The playback is challenged: each
/// answer hands over a grant of its own. A jar goes forward again, and two jars go forth and back, which is the proof.
///
/// A request is decided, and a renewal handed over, whatever happens here: if the store is away, or the queue is full, a
/// shared grant is found later.
public final class LeakWatch: Sendable {
    private let work: AsyncStream<Work>
    private let queue: AsyncStream<Work>.Continuation
    private let cases = Mutex(LeakCases())
    /// The number of watched playbacks: without any, a request needs no lock. -1 if grants are not watched.
    private let watched = Atomic<Int>(-1)
    private let isShared = Atomic<Bool>(false)
    /// The number by which this observer is told apart from others.
    private let number = UInt64.random(in: .min ... .max)
    private let table: PlaybackTable
    private let recent = Mutex(RecentRenewals())
    private let observer: any LeakObserver

    private enum Work: Sendable {
        case renewal(Note)
        case event(LeakCases.Event)
    }

    private struct Note: Sendable {
        let renewal: GrantRenewal
        let profile: String
        let sessionEnd: Timestamp
        let time: Timestamp
    }

    /// The consequence of a proof.
    public enum Action: String, Sendable, CaseIterable {
        /// The playback is listed.
        case review
        /// The playback is revoked: its viewer starts again with a new media token, and the others have none.
        case revoke
    }

    /// Revokes a playback until the end of its session. Returns false if that is not possible now.
    public typealias Revoke = @Sendable (SessionID, Timestamp) async -> Bool

    /// The maximum number of renewals and events that wait.
    private static let queueCapacity = 4096
    /// The maximum number of calls of the store at a time.
    private static let concurrency = 32
    /// The number of turns after which a playback is suspected.
    package static let suspicion = 5

    /// Creates a watch that looks at nothing yet.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of playbacks whose segments are counted, in 136 bytes each.
    ///   - observer: Called with each change.
    public init(capacity: Int = 131_072, observer: any LeakObserver) {
        (work, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.queueCapacity))
        self.observer = observer
        table = PlaybackTable(capacity: capacity)
    }

    /// Sets the consequence of a proof from now on.
    ///
    /// - Parameters:
    ///   - action: The consequence; `nil` to look at nothing.
    ///   - handover: The time for which two devices may play with one grant, while a viewer changes from one to the other.
    public func set(_ action: Action?, handover: Duration = .seconds(45)) {
        update { $0.set(action, handover: handover) }
    }

    // MARK: Requests

    /// True if the holder of a grant is to get a new one now, so that it can be told apart from others.
    package func demandsFreshGrant(from holder: GrantHolder, at now: Timestamp) -> Bool {
        watched.load(ordering: .relaxed) > 0 && cases.withLock { $0.demandsFreshGrant(from: holder, at: now) }
    }

    /// Counts a request that a grant opened. Does not wait.
    ///
    /// - Parameter path: The path without tokens.
    package func count(_ path: Substring, by holder: GrantHolder, at now: Timestamp) {
        let present = watched.load(ordering: .relaxed)
        guard present >= 0, let segment = Segment(path: path) else { return }
        let count = table.count(segment, of: holder.playback, at: now, suspicion: Self.suspicion)
        if present > 0 {
            update { $0.record(GrantUse(segment, by: holder.grant, at: now), of: holder.playback, at: now) }
        }
        if count.contains(.seen), isShared.load(ordering: .relaxed) { update { $0.noteSeen(holder, at: now) } }
        if count.contains(.suspected) { update { $0.suspect(holder, at: now) } }
    }

    private func update(_ change: (inout LeakCases) -> [LeakCases.Event]) {
        let events = cases.withLock { cases in
            let events = change(&cases)
            watched.store(cases.action == nil ? -1 : cases.watchCount, ordering: .relaxed)
            return events
        }
        for event in events { enqueue(.event(event)) }
    }

    private func enqueue(_ item: Work) { if case .dropped = queue.yield(item) { observer.countDropped() } }

    // MARK: Renewals

    /// Records a renewal. Does not wait.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile of the grant.
    ///   - sessionEnd: The end of the playback.
    package func note(_ renewal: GrantRenewal, of profile: String, until sessionEnd: Timestamp, at now: Timestamp) {
        guard recent.withLock({ $0.insert(renewal, at: now) }) else { return }
        enqueue(.renewal(Note(renewal: renewal, profile: profile, sessionEnd: sessionEnd, time: now)))
    }

    /// Passes the renewals on to the store and the events to the observer, and exchanges reports with other gates that share
    /// the store, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - store: The store, the same for all gates of an installation.
    ///   - clock: The time.
    ///   - sleep: Waits between two exchanges.
    ///   - revoke: Called for each proven playback that is to be ended.
    public func run(
        store: any ReplayStore,
        clock: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async -> Void,
        revoke: @escaping Revoke
    ) async {
        if store.isShared { share() }
        await withTaskGroup(of: Void.self) { group in
            if store.isShared { group.addTask { await self.exchangeReports(in: store, clock: clock, sleep: sleep) } }
            group.addTask { await self.processAll(in: store, revoke: revoke) }
        }
    }

    private func processAll(in store: any ReplayStore, revoke: @escaping Revoke) async {
        await withTaskGroup(of: Void.self) { group in
            var count = 0
            for await item in work {
                if count >= Self.concurrency {
                    await group.next()
                    count -= 1
                }
                group.addTask { await self.process(item, in: store, revoke: revoke) }
                count += 1
            }
        }
    }

    private func process(_ item: Work, in store: any ReplayStore, revoke: Revoke) async {
        switch item {
        case .event(let event): await report(event, in: store, revoke: revoke)
        case .renewal(let note):
            guard let outcome = try? await store.note(note.renewal, at: note.time) else {
                return observer.countDropped()
            }
            update {
                $0.record(outcome, of: note.renewal, profile: note.profile, until: note.sessionEnd, at: note.time)
            }
        }
    }

    private func report(_ event: LeakCases.Event, in store: any ReplayStore, revoke: Revoke) async {
        switch event {
        case .suspected(let leak): observer.observeSuspected(leak)
        case .challenged(let leak): observer.observeChallenged(leak)
        case .proven(let leak): if await isFirst("proven", of: leak, in: store) { observer.observeProven(leak) }
        case .unproven(let leak): observer.observeUnproven(leak)
        case .due(let leak):
            let isRevoked = await revoke(leak.session, leak.sessionEnd)
            cases.withLock { $0.setRevoked(leak.session, isRevoked) }
            if isRevoked, await isFirst("revoked", of: leak, in: store) { observer.observeRevoked(leak) }
        }
    }

    /// True if no other gate has reported the change of a case. Without an answer of the store, it is reported twice rather than
    /// never.
    private func isFirst(_ change: String, of leak: Leak, in store: any ReplayStore) async -> Bool {
        guard store.isShared else { return true }
        let digest = SHA256.digest(Array("playgate leak \(change) \(leak.session.hexadecimal)".utf8))
        guard let identity = SHA256Digest(bytes: digest) else { return true }
        let outcome = try? await store.insert(identity, until: leak.sessionEnd, at: leak.last)
        return outcome != .replayed
    }

    // MARK: Other gates

    /// Begins to make reports for other gates, and to wait for theirs.
    package func share() {
        isShared.store(true, ordering: .relaxed)
        cases.withLock { $0.isShared = true }
    }

    private func exchangeReports(
        in store: any ReplayStore,
        clock: @Sendable () -> Timestamp,
        sleep: @Sendable (Duration) async -> Void
    ) async {
        var position: String?
        while !Task.isCancelled {
            await sleep(Self.exchangePause)
            let now = clock()
            let reports = takeReports(at: now)
            let batch = reports.isEmpty ? [] : LeakReportBatch(observer: number, reports: reports).encoded
            guard let answer = try? await store.exchange(batch, after: position) else {
                // The store is away: the reports wait for the next exchange.
                cases.withLock { $0.putBack(reports) }
                continue
            }
            position = answer.position
            for batch in answer.batches { receive(batch, at: now) }
        }
    }

    /// Takes the reports that wait for other gates.
    private func takeReports(at now: Timestamp) -> [LeakReport] {
        update { $0.sweep(at: now) }
        return cases.withLock { $0.takeReports() }
    }

    /// Takes the reports that wait for other gates, as they are sent; empty for none.
    package func takeBatch(at now: Timestamp) -> [UInt8] {
        let reports = takeReports(at: now)
        return reports.isEmpty ? [] : LeakReportBatch(observer: number, reports: reports).encoded
    }

    /// Applies the reports of a gate; its own ones are ignored. Bytes that are no batch are counted and dropped.
    package func receive(_ bytes: [UInt8], at now: Timestamp) {
        guard let batch = LeakReportBatch(bytes) else { return observer.countDropped() }
        if batch.observer == number { return }
        update { cases in batch.reports.flatMap { cases.apply($0, at: now) } }
    }

    private static let exchangePause = Duration.seconds(1)

    // MARK: Queries

    /// The suspected and the proven playbacks that this gate knows, the newest first.
    public func leaks(at now: Timestamp) -> [Leak] { cases.withLock { $0.leaks(at: now) } }

    /// The case of a playback; `nil` if this gate knows none.
    public func leak(_ session: SessionID) -> Leak? { cases.withLock { $0.leak(session) } }
}
