// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import SQLiteStore
import Testing

/// A kind of store, created empty for each test.
enum StoreKind: String, CaseIterable, Sendable {
    case memory
    case sqlite
    case redis
    /// A Redis Cluster of one server, which refuses calls whose keys have different slots as any other does.
    case cluster

    /// The kinds that are installed on this machine. A run without Redis names the suites of it that it skips.
    static var present: [StoreKind] { RedisServer.isInstalled ? allCases : [.memory, .sqlite] }

    /// Runs `body` with two handles on one store, as two gates that share it.
    func with(_ body: (any ReplayStore, any ReplayStore) async throws -> Void) async throws {
        switch self {
        case .memory:
            let store = MemoryReplayStore(capacity: 1000)
            try await body(store, store)
        case .sqlite:
            let folder = try TemporaryFolder()
            let path = folder.file("uses.sqlite")
            try await body(try SQLiteReplayStore(path: path), try SQLiteReplayStore(path: path))
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

extension Trait where Self == ConditionTrait {
    /// The test needs a Redis server, and is skipped without one; in continuous integration it fails.
    static var needsRedis: Self {
        .enabled(if: RedisServer.isInstalled, "redis-server is not installed: run scripts/setup test")
    }
}

/// Runs `body` with two stores on one cluster.
func withCluster(_ body: (RedisReplayStore, RedisReplayStore) async throws -> Void) async throws {
    let fleet = try RedisFleet()
    let port = try await onThread { () throws -> Int in
        let port = try fleet.startClusterServers(1)[0]
        try fleet.command(on: port, words: "CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        #expect(eventually { fleet.isClusterReady(port) })
        return port
    }
    let settings = RedisSettings(.cluster([.tcp(host: "127.0.0.1", port: port)]))
    try await withRedis(settings) { first in try await withRedis(settings) { second in try await body(first, second) } }
}

/// Runs `body` with a store that is connected to `redis`.
func withRedis(_ redis: RedisServer, body: (RedisReplayStore) async throws -> Void) async throws {
    try await withRedis(RedisSettings(.one(.unix(path: redis.socket))), body: body)
}

/// Runs `body` with a store that is connected.
func withRedis(_ settings: RedisSettings, body: (RedisReplayStore) async throws -> Void) async throws {
    let store = RedisReplayStore(settings)
    let connection = Task { await store.run { _ in } }
    defer { connection.cancel() }
    try await waitUntil { (try? await store.check()) != nil }
    try await body(store)
}

/// Waits until `condition` holds. It limits the number of attempts and not the time, because other tests may occupy every
/// thread.
func waitUntil(_ condition: () async throws -> Bool) async throws {
    for _ in 0..<12_000 {
        if try await condition() { return }
        try await Task.sleep(for: .milliseconds(5))
    }
    Issue.record("it never happened")
}

// The requirements for every store. Times are those of the machine, because Redis uses its own clock.
@Suite struct `Every use store` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func use(_ number: Int = 0, maximumUses: Int = 1, playbackID: String? = nil) throws -> TokenUse {
        try GateSample.use(number, maximumUses: maximumUses, playbackID: playbackID, issued: now)
    }

    @Test(arguments: StoreKind.present)
    func `records a use once, and again for the same playback`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let now = self.now
            #expect(try await first.record(try self.use(1, playbackID: "p"), at: now) == .recorded)
            #expect(try await second.record(try self.use(1), at: now) == .usedUp)
            #expect(try await first.record(try self.use(1, playbackID: "q"), at: now) == .usedUp)
            #expect(try await second.record(try self.use(1, playbackID: "p"), at: now) == .repeated)
            #expect(try await first.record(try self.use(2), at: now) == .recorded)
            // Without a playback id, two uses are never the same playback.
            #expect(try await first.record(try self.use(2), at: now) == .usedUp)
        }
    }

    @Test(arguments: StoreKind.present)
    func `counts to the maximum`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            var outcomes: [UseOutcome] = []
            for (number, id) in ["a", "b", "a", "c", "d", "c"].enumerated() {
                let use = try self.use(1, maximumUses: 3, playbackID: id)
                outcomes.append(try await (number.isMultiple(of: 2) ? first : second).record(use, at: self.now))
            }
            #expect(outcomes == [.recorded, .recorded, .repeated, .recorded, .usedUp, .repeated])
        }
    }

    @Test(arguments: StoreKind.present)
    func `lets one of many be first`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let uses = try (0..<40).map { try self.use($0) }
            let recorded = await withTaskGroup(of: Int.self) { group in
                for (number, use) in (uses + uses + uses).enumerated() {
                    for store in [first, second] {
                        group.addTask { (try? await store.record(use, at: self.now)) == .recorded ? number % 40 : -1 }
                    }
                }
                var recorded: [Int] = []
                for await number in group where number >= 0 { recorded.append(number) }
                return recorded
            }
            #expect(recorded.sorted() == Array(0..<40))
        }
    }

    enum Word: String, CaseIterable, Sendable {
        case token, session, sessionBefore, mvpd, mvpdBefore, other

        func revocation(_ use: TokenUse, until expires: Timestamp) -> Revocation {
            let issued = use.token.timeIssued
            let subject: Revocation.Subject =
                switch self {
                case .token: .token(use.token.fingerprint)
                case .session: .session(guid: use.token.userSessionGUID, issuedBefore: issued.adding(seconds: 1))
                case .sessionBefore: .session(guid: use.token.userSessionGUID, issuedBefore: issued)
                case .mvpd: .mvpd(id: use.token.mvpdID, issuedBefore: expires)
                case .mvpdBefore: .mvpd(id: use.token.mvpdID, issuedBefore: issued)
                case .other: .mvpd(id: "another", issuedBefore: expires)
                }
            return Revocation(subject, expires: expires)
        }

        var outcome: UseOutcome {
            switch self {
            case .token: .revoked(.token)
            case .session: .revoked(.session)
            case .mvpd: .revoked(.mvpd)
            case .sessionBefore, .mvpdBefore, .other: .recorded
            }
        }
    }

    @Test(arguments: StoreKind.present, Word.allCases)
    func `refuses what is revoked, for all who share it`(kind: StoreKind, word: Word) async throws {
        try await kind.with { (first, second) async throws in
            let use = try self.use(1)
            try await first.revoke(word.revocation(use, until: self.now.adding(seconds: 600)), at: self.now)
            #expect(try await second.record(use, at: self.now) == word.outcome)
        }
    }

    @Test(arguments: StoreKind.present)
    func `retains the stronger of two words on one thing`(kind: StoreKind) async throws {
        try await kind.with { (store, _) async throws in
            let use = try self.use(1)
            let guid = use.token.userSessionGUID
            let end = self.now.adding(seconds: 600)
            let revoke = { (before: Int64, ends: Timestamp) in
                let subject = Revocation.Subject.session(
                    guid: guid,
                    issuedBefore: use.token.timeIssued.adding(seconds: before)
                )
                try await store.revoke(Revocation(subject, expires: ends), at: self.now)
            }
            try await revoke(1, end)
            try await revoke(-10, self.now.adding(seconds: 300))
            #expect(try await store.record(use, at: self.now) == .revoked(.session))
        }
    }

    @Test(arguments: StoreKind.present)
    func `retains a revocation for requests whose time is behind that of others`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let use = try self.use(1)
            let word = { (before: Int64, ends: Int64) in
                let issuedBefore = use.token.timeIssued.adding(seconds: before)
                let subject = Revocation.Subject.session(guid: use.token.userSessionGUID, issuedBefore: issuedBefore)
                return Revocation(subject, expires: self.now.adding(seconds: ends))
            }
            try await first.revoke(word(1, 60), at: self.now)
            let ahead = self.now.adding(seconds: 170)
            for number in 2...3 { #expect(try await second.record(try self.use(number), at: ahead) == .recorded) }
            #expect(try await first.record(use, at: self.now.adding(seconds: 60)) == .revoked(.session))
            // A weaker revocation of the same session does not replace a stronger one.
            try await second.revoke(word(-10, 600), at: ahead)
            #expect(try await first.record(use, at: self.now.adding(seconds: 60)) == .revoked(.session))
        }
    }

    @Test(arguments: [StoreKind.memory, .sqlite])
    func `lets a revocation end`(kind: StoreKind) async throws {
        try await kind.with { (store, _) async throws in
            let use = try self.use(1)
            try await store.revoke(Word.token.revocation(use, until: self.now.adding(seconds: 60)), at: self.now)
            #expect(try await store.record(use, at: self.now.adding(seconds: 60)) == .revoked(.token))
            #expect(try await store.record(use, at: self.now.adding(seconds: 61)) == .recorded)
        }
    }
}

