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
/// Turns: two players with one grant fetch segments by turns, which is a suspicion. The playback is challenged: each
/// answer hands over a grant of its own. A jar goes forward again, and two jars go forth and back, which is the proof.
///
/// A request is decided, and a renewal handed over, whatever happens here: if the store is away, or the queue is full, a
/// shared grant is found later.
public final class LeakWatch: Sendable {
    private let renewals: AsyncStream<Note>
    private let renewalQueue: AsyncStream<Note>.Continuation
    // Separate: renewals wait for the store, and an event must not be lost for them.
    private let events: AsyncStream<LeakCases.Event>
    private let eventQueue: AsyncStream<LeakCases.Event>.Continuation
    private let cases = Mutex(LeakCases())
    /// The number of watched playbacks: without any, a request needs no lock. -1 if grants are not watched.
    private let watched = Atomic<Int>(-1)
    /// True if other gates or edges report what happens there.
    private let isObserved = Atomic<Bool>(false)
    /// The number by which others know this observer.
    private let number = UInt64.random(in: .min ... .max)
    private let table: PlaybackTable
    private let recent = Mutex(RecentRenewals())
    private let renditions = Mutex<[RenditionPattern]>([])
    /// True if there are any.
    private let hasRenditions = Atomic<Bool>(false)
    private let observer: any LeakObserver

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

