// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import MediaTokens
import PlaybackGate
import ReplayStores
import Testing

@Suite struct `The use of a token` {
    private static func gate(
        store: any ReplayStore,
        lateLeeway: Duration = .zero,
        rules: Gate.Rules = .init()
    ) throws -> Gate {
        var catalogue = Catalogue()
        let protection = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        for key in [
            .media("/live/tnt/a"), .path(try PathPattern("/live/tnt/")), .path(try PathPattern("/vod/*/index.m3u8")),
        ] as [Catalogue.Entry.Key] {
            try catalogue.add(Catalogue.Entry(key: key, protection: protection))
        }
        let verifier = try GateSample.verifier(lateLeeway: lateLeeway)
        return Gate(catalogue: catalogue, verifier: verifier, store: store, rules: rules)
    }

    private static func answer(_ decision: Decision) -> String {
        if case .allow(let allowance) = decision { allowance.reason.name } else { decision.code?.rawValue ?? "" }
    }

    // MARK: Reload

    /// A store survives a reload, a policy does not.
    @Test func `is kept for the largest late leeway, whichever was in force when it was recorded`() async throws {
        let store = MemoryReplayStore(capacity: 1000)
        let strict = try Self.gate(store: store)
        let request = PlaybackRequest(.path("/live/tnt/a"), token: try GateSample.token())
        #expect(await strict.decide(request, at: GateSample.time).isAllowed)
        // The token is over by the strict policy, and later playbacks sweep expired uses.
        let later = GateSample.time.adding(seconds: 539)
        for number in 0..<600 {
            let claims = GateSample.claims(session: "\(number)")
            let other = PlaybackRequest(.path("/live/tnt/a"), token: try GateSample.token(claims, at: later))
            #expect(await strict.decide(other, at: later).isAllowed)
        }
        #expect(await strict.decide(request, at: later).code == .token(.expired))
        let lenient = try Self.gate(store: store, lateLeeway: VerificationPolicy.leewayLimit)
        #expect(await lenient.decide(request, at: later).code == .tokenAlreadyUsed)
    }

    /// The time of a request may be before that of another request which is decided earlier.
    @Test func `is not taken for new when it was forgotten`() async throws {
        let store = MemoryReplayStore(capacity: 10)
        let gate = try Self.gate(store: store, lateLeeway: VerificationPolicy.leewayLimit)
        let request = PlaybackRequest(.path("/live/tnt/a"), token: try GateSample.token())
        let last = GateSample.time.adding(seconds: 540)
        #expect(await gate.decide(request, at: last).isAllowed)
        for number in 0..<10 {
            let later = last.adding(seconds: 2)
            let claims = GateSample.claims(session: "\(number)")
            let other = PlaybackRequest(.path("/live/tnt/a"), token: try GateSample.token(claims, at: later))
            #expect(await gate.decide(other, at: later).isAllowed)
        }
        #expect(store.count == 10)
        #expect(await gate.decide(request, at: last).code == .tokenAlreadyUsed)
    }

    @Test func `goes on after a leap of the clock, but for tokens that were as old as those forgotten`() async throws {
        let store = MemoryReplayStore(capacity: 100)
        let gate = try Self.gate(store: store)
        let ask = { (session: String, issued: Int64, at: Int64) in
            let token = try GateSample.token(
                GateSample.claims(session: session),
                at: GateSample.time.adding(seconds: issued)
            )
            let request = PlaybackRequest(.path("/live/tnt/a"), token: token)
            return await gate.decide(request, at: GateSample.time.adding(seconds: at)).code
        }
        #expect(try await ask("a", 0, 0) == nil)
        // An hour ahead, long enough that all uses are swept.
        for number in 0..<60 { #expect(try await ask("ahead \(number)", 3600, 3600) == nil) }
        #expect(try await ask("a", 0, 1) == .tokenAlreadyUsed)
        #expect(try await ask("b", 0, 1) == .tokenAlreadyUsed)
        // A token that is issued a second later outlives the forgotten ones.
        #expect(try await ask("c", 1, 1) == nil)
        #expect(try await ask("c", 1, 2) == .tokenAlreadyUsed)
    }

    // MARK: Playback ids

    struct Retry: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let first: PlaybackRequest.Target
        let second: PlaybackRequest.Target
        let answer: String

        init(
            _ name: String,
            first: PlaybackRequest.Target,
            second: PlaybackRequest.Target,
            answer: String = "token_already_used"
        ) {
            testDescription = name
            self.first = first
            self.second = second
            self.answer = answer
        }
    }

    static let retries = [
        Retry("the same path", first: .path("/live/tnt/a.m3u8"), second: .path("/live/tnt/a.m3u8"), answer: "repeated"),
        Retry(
            "percent-encoded",
            first: .path("/live/tnt/a.m3u8"),
            second: .path("/live/%74nt/a%2Em3u8"),
            answer: "repeated"
        ),
        Retry(
            "with dots",
            first: .path("/live/tnt/a.m3u8"),
            second: .path("/live/x/..//tnt/./a.m3u8"),
            answer: "repeated"
        ),
        Retry(
            "with another query",
            first: .path("/live/tnt/a.m3u8?x=1"),
            second: .path("/live/tnt/a.m3u8?x=2"),
            answer: "repeated"
        ),
        Retry(
            "with letters",
            first: .path("/live/tnt/\u{E9}.m3u8"),
            second: .path("/live/tnt/%C3%A9.m3u8"),
            answer: "repeated"
        ),
        Retry("with letters put together", first: .path("/live/tnt/\u{E9}"), second: .path("/live/tnt/e\u{301}")),
        Retry("another file of the folder", first: .path("/live/tnt/a.m3u8"), second: .path("/live/tnt/b.m3u8")),
        Retry("a file below", first: .path("/live/tnt/a"), second: .path("/live/tnt/a/b")),
        Retry("the folder", first: .path("/live/tnt/a"), second: .path("/live/tnt/")),
        Retry("the folder without its slash", first: .path("/live/tnt/"), second: .path("/live/tnt")),
        Retry(
            "the same file of a glob",
            first: .path("/vod/1/index.m3u8"),
            second: .path("/vod/%31/index.m3u8"),
            answer: "repeated"
        ),
        Retry("another file of a glob", first: .path("/vod/1/index.m3u8"), second: .path("/vod/2/index.m3u8")),
        Retry("the same media", first: .media("/live/tnt/a"), second: .media("/live/tnt/a"), answer: "repeated"),
        Retry("a path with the name of a media id", first: .media("/live/tnt/a"), second: .path("/live/tnt/a")),
        Retry("a media id with the name of a path", first: .path("/live/tnt/a"), second: .media("/live/tnt/a")),
    ]

    @Test(arguments: retries)
    func `of a playback is a retry where it names the same media or path`(retry: Retry) async throws {
        let gate = try Self.gate(store: MemoryReplayStore(capacity: 10))
        let token = try GateSample.token()
        let ask = { (target: PlaybackRequest.Target) in
            let request = PlaybackRequest(target, token: token, playbackID: "p1")
            return Self.answer(await gate.decide(request, at: GateSample.time))
        }
        #expect(await ask(retry.first) == "verified")
        #expect(await ask(retry.second) == retry.answer)
        // Another use of the token has its own id.
        let twice = try Self.gate(store: MemoryReplayStore(capacity: 10), rules: Gate.Rules(maximumUses: 2))
        for target in [retry.first, retry.second, retry.first, retry.second] {
            let request = PlaybackRequest(target, token: token, playbackID: "p1")
            #expect(await twice.decide(request, at: GateSample.time).isAllowed)
        }
    }
}
