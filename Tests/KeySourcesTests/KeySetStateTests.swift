// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Keys
import Platform
import Testing

@testable import KeySources

@Suite struct `The state of a fetched key set` {
    private let now = SetSample.time

    @Test(
        arguments: [
            (nil, nil, 480_000), ("max-age=3600", nil, 2_880_000), ("public, max-age=\"3600\"", nil, 2_880_000),
            ("max-age=3600, max-age=1800", nil, 1_440_000), ("max-age=1", nil, 240_000), ("max-age=-1", nil, 240_000),
            ("max-age=99999999999999999999999", nil, 240_000), ("max-age=9999999999", nil, 69_120_000),
            ("no-store", nil, 240_000), ("max-age=3600, no-cache", nil, 240_000), ("s-maxage=3600", nil, 480_000),
            ("max-age=3600", "600", 2_400_000), ("max-age=3600", "9999", 240_000), ("MAX-AGE=3600", nil, 2_880_000),
        ] as [(String?, String?, Int64)]
    )
    func `is fetched again at four fifths of its freshness`(caching: String?, age: String?, wait: Int64) throws {
        var headers = [("Content-Type", "application/json")]
        if let caching { headers.append(("Cache-Control", caching)) }
        if let age { headers.append(("age", age)) }
        for (spread, share) in [(0.0, 1.0), (1, 1.1), (-1, 0.9), (7, 1.1)] {
            let state = SetSample.state()
            let answer = SetSample.response(status: 200, headers: headers, body: SetSample.set(["a"]))
            #expect(state.fetch(.success(answer), at: now, spread: spread) == .fetched)
            #expect(abs(state.wait(from: now) - Int64(Double(wait) * share)) <= 1)
        }
    }