    /// The maximum numbers of renewals and events that wait.
    private static let (renewalCapacity, eventCapacity) = (4096, 16_384)
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
        (renewals, renewalQueue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.renewalCapacity))
        (events, eventQueue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.eventCapacity))
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

    /// Sets the parts of paths that name a rendition.
    package func set(renditions: [RenditionPattern]) {
        self.renditions.withLock { $0 = renditions }
        hasRenditions.store(!renditions.isEmpty, ordering: .relaxed)
    }

    /// True if requests are counted.
    package var isActive: Bool { watched.load(ordering: .relaxed) >= 0 }

    /// True if other gates, or edges that count by themselves, report.
    package var hasReporters: Bool { isObserved.load(ordering: .relaxed) }

    // MARK: Requests

    /// Counts a request that a grant opened. Does not wait.
    ///
    /// - Parameters:
    ///   - path: The path without tokens, percent-encoded in normal form.
    ///   - isPartial: True if the request is for a range of bytes.
    ///   - edge: The number of the edge that counts the request by itself, and reports it; `nil` for none.
    /// - Returns: True if the holder is to get a new grant now, by which it can be distinguished from others.
    package func count(
        _ path: Substring,
        isPartial: Bool,
        by holder: GrantHolder,
        countedBy edge: UInt64? = nil,
        at now: Timestamp
    ) -> Bool {
        guard isActive else { return false }
        if let edge, isObserved.load(ordering: .relaxed),
            let isDemanded = demandsFreshGrant(from: holder, of: edge, at: now)
        {
            return isDemanded
        }
        guard let segment = segment(at: path) else { return false }
        let count = table.count(segment, isPartial: isPartial, of: holder.playback, at: now, suspicion: Self.suspicion)
        var isDemanded = false
        if count.contains(.watched) || (count.contains(.new) && watched.load(ordering: .relaxed) > 0) {
            update { cases in
                let use = GrantUse(segment, by: holder.grant, at: now)
                let events = cases.noteReturn(holder, at: now) + cases.record(use, of: holder.playback, at: now)
                isDemanded = cases.demandsFreshGrant(from: holder, at: now)
                // The record may have left for another, or the watch has ended.
                table.setWatched(cases.isWatched(holder.playback), for: holder.playback)
                return events
            }
        }
        if !count.isDisjoint(with: [.seen, .new]), isObserved.load(ordering: .relaxed) {
            update { $0.noteSeen(holder, isFirst: count.contains(.new), at: now) }
        }
        if count.contains(.suspected) { update { $0.suspect(holder, because: .turns, at: now) } }
        return isDemanded
    }

    /// True if the holder is to get a new grant now; `nil` if no edge of this number counts by itself.
    private func demandsFreshGrant(from holder: GrantHolder, of edge: UInt64, at now: Timestamp) -> Bool? {
        cases.withLock { cases in
            guard cases.isEdge(edge) else { return nil }
            cases.note(grants: [holder.grant], of: holder.playback)
            return cases.demandsFreshGrant(from: holder, at: now)
        }
    }

    /// Notes a grant that was issued to the holder of another one, so that edges may report its uses.
    ///
    /// - Parameter identifier: The identity of the new grant.
    package func noteIssued(_ identifier: [UInt8], to holder: GrantHolder?, at now: Timestamp) {
        guard let holder, hasReporters || watched.load(ordering: .relaxed) > 0 else { return }
        cases.withLock { $0.note(issued: GrantHolder.number(of: identifier), of: holder.playback, at: now) }
    }

    private func segment(at path: Substring) -> Segment? {
        guard hasRenditions.load(ordering: .relaxed) else { return Segment(path: path) }
        return Segment(path: path, renditions: renditions.withLock { $0 })
    }

    private func update(_ change: (inout LeakCases) -> [LeakCases.Event]) {
        let (events, changes) = cases.withLock { cases in
            let events = change(&cases)
            watched.store(cases.action == nil ? -1 : cases.watchCount, ordering: .relaxed)
            isObserved.store(cases.isObserved, ordering: .relaxed)
            return (events, cases.removeChanges())
        }
        for (playback, isWatched) in changes { table.setWatched(isWatched, for: playback) }
        for event in events { enqueue(event) }
    }

    private func enqueue(_ event: LeakCases.Event) {
        guard case .dropped = eventQueue.yield(event) else { return }
        observer.countDropped()
        // It is due again at the next sweep.
        if case .due(let leak) = event { cases.withLock { $0.setRevoked(false, for: leak.session) } }
    }

    // MARK: Renewals

    /// Records a renewal. Does not wait.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile of the grant.
    ///   - sessionEnd: The end of the playback.
    package func note(_ renewal: GrantRenewal, of profile: String, until sessionEnd: Timestamp, at now: Timestamp) {
        guard recent.withLock({ $0.insert(renewal, at: now) }) else { return }
        let note = Note(renewal: renewal, profile: profile, sessionEnd: sessionEnd, time: now)
        if case .dropped = renewalQueue.yield(note) { observer.countDropped() }
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
            group.addTask { await self.sweepAndExchange(in: store, clock: clock, sleep: sleep) }
            group.addTask { await self.recordRenewals(in: store) }
            for await event in events { await report(event, in: store, revoke: revoke) }
        }
    }

    private func recordRenewals(in store: any ReplayStore) async {
        await withTaskGroup(of: Void.self) { group in
            var count = 0
            for await note in renewals {
                if count >= Self.concurrency {
                    await group.next()
                    count -= 1
                }
                group.addTask { await self.record(note, in: store) }
                count += 1
            }
        }
    }

    private func record(_ note: Note, in store: any ReplayStore) async {
        guard let outcome = try? await store.note(note.renewal, at: note.time) else { return observer.countDropped() }
        update {
            $0.record(outcome, of: note.renewal, profile: note.profile, until: note.sessionEnd, at: note.time)
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
            cases.withLock { $0.setRevoked(isRevoked, for: leak.session) }
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
        update { cases in
            cases.isShared = true
            return []
        }
    }

    private func sweepAndExchange(
        in store: any ReplayStore,
        clock: @Sendable () -> Timestamp,
        sleep: @Sendable (Duration) async -> Void
    ) async {
        var position: String?
        while !Task.isCancelled {
            await sleep(Self.exchangePause)
            update { $0.sweep(at: clock()) }
            if store.isShared { position = await exchange(in: store, after: position, clock: clock) }
            for _ in 0..<cases.withLock({ $0.removeDropped() }) { observer.countDropped() }
        }
    }

    /// Sends the reports that wait, and applies those of other gates. Returns the new position.
    private func exchange(
        in store: any ReplayStore,
        after position: String?,
        clock: @Sendable () -> Timestamp
    ) async -> String? {
        var position = position
        // A gate that was away has much to read.
        for _ in 0..<Self.maximumRounds {
            let reports = cases.withLock { $0.removeReports(atMost: Self.reportsPerBatch) }
            guard let answer = try? await store.exchange(encoded(reports), after: position) else {
                // The store is away: the reports wait for the next exchange.
                cases.withLock { $0.putBack(reports) }
                return position
            }
            position = answer.position
            // The answer may have come late, and reports of others must not seem to be of the future.
            for batch in answer.batches { receive(batch, at: clock()) }
            if answer.batches.count <= 1, reports.count < Self.reportsPerBatch { break }
        }
        return position
    }

    /// Removes the reports that wait for other gates, and returns them as they are sent; empty for none.
    package func removeBatch(at now: Timestamp) -> [UInt8] {
        update { $0.sweep(at: now) }
        return encoded(cases.withLock { $0.removeReports(atMost: Self.reportsPerBatch) })
    }

    /// Returns reports as they are sent; empty for none.
    private func encoded(_ reports: [LeakReport]) -> [UInt8] {
        reports.isEmpty ? [] : LeakReportBatch(observer: number, reports: reports).encoded
    }

    /// Applies the reports of a gate; its own ones are ignored. Bytes that are no batch are counted and dropped.
    package func receive(_ bytes: [UInt8], at now: Timestamp) {
        guard let batch = LeakReportBatch(bytes) else { return observer.countDropped() }
        if batch.observer == number { return }
        // In parts, so that requests do not wait for all of them.
        for start in stride(from: 0, to: batch.reports.count, by: Self.reportsPerLock) {
            let part = batch.reports[start..<min(start + Self.reportsPerLock, batch.reports.count)]
            update { cases in part.flatMap { cases.apply($0, of: batch.observer, at: now) } }
        }
    }

    /// The answer to the reports of an edge.
    package enum Exchange: Sendable {
        /// Its orders, as they are sent.
        case orders([UInt8])
        /// The bytes are no batch.
        case malformed
        /// There are too many edges.
        case overloaded
    }

    /// Applies the reports of an edge that counts by itself.
    ///
    /// - Parameter caller: The name of its key. The edges of one key have a share of the memory.
    package func exchange(_ bytes: some Collection<UInt8>, of caller: String, at now: Timestamp) -> Exchange {
        guard let batch = LeakReportBatch(bytes) else { return .malformed }
        let renditions = renditions.withLock { $0 }
        guard isActive else { return .orders(LeakOrders(renditions: renditions, orders: []).encoded) }
        // 0 is the gate itself.
        let owner = SHA256.digest(caller).prefix(8).reduce(0) { $0 << 8 | UInt64($1) } | 1
        guard cases.withLock({ $0.note(edge: batch.observer, of: owner, at: now) }) else { return .overloaded }
        for start in stride(from: 0, to: batch.reports.count, by: Self.reportsPerLock) {
            let part = batch.reports[start..<min(start + Self.reportsPerLock, batch.reports.count)]
            update { cases in part.flatMap { cases.apply($0, ofEdge: batch.observer, at: now) } }
        }
        let orders = cases.withLock { $0.orders(for: batch.observer, at: now) }
        return .orders(LeakOrders(renditions: renditions, orders: orders).encoded)
    }

    /// The maximum numbers of reports in a batch, of those that are applied at a time, and of batches that are sent in a row. A
    /// batch of the longest reports has less than its maximum size.
    private static let (reportsPerBatch, reportsPerLock, maximumRounds) = (600, 64, 8)
    private static let exchangePause = Duration.seconds(1)

    // MARK: Queries

    /// The suspected and the proven playbacks that this gate knows, the newest first, at most 1,000.
    public func leaks(at now: Timestamp) -> [Leak] { LeakCases.list(cases.withLock { $0.all }, at: now) }

    /// The case of a playback; `nil` if this gate knows none.
    public func leak(_ session: SessionID) -> Leak? { cases.withLock { $0.leak(session) } }
}
