// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import PlaybackGate
import ReplayStores
import SQLiteStore
import Testing

/// No viewer fetches segments of more playbacks than the limit, whatever starts, prolongs and ends them.
///
/// `PLAYGATE_STEPS=1000000` walks as many steps on each store.
@Suite struct `A limit of playbacks` {
    private static let steps = ProcessInfo.processInfo.environment["PLAYGATE_STEPS"].flatMap { Int($0) }

    private func walk(on store: any ReplayStore, seed: UInt64, steps: Int) async throws {
        var history = try StreamHistory(store, seed: seed)
        let fault = try await history.walk(steps: Self.steps ?? steps)
        #expect(fault == nil, "seed \(seed): \(history.answers)")
        // Every kind of answer must occur; otherwise the history tested nothing.
        let names = [
            "started", "renewed at an edge", "exchanged", "manifest", "granted", "ended", "stream_limit_reached",
        ]
        for name in names {
            #expect(history.answers[name, default: 0] > steps / 200, "\(name): \(history.answers)")
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func `holds with a store in memory`(seed: UInt64) async throws {
        try await walk(on: MemoryReplayStore(capacity: 100_000), seed: seed, steps: 1000)
    }

    @Test func `holds with SQLite`() async throws {
        let folder = try TemporaryFolder()
        let store = try SQLiteReplayStore(path: folder.file("uses.sqlite"), busyTimeout: .seconds(20))
        try await walk(on: store, seed: 7, steps: 400)
    }

    /// Redis has a clock of its own, by which no slot ends within the test: what is held is never given away.
    @Test(.needsRedis) func `holds with Redis`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        try await withRedis(redis) { store in
            var history = try StreamHistory(store, seed: 3)
            let fault = try await history.walk(steps: Self.steps ?? 300)
            #expect(fault == nil, "\(history.answers)")
            #expect(history.answers["stream_limit_reached", default: 0] > 3, "\(history.answers)")
        }
        server.signal(SIGTERM)
    }
}
