// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Keys
import Platform
import Testing

@testable import KeySources

/// Random lives of a key set, compared with a model that only knows the rules.
@Suite struct `A model of key sets` {
    /// The set that a server would confirm, and what is known of the fetches.
    private struct Model {
        var ids: [String] = []
        var confirmed: Timestamp?
        var begun: Timestamp?
        var lastSuccess = true
        var lastRequest: Timestamp?
        var isRequested = false
        var failures = 0

        func ids(at now: Timestamp) -> [String] {
            guard let confirmed, now < confirmed.adding(seconds: 86_400) else { return [] }
            return ids
        }

        /// The shortest time in milliseconds between the last fetch and one that is not requested.
        var gap: Int64 {
            guard failures > 0 else { return 216_000 }
            return min(5000 << Int64(min(failures - 1, 10)), 300_000)
        }
    }

    @Test(arguments: 0..<40 as Range<UInt64>) func `agrees with it in every step`(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let state = SetSample.state()
        var model = Model()
        var now = SetSample.time
        for _ in 0..<2000 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0: now = now.adding(seconds: Int64.random(in: 0...90_000, using: &random))
            case 1...4: now = now.adding(seconds: Int64.random(in: 0...40, using: &random))
            default:
                let id = "\(Int.random(in: 0..<2000, using: &random))"
                if state.ask(for: SetSample.id(id), at: now) { model.isRequested = true }
            }
            guard case .fetch(let tag) = state.next(at: now) else {
                #expect(state.ids == model.ids(at: now))
                continue
            }
            check(&model, at: now)
            #expect(state.next(at: now) == .wait(milliseconds: 30_000))
            now = now.adding(seconds: Int64.random(in: 0...5, using: &random))
            let id = "\(Int.random(in: 0..<2000, using: &random))"
            finish(state, model: &model, id: id, tag: tag, at: now, choice: Int.random(in: 0..<4, using: &random))
            #expect(state.ids == model.ids(at: now))
        }
    }

    private func check(_ model: inout Model, at now: Timestamp) {
        defer {
            model.begun = now
            model.isRequested = false
        }
        guard let begun = model.begun, now.since(begun) < model.gap else { return }
        // A fetch ahead of its time is one for an unknown key, after a success, 30 s from another such.
        #expect(model.isRequested && model.failures == 0)
        if let lastRequest = model.lastRequest { #expect(now.since(lastRequest) >= 30_000) }
        model.lastRequest = now
    }

    private func finish(
        _ state: SetLife,
        model: inout Model,
        id: String,
        tag: String?,
        at now: Timestamp,
        choice: Int
    ) {
        switch choice {
        case 0:
            #expect(state.finish(SetSample.answer(id, tag: "\"\(id)\""), at: now, spread: 0) == .fetched)
            (model.ids, model.confirmed, model.failures) = ([id], now, 0)
        case 1 where tag != nil:
            // The set may have gone during the fetch only if it was asked for without its tag.
            #expect(tag == model.ids.first.map { "\"\($0)\"" })
            #expect(state.finish(.success(SetSample.response(status: 304)), at: now, spread: 0) == .unchanged)
            (model.confirmed, model.failures) = (now, 0)
        default:
            let answer = choice == 2 ? .success(SetSample.response(status: 503)) : SetSample.answer()
            guard case .failed = state.finish(answer, at: now, spread: 0) else {
                Issue.record("a bad answer was accepted")
                return
            }
            model.failures += 1
            _ = state.next(at: now)
        }
    }
}
