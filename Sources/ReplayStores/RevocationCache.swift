// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import MediaTokens
public import Platform
internal import Synchronization

/// A copy of the revocations of a store in memory, by the tags in grants. A check of a grant neither waits for a store
/// nor computes a hash.
///
/// Most tags are not revoked: a filter of bits, which is read without a lock, excludes them. The others are looked up
/// in one of 64 tables. A revocation is held until the last session that it covers has ended. It is weakened earlier
/// only if it is lifted.
///
/// ``run(_:every:deadline:clock:report:)`` refreshes the cache. ``age(at:)`` returns its age; the caller decides the
/// consequences of an old cache.
public final class RevocationCache: Sendable {
    /// The default for the age above which a cache is too old to allow playbacks: thirty seconds.
    public static let greatestAge = Duration.seconds(30)

    /// The maximum number of subjects. A cache of a store with more has no age: see ``age(at:)``.
    public let capacity: Int

    private let greatestAge: Duration
    /// Makes the tag of a subject from its store key.
    private let tag: @Sendable (SHA256Digest) -> SubjectTag?
    private let filter: BitFilter
    private let shards: [Shard]
    private let subjects = Atomic<Int>(0)
    private let changes = Atomic<UInt64>(0)
    private let state = Mutex(State())
    /// The milliseconds from ``origin`` to the start of the last complete refresh; negative if there was none.
    private let refreshed = Atomic<Int64>(-1)
    private let origin = ContinuousClock.now
    /// True if its owner judges its age: see ``init(of:)``.
    private let isAgeless: Bool

    private final class Shard: Sendable {
        let entries = Mutex(RevocationTable(seed: .random(in: .min ... .max)))
    }

    private struct State {
        var cursor: RevocationCursor?
        /// True if a revocation found no room.
        var isOverfull = false
        var lastSweep = Timestamp(millisecondsSince1970: .min)
    }

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of subjects. Each uses 43 to 86 bytes.
    ///   - greatestAge: The age above which it is too old to allow playbacks.
    ///   - tag: Returns the tag of a store key, as the key for subjects does; `nil` if it cannot be made. The cache is
    ///     then incomplete, and has no age.
    public init(
        capacity: Int = 1_000_000,
        greatestAge: Duration = RevocationCache.greatestAge,
        tag: @escaping @Sendable (SHA256Digest) -> SubjectTag?
    ) {
        self.capacity = max(capacity, 1)
        self.greatestAge = greatestAge
        self.tag = tag
        isAgeless = false
        // Some 20 bits for each of 100,000 subjects: 256 KiB.
        filter = BitFilter(bitsAsPowerOfTwo: 21)
        shards = (0..<64).map { _ in Shard() }
    }

    /// Creates a cache of the revocations of a policy. Its owner determines whether it is recent.
    package init(of tags: [RevokedTag]) {
        capacity = .max
        greatestAge = Self.greatestAge
        tag = { _ in nil }
        isAgeless = true
        filter = BitFilter(bitsAsPowerOfTwo: 21)
        shards = (0..<64).map { _ in Shard() }
        add(tags)
    }

    /// A number that grows with each added revocation.
    package var revision: UInt64 { changes.load(ordering: .acquiring) }

    /// The number of cached subjects.
    public var count: Int { subjects.load(ordering: .relaxed) }

    // MARK: Looking up

    /// True if a media token that was issued at `issued` is revoked by the subject with this tag, with the playback that it
    /// started.
    public func isRevoked(_ tag: SubjectTag, issued: Timestamp) -> Bool {
        guard filter.mayContain(tag.low) else { return false }
        return issuedBefore(high: tag.high, low: tag.low).map { issued < $0 } ?? false
    }

    /// True if a playback session is revoked by its identity.
    public func isRevoked(_ session: SessionID) -> Bool {
        filter.mayContain(session.low)
            && issuedBefore(high: session.high, low: session.low).map { $0 > RevocationRecord.lifted } ?? false
    }

    /// True if a playback session is revoked because several players had its grant.
    public func isShared(_ session: SessionID) -> Bool {
        filter.mayContain(session.low) && issuedBefore(high: session.high, low: session.low) == Revocation.everShared
    }

    private func issuedBefore(high: UInt64, low: UInt64) -> Timestamp? {
        shards[Int(high >> 58)].entries.withLock { $0.issuedBefore(high: high, low: low) }
    }

