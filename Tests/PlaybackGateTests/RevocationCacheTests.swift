// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import Synchronization
import Testing

@Suite struct `The cache of revocations` {
    private static let now = GateSample.time
    private static let session = SessionID(high: 0xe688_045c_604d_5ecc, low: 0x272c_f7d8_3b00_ec16)

    private static func tag(_ subject: Revocation.Subject) -> SubjectTag {
        GrantStoreModel.tag(Revocation(subject, expires: now).storeKey)
    }

    private static func revocationCache(capacity: Int = 1000) -> RevocationCache {
        RevocationCache(capacity: capacity, tag: GrantStoreModel.tag)
    }

    private static func guid(_ number: Int, before seconds: Int64 = 0) -> Revocation.Subject {
        .session(guid: "session \(number)", issuedBefore: now.adding(seconds: seconds))
    }

    private static func revoke(_ subject: Revocation.Subject, for seconds: Int64 = 600) -> Revocation {
        Revocation(subject, expires: now.adding(seconds: seconds))
    }

    @Test func `knows at once what this process records, and all that was recorded before it was made`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache())
        try await store.revoke(Self.revoke(Self.guid(1)), at: Self.now)
        #expect(revocationCache.age() == nil)
        try await revocationCache.refresh(from: store, at: Self.now)
        #expect(revocationCache.age() != nil && revocationCache.count == 1)
        #expect(revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.advanced(byMilliseconds: -1)))
        #expect(!revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now))
        #expect(!revocationCache.isRevoked(Self.tag(Self.guid(2)), issued: Self.now.adding(seconds: -1)))
        #expect(!revocationCache.isRevoked(Self.session))
        revocationCache.add(Self.revoke(.playback(Self.session)), at: Self.now)
        #expect(revocationCache.isRevoked(Self.session) && revocationCache.count == 2)
    }

    @Test func `holds a revocation until the last session that it covers has ended`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache())
        // It ends for media tokens after a minute. Their sessions last up to twelve hours, and clocks differ.
        try await store.revoke(Self.revoke(Self.guid(1), for: 60), at: Self.now)
        try await store.revoke(Self.revoke(.playback(Self.session), for: 60), at: Self.now)
        let issued = Self.now.adding(seconds: -1)
        let last = Self.now.adding(seconds: 12 * 3600 + 120 + 120)
        for time in [Self.now, Self.now.adding(seconds: 3600), last] {
            let fresh = Self.revocationCache()
            for revocationCache in [revocationCache, fresh] {
                try await revocationCache.refresh(from: store, at: time)
                #expect(
                    revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: issued)
                        && revocationCache.isRevoked(Self.session)
                )
            }
        }
        try await revocationCache.refresh(from: store, at: last.adding(seconds: 61))
        #expect(revocationCache.count == 0 && !revocationCache.isRevoked(Self.session))
    }

    @Test func `readmits whom a revocation has ended for`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache())
        // The issuer's clock may be ahead, so that revocations cover a minute more than was asked for.
        try await store.revoke(Self.revoke(Self.guid(1, before: 60), for: 10), at: Self.now)
        try await revocationCache.refresh(from: store, at: Self.now)
        #expect(revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.adding(seconds: 9)))
        #expect(!revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.adding(seconds: 10)))
    }

    @Test func `is never weakened by another revocation of the same subject`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache())
        for (before, life) in [(100, 600), (-100, 900), (50, 60)] as [(Int64, Int64)] {
            try await store.revoke(Self.revoke(Self.guid(1, before: before), for: life), at: Self.now)
            try await revocationCache.refresh(from: store, at: Self.now)
        }
        let fresh = Self.revocationCache()
        try await fresh.refresh(from: store, at: Self.now)
        for revocationCache in [revocationCache, fresh] {
            #expect(revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.adding(seconds: 99)))
            #expect(!revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.adding(seconds: 100)))
        }
    }

    @Test func `has no age while the store has more than fits`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache(capacity: 3))
        for number in 1...3 { try await store.revoke(Self.revoke(Self.guid(number), for: 60), at: Self.now) }
        try await revocationCache.refresh(from: store, at: Self.now)
        #expect(revocationCache.age() != nil)
        let late = Self.now.adding(seconds: 3600)
        try await store.revoke(Revocation(Self.guid(4), expires: late.adding(seconds: 60)), at: late)
        try await revocationCache.refresh(from: store, at: late)
        #expect(revocationCache.age() == nil && revocationCache.count == 3)
        #expect(revocationCache.isRevoked(Self.tag(Self.guid(1)), issued: Self.now.adding(seconds: -1)))
        // The first three are over, so the fourth fits.
        let later = Self.now.adding(seconds: 12 * 3600 + 300)
        try await revocationCache.refresh(from: store, at: later)
        #expect(revocationCache.age() != nil && revocationCache.count == 1)
        #expect(revocationCache.isRevoked(Self.tag(Self.guid(4)), issued: Self.now.adding(seconds: -1)))
    }

    @Test func `knows its age, which begins at the start of a refresh`() async throws {
        let (store, revocationCache) = (MemoryReplayStore(capacity: 1), Self.revocationCache())
        let start = ContinuousClock.now
        try await revocationCache.refresh(from: store, at: Self.now, clock: { start })
        let age = try #require(revocationCache.age(at: start + .seconds(31)))
        // The mirror counts whole milliseconds.
        #expect(age >= .seconds(31) && age < .seconds(31) + .milliseconds(1))
        #expect(age > RevocationCache.greatestAge)
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
            try await revocationCache.refresh(from: BrokenFeed(), at: Self.now, clock: { start + .seconds(60) })
        }
        #expect(revocationCache.age(at: start + .seconds(31)) == age)
    }

    @Test func `lists its subjects in order, with a position to go on from`() {
        let revocationCache = Self.revocationCache(capacity: 10_000)
        var nothing: [UInt8] = []
        #expect(revocationCache.list(after: nil, limit: 10, into: &nothing) == nil)
        #expect(nothing.isEmpty)
        revocationCache.add(Self.revoke(.playback(Self.session)), at: Self.now)
        revocationCache.add(Self.revoke(.mvpd(id: "MVPD", issuedBefore: Self.now)), at: Self.now)
        for number in 0..<500 { revocationCache.add(Self.revoke(Self.guid(number)), at: Self.now) }
        var (lines, last, pages) = ([String](), SubjectTag?.none, 0)
        repeat {
            var text: [UInt8] = []
            last = revocationCache.list(after: last, limit: 100, into: &text)
            let page = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
            #expect(page.count == (last == nil ? 2 : 100))
            lines += page
            pages += 1
        } while last != nil && pages < 10
        #expect(pages == 6 && lines.count == 502)
        #expect(lines.contains("playback e688045c604d5ecc272cf7d83b00ec16 9007199254740992"))
        let tag = Self.tag(.mvpd(id: "MVPD", issuedBefore: Self.now))
        #expect(lines.contains("mvpd \(tag.hexadecimal) \(Self.now.millisecondsSince1970)"))
        let tags = lines.map { $0.split(separator: " ")[1] }
        #expect(tags == tags.sorted())
    }

    @Test func `lists a subject of an unknown kind as session and as MVPD`() async throws {
        let revocationCache = Self.revocationCache()
        try await revocationCache.refresh(from: OldFeed(now: Self.now), at: Self.now)
        var text: [UInt8] = []
        #expect(revocationCache.list(after: nil, limit: 10, into: &text) == nil)
        let tag = Self.tag(Self.guid(1)).hexadecimal
        #expect(String(decoding: text, as: UTF8.self) == "session \(tag) 5\nmvpd \(tag) 5\n")
    }

    @Test func `is read while it is written, and misses nothing that it has reported`() async {
        let revocationCache = Self.revocationCache(capacity: 20_000)
        let progress = Progress()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for number in 0..<10_000 {
                    revocationCache.add(Self.revoke(.playback(SessionID(high: ~0, low: UInt64(number)))), at: Self.now)
                    progress.written.store(number + 1, ordering: .releasing)
                }
            }
            for _ in 0..<3 {
                group.addTask {
                    while true {
                        let count = progress.written.load(ordering: .acquiring)
                        if count > 0 { #expect(revocationCache.isRevoked(SessionID(high: ~0, low: UInt64(count - 1)))) }
                        if count == 10_000 { break }
                    }
                }
            }
        }
        #expect(revocationCache.count == 10_000)
    }

    @Test func `is refreshed by a task, which reports the first fault of a row and its end`() async {
        let (feed, revocationCache) = (UnsteadyFeed(), Self.revocationCache())
        let (reports, continuation) = AsyncStream.makeStream(of: ReplayStoreError?.self)
        let task = Task { await revocationCache.run(feed, every: .milliseconds(1)) { continuation.yield($0) } }
        var seen: [ReplayStoreError?] = []
        for await report in reports.prefix(2) { seen.append(report) }
        task.cancel()
        await task.value
        #expect(seen == [ReplayStoreError(.unavailable, reason: ""), nil])
        #expect(revocationCache.age() != nil)
    }
}

