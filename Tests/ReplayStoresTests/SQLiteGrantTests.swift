// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import SQLiteStore
import Synchronization
import Testing

@Suite struct `The SQLite store for grants` {
    private static let now = GateSample.time
    private static let session = SessionID(high: 1, low: 2)

    private static func lease(_ number: Int) -> StreamLease {
        let viewer = SubjectTag(high: 3, low: UInt64(number / 4))
        return StreamLease(
            LeaseKey(requestor: "REF30", mvpd: SubjectTag(high: 9, low: 9), viewer: viewer),
            session: SessionID(high: 4, low: UInt64(number)),
            limit: 4,
            expires: now.adding(seconds: 3600)
        )
    }

    private static func identity(_ number: Int) -> SHA256Digest? {
        SHA256Digest(bytes: (0..<32).map { UInt8(truncatingIfNeeded: number >> (8 * ($0 % 4))) })
    }

    /// Work with a store that ends in a kill -9 of this process.
    private final class Worker: Sendable {
        private let log: FileHandle
        private let done = Mutex(0)

        init(_ path: String) throws { log = try #require(FileHandle(forWritingAtPath: path)) }

        /// Does a piece of work, and writes down its number once the store has answered.
        func work(_ number: Int, on store: SQLiteReplayStore) async throws {
            let session = SessionID(high: 5, low: UInt64(number))
            let grant = try #require(identity(number))
            async let taken = store.acquire(lease(number), at: now)
            async let inserted = store.insert(grant, until: now.adding(seconds: 60), at: now)
            async let revoked: Void = store.revoke(
                Revocation(.playback(session), expires: now.adding(seconds: 60)),
                at: now
            )
            guard try await taken == .taken, try await inserted == .first else { return }
            try await revoked
            // Of each viewer, one session is freed again.
            if number % 4 == 3 { _ = try await store.free(lease(number).session, at: now) }
            done.withLock { done in
                log.write(Data("\(number)\n".utf8))
                done += 1
                // In the middle of the work of others.
                if done == 1000 { kill(getpid(), SIGKILL) }
            }
        }
    }

    @Test func `has everything that it has answered, after a kill -9`() async throws {
        let folder = try TemporaryFolder()
        let (path, log) = (folder.file("uses.sqlite"), folder.file("done"))
        try folder.write("done", contents: "")
        await #expect(processExitsWith: .signal(SIGKILL)) { [path = path as String, log = log as String] in
            let (store, worker) = (try SQLiteReplayStore(path: path), try Worker(log))
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<20_000 {
                    if number >= 64 { await group.next() }
                    group.addTask { try? await worker.work(number, on: store) }
                }
            }
        }
        let done = try folder.text("done").split(separator: "\n").compactMap { Int($0) }
        #expect(done.count >= 1000)
        let store = try SQLiteReplayStore(path: path)
        let revocationCache = RevocationCache(tag: GrantStoreModel.tag)
        try await revocationCache.refresh(from: store, at: Self.now)
        for number in done {
            let identity = try #require(Self.identity(number))
            #expect(try await store.insert(identity, until: Self.now.adding(seconds: 60), at: Self.now) == .replayed)
            #expect(revocationCache.isRevoked(SessionID(high: 5, low: UInt64(number))))
            let isFreed = number % 4 == 3
            #expect(try await store.free(Self.lease(number).session, at: Self.now) == !isFreed, "\(number)")
        }
    }

    /// A file of the second version, which knew neither leases nor grants.
    @Test func `retains what is in a file of before, and caches its revocations`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let use = try GateSample.use(1)
        let mvpd = Revocation(.mvpd(id: "MVPD", issuedBefore: Self.now), expires: Self.now.adding(seconds: 600))
        let token = Revocation(.token(use.token.fingerprint), expires: Self.now.adding(seconds: 600))
        let program = try #require(Program.installed("sqlite3"), "sqlite3 is not installed; run scripts/setup test")
        let rows = [mvpd, token].map { word in
            let times = "\(word.issuedBefore.millisecondsSince1970), \(word.expires.millisecondsSince1970)"
            return "INSERT INTO revocation VALUES (x'\(word.storeKey.hexadecimal)', \(times));"
        }
        let query = try CommandRun(
            program,
            arguments: [
                path,
                """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('1: uses and revocations'), ('2: late leeways, and what was forgotten');
                CREATE TABLE use (token BLOB NOT NULL, number INTEGER NOT NULL, playback INTEGER,
                    forgettable INTEGER NOT NULL, PRIMARY KEY (token, number)) WITHOUT ROWID;
                CREATE INDEX use_forgettable ON use (forgettable);
                CREATE TABLE revocation (subject BLOB NOT NULL PRIMARY KEY, issuedBefore INTEGER NOT NULL,
                    expires INTEGER NOT NULL) WITHOUT ROWID;
                CREATE TABLE forgotten (one INTEGER NOT NULL PRIMARY KEY CHECK (one = 1), until INTEGER NOT NULL);
                INSERT INTO forgotten (one, until) VALUES (1, -9223372036854775808);
                INSERT INTO use VALUES (x'\(try GateSample.use(2).token.fingerprint.hexadecimal)', 0, NULL, 1925115300000);
                \(rows.joined(separator: "\n"))
                """,
            ]
        )
        #expect(query.status == 0, "\(query)")
        let store = try SQLiteReplayStore(path: path)
        #expect(try await store.record(use, at: Self.now) == .revoked(.token))
        #expect(try await store.record(try GateSample.use(2), at: Self.now) == .usedUp)
        let records = try await store.revocations(after: nil).records
        #expect(Set(records.map(\.key)) == [mvpd.storeKey, token.storeKey])
        #expect(Set(records.map(\.kind)) == [nil, .token])
        for record in records {
            let posted = record.kind == .token ? token : mvpd
            #expect(record.issuedBefore == posted.issuedBefore)
            #expect(record.kept >= RevocationRecord(posted, at: Self.now).kept)
        }
        // What comes later follows what was there.
        let cursor = try await store.revocations(after: nil).cursor
        try await store.revoke(Revocation(.playback(Self.session), expires: Self.now.adding(seconds: 60)), at: Self.now)
        let changes = try await store.revocations(after: cursor)
        #expect(changes.records.map(\.session) == [Self.session])
        #expect(try await store.acquire(Self.lease(1), at: Self.now) == .taken)
    }

    @Test func `forgets leases, grants and changes that are over`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path)
        for number in 0..<20 {
            _ = try await store.acquire(Self.lease(number), at: Self.now)
            let identity = try #require(Self.identity(number))
            _ = try await store.insert(identity, until: Self.now.adding(seconds: 60), at: Self.now)
            let word = Revocation(
                .playback(SessionID(high: 5, low: UInt64(number))),
                expires: Self.now.adding(seconds: 60)
            )
            try await store.revoke(word, at: Self.now)
        }
        let later = Self.now.adding(seconds: 13 * 3600)
        for number in 100..<104 {
            let identity = try #require(Self.identity(number))
            #expect(try await store.insert(identity, until: later.adding(seconds: 60), at: later) == .first)
        }
        let count =
            "SELECT (SELECT count(*) FROM lease), (SELECT count(*) FROM grantUse), (SELECT count(*) FROM change)"
        let program = try #require(Program.installed("sqlite3"), "sqlite3 is not installed; run scripts/setup test")
        #expect(
            try CommandRun(program, arguments: [path, count]).output.trimmingCharacters(in: .whitespacesAndNewlines)
                == "0|4|0"
        )
    }
}

