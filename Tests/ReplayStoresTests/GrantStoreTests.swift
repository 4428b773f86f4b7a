// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import SQLiteStore
import Testing

extension StoreKind {
    /// Runs `body` with two handles on one store, as two gates that share it.
    func withGrantStores(_ body: (any ReplayStore, any ReplayStore) async throws -> Void) async throws {
        switch self {
        case .memory:
            let store = MemoryReplayStore(capacity: 20_000)
            try await body(store, store)
        case .sqlite:
            let folder = try TemporaryFolder()
            let open = { try SQLiteReplayStore(path: folder.file("uses.sqlite"), busyTimeout: .seconds(20)) }
            try await body(try open(), try open())
        case .redis:
            let redis = try RedisServer()
            let server = try redis.start()
            try await withRedis(redis) { first in try await withRedis(redis) { second in try await body(first, second) }
            }
            server.signal(SIGTERM)
        case .cluster: try await withCluster { first, second in try await body(first, second) }
        }
    }
}

// Times are those of the machine, because Redis uses its own clock.
@Suite struct `Every store for grants` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    static func session(_ number: Int) -> SessionID { SessionID(high: 0xabc, low: UInt64(number)) }

    func lease(
        _ number: Int,
        viewer: Int = 0,
        limit: Int = 2,
        life: Int64 = 310_000,
        at time: Timestamp? = nil
    ) -> StreamLease {
        let key = LeaseKey(
            requestor: "REF30",
            mvpd: SubjectTag(high: 9, low: 9),
            viewer: SubjectTag(high: 7, low: UInt64(viewer))
        )
        return StreamLease(
            key,
            session: Self.session(number),
            limit: limit,
            expires: (time ?? now).advanced(byMilliseconds: life)
        )
    }

    static func identity(_ number: Int) throws -> SHA256Digest {
        // Evenly distributed, as digests are.
        var random = SplitMix64(seed: UInt64(number))
        return try #require(SHA256Digest(bytes: (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }))
    }

    @Test(arguments: StoreKind.present)
    func `gives a viewer as many streams as the limit, over all who share it`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let now = self.now
            #expect(try await first.acquire(self.lease(1), at: now) == .taken)
            #expect(try await second.acquire(self.lease(2), at: now) == .taken)
            #expect(try await first.acquire(self.lease(3), at: now) == .limitReached(current: 2))
            #expect(try await second.acquire(self.lease(1), at: now) == .renewed)
            #expect(try await first.acquire(self.lease(3, viewer: 1), at: now) == .taken)
            // A lower limit ends no stream, and a higher one admits another.
            #expect(try await first.acquire(self.lease(2, limit: 1), at: now) == .renewed)
            #expect(try await second.acquire(self.lease(4, limit: 1), at: now) == .limitReached(current: 2))
            #expect(try await second.acquire(self.lease(4, limit: 3), at: now) == .taken)
        }
    }

    @Test(arguments: StoreKind.present)
    func `frees a session only by its identity`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let now = self.now
            for number in 1...2 { #expect(try await first.acquire(self.lease(number), at: now) == .taken) }
            #expect(try await second.free(Self.session(1), at: now))
            #expect(try await second.free(Self.session(1), at: now) == false)
            #expect(try await first.free(Self.session(9), at: now) == false)
            #expect(try await second.acquire(self.lease(3), at: now) == .taken)
            // A renewal whose lease was lost takes a slot again, if there is one.
            #expect(try await first.acquire(self.lease(1), at: now) == .limitReached(current: 2))
            #expect(try await first.free(Self.session(2), at: now))
            #expect(try await first.acquire(self.lease(1), at: now) == .taken)
        }
    }

    @Test(arguments: StoreKind.present)
    func `lifts a revocation for tokens and for each cache, and can revoke again`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let now = self.now
            let playback = Revocation(.playback(Self.session(1)), expires: now.adding(seconds: 3600))
            let mvpd = Revocation(
                .mvpd(id: "M", issuedBefore: now.adding(seconds: 60)),
                expires: now.adding(seconds: 3600)
            )
            let revocationCaches = [first, second].map { ($0, RevocationCache(tag: GrantStoreModel.tag)) }
            let tag = GrantStoreModel.tag(mvpd.storeKey)
            for (isRevoked, step) in [(true, 0), (false, 1), (true, 2)] {
                for revocation in [playback, mvpd] {
                    if isRevoked {
                        try await first.revoke(revocation, at: now)
                    } else {
                        #expect(try await second.lift(revocation.storeKey, at: now))
                        #expect(try await first.lift(revocation.storeKey, at: now) == false)
                    }
                }
                for (store, revocationCache) in revocationCaches {
                    try await revocationCache.refresh(from: store, at: now)
                    #expect(revocationCache.isRevoked(Self.session(1)) == isRevoked, "step \(step)")
                    #expect(revocationCache.isRevoked(tag, issued: now) == isRevoked, "step \(step)")
                }
                var lines: [UInt8] = []
                _ = revocationCaches[0].1.list(after: nil, limit: 10, into: &lines)
                #expect(lines.isEmpty == !isRevoked)
                #expect(revocationCaches[0].1.tags.isEmpty == !isRevoked)
                let listed = try await first.revocations(after: nil).records
                #expect(listed.allSatisfy { $0.isLifted == !isRevoked } && listed.count == 2)
            }
        }
    }

    @Test(arguments: StoreKind.present)
    func `knows which playbacks were shared, until another reason or none is recorded`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let (now, session) = (self.now, Self.session(1))
            let expires = now.adding(seconds: 600)
            let shared = Revocation(.sharedPlayback(session), expires: expires)
            let caches = [first, second].map { ($0, RevocationCache { GrantStoreModel.tag($0) }) }
            /// True if a playback is revoked, and because it was shared.
            let expect = { (isRevoked: Bool, isShared: Bool) async throws in
                for (store, cache) in caches {
                    try await cache.refresh(from: store, at: now)
                    #expect(cache.isRevoked(session) == isRevoked && cache.isShared(session) == isShared)
                    #expect(!cache.isShared(Self.session(2)))
                }
            }
            try await first.revoke(Revocation(.playback(Self.session(2)), expires: expires), at: now)
            try await expect(false, false)
            try await first.revoke(shared, at: now)
            try await expect(true, true)
            #expect(try await second.lift(shared.storeKey, at: now))
            try await expect(false, false)
            try await second.revoke(shared, at: now)
            try await expect(true, true)
            // What a person revokes afterwards is not shared any more.
            try await first.revoke(Revocation(.playback(session), expires: expires), at: now)
            try await expect(true, false)
        }
    }

    @Test(arguments: StoreKind.present)
    func `moves a session to another viewer, and leaves no slot behind`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let now = self.now
            #expect(try await first.acquire(self.lease(1, viewer: 1, limit: 1), at: now) == .taken)
            #expect(try await second.acquire(self.lease(1, viewer: 2, limit: 1), at: now) == .taken)
            #expect(try await first.acquire(self.lease(2, viewer: 1, limit: 1), at: now) == .taken)
            #expect(try await first.acquire(self.lease(3, viewer: 2, limit: 1), at: now) == .limitReached(current: 1))
            #expect(try await second.free(Self.session(1), at: now))
            #expect(try await first.acquire(self.lease(3, viewer: 2, limit: 1), at: now) == .taken)
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite])
    func `counts a stream until its lease ends, and a renewal never shortens it`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (store, _) async throws in
            let at = { (seconds: Int64) in self.now.adding(seconds: seconds) }
            let other = { (seconds: Int64) in self.lease(2, limit: 1, at: at(seconds)) }
            #expect(try await store.acquire(self.lease(1, limit: 1, life: 60_000), at: at(0)) == .taken)
            #expect(try await store.acquire(self.lease(1, limit: 1, life: 30_000), at: at(1)) == .renewed)
            #expect(try await store.acquire(other(59), at: at(59)) == .limitReached(current: 1))
            #expect(try await store.acquire(self.lease(1, limit: 1, life: 90_000), at: at(59)) == .renewed)
            #expect(try await store.acquire(other(89), at: at(89)) == .limitReached(current: 1))
            #expect(try await store.acquire(other(90), at: at(90)) == .taken)
            #expect(try await store.free(Self.session(1), at: at(90)) == false)
        }
    }

    /// Redis uses its own clock: leases of some milliseconds end while this test asks for their slots.
    @Test(.needsRedis)
    func `counts a stream in Redis until its lease ends, whatever the clocks of gates say`() async throws {
        try await StoreKind.redis.withGrantStores { (first, second) async throws in
            // A gate whose clock is an hour ahead, and one whose clock is an hour behind.
            let (ahead, behind) = (self.now.adding(seconds: 3600), self.now.adding(seconds: -3600))
            #expect(try await first.acquire(self.lease(1, limit: 1, life: 60_000, at: behind), at: behind) == .taken)
            let other = self.lease(2, limit: 1, at: ahead)
            #expect(try await second.acquire(other, at: ahead) == .limitReached(current: 1))
            #expect(try await first.free(Self.session(1), at: ahead))
            #expect(try await first.acquire(self.lease(1, limit: 1, life: 50, at: ahead), at: ahead) == .taken)
            try await waitUntil { try await second.acquire(other, at: behind) == .taken }
        }
    }

    @Test(arguments: StoreKind.present)
    func `never exceeds the limit in 10,000 parallel starts`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            // Each commit of SQLite waits for the other handle.
            let count = kind == .sqlite ? 2000 : 10_000
            let taken = try await withThrowingTaskGroup(of: [Int].self) { group in
                // Two hundred at a time: a machine that is busy otherwise answers none within the patience of the store.
                for worker in 0..<200 {
                    group.addTask {
                        var viewers: [Int] = []
                        for number in stride(from: worker, to: count, by: 200) {
                            let store = number.isMultiple(of: 2) ? first : second
                            // Of a hundred viewers, each has a limit from 1 to 4.
                            let viewer = (number / 2) % 100
                            let lease = self.lease(number, viewer: viewer, limit: viewer % 4 + 1)
                            // After a lost connection it is unknown whether the slot was taken: the session asks again.
                            var outcome: LeaseOutcome?
                            try await waitUntil {
                                outcome = try? await store.acquire(lease, at: self.now)
                                return outcome != nil
                            }
                            if outcome == .taken || outcome == .renewed { viewers.append(viewer) }
                        }
                        return viewers
                    }
                }
                var taken = [Int](repeating: 0, count: 100)
                for try await viewers in group { for viewer in viewers { taken[viewer] += 1 } }
                return taken
            }
            #expect(taken == (0..<100).map { $0 % 4 + 1 })
        }
    }

    @Test(arguments: StoreKind.present)
    func `lets a grant be used once, over all who share it`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let count = kind == .sqlite ? 1000 : 10_000
            let until = self.now.adding(seconds: 300)
            let identities = try (0..<count).map(Self.identity)
            let wrong = await withTaskGroup(of: [[GrantUseOutcome?]].self) { group in
                // Two hundred calls at a time, as above, of which two at a time are about the same grant.
                for worker in 0..<100 {
                    group.addTask {
                        var wrong: [[GrantUseOutcome?]] = []
                        for identity in stride(from: worker, to: count, by: 100).map({ identities[$0] }) {
                            async let one = try? first.insert(identity, until: until, at: self.now)
                            async let other = try? second.insert(identity, until: until, at: self.now)
                            let pair = await [one, other]
                            if pair != [.first, .replayed], pair != [.replayed, .first] { wrong.append(pair) }
                        }
                        return wrong
                    }
                }
                return await group.reduce(into: []) { $0 += $1 }
            }
            #expect(wrong.isEmpty)
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite])
    func `mistakes no deleted grant for a new one`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let at = { (seconds: Int64) in self.now.adding(seconds: seconds) }
            #expect(try await first.insert(try Self.identity(1), until: at(60), at: at(0)) == .first)
            // These sweep the record.
            for number in 2...40 {
                #expect(try await second.insert(try Self.identity(number), until: at(400), at: at(100)) == .first)
            }
            for time in [59, 100, 200] as [Int64] {
                #expect(try await first.insert(try Self.identity(1), until: at(60), at: at(time)) == .replayed)
            }
        }
    }

    @Test(arguments: StoreKind.present)
    func `mixes up no media token and grant`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let use = try GateSample.use(1, issued: self.now)
            let until = self.now.adding(seconds: 300)
            #expect(try await first.record(use, at: self.now) == .recorded)
            #expect(try await second.insert(use.token.fingerprint, until: until, at: self.now) == .first)
            #expect(try await first.record(use, at: self.now) == .usedUp)
        }
    }

    @Test(arguments: StoreKind.present)
    func `lists revocations once, in parts, to each who reads from a cursor`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let count = kind == .sqlite ? 1100 : 2500
            let expires = self.now.adding(seconds: 600)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<count {
                    let store = number.isMultiple(of: 2) ? first : second
                    let revocation = Revocation(.playback(Self.session(number)), expires: expires)
                    group.addTask { try await store.revoke(revocation, at: self.now) }
                }
                try await group.waitForAll()
            }
            var (sessions, cursor) = ([SessionID](), RevocationCursor?.none)
            while true {
                let changes = try await second.revocations(after: cursor)
                sessions += changes.records.compactMap(\.session)
                cursor = changes.cursor
                if !changes.hasMore { break }
            }
            #expect(sessions.count == count && Set(sessions) == Set((0..<count).map(Self.session)))
            #expect(try await second.revocations(after: cursor).records.isEmpty)
            let again = Revocation(.mvpd(id: "MVPD", issuedBefore: expires), expires: expires)
            try await first.revoke(again, at: self.now)
            #expect(try await second.revocations(after: cursor).records.map(\.key) == [again.storeKey])
            // A cursor of another store is the beginning of this one.
            let foreign = RevocationCursor(generation: "another", number: 5000)
            if kind != .sqlite { #expect(try await second.revocations(after: foreign).records.count > 999) }
        }
    }

    @Test(arguments: StoreKind.present)
    func `refuses no media token because its playback is revoked`(kind: StoreKind) async throws {
        try await kind.withGrantStores { (first, second) async throws in
            let revocation = Revocation(.playback(Self.session(1)), expires: self.now.adding(seconds: 600))
            try await first.revoke(revocation, at: self.now)
            #expect(try await second.record(try GateSample.use(1, issued: self.now), at: self.now) == .recorded)
        }
    }
}