/// The number of subjects that are written.
private final class Progress: Sendable {
    let written = Atomic<Int>(0)
}

/// A store of revocations that are only read.
private protocol ReadOnlyFeed: RevocationStore {}

extension ReadOnlyFeed {
    func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome { .notRevoked }

    func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
        throw ReplayStoreError(.unavailable, reason: "read-only")
    }
}

/// A feed that cannot be read.
private struct BrokenFeed: ReadOnlyFeed {
    func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
        throw ReplayStoreError(.unavailable, reason: "broken")
    }
}

/// A feed that fails three times.
private final class UnsteadyFeed: ReadOnlyFeed {
    private let calls = Atomic<Int>(0)

    func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
        if calls.add(1, ordering: .relaxed).newValue <= 3 { throw ReplayStoreError(.unavailable, reason: "not yet") }
        return RevocationChanges([], cursor: RevocationCursor(generation: "", number: 0), hasMore: false)
    }
}

/// A feed with a record of a time at which kinds were not kept.
private struct OldFeed: ReadOnlyFeed {
    let now: Timestamp

    func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
        let subject = Revocation.Subject.session(guid: "session 1", issuedBefore: now)
        let record = RevocationRecord(
            kind: nil,
            key: Revocation(subject, expires: now).storeKey,
            session: nil,
            issuedBefore: Timestamp(millisecondsSince1970: 5),
            kept: now.adding(seconds: 60)
        )
        return RevocationChanges([record], cursor: RevocationCursor(generation: "", number: 1), hasMore: false)
    }
}
