// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
public import Platform
internal import Synchronization

/// The watch for grants that more than one hold.
///
/// Each renewal gives the grant a new identity and the next generation. One holder goes forward: it renews what the last
/// renewal gave it. Two holders of one grant get a successor each, and renew both: the same generation has two parents then.
/// One such generation is a suspicion; two in a row are a proof. No address, no User-Agent and no rate is looked at.
///
/// A renewal is handed over whatever happens here: if the store is away, or the queue is full, a shared grant is found later.
public final class LeakWatch: Sendable {
    private let renewals: AsyncStream<Note>
    private let queue: AsyncStream<Note>.Continuation
    private let state: Mutex<State>
    private let recent = Mutex(RecentRenewals())
    private let observer: any LeakObserver

    private struct Note: Sendable {
        let renewal: GrantRenewal
        let profile: String
        let sessionEnd: Timestamp
        let time: Timestamp
    }

    private struct State {
        var action = Action.review
        var cases: [SessionID: Leak] = [:]
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

    /// The maximum number of renewals that wait for the store.
    private static let queueCapacity = 4096
    /// The maximum number of calls of the store at a time.
    private static let concurrency = 32
    /// The maximum number of suspected and proven playbacks that are remembered.
    private static let caseCapacity = 1000

    /// Creates a watch.
    ///
    /// - Parameter observer: Called with each change.
    public init(observer: any LeakObserver) {
        (renewals, queue) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.queueCapacity))
        self.observer = observer
        state = Mutex(State())
    }

    /// Sets what a proof leads to from now on.
    public func set(_ action: Action) { state.withLock { $0.action = action } }

    /// Records a renewal. Does not wait.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile of the grant.
    ///   - sessionEnd: The end of the playback.
    package func note(_ renewal: GrantRenewal, of profile: String, until sessionEnd: Timestamp, at now: Timestamp) {
        guard recent.withLock({ $0.insert(renewal, at: now) }) else { return }
        let note = Note(renewal: renewal, profile: profile, sessionEnd: sessionEnd, time: now)
        if case .dropped = queue.yield(note) { observer.countDropped() }
    }

    /// Passes the renewals on to the store, until the task is cancelled.
    ///
    /// - Parameters:
    ///   - store: The store, the same for all gates of an installation.
    ///   - revoke: Called for each proven playback that is to be ended.
    public func run(store: any ReplayStore, revoke: @escaping Revoke) async {
        await withTaskGroup(of: Void.self) { group in
            var count = 0
            for await note in renewals {
                if count >= Self.concurrency {
                    await group.next()
                    count -= 1
                }
                group.addTask { await self.record(note, in: store, revoke: revoke) }
                count += 1
            }
        }
    }

    private func record(_ note: Note, in store: any ReplayStore, revoke: Revoke) async {
        guard let outcome = try? await store.note(note.renewal, at: note.time) else { return observer.countDropped() }
        for event in events(of: outcome, note) {
            switch event {
            case .suspected(let leak): observer.observeSuspected(leak)
            case .proven(let leak): observer.observeProven(leak)
            case .unproven(let leak): observer.observeUnproven(leak)
            case .due(let leak):
                let isRevoked = await revoke(leak.session, note.sessionEnd)
                // If it is not, the next renewal tries again.
                state.withLock { $0.cases[leak.session]?.end = isRevoked ? .revoked : .none }
                if isRevoked { observer.observeRevoked(leak) }
            }
        }
    }

    private enum Event {
        case suspected(Leak)
        case proven(Leak)
        case unproven(Leak)
        /// The playback is to be revoked.
        case due(Leak)
    }

    /// Updates the cases by an outcome. Returns what has changed.
    private func events(of outcome: RenewalOutcome, _ note: Note) -> [Event] {
        state.withLock { state in
            var events = Self.removeUnproven(from: &state.cases, at: note.time).map { Event.unproven($0) }
            var leak = state.cases[note.renewal.session]
            if case .sibling(let generations) = outcome {
                var found = leak ?? Leak(session: note.renewal.session, profile: note.profile, suspected: note.time)
                if leak == nil { events.append(.suspected(found)) }
                found.generations = max(found.generations, generations)
                found.last = note.time
                found.watchedUntil = note.renewal.expires
                if generations >= 2, found.proven == nil {
                    found.proven = note.time
                    events.append(.proven(found))
                }
                leak = found
            }
            guard var leak else { return events }
            if state.action == .revoke, leak.proven != nil, leak.end == .none {
                leak.end = .pending
                events.append(.due(leak))
            }
            if state.cases[leak.session] == nil { Self.makeRoom(in: &state.cases) }
            state.cases[leak.session] = leak
            return events
        }
    }

    /// Removes the suspicions that nothing has followed.
    private static func removeUnproven(from cases: inout [SessionID: Leak], at now: Timestamp) -> [Leak] {
        let over = cases.values.filter { $0.proven == nil && $0.watchedUntil < now }
        for leak in over { cases[leak.session] = nil }
        return over.sorted { $0.suspected < $1.suspected }
    }

    /// Forgets the oldest case if there are too many.
    private static func makeRoom(in cases: inout [SessionID: Leak]) {
        guard cases.count >= caseCapacity, let oldest = cases.values.min(by: { $0.last < $1.last }) else { return }
        cases[oldest.session] = nil
    }

    /// The suspected and the proven playbacks that this gate knows, the newest first.
    public func leaks(at now: Timestamp) -> [Leak] {
        let all = state.withLock { Array($0.cases.values) }
        return all.filter { $0.proven != nil || now <= $0.watchedUntil }
            .sorted { ($0.last, $0.session.hexadecimal) > ($1.last, $1.session.hexadecimal) }
    }
}