    /// The time since the start of the last complete refresh. Revocations that were recorded before it are cached.
    ///
    /// - Returns: The age; `nil` if no refresh was complete yet, or if the store has more revocations than fit.
    public func age(at instant: ContinuousClock.Instant = .now) -> Duration? {
        if isAgeless { return .zero }
        let last = refreshed.load(ordering: .acquiring)
        return last < 0 ? nil : max(.zero, instant - origin - .milliseconds(last))
    }

    /// True if the cache knows all revocations but those of the last seconds.
    package func isRecent(at instant: ContinuousClock.Instant = .now) -> Bool {
        age(at: instant).map { $0 <= greatestAge } ?? false
    }

    // MARK: Adding

    /// Adds a revocation that this process has recorded at `now`, so that it is effective here at once.
    public func add(_ revocation: Revocation, at now: Timestamp) { add(RevocationRecord(revocation, at: now), at: now) }

    /// Removes a revocation that this process has lifted, so that it is no longer effective here.
    package func remove(_ record: RevocationRecord, at now: Timestamp) { add(record.lifted(), at: now) }

    private func add(_ record: RevocationRecord, at now: Timestamp) {
        // The identity of a playback session stands for a tag.
        guard let subject = record.session.map({ SubjectTag(number: $0.number) }) ?? tag(record.key) else {
            return setOverfull()
        }
        let entry = RevocationTable.Entry(kind: record.kind, issuedBefore: record.issuedBefore, kept: record.kept)
        if !add(subject, entry: entry) { setOverfull() }
    }

    /// Adds revocations of a policy.
    package func add(_ tags: [RevokedTag]) {
        let forever = Timestamp(millisecondsSince1970: .max)
        for tag in tags {
            _ = add(tag.tag, entry: .init(kind: tag.kind, issuedBefore: tag.issuedBefore, kept: forever))
        }
    }

    /// Adds a revocation. Returns false if there is no room.
    private func add(_ subject: SubjectTag, entry: RevocationTable.Entry) -> Bool {
        let isAdded = shards[Int(subject.high >> 58)].entries.withLock { entries in
            if let present = entries[subject] {
                let isLifted = entry.issuedBefore <= RevocationRecord.lifted
                let merged = RevocationTable.Entry(
                    kind: entry.kind ?? present.kind,
                    issuedBefore: isLifted ? entry.issuedBefore : max(present.issuedBefore, entry.issuedBefore),
                    kept: max(present.kept, entry.kept)
                )
                entries.set(merged, for: subject)
                return true
            }
            guard subjects.add(1, ordering: .relaxed).newValue <= capacity else {
                subjects.subtract(1, ordering: .relaxed)
                return false
            }
            entries.set(entry, for: subject)
            return true
        }
        if isAdded {
            filter.insert(subject.low)
            changes.add(1, ordering: .releasing)
        }
        return isAdded
    }

    private func setOverfull() {
        state.withLock { $0.isOverfull = true }
        refreshed.store(-1, ordering: .releasing)
    }

    // MARK: Refreshing

    /// Reads the revocations from `feed` that were recorded since the last call.
    ///
    /// - Parameters:
    ///   - feed: The store. It must be the same in all calls.
    ///   - now: The time of the wall clock, for forgetting.
    ///   - clock: The clock of ``age(at:)``.
    /// - Throws: The error of the store. Revocations that were read before it count, and the next call continues after
    ///   them.
    public func refresh(
        from feed: any RevocationStore,
        at now: Timestamp,
        clock: @Sendable () -> ContinuousClock.Instant = { .now }
    ) async throws(ReplayStoreError) {
        sweepSometimes(at: now)
        guard !state.withLock({ $0.isOverfull }) else { return }
        var start = clock()
        while true {
            let cursor = state.withLock { $0.cursor }
            let changes = try await feed.revocations(after: cursor)
            for record in changes.records where !record.isOver(at: now) { add(record, at: now) }
            state.withLock { $0.cursor = changes.cursor }
            guard changes.hasMore, changes.cursor != cursor else { break }
            start = clock()
        }
        // Not while it is overfull: what did not fit may concern any grant.
        state.withLock { state in
            guard !state.isOverfull else { return }
            refreshed.store(max(0, (start - origin).milliseconds), ordering: .releasing)
        }
    }

    /// Deletes, once a minute, entries without a living session. If an entry found no room before, the whole list is
    /// then read again.
    private func sweepSometimes(at now: Timestamp) {
        let minute: Int64 = 60_000
        let isDue = state.withLock { state in
            // A clock that was set back must not stop the sweeps.
            let isDue =
                now >= state.lastSweep.advanced(byMilliseconds: minute)
                || now < state.lastSweep.advanced(byMilliseconds: -minute)
            if isDue { state.lastSweep = now }
            return isDue
        }
        guard isDue else { return }
        for shard in shards { sweep(shard, at: now) }
        state.withLock { state in
            guard state.isOverfull else { return }
            state.isOverfull = false
            state.cursor = nil
        }
    }