@Suite struct `The SQLite store` {
    @Test func `remembers over restarts, and forgets what can be forgotten`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let use = try GateSample.use(1)
        #expect(try await SQLiteReplayStore(path: path).record(use, at: GateSample.time) == .recorded)
        let store = try SQLiteReplayStore(path: path)
        #expect(try await store.record(use, at: GateSample.time.adding(seconds: 420)) == .usedUp)
        // The next uses sweep the expired records.
        for number in 2...3 {
            let later = GateSample.time.adding(seconds: 1000)
            #expect(try await store.record(try GateSample.use(number, issued: later), at: later) == .recorded)
            try await store.check()
        }
        #expect(try rows(of: path, "SELECT count(*) FROM use WHERE forgettable < 1925115645000") == "0")
        #expect(try rows(of: path, "SELECT count(*) FROM use") == "2")
        // A swept use is not accepted as new, at any time.
        #expect(try await store.record(use, at: GateSample.time.adding(seconds: 1000)) == .usedUp)
        #expect(try await store.record(use, at: GateSample.time) == .usedUp)
    }

    /// A file of the first version, which kept uses according to the late leeway of that time.
    @Test func `retains what is in a file of before for as long as leeways may be raised to`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let use = try GateSample.use(1)
        let expires = use.token.expires.millisecondsSince1970
        _ = try rows(
            of: path,
            """
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('1: uses and revocations');
            CREATE TABLE use (token BLOB NOT NULL, number INTEGER NOT NULL, playback INTEGER,
                forgettable INTEGER NOT NULL, PRIMARY KEY (token, number)) WITHOUT ROWID;
            CREATE INDEX use_forgettable ON use (forgettable);
            CREATE TABLE revocation (subject BLOB NOT NULL PRIMARY KEY, issuedBefore INTEGER NOT NULL,
                expires INTEGER NOT NULL) WITHOUT ROWID;
            INSERT INTO use VALUES (x'\(use.token.fingerprint.hexadecimal)', 0, NULL, \(expires));
            """
        )
        let store = try SQLiteReplayStore(path: path)
        let late = use.token.expires.adding(seconds: 119)
        for number in 2...3 {
            #expect(try await store.record(try GateSample.use(number, issued: late), at: late) == .recorded)
        }
        #expect(try await store.record(use, at: late) == .usedUp)
        #expect(try rows(of: path, "SELECT min(forgettable) FROM use") == "\(expires + 120_000)")
    }

    /// Returns the output of a query on the database at `path`.
    private func rows(of path: String, _ statement: String) throws -> String {
        let program = try #require(Program.installed("sqlite3"), "sqlite3 is not installed; run scripts/setup test")
        let query = try CommandRun(program, arguments: [path, statement])
        #expect(query.status == 0, "\(query)")
        return query.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test(arguments: ["no such folder/uses.sqlite", "", "text"])
    func `says why it cannot be opened`(name: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("text", contents: String(repeating: "this is no database ", count: 100))
        #expect(throws: ReplayStoreError(.misconfigured, reason: "")) {
            try SQLiteReplayStore(path: name.isEmpty ? folder.path : folder.file(name))
        }
    }

    @Test func `answers that it cannot, when another process holds the file`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path, busyTimeout: .milliseconds(20))
        let holder = try SQLiteHolder(path, in: folder)
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
            try await store.record(try GateSample.use(1), at: GateSample.time)
        }
        holder.end()
    }
}