@Suite struct `Stores for grants and their model` {
    private static let kinds = [
        "taken", "renewed", "limitReached", "freed", "not freed", "first", "replayed", "revoked", "refreshed",
    ]

    /// Expects that every kind of answer occurs often; otherwise the history tested nothing.
    private func expectAll(in answers: [String: Int], moreThan count: Int) {
        for name in Self.kinds { #expect(answers[name, default: 0] > count, "\(name): \(answers)") }
    }

    @Test(arguments: [UInt64](0..<2))
    func `agree in SQLite, or the store says no where it may`(part: UInt64) async throws {
        let folder = try TemporaryFolder()
        var answers: [String: Int] = [:]
        for seed in 30 * part..<30 * part + 30 {
            var model = GrantStoreModel()
            let path = folder.file("\(seed).sqlite")
            let open = { try SQLiteReplayStore(path: path, busyTimeout: .seconds(20)) }
            let history = GrantStoreHistory(from: GateSample.time, unit: 1000, seed: seed)
            let fault = try await model.walk(history, steps: 150, handles: [try open(), try open()], open: open)
            #expect(fault == nil, "seed \(seed)")
            answers.merge(model.answers) { $0 + $1 }
        }
        expectAll(in: answers, moreThan: 50)
    }

    @Test(.needsRedis)
    func `agree in Redis, or the store says no where it may`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { first in
            try await withRedis(redis) { second in
                var answers: [String: Int] = [:]
                // Redis has a clock of its own. On a busy machine more leases end before they are freed, so more histories are
                // needed for as many answers.
                for seed in 0..<200 as Range<UInt64> {
                    let isEnough = Self.kinds.allSatisfy { answers[$0, default: 0] > 50 }
                    if seed >= 20, isEnough, answers["error", default: 0] > 30 { break }
                    try redis.flush()
                    var model = GrantStoreModel(StoreModel.Traits(hasOwnClock: true))
                    // Leases of a few steps' time.
                    let history = GrantStoreHistory(from: .now(), unit: 1, seed: seed)
                    let fault = try await model.walk(history, steps: 200, handles: [first, second])
                    #expect(fault == nil, "seed \(seed)")
                    answers.merge(model.answers) { $0 + $1 }
                }
                expectAll(in: answers, moreThan: 50)
                #expect(answers["error", default: 0] > 30, "\(answers)")
            }
        }
        server.signal(SIGTERM)
    }
}
