// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import PlaybackGate
import ReplayStores
import Testing

@Suite struct `The memory store for grants and its model` {
    @Test(arguments: [1000, 5], [UInt64](0..<2))
    func `agree, or the store says no where it may`(capacity: Int, part: UInt64) async throws {
        var answers: [String: Int] = [:]
        for seed in 100 * part..<100 * part + 100 {
            var model = GrantStoreModel(StoreModel.Traits(capacity: capacity))
            let store = MemoryReplayStore(capacity: capacity, leaseCapacity: capacity)
            let history = GrantStoreHistory(from: GateSample.time, unit: 1000, seed: seed)
            let fault = try await model.walk(history, steps: 250, handles: [store, store])
            #expect(fault == nil, "seed \(seed)")
            answers.merge(model.answers) { $0 + $1 }
        }
        // Every kind of answer must occur often; otherwise the history tested nothing.
        let names = [
            "taken", "renewed", "limitReached", "freed", "not freed", "first", "replayed", "revoked", "refreshed",
        ]
        for name in names + (capacity == 5 ? ["full"] : []) {
            #expect(answers[name, default: 0] > 100, "\(name): \(answers)")
        }
    }
}