@Suite(.needsRedis) struct `The Redis store` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func use(_ number: Int) throws -> TokenUse { try GateSample.use(number, issued: now) }

    @Test func `fails at once while Redis is away, and comes back by itself`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
            server.signal(SIGKILL)
            try server.waitUntilExit()
            try await waitUntil { (try? await store.check()) == nil }
            await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
                try await store.record(try self.use(2), at: self.now)
            }
            let again = try redis.start()
            try await waitUntil { (try? await store.check()) != nil }
            // The script is loaded again, and a consumed token stays consumed.
            #expect(try await store.record(try self.use(1), at: self.now) == .usedUp)
            #expect(try await store.record(try self.use(2), at: self.now) == .recorded)
            again.signal(SIGTERM)
        }
    }

    @Test func `gives up a connection on which nothing comes back`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            server.signal(SIGSTOP)
            await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
                try await store.record(try self.use(1), at: self.now)
            }
            server.signal(SIGCONT)
            try await waitUntil { (try? await store.check()) != nil }
        }
    }

    @Test func `goes on when Redis has forgotten the script`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
            try Self.command(to: redis, text: "SCRIPT FLUSH")
            #expect(try await store.record(try self.use(1), at: self.now) == .usedUp)
            #expect(try await store.record(try self.use(2), at: self.now) == .recorded)
        }
        server.signal(SIGTERM)
    }

    @Test func `retains a use no longer than it is needed`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { (store) async throws in
            let use = try self.use(1)
            #expect(try await store.record(use, at: self.now) == .recorded)
            let key = "playgate:use:\(use.token.fingerprint.hexadecimal):1"
            let end =
                try Self.command(to: redis, text: "PEXPIRETIME \(key)").split(separator: ":").last.flatMap { Int64($0) }
                ?? 0
            // The token's seven minutes, two for late leeways, two for clocks, and one more.
            #expect((710_000...720_000).contains(end - self.now.millisecondsSince1970))
        }
        server.signal(SIGTERM)
    }

    @Test(
        arguments: [
            (["--maxmemory", "10mb", "--maxmemory-policy", "allkeys-lru"], nil, "evicts"),
            (["--requirepass", "secret"], nil, "NOAUTH"), (["--requirepass", "secret"], "wrong", "login"),
        ] as [([String], String?, String)]
    )
    func `says what is wrong with how Redis is set up`(options: [String], password: String?, what: String) async throws
    {
        let redis = try RedisServer(options)
        let server = try redis.start()
        let settings = RedisSettings(.one(.unix(path: redis.socket)), password: password.map { RedisPassword($0) })
        let store = RedisReplayStore(settings)
        let fault = await firstFault(of: store)
        #expect(fault?.code == .misconfigured || fault?.reason.contains("NOAUTH") ?? false)
        #expect(fault?.reason.contains(what) ?? false, "\(fault.map { "\($0)" } ?? "none")")
        server.signal(SIGTERM)
    }

    @Test func `logs in with a password`() async throws {
        let redis = try RedisServer(["--requirepass", "secret"])
        let server = try redis.start()
        let settings = RedisSettings(
            .one(.unix(path: redis.socket)),
            password: RedisPassword("secret"),
            database: 3,
            keyPrefix: "other:"
        )
        let store = RedisReplayStore(settings)
        let connection = Task { await store.run { _ in } }
        try await waitUntil { (try? await store.check()) != nil }
        #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
        connection.cancel()
        server.signal(SIGTERM)
    }

    /// Returns the first fault that a connection reports.
    private func firstFault(of store: RedisReplayStore) async -> ReplayStoreError? {
        let (faults, continuation) = AsyncStream.makeStream(of: ReplayStoreError.self)
        let connection = Task { await store.run { if let fault = $0 { continuation.yield(fault) } } }
        defer { connection.cancel() }
        for await fault in faults { return fault }
        return nil
    }

    /// Sends Redis an inline command, and returns the first line of the response.
    @discardableResult
    private static func command(to redis: RedisServer, text: String) throws -> String {
        let connection = try HTTPConnection("unix:\(redis.socket)")
        try connection.send(text + "\r\n")
        return try connection.line()
    }
}
