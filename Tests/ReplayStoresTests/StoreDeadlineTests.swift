// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import SQLiteStore
import Testing

/// Stores that end their waits by themselves: a gate waits for them without a task beside the call.
@Suite struct `The deadline of a store` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func use(_ number: Int, playbackID: String? = nil) throws -> TokenUse {
        try GateSample.use(number, playbackID: playbackID, issued: now)
    }

    @Test(.needsRedis)
    func `ends the wait for Redis, and a late reply goes to nobody`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        var settings = RedisSettings(.one(.unix(path: redis.socket)))
        settings.longestSilence = .seconds(600)
        try await withRedis(settings) { (store) async throws in
            #expect(store.longestWait == nil)
            #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
            store.limitWaits(to: .milliseconds(20))
            #expect(store.longestWait == .milliseconds(20))
            server.signal(SIGSTOP)
            // Of three calls at once, each fails by itself.
            await withTaskGroup(of: Void.self) { group in
                for number in 2...4 {
                    group.addTask {
                        await #expect(throws: ReplayStoreError(.deadline, reason: "")) {
                            try await store.record(try self.use(number, playbackID: "p"), at: self.now)
                        }
                    }
                }
            }
            store.limitWaits(to: .seconds(60))
            // The replies to those three come before that to this call, which gets its own: another than theirs.
            async let again = store.record(try self.use(1), at: self.now)
            server.signal(SIGCONT)
            #expect(try await again == .usedUp)
            // The uses are recorded, and the retries of their playbacks are allowed.
            for number in 2...4 {
                #expect(try await store.record(try self.use(number, playbackID: "p"), at: self.now) == .repeated)
            }
        }
        server.signal(SIGTERM)
    }

    @Test(.needsRedis)
    func `is the gate's, where an answer of Redis has more than one reply`() async throws {
        let one = RedisSettings.Address.unix(path: "/nowhere/redis.sock")
        var waiting = RedisSettings(.one(one))
        waiting.wait = .init(replicas: 1, timeout: .milliseconds(10))
        for settings in [waiting, RedisSettings(.cluster([one]))] {
            let store = RedisReplayStore(settings)
            store.limitWaits(to: .milliseconds(20))
            #expect(store.longestWait == nil)
        }
    }

    @Test func `ends the wait for the disk, and the use is recorded all the same`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path, busyTimeout: .seconds(600))
        #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
        let holder = try SQLiteHolder(path, in: folder)
        store.limitWaits(to: .milliseconds(20))
        #expect(store.longestWait == .milliseconds(20))
        await withTaskGroup(of: Void.self) { group in
            for number in 2...4 {
                group.addTask {
                    await #expect(throws: ReplayStoreError(.deadline, reason: "")) {
                        try await store.record(try self.use(number, playbackID: "p"), at: self.now)
                    }
                }
            }
        }
        store.limitWaits(to: .seconds(600))
        async let next = store.record(try self.use(5), at: self.now)
        holder.end()
        #expect(try await next == .recorded)
        for number in 2...4 {
            #expect(try await store.record(try self.use(number, playbackID: "p"), at: self.now) == .repeated)
        }
    }

    @Test func `does not concern a look at the file while another process writes it`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("uses.sqlite")
        let store = try SQLiteReplayStore(path: path, busyTimeout: .milliseconds(1))
        #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
        let holder = try SQLiteHolder(path, in: folder)
        #expect(try await store.examine(try self.use(1), at: self.now) == .notRevoked)
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
            try await store.record(try self.use(2), at: self.now)
        }
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.check() }
        holder.end()
        try await waitUntil { (try? await store.check()) != nil }
    }

    /// A store that never answers, and says that it ends its waits later than the gate's deadline, or not at all.
    private final class SilentStore: ReplayStore {
        let longestWait: Duration?

        init(longestWait: Duration?) { self.longestWait = longestWait }

        var name: String { "silent" }

        func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            try? await Task.sleep(for: .seconds(3600))
            throw ReplayStoreError(.unavailable, reason: "cancelled")
        }

        func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            try await record(use, at: now)
        }

        func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {}

        func check() async throws(ReplayStoreError) {
            try? await Task.sleep(for: .seconds(3600))
            throw ReplayStoreError(.unavailable, reason: "cancelled")
        }
    }

    @Test(arguments: [nil, Duration.seconds(3600)])
    func `is watched over by the gate, if the store's own is later`(longestWait: Duration?) async throws {
        var rules = Gate.Rules()
        rules.storeDeadline = .milliseconds(5)
        let gate = Gate(
            catalogue: Catalogue(),
            verifier: try GateSample.verifier(),
            store: SilentStore(longestWait: longestWait),
            rules: rules
        )
        await #expect(throws: ReplayStoreError(.deadline, reason: "")) { try await gate.checkStore() }
    }
}

/// Another process that holds the write lock of a store's file.
struct SQLiteHolder {
    private let program: Program
    private let sign: String

    init(_ path: String, in folder: TemporaryFolder) throws {
        let sqlite = try #require(Program.installed("sqlite3"), "sqlite3 is not installed; run scripts/setup test")
        sign = folder.file("released")
        let commands = [
            ".timeout 20000", "BEGIN IMMEDIATE;", ".shell touch \(folder.file("held"))",
            ".shell timeout 600 sh -c 'until [ -e \(sign) ]; do sleep 0.02; done'", "COMMIT;",
        ]
        program = try Program(sqlite, arguments: ["-bail", path] + commands, log: folder.file("log"))
        #expect(eventually { FileManager.default.fileExists(atPath: folder.file("held")) })
    }

    /// Releases the lock.
    func end() { _ = FileManager.default.createFile(atPath: sign, contents: nil) }
}
