// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

@Suite(.needsRedis, .serialized) struct `playgate serve on several Redis servers` {
    private static func addresses(_ ports: [Int]) -> String {
        ports.map { "127.0.0.1:\($0)" }.joined(separator: ",")
    }

    @Test func `refuses while Redis has no primary, and goes on with the next one by itself`() async throws {
        let fleet = try RedisFleet()
        let watched = try await onThread { try fleet.startWatched() }
        let sentinels = Self.addresses(watched.sentinels)
        let gate = try ServedGate(
            in: try TemporaryFolder(),
            configuration: ServedGate.configuration(
                "{ deadline: 10s, redis: \"redis-sentinel://\(sentinels)/gate\" }"
            )
        )
        #expect(eventually { gate.isReady })
        let tokens = try await mint(2400)
        let address = { @Sendable in gate.api }
        let before = Tally()
        try await playAll(Array(tokens[..<400]), on: address) { before.add(number: $0, answer: $1) }
        #expect(before.allowed.count == 400)
        // What is recorded so far is on the replica, which is not so for the last writes before the crash.
        _ = try await onThread {
            try fleet.command(on: watched.primary, words: "SET", "last", "1")
            #expect(eventually { (try? fleet.command(on: watched.replica, words: "GET", "last")) == "1" })
        }
        let during = Tally()
        async let load: Void = playAll(Array(tokens[400..<2000]), on: address) { during.add(number: $0, answer: $1) }
        try await onThread {
            _ = eventually { during.allowed.count > 100 }
            try fleet.kill(watched.primary)
        }
        try await load
        #expect(during.lost == 0 && during.codes.keys.allSatisfy { $0 == "503 replay_store_unavailable" })
        // The readiness of the gate is that of the store, with no restart of either.
        #expect(eventually { gate.isReady })
        let after = Tally()
        try await playAll(Array(tokens[2000...]), on: address) { after.add(number: $0, answer: $1) }
        #expect(after.allowed.count == 400)
        #expect(try gate.metric("playgate_store_failovers_total") == 1)
        let again = Tally()
        try await playAll(Array(tokens[..<400]), on: address) { again.add(number: $0, answer: $1) }
        #expect(again.codes == ["403 token_already_used": 400])
    }

    /// The number of tokens that are played while slots migrate: 10,000 in the full form.
    private static let tokens = Int(ProcessInfo.processInfo.environment["PLAYGATE_TOKENS"] ?? "") ?? 3000

    @Test func `allows each of many tokens once at two gates while the slots of a cluster of six migrate`()
        async throws
    {
        let fleet = try RedisFleet()
        let ports = try await onThread { try fleet.startCluster(primaries: 3, replicas: 1) }
        let cluster = Self.addresses(ports)
        let configuration = ServedGate.configuration(
            "{ deadline: 10s, redis: \"redis-cluster://\(cluster)\" }"
        )
        let folder = try TemporaryFolder()
        let gates = [
            try ServedGate(in: folder, configuration: configuration, name: "first"),
            try ServedGate(in: folder, configuration: configuration, name: "second"),
        ]
        #expect(eventually { gates.allSatisfy(\.isReady) })
        let tokens = try await mint(Self.tokens)
        let (allowed, refused) = (Tally(), Tally())
        let moved = Mutex(0)
        async let migration: Void = onThread {
            // Across and back, for as long as there are tokens that no gate has allowed.
            while allowed.allowed.count < tokens.count {
                for (source, target) in [(0, 1), (1, 2), (2, 0)] {
                    try fleet.migrate(300, from: ports[source], to: ports[target])
                    moved.withLock { $0 += 300 }
                }
            }
        }
        // A refusal while a slot migrates consumes nothing: the player asks again.
        for _ in 0..<20 where allowed.allowed.count < tokens.count {
            let left = tokens.indices.filter { allowed.allowed[$0] == nil }
            let play = { @Sendable (gate: ServedGate) in
                try await playAll(left.map { tokens[$0] }, on: { gate.api }) { number, answer in
                    allowed.add(number: left[number], answer: answer)
                }
            }
            async let one: Void = play(gates[0])
            async let two: Void = play(gates[1])
            _ = try await (one, two)
        }
        try await migration
        #expect(moved.withLock { $0 } >= 900)
        for gate in gates { try await playAll(tokens, on: { gate.api }) { refused.add(number: $0, answer: $1) } }
        #expect(allowed.allowed.count == tokens.count && allowed.allowed.values.allSatisfy { $0 == 1 })
        let codes = Set(allowed.codes.keys)
        #expect(allowed.lost == 0 && codes.isSubset(of: ["403 token_already_used", "503 replay_store_unavailable"]))
        #expect(refused.allowed.isEmpty && refused.codes == ["403 token_already_used": 2 * tokens.count])
    }
}