    @Test(
        arguments: [
            ("Sun, 06 Nov 1994 09:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 2_880_000),
            ("Sun, 06 Nov 1994 07:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 240_000), ("0", "", 240_000),
            ("Mon, 31 Feb 1994 09:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", 240_000),
        ] as [(String, String, Int64)]
    )
    func `is as fresh as Expires says`(expires: String, date: String, wait: Int64) {
        let state = SetSample.state()
        let headers = [("Content-Type", "application/json"), ("Expires", expires), ("Date", date)]
        _ = state.fetch(
            .success(SetSample.response(status: 200, headers: headers, body: SetSample.set(["a"]))),
            at: now
        )
        #expect(state.wait(from: now) == wait)
    }

    @Test func `stays on a confirmation without a body`() {
        let state = SetSample.state()
        #expect(state.next(at: now) == .fetch(entityTag: nil))
        #expect(state.finish(SetSample.answer("a", tag: "\"v1\""), at: now, spread: 0) == .fetched)
        let generation = state.generation
        let later = now.adding(seconds: 480)
        #expect(state.next(at: later) == .fetch(entityTag: "\"v1\""))
        #expect(state.finish(.success(SetSample.response(status: 304)), at: later, spread: 0) == .unchanged)
        #expect(state.ids == ["a"] && state.confirmed == later && state.generation == generation)
        // The same bytes again are no change either.
        #expect(state.fetch(SetSample.answer("a"), at: later.adding(seconds: 480)) == .fetched)
        #expect(state.generation == generation)
        #expect(state.fetch(SetSample.answer("b"), at: later.adding(seconds: 960)) == .fetched)
        #expect(state.ids == ["b"] && state.generation == generation + 1)
    }

    static let refused: [(String, Result<KeySetResponse, KeySetFault>, KeySetFault)] = [
        ("a stall", .failure(.timeout), .timeout), ("a private address", .failure(.addressRefused), .addressRefused),
        (
            "a redirect", .success(SetSample.response(status: 302, headers: [("Location", "https://a.example/")])),
            .redirected
        ),
        ("an error", .success(SetSample.response(status: 500)), .statusRefused),
        ("a confirmation of nothing", .success(SetSample.response(status: 304)), .statusRefused),
        ("HTML", html("text/html"), .contentTypeRefused), ("HTML as JSON", html("application/json"), .malformed),
        (
            "no type", .success(SetSample.response(status: 200, headers: [], body: SetSample.set(["x"]))),
            .contentTypeRefused
        ),
        ("CBOR", html("application/cose-key-set"), .malformed),
        (
            "compression",
            .success(
                SetSample.response(
                    status: 200,
                    headers: [("Content-Type", "application/json"), ("Content-Encoding", "gzip")],
                    body: SetSample.set(["x"])
                )
            ), .contentTypeRefused
        ),
        ("a large body", json(String(repeating: " ", count: 65_537)), .tooLarge),
        ("no keys", json("{\"keys\":[]}"), .noUsableKey), ("nothing", json(""), .malformed),
        ("a key for encryption", json("{\"keys\":[{\(SetSample.point),\"use\":\"enc\"}]}"), .noUsableKey),
        ("a private key", json("{\"keys\":[{\(SetSample.point),\"d\":\"AA\"}]}"), .privateKey),
        (
            "a secret",
            json("{\"keys\":[{\(SetSample.point)},{\"kty\":\"oct\",\"k\":\"AAAA\"}]}"), .privateKey
        ),
        ("10,000 keys", json("{\"keys\":[\(String(repeating: "{},", count: 9_999)){}]}"), .malformed),
        ("33 keys", json(String(decoding: SetSample.set((0..<33).map { "\($0)" }), as: UTF8.self)), .tooManyKeys),
        ("deep JSON", json("{\"keys\":\(String(repeating: "[", count: 100))"), .malformed),
        ("a member twice", json("{\"keys\":[],\"keys\":[{\(SetSample.point)}]}"), .malformed),
        (
            "an identifier twice",
            json(
                """
                {"keys":[{"kty":"OKP","crv":"Ed25519","kid":"x","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"},\
                {"kty":"OKP","crv":"Ed25519","kid":"x","x":"PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw"}]}
                """
            ), .duplicateKey
        ),
    ]

    private static func html(_ type: String) -> Result<KeySetResponse, KeySetFault> {
        .success(
            SetSample.response(status: 200, headers: [("Content-Type", type)], body: [UInt8]("<!doctype html>".utf8))
        )
    }

    private static func json(_ text: String) -> Result<KeySetResponse, KeySetFault> {
        .success(
            SetSample.response(status: 200, headers: [("Content-Type", "application/json")], body: [UInt8](text.utf8))
        )
    }

    @Test(arguments: refused)
    func `retains the old keys on`(
        what: String,
        answer: Result<KeySetResponse, KeySetFault>,
        fault: KeySetFault
    ) {
        let state = SetSample.state()
        #expect(state.fetch(answer, at: now) == .failed(fault), "\(what)")
        #expect(state.keys.isEmpty && state.confirmed == nil && state.wait(from: now) == 5000)
        let good = SetSample.state()
        _ = good.fetch(SetSample.answer("a"), at: now)
        let generation = good.generation
        let later = now.adding(seconds: 480)
        #expect(good.fetch(answer, at: later) == .failed(fault))
        #expect(good.ids == ["a"] && good.confirmed == now && good.generation == generation)
    }

    @Test func `is requested again after five seconds, and at most five minutes`() {
        let state = SetSample.state()
        var time = now
        for delay in [5, 10, 20, 40, 80, 160, 300, 300, 300] as [Int64] {
            #expect(state.fetch(.failure(.unreachable), at: time) == .failed(.unreachable))
            #expect(state.wait(from: time) == delay * 1000)
            time = time.adding(seconds: delay)
        }
        #expect(state.fetch(SetSample.answer("a"), at: time) == .fetched && state.failures == 0)
    }

    @Test func `is gone a day after its last confirmation`() {
        let state = SetSample.state()
        _ = state.fetch(SetSample.answer("a", tag: "\"v1\""), at: now)
        _ = state.fetch(.failure(.unreachable), at: now.adding(seconds: 480))
        let end = now.adding(seconds: 86_400)
        _ = state.fetch(.failure(.unreachable), at: end.adding(seconds: -1))
        #expect(state.ids == ["a"])
        guard case .wait(let milliseconds) = state.next(at: end.adding(seconds: -1)) else {
            Issue.record("a fetch right after another")
            return
        }
        #expect(milliseconds == 1000)
        let generation = state.generation
        _ = state.next(at: end)
        #expect(state.keys.isEmpty && state.confirmed == nil && state.generation == generation + 1)
        // What is gone cannot be confirmed.
        #expect(state.next(at: end.adding(seconds: 9)) == .fetch(entityTag: nil))
        #expect(
            state.finish(.success(SetSample.response(status: 304)), at: end.adding(seconds: 9), spread: 0)
                == .failed(.statusRefused)
        )
    }

    @Test func `is fetched for an unknown key once in 30 seconds`() {
        let state = SetSample.state()
        #expect(state.ask(for: SetSample.id("b"), at: now))
        _ = state.fetch(SetSample.answer("a"), at: now)
        // The set has just been fetched for it.
        #expect(!state.ask(for: SetSample.id("b"), at: now))
        #expect(state.ask(for: SetSample.id("c"), at: now))
        #expect(state.next(at: now) == .fetch(entityTag: nil))
        // While it is fetched, there is no second fetch.
        #expect(state.ask(for: SetSample.id("d"), at: now))
        #expect(state.next(at: now) == .wait(milliseconds: 30_000))
        #expect(state.finish(SetSample.answer("a", "d"), at: now, spread: 0) == .fetched)
        #expect(!state.ask(for: SetSample.id("e"), at: now.adding(seconds: 29)))
        #expect(state.ask(for: SetSample.id("e"), at: now.adding(seconds: 30)))
        #expect(state.fetch(.failure(.unreachable), at: now.adding(seconds: 30)) == .failed(.unreachable))
        // After a failure, the retry is not hastened.
        #expect(!state.ask(for: SetSample.id("f"), at: now.adding(seconds: 34)))
        #expect(state.ask(for: SetSample.id("f"), at: now.adding(seconds: 35)))
        // A key that is there is not asked for.
        #expect(!state.ask(for: SetSample.id("a"), at: now.adding(seconds: 35)))
    }

    @Test func `is fetched twice a minute at most in a flood of unknown keys`() {
        let state = SetSample.state()
        _ = state.fetch(SetSample.answer("a", caching: "max-age=86400"), at: now)
        var fetches = 0
        for second in 0..<60 as Range<Int64> {
            for number in 0..<10_000 {
                let time = now.adding(seconds: second)
                _ = state.ask(for: SetSample.id("\(second)-\(number)"), at: time)
                if number % 100 == 0, state.fetch(SetSample.answer("a"), at: time) != nil { fetches += 1 }
            }
        }
        #expect(fetches == 2)
    }

    @Test func `retains its ages if the clock is set back`() {
        let state = SetSample.state()
        _ = state.fetch(SetSample.answer("a"), at: now)
        let before = now.adding(seconds: -7200)
        guard case .wait = state.next(at: before) else {
            Issue.record("a fetch because of the clock")
            return
        }
        #expect(state.wait(from: before) == 480_000 && state.confirmed == before)
        guard case .fetch = state.next(at: before.adding(seconds: 480)) else {
            Issue.record("no fetch after the wait")
            return
        }
    }
}