    private func sweep(_ shard: Shard, at now: Timestamp) {
        shard.entries.withLock { entries in
            let removed = entries.remove { Revocation.isForgettable($0.kept, at: now) }
            subjects.subtract(removed, ordering: .relaxed)
        }
    }

    // MARK: Export

    /// Lists the cached subjects in the order of their tags, for edges with a list of their own.
    ///
    /// Each is one line: kind, space, tag or session identity in hexadecimal digits, space, and time. The kind is
    /// `token`, `session`, `mvpd` or `playback`. Tokens that were issued before the time are revoked. It is in Unix
    /// milliseconds and at most 2^53. A subject that may be a session or an MVPD has a line for each.
    ///
    /// - Parameters:
    ///   - after: The tag after which the list begins; `nil` for its beginning.
    ///   - limit: The maximum number of subjects.
    ///   - text: Receives the lines.
    /// - Returns: The last tag, if more follow.
    public func list(after: SubjectTag?, limit: Int, into text: inout [UInt8]) -> SubjectTag? {
        var (room, last) = (limit, SubjectTag?.none)
        for shard in Int((after?.high ?? 0) >> 58)..<shards.count {
            let entries = shards[shard].entries.withLock { $0 }
            for subject in entries.tags.filter({ after.map($0.follows) ?? true }).sorted(by: { $1.follows($0) }) {
                guard room > 0 else { return last }
                guard let entry = entries[subject], entry.issuedBefore > RevocationRecord.lifted else { continue }
                Self.write(subject, entry: entry, into: &text)
                (room, last) = (room - 1, subject)
            }
        }
        return nil
    }

    /// The cached subjects in the order of their tags. A subject that may be a session or an MVPD is listed once for
    /// each.
    package var tags: [RevokedTag] {
        var all: [RevokedTag] = []
        for shard in shards {
            let entries = shard.entries.withLock { $0 }
            for subject in entries.tags.sorted(by: { $1.follows($0) }) {
                guard let entry = entries[subject], entry.issuedBefore > RevocationRecord.lifted else { continue }
                for kind in entry.kind.map({ [$0] }) ?? [.session, .mvpd] {
                    all.append(.init(kind: kind, tag: subject, issuedBefore: entry.issuedBefore))
                }
            }
        }
        return all
    }

    private static func write(_ subject: SubjectTag, entry: RevocationTable.Entry, into text: inout [UInt8]) {
        let before = min(entry.issuedBefore.millisecondsSince1970, 1 << 53)
        for kind in entry.kind.map({ [$0] }) ?? [.session, .mvpd] {
            text += "\(kind.rawValue) \(subject.hexadecimal) \(before)\n".utf8
        }
    }
}

extension SubjectTag {
    fileprivate func follows(_ other: SubjectTag) -> Bool { (high, low) > (other.high, other.low) }
}

extension RevocationCache {
    /// Refreshes the cache until the task is cancelled. After a pause and one call of the store, it contains every
    /// revocation.
    ///
    /// - Parameters:
    ///   - feed: The store.
    ///   - pause: The time between two calls of the store. Until the first refresh is complete, it is at most 50 ms.
    ///   - deadline: The maximum wait for the store.
    ///   - clock: The source of the current time.
    ///   - report: A closure that is called with each first error, and with `nil` when calls succeed again.
    public func run(
        _ feed: any RevocationStore,
        every pause: Duration = .seconds(2),
        deadline: Duration = .seconds(2),
        clock: @escaping @Sendable () -> Timestamp = { .now() },
        report: @escaping @Sendable (ReplayStoreError?) -> Void
    ) async {
        var isFailing = false
        while !Task.isCancelled {
            let now = clock()
            let answer = await withDeadline(deadline) { () -> Result<Void, ReplayStoreError> in
                do throws(ReplayStoreError) {
                    return .success(try await self.refresh(from: feed, at: now))
                } catch { return .failure(error) }
            }
            switch answer ?? .failure(ReplayStoreError(.deadline, reason: "the store did not list revocations in time"))
            {
            case .success:
                if isFailing { report(nil) }
                isFailing = false
            case .failure(let error):
                if !isFailing { report(error) }
                isFailing = true
            }
            // Until then, every grant is refused.
            try? await Task.sleep(for: age() == nil ? min(pause, .milliseconds(50)) : pause)
        }
    }
}
