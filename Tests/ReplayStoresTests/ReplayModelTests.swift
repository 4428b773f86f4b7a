// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import PlaybackGate
import ReplayStores
import SQLiteStore
import Testing

// The histories of the memory store are in PlaybackGateTests.
@Suite struct `Stores and their model` {
    /// Expects that every kind of answer occurs often; otherwise the history tested nothing.
    private func expectAll(in answers: [String: Int], moreThan count: Int) {
        for name in ["recorded", "repeated", "usedUp", "revoked"] {
            #expect(answers[name, default: 0] > count, "\(name): \(answers)")
        }
    }

    @Test(arguments: [UInt64](0..<4))
    func `agree in SQLite, or the store says no where it may`(part: UInt64) async throws {
        let pool = try StorePool(from: GateSample.time)
        let folder = try TemporaryFolder()
        var answers: [String: Int] = [:]
        for seed in 50 * part..<50 * part + 50 {
            var model = StoreModel()
            let path = folder.file("\(seed).sqlite")
            let fault = try await model.walk(StoreHistory(pool, seed: seed), steps: 120, isLasting: true) {
                try SQLiteReplayStore(path: path, busyTimeout: .seconds(20))
            }
            #expect(fault == nil, "seed \(seed)")
            answers.merge(model.answers) { $0 + $1 }
        }
        expectAll(in: answers, moreThan: 100)
    }

    @Test(.needsRedis)
    func `agree in Redis, or the store says no where it may`() async throws {
        let redis = try RedisServer()
        let server = try redis.start()
        // Redis would refuse to record uses of some of these tokens, which are over.
        let pool = try StorePool(from: Timestamp.now().adding(seconds: -400))
        try await withRedis(redis) { store in
            var answers: [String: Int] = [:]
            for seed in 0..<12 as Range<UInt64> {
                try redis.flush()
                var model = StoreModel(StoreModel.Traits(hasOwnClock: true))
                let history = StoreHistory(pool, seed: seed)
                let fault = try await model.walk(history, steps: 120, isLasting: false) { store }
                #expect(fault == nil, "seed \(seed)")
                answers.merge(model.answers) { $0 + $1 }
            }
            expectAll(in: answers, moreThan: 30)
            #expect(answers["error", default: 0] > 30, "\(answers)")
        }
        server.signal(SIGTERM)
    }
}

@Suite struct `No order of uses and sweeps` {
    /// A call of a store: the use of one of the tokens, at a time near its end.
    private struct Call: Sendable {
        let token: Int
        let use: TokenUse
        let time: Timestamp
    }

    /// Returns uses of tokens that end one after another. Each is received up to 30 s before or after its end, and passed to
    /// the store up to 10 s later. A use sweeps the records that ended before its receipt, so late calls follow the sweeps of others.
    private static func calls(_ tokens: Int, each count: Int, seed: UInt64) throws -> [Call] {
        var random = SplitMix64(seed: seed)
        let start = Timestamp.now()
        let calls = try (0..<tokens).flatMap { number in
            let claims = GateSample.claims(session: "session \(number)", ttl: Int64(60_000 + 700 * number))
            let token = try GateSample.content(claims, at: start)
            return (0..<count).map { _ in
                let use = TokenUse(token, maximumUses: number % 3 + 1)
                let seconds = Int64.random(in: -30...30, using: &random)
                return Call(token: number, use: use, time: use.forgettable.adding(seconds: seconds))
            }
        }
        let late = calls.map { ($0, $0.time.adding(seconds: Int64.random(in: 0...10, using: &random))) }
        return late.sorted { $0.1 < $1.1 }.map(\.0)
    }

    private static func expectNoneTooOften(_ recorded: [Int: Int], of tokens: Int) {
        for (number, count) in recorded { #expect(count <= number % 3 + 1, "token \(number)") }
        #expect(recorded.count > tokens / 2, "hardly a token was recorded at all")
    }

    @Test(arguments: StoreKind.present, [UInt64](0..<4))
    func `allows a token more often than it may be used`(kind: StoreKind, seed: UInt64) async throws {
        try await kind.with { (first, second) async throws in
            var recorded: [Int: Int] = [:]
            for (number, call) in try Self.calls(30, each: 8, seed: seed).enumerated() {
                let store = number.isMultiple(of: 2) ? first : second
                if try await store.record(call.use, at: call.time) == .recorded {
                    recorded[call.token, default: 0] += 1
                }
            }
            Self.expectNoneTooOften(recorded, of: 30)
        }
    }

    @Test(arguments: StoreKind.present)
    func `allows one more often where many come at once`(kind: StoreKind) async throws {
        try await kind.with { (first, second) async throws in
            let calls = try Self.calls(60, each: 12, seed: 9)
            // Few concurrent calls: calls that arrive together are written together and swept once.
            let recorded = await withTaskGroup(of: [Int: Int].self) { group in
                for worker in 0..<8 {
                    group.addTask {
                        let store = worker.isMultiple(of: 2) ? first : second
                        var recorded: [Int: Int] = [:]
                        for number in stride(from: worker, to: calls.count, by: 8) {
                            let call = calls[number]
                            guard (try? await store.record(call.use, at: call.time)) == .recorded else { continue }
                            recorded[call.token, default: 0] += 1
                        }
                        return recorded
                    }
                }
                return await group.reduce(into: [:]) { $0.merge($1) { $0 + $1 } }
            }
            Self.expectNoneTooOften(recorded, of: 60)
        }
    }

    /// Redis uses its own clock in milliseconds: uses end while this test requests them repeatedly.
    @Test(.needsRedis)
    func `allows one again in the moment at which Redis records it no more`() async throws {
        try await StoreKind.redis.with { (first, second) async throws in
            let now = Timestamp.now()
            let issued = Timestamp(secondsSince1970: now.millisecondsSince1970 / 1000 - 600)
            let ends = (0..<20).map { now.advanced(byMilliseconds: 1000 + 50 * Int64($0)) }
            // Two minutes of late leeway, and two minutes of clock margin.
            let uses = try ends.enumerated().map { number, end in
                let ttl = end.millisecondsSince1970 - issued.millisecondsSince1970 - 240_000
                let claims = GateSample.claims(session: "session \(number)", ttl: ttl)
                return TokenUse(try GateSample.content(claims, at: issued))
            }
            var recorded: [Int: Int] = [:]
            var refused = 0
            let last = try #require(ends.last).advanced(byMilliseconds: 100)
            // Once more after the last end: a busy machine may have slept until then.
            var isOver = false
            while !isOver {
                isOver = Timestamp.now() >= last
                for (number, use) in uses.enumerated() {
                    let store = number.isMultiple(of: 2) ? first : second
                    switch try? await store.record(use, at: use.forgettable) {
                    case .recorded: recorded[number, default: 0] += 1
                    case nil: refused += 1
                    default: break
                    }
                }
            }
            #expect(recorded.values.allSatisfy { $0 == 1 } && !recorded.isEmpty, "\(recorded)")
            #expect(refused > 0)
        }
    }
}