/// The renewals of the last seconds: a player that renews a grant many times at once is one entry of the ledger.
struct RecentRenewals {
    private struct Name: Hashable {
        let session: SessionID
        let chain: UInt64
        let generation: UInt32
        let parent: UInt64
    }

    private var present: Set<Name> = []
    private var previous: Set<Name> = []
    private var start = Timestamp(millisecondsSince1970: .min)

    /// The time for which a renewal is remembered at least, in milliseconds.
    private static let life: Int64 = 10_000
    /// The maximum number of renewals, twice.
    private static let capacity = 8192

    /// Remembers a renewal. Returns false if it is remembered already.
    mutating func insert(_ renewal: GrantRenewal, at now: Timestamp) -> Bool {
        // A clock that was set back begins again too.
        if now >= start.advanced(byMilliseconds: Self.life) || now < start || present.count >= Self.capacity {
            (previous, present, start) = (present, [], now)
        }
        let name = Name(
            session: renewal.session,
            chain: renewal.chain,
            generation: renewal.generation,
            parent: renewal.parent
        )
        return !previous.contains(name) && present.insert(name).inserted
    }
}

/// A playback whose grant more than one seem to hold.
public struct Leak: Hashable, Sendable {
    /// The playback.
    public let session: SessionID
    /// The name of the profile of its grants.
    public let profile: String
    /// The time of the first renewal by another holder.
    public let suspected: Timestamp
    /// The time of the last one.
    public fileprivate(set) var last: Timestamp
    /// The number of generations running in which two grants were renewed.
    public fileprivate(set) var generations = 1
    /// The time of the proof; `nil` while there is only a suspicion.
    public fileprivate(set) var proven: Timestamp?
    /// True if the playback was revoked for it.
    public var isRevoked: Bool { end == .revoked }
    fileprivate var end = End.none
    /// The time after which a suspicion ends by itself.
    fileprivate var watchedUntil: Timestamp

    fileprivate enum End: Hashable { case none, pending, revoked }

    fileprivate init(session: SessionID, profile: String, suspected: Timestamp) {
        (self.session, self.profile, self.suspected) = (session, profile, suspected)
        (last, watchedUntil) = (suspected, suspected)
    }
}

/// An observer of shared grants. Called on tasks of ``LeakWatch/run(store:revoke:)``, so it must not wait for long.
public protocol LeakObserver: Sendable {
    /// Called when another holder has renewed a grant for the first time.
    func observeSuspected(_ leak: Leak)

    /// Called when it has happened in two generations running.
    func observeProven(_ leak: Leak)

    /// Called when a suspicion has ended without a proof.
    func observeUnproven(_ leak: Leak)

    /// Called when a proven playback was revoked.
    func observeRevoked(_ leak: Leak)

    /// Counts a renewal that could not be recorded.
    func countDropped()
}