@Suite(.needsRedis) struct `The Redis store for grants` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func playback(_ number: Int) -> Revocation {
        Revocation(.playback(SessionID(high: 5, low: UInt64(number))), expires: now.adding(seconds: 600))
    }

    @Test func `fails at once while Redis is away, and lists everything again on a new connection`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            let identity = try Every.identity(1)
            let until = self.now.adding(seconds: 300)
            #expect(try await store.insert(identity, until: until, at: self.now) == .first)
            #expect(try await store.acquire(Every().lease(1), at: self.now) == .taken)
            for number in 0..<3 { try await store.revoke(self.playback(number), at: self.now) }
            let cursor = try await store.revocations(after: nil).cursor
            #expect(try await store.revocations(after: cursor).records.isEmpty)
            server.signal(SIGKILL)
            try server.waitUntilExit()
            try await waitUntil { (try? await store.check()) == nil }
            let unavailable = ReplayStoreError(.unavailable, reason: "")
            await #expect(throws: unavailable) { try await store.insert(identity, until: until, at: self.now) }
            await #expect(throws: unavailable) { try await store.acquire(Every().lease(1), at: self.now) }
            await #expect(throws: unavailable) { try await store.free(Every.session(1), at: self.now) }
            await #expect(throws: unavailable) { try await store.revocations(after: cursor) }
            let again = try redis.start()
            try await waitUntil { (try? await store.check()) != nil }
            // The server may have lost its last writes, and counted on from there.
            #expect(try await store.revocations(after: cursor).records.count == 3)
            #expect(try await store.insert(identity, until: until, at: self.now) == .replayed)
            #expect(try await store.acquire(Every().lease(1), at: self.now) == .renewed)
            again.signal(SIGTERM)
        }
    }

    @Test func `notices that Redis has lost the list`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            for number in 0..<3 { try await store.revoke(self.playback(number), at: self.now) }
            let cursor = try await store.revocations(after: nil).cursor
            try redis.flush()
            // As many as before, so that the number of the last one is no sign.
            for number in 10..<14 { try await store.revoke(self.playback(number), at: self.now) }
            #expect(try await store.revocations(after: cursor).records.count == 4)
        }
        server.signal(SIGTERM)
    }

    private typealias Every = `Every store for grants`
}
