// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import RedisStore
import ReplayStores
import Synchronization
import Testing

@Suite(.needsRedis, .serialized) struct `The Redis store with sentinels` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func use(_ number: Int, playbackID: String? = nil) throws -> TokenUse {
        try GateSample.use(number, playbackID: playbackID, issued: now)
    }

    private static func settings(_ sentinels: [Int], wait: Int = 0) -> RedisSettings {
        let addresses = sentinels.map { RedisSettings.Address.tcp(host: "127.0.0.1", port: $0) }
        return RedisSettings(
            .sentinels(RedisSettings.Sentinels(addresses: addresses, primary: "gate")),
            wait: wait > 0 ? RedisSettings.Wait(replicas: wait, timeout: .milliseconds(200)) : nil
        )
    }

    /// Runs `body` with a store, whose faults it records.
    private static func with(
        _ settings: RedisSettings,
        body: (RedisReplayStore, Faults) async throws -> Void
    ) async throws {
        let (store, faults) = (RedisReplayStore(settings), Faults())
        let connection = Task { await store.run { fault in faults.add(fault) } }
        defer { connection.cancel() }
        try await body(store, faults)
    }

    private final class Faults: Sendable {
        private let reasons = Mutex<[String]>([])

        func add(_ fault: ReplayStoreError?) { if let fault { reasons.withLock { $0.append(fault.reason) } } }

        func contain(_ text: String) -> Bool { reasons.withLock { $0.contains { $0.contains(text) } } }
    }

    /// Thirty players, each of which starts one playback after another, with a new token each time.
    private final class Players: Sendable {
        private let state = Mutex((next: 0, recorded: [Int](), faults: Set<ReplayStoreError.Code>()))
        private let suite: `The Redis store with sentinels`

        init(_ suite: `The Redis store with sentinels`) { self.suite = suite }

        /// The numbers of the tokens whose use the store acknowledged.
        var recorded: [Int] { state.withLock { $0.recorded } }

        var faults: Set<ReplayStoreError.Code> { state.withLock { $0.faults } }

        /// Plays until the task is cancelled.
        func play(_ store: RedisReplayStore) async {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<30 { group.addTask { while !Task.isCancelled { await self.playOnce(store) } } }
            }
        }

        private func playOnce(_ store: RedisReplayStore) async {
            let number = state.withLock { state in
                state.next += 1
                return state.next
            }
            guard let use = try? suite.use(number) else { return }
            do throws(ReplayStoreError) {
                let outcome = try await store.record(use, at: suite.now)
                if outcome == .recorded { state.withLock { $0.recorded.append(number) } }
            } catch {
                _ = state.withLock { $0.faults.insert(error.code) }
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    enum Change: CaseIterable, Sendable {
        /// The primary is killed.
        case crash
        /// The sentinels receive the order to make the replica the primary, while the primary works.
        case order
    }

    @Test(arguments: Change.allCases)
    func `allows no acknowledged use again after a failover, and needs no restart`(change: Change) async throws {
        let fleet = try RedisFleet()
        let watched = try await onThread { try fleet.startWatched() }
        try await Self.with(Self.settings(watched.sentinels, wait: 1)) { (store, _) async throws in
            try await waitUntil { (try? await store.check()) != nil }
            #expect(store.gauge("playgate_store_failovers_total") == 0)
            let players = Players(self)
            let playing = Task { await players.play(store) }
            try await waitUntil { players.recorded.count > 300 }
            let missing = store.gauge("playgate_store_unacknowledged_total") ?? 0
            if change == .crash { try await onThread { try fleet.kill(watched.primary) } }
            var attempts = 0
            try await waitUntil {
                // A sentinel that the machine has held up for two seconds forgets an order.
                if change == .order, attempts % 400 == 0 {
                    try await onThread { try fleet.orderFailover(watched.sentinels[0], from: watched.primary) }
                }
                attempts += 1
                return store.gauge("playgate_store_failovers_total") == 1
            }
            // The new primary has no replica: nothing is acknowledged, and all of it is refused. On a busy machine the old one may
            // be its replica by now.
            try await waitUntil {
                if store.gauge("playgate_store_unacknowledged_total") ?? 0 > missing { return true }
                guard change == .order else { return false }
                return try await onThread { try fleet.isReplica(watched.primary) }
            }
            // The sentinels make the old primary a replica too, after eight seconds.
            try await onThread {
                switch change {
                case .crash: try fleet.start(on: watched.primary, ["--replicaof", "127.0.0.1 \(watched.replica)"])
                case .order:
                    try fleet.command(on: watched.primary, words: "REPLICAOF", "127.0.0.1", "\(watched.replica)")
                }
            }
            let count = players.recorded.count
            try await waitUntil { players.recorded.count > count + 100 }
            playing.cancel()
            await playing.value
            #expect(players.faults == [.unavailable])
            for number in players.recorded { #expect(try await self.answer(of: store, to: number) == .usedUp) }
        }
    }

    /// Asks again while the store refuses: on a busy machine, the sentinels may change the primary once more.
    private func answer(of store: RedisReplayStore, to number: Int) async throws -> UseOutcome? {
        let use = try use(number)
        var outcome: UseOutcome?
        try await waitUntil {
            outcome = try? await store.record(use, at: now)
            return outcome != nil
        }
        return outcome
    }

    @Test func `refuses a playback whose use no replica acknowledged, and allows its retry later`() async throws {
        let fleet = try RedisFleet()
        let primary = try await onThread { try fleet.start() }
        let wait = RedisSettings.Wait(replicas: 1, timeout: .milliseconds(50))
        let settings = RedisSettings(.one(.tcp(host: "127.0.0.1", port: primary)), wait: wait)
        try await Self.with(settings) { (store, _) async throws in
            let use = try self.use(1, playbackID: "p")
            try await waitUntil { (try? await store.examine(use, at: self.now)) != nil }
            for count in 1...2 {
                await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
                    try await store.record(use, at: self.now)
                }
                #expect(store.gauge("playgate_store_unacknowledged_total") == Double(count))
            }
            #expect(store.gauge("playgate_store_failovers_total") == nil)
            // The gate is not ready: it could allow nothing.
            await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await store.check() }
            // A refusal needs no acknowledgement.
            #expect(try await store.record(try self.use(1), at: self.now) == .usedUp)
            _ = try await onThread { try fleet.start(["--replicaof", "127.0.0.1 \(primary)"]) }
            try await waitUntil { (try? await store.record(use, at: self.now)) == .repeated }
            // Many writes have one WAIT in common. On a busy machine the replica may be late for some.
            let others = try (2..<500).map { try self.use($0, playbackID: "p") }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for use in others {
                    group.addTask {
                        let allowed: [UseOutcome?] = [.recorded, .repeated]
                        try await waitUntil { allowed.contains(try? await store.record(use, at: self.now)) }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func `trusts no server that is not a primary`() async throws {
        let fleet = try RedisFleet()
        let sentinel = try await onThread {
            let replica = try fleet.start(["--replicaof", "127.0.0.1 \(try fleet.start())"])
            return try fleet.startSentinel(of: replica, quorum: 1, downAfter: 600_000)
        }
        try await Self.with(Self.settings([sentinel])) { (store, faults) async throws in
            try await waitUntil { faults.contain("is not a primary") }
            await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
                try await store.record(try self.use(1), at: self.now)
            }
            await #expect(throws: ReplayStoreError(.unavailable, reason: "")) {
                try await store.examine(try self.use(1), at: self.now)
            }
        }
    }

    @Test func `uses the primary that most sentinels name`() async throws {
        let fleet = try RedisFleet()
        let (primary, other) = try await onThread { (try fleet.start(), try fleet.start()) }
        let sentinels = try await onThread {
            try [other, primary, primary].map { try fleet.startSentinel(of: $0, quorum: 1, downAfter: 600_000) }
        }
        try await Self.with(Self.settings(sentinels)) { (store, _) async throws in
            try await waitUntil { (try? await store.check()) != nil }
            #expect(try await store.record(try self.use(1), at: self.now) == .recorded)
            let sizes = try await onThread {
                (try fleet.command(on: primary, words: "DBSIZE"), try fleet.command(on: other, words: "DBSIZE"))
            }
            #expect(sizes == ("1", "0"))
        }
    }

    @Test func `says which sentinel cannot be used`() async throws {
        let fleet = try RedisFleet()
        let (primary, none) = try await onThread { (try fleet.start(), try freePort()) }
        // A server that is no sentinel, and a port without a server.
        for (port, reason) in [(primary, "refused: ERR unknown command"), (none, "cannot be reached")] {
            try await Self.with(Self.settings([port])) { (_, faults) async throws in
                try await waitUntil { faults.contain("127.0.0.1:\(port)") && faults.contain(reason) }
            }
        }
    }

    @Test func `logs in at sentinels with their own password`() async throws {
        let fleet = try RedisFleet()
        let sentinel = try await onThread {
            let primary = try fleet.start(["--requirepass", "of the store"])
            let sentinel = try fleet.startSentinel(of: primary, quorum: 1, downAfter: 600_000)
            try fleet.command(on: sentinel, words: "ACL", "SETUSER", "default", "resetpass", ">of sentinels")
            return sentinel
        }
        for (password, works) in [("of sentinels", true), ("of the store", false)] {
            let sentinels = RedisSettings.Sentinels(
                addresses: [.tcp(host: "127.0.0.1", port: sentinel)],
                primary: "gate",
                password: RedisPassword(password)
            )
            let settings = RedisSettings(.sentinels(sentinels), password: RedisPassword("of the store"))
            try await Self.with(settings) { (store, faults) async throws in
                if works {
                    try await waitUntil { (try? await store.check()) != nil }
                } else {
                    try await waitUntil { faults.contain("Redis refused the login at 127.0.0.1:\(sentinel)") }
                }
            }
        }
    }
}

extension ReplayStore {
    /// The present value of a measurement; `nil` if the store does not have it.
    func gauge(_ name: String) -> Double? { gauges.first { $0.name == name }?.value }
}
