// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import CommonAccessTokens
import GateTestSupport
import MediaTokens
import Platform
import RequestTargets
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

/// The model of the cache is the check itself: an answer that is found is the one that a check would give at that time.
@Suite struct `A cache and the check behind it` {
    private static func grants(_ sample: EmbeddedSample) throws -> [String: String] {
        let address = try #require(IPAddress("192.0.2.0"))
        return [
            "plain": try sample.grant(),
            "other": try sample.grant { $0.uri = [.init(.path, match: .prefix("/live/tbs/"))] },
            "file": try sample.grant { $0.uri = [.init(.path, match: .exact("/live/tnt/1.ts"))] },
            "suffix": try sample.grant { $0.uri = [.init(.path, match: .suffix(".ts"))] },
            "query": try sample.grant { $0.uri = [.init(.query, match: .exact("a=b"))] },
            "network": try sample.grant { $0.networks = [.prefix(address, length: 24)] },
            "agent": try sample.grant { $0.headers = [.init("User-Agent", match: .exact("tv"))] },
            "get": try sample.grant { $0.methods = ["GET"] },
            "short": try sample.grant { $0.expires = EmbeddedSample.time.adding(seconds: 40) },
            "late": try sample.grant { $0.notBefore = EmbeddedSample.time.adding(seconds: 20) }, "garbage": "x",
        ]
    }

    private static func tokens() throws -> [String: String] {
        [
            "good": try GateSample.token(), "minute": try GateSample.token(GateSample.claims(ttl: 60_000)),
            "tbs": try GateSample.token(GateSample.claims(resource: "TBS")), "garbage": "x",
        ]
    }

    @Test(arguments: 0..<4)
    func `say the same`(seed: UInt64) throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document(goodFor: .seconds(3600)).json())
        let cache = try #require(playgate_answer_cache_create(64, 0, nil))
        defer { playgate_answer_cache_free(cache) }
        var requests = PlayerRequests(seed: seed, folder: "/live/tnt/")
        let (grants, tokens) = (try Self.grants(sample), try Self.tokens())
        var found = 0
        for number in 0..<5000 {
            let next = requests.next()
            var request = EngineUnderTest.Request()
            (request.now, request.target, request.method) = (next.time, next.target, next.method)
            (request.host, request.client) = (next.host, next.client ?? "")
            request.headers = next.agent.map { [("user-agent", $0)] } ?? []
            request.grants = try next.grant.map { [try #require(grants[$0])] } ?? []
            request.tokens = try next.token.map { [try #require(tokens[$0])] } ?? []
            request.flags = UInt32(number % 3)
            let (repeated, isFound) = engine.check(request, cache: cache)
            let expected = engine.check(request)
            #expect(repeated.says(the: expected), "\(seed) \(number): \(next): \(repeated) and not \(expected)")
            if isFound { found += 1 }
            if !repeated.says(the: expected) { return }
        }
        #expect(found > 100, "\(found)")
    }
}

extension EngineUnderTest.Answer {
    /// True if both say the same of a request.
    fileprivate func says(the other: Self) -> Bool {
        (outcome, code, status, expires) == (other.outcome, other.code, other.status, other.expires)
            && (mvpd, requestor, resource, session) == (other.mvpd, other.requestor, other.resource, other.session)
    }
}
