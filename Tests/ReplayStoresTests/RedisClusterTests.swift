// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import Synchronization
import Testing

@testable import RedisStore
@testable import ReplayStores

// `Every store` and `Every store for grants` run on a cluster too.
@Suite(.needsRedis, .serialized) struct `The Redis store with a cluster` {
    /// The time at which the test began: a run of all tests may last longer than a token is good for.
    private let now = Timestamp.now()

    private func use(_ number: Int, maximumUses: Int = 1) throws -> TokenUse {
        try GateSample.use(number, maximumUses: maximumUses, issued: now)
    }

    /// The check value of CRC-16/XMODEM, and keys of which Redis's specification tells the tags.
    @Test func `knows the slot of a key`() {
        let slot = { (key: String) in RedisSlot.of([UInt8](key.utf8)[...]) }
        #expect(slot("123456789") == 0x31C3 % 16_384)
        #expect(slot("{user1000}.following") == slot("user1000"))
        #expect(slot("foo{bar}{zap}") == slot("bar"))
        #expect(slot("foo{{bar}}zap") == slot("{bar"))
        #expect(slot("foo{}{bar}") != slot("bar"))
        #expect(slot("foo{bar") != slot("bar"))
    }

    @Test(
        arguments: [
            ("MOVED 3999 127.0.0.1:6381", "127.0.0.1:6381"), ("ASK 1 :6381", "asked:6381"),
            ("MOVED 16383 ::1:7000", "::1:7000"), ("MOVED 16384 127.0.0.1:6381", nil), ("MOVED 1 127.0.0.1", nil),
            ("MOVED 1 127.0.0.1:0", nil), ("MOVED", nil), ("ERR 1 127.0.0.1:1", nil), ("ASK -1 127.0.0.1:1", nil),
        ] as [(String, String?)]
    )
    func `follows redirections only that it can read`(text: String, address: String?) {
        let redirection = RedisRedirection(text, from: .tcp(host: "asked", port: 1))
        #expect(redirection?.address.description == address)
        #expect(redirection.map(\.isForGood) == address.map { _ in text.hasPrefix("MOVED") })
    }

    @Test func `allows each of many tokens once while their slots migrate`() async throws {
        let fleet = try RedisFleet()
        let ports = try await onThread { try fleet.startCluster(primaries: 3) }
        // One of the servers is enough to know all.
        let settings = RedisSettings(.cluster([.tcp(host: "127.0.0.1", port: ports[2])]))
        try await withRedis(settings) { (first) async throws in
            try await withRedis(settings) { (second) async throws in
                let progress = Progress()
                async let migration: Void = onThread {
                    defer { progress.isMigrating = false }
                    for (source, target) in [(0, 1), (1, 2), (2, 0)] {
                        try fleet.migrate(700, from: ports[source], to: ports[target])
                    }
                }
                let excess = try await withThrowingTaskGroup(of: [Int].self) { group in
                    for worker in 0..<20 {
                        group.addTask { try await self.play(on: [first, second], worker: worker, progress: progress) }
                    }
                    return try await group.reduce(into: []) { $0 += $1 }
                }
                try await migration
                #expect(excess.count >= 2000 && excess.allSatisfy { $0 == 0 })
                #expect(first.gauge("playgate_store_failovers_total") == 0)
            }
        }
    }

    /// True until the last slot has migrated.
    private final class Progress: Sendable {
        private let state = Mutex(true)

        var isMigrating: Bool {
            get { state.withLock(\.self) }
            set { state.withLock { $0 = newValue } }
        }
    }

    /// Presents every twentieth of 2000 tokens, or more until no slot migrates, to both stores twice. Returns how much more
    /// often each was allowed than it may be.
    private func play(on stores: [RedisReplayStore], worker: Int, progress: Progress) async throws -> [Int] {
        var excess: [Int] = []
        var number = worker
        while number < 2000 || progress.isMigrating {
            // Every third token may be used twice, which needs two keys in one slot.
            let uses = number.isMultiple(of: 3) ? 2 : 1
            let use = try self.use(number, maximumUses: uses)
            var recorded = 0
            for store in stores + stores {
                var outcome: UseOutcome?
                // A refusal during the migration is one that recorded nothing.
                try await waitUntil {
                    outcome = try? await store.record(use, at: self.now)
                    return outcome != nil
                }
                if outcome == .recorded { recorded += 1 }
            }
            excess.append(recorded - uses)
            number += 20
        }
        return excess
    }

    @Test func `refuses what has no primary, and goes on with a replica by itself`() async throws {
        let fleet = try RedisFleet()
        let ports = try await onThread { try fleet.startCluster(primaries: 3, replicas: 1) }
        let seeds = ports.map { RedisSettings.Address.tcp(host: "127.0.0.1", port: $0) }
        let wait = RedisSettings.Wait(replicas: 1, timeout: .milliseconds(500))
        var settings = RedisSettings(.cluster(seeds), wait: wait)
        let uses = try (0..<200).map { try self.use($0) }
        let recorded = Mutex<Set<Int>>([])
        try await withRedis(settings) { (store) async throws in
            for (number, use) in uses.enumerated() where (try? await store.record(use, at: self.now)) == .recorded {
                _ = recorded.withLock { $0.insert(number) }
            }
        }
        #expect(recorded.withLock { $0.count } > 100)
        // After the failover one primary has no replica.
        settings.wait = nil
        try await withRedis(settings) { (store) async throws in
            try await onThread { try fleet.kill(ports[0]) }
            try await waitUntil { (try? await store.check()) == nil }
            try await waitUntil { (try? await store.check()) != nil }
            #expect(store.gauge("playgate_store_failovers_total") == 1)
            for number in recorded.withLock(\.self) {
                #expect(try await store.record(uses[number], at: self.now) == .usedUp)
            }
        }
    }

    @Test func `says that a server is not of a cluster`() async throws {
        let fleet = try RedisFleet()
        let port = try await onThread { try fleet.start() }
        let store = RedisReplayStore(RedisSettings(.cluster([.tcp(host: "127.0.0.1", port: port)])))
        let (faults, continuation) = AsyncStream.makeStream(of: ReplayStoreError.self)
        let connection = Task { await store.run { if let fault = $0 { continuation.yield(fault) } } }
        defer { connection.cancel() }
        for await fault in faults {
            #expect(fault.reason.contains("127.0.0.1:\(port) refused CLUSTER SLOTS"))
            break
        }
    }
}
