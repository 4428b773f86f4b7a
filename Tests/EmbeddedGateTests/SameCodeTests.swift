// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import CommonAccessTokens
import EdgeTokens
import GateTestSupport
import Keys
import MediaTokens
import Platform
import RequestTargets
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

@Suite("The same code by C and by Swift")
struct SameCodeTests {
    typealias Request = EngineUnderTest.Request

    private static let paths = [
        "/live/tnt/1.ts", "/live/tnt/720p/1.ts?a=b", "/live/tnt/master.m3u8", "/live/tbs/1.ts", "/live/tnt/%2e%2e/x.ts",
        "/live/tnt/..%2f1.ts", "/live//tnt/1.ts", "/live/tnt/%E9", "/live/tnt/\u{E9}.ts", "/plain/a.mp4",
        "/segments/1.ts",
        "/segments", "/trailers/t.mp4", "/shadow/1.ts", "/unknown", "/live/tnt/a;b", "/live/tnt/\\a", "/", "", "live",
        "/live/tnt/1.ts#x", "/live/tnt/1 2.ts", "/live/tnt/%00", "/live/tnt/%2525", "/%6Cive/tnt/1.ts",
        "/live/tnt/" + String(repeating: "a", count: 9000), "/live/tnt/1.ts?" + String(repeating: "a", count: 25_000),
    ]

    /// Grants: good ones, ones for other requests, and ones that are none.
    private static func grants(_ sample: EmbeddedSample) throws -> [[String]] {
        let good = try sample.grant()
        var all: [[String]] = [[], [good], [good, "x"], ["x", good], ["x"], [""], ["\u{0}"], [good + "="]]
        let changes: [(inout CATClaims) -> Void] = [
            { $0.expires = EmbeddedSample.time }, { $0.expires = nil },
            { $0.notBefore = EmbeddedSample.time.adding(seconds: 1) }, { $0.audience = ["elsewhere"] },
            { $0.methods = ["POST"] }, { $0.uri = [.init(.host, match: .exact("other.example"))] },
            { $0.uri = [.init(.path, match: .exact("/live/tnt/1.ts"))] },
            { $0.uri = [.init(.path, match: .suffix(".ts"))] },
            { $0.uri = [.init(.path, match: .pattern("/live/.*/1[.]ts"))] },
            { $0.uri = [.init(.scheme, match: .exact("http"))] },
            { claims in
                if let address = IPAddress("192.0.2.0") { claims.networks = [.prefix(address, length: 24)] }
            }, { $0.networks = [.system(64_500)] },
            { $0.countries = ["US"] }, { $0.alpn = ["h2"] },
            { $0.headers = [.init("User-Agent", match: .exact("tv"))] },
            { claims in
                claims.replay = 1
                claims.identifier = [UInt8](1...16)
            }, { $0.version = 2 }, { $0.session = nil },
            { $0.session = PlaybackSession(id: SessionID(number: 9), end: EmbeddedSample.time, revocation: nil) },
        ]
        // Claims that the issuer does not write are left out, and must be few.
        let made = changes.compactMap { try? sample.grant($0) }
        try #require(made.count >= changes.count - 3)
        all += made.map { [$0] }
        let bytes = Array(good.utf8)
        for index in stride(from: 0, to: bytes.count, by: 7) {
            var other = bytes
            other[index] = other[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            all.append([String(decoding: other, as: UTF8.self)])
            all.append([String(decoding: bytes[..<index], as: UTF8.self)])
        }
        all.append([String(repeating: "A", count: 70_000)])
        return all
    }

    private static func tokens() throws -> [[String]] {
        let good = try GateSample.token()
        let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: EmbeddedSample.time).serialized
        let early = EmbeddedSample.time.adding(seconds: -3600)
        var all: [[String]] = [
            [], [good], [good, good], [good, foreign], [foreign], ["x"], ["%"], [""], ["<x"],
            [try GateSample.token(GateSample.claims(resource: "TBS"))], [try GateSample.token(at: early)],
            [try GateSample.token(GateSample.claims(requestor: "OTHER"))],
            [try GateSample.token(GateSample.claims(mvpd: "Denied"))],
            [try GateSample.token(GateSample.claims(ttl: 0))], [String(repeating: "A", count: 70_000)],
            [good.replacing("=", with: "%3D").replacing("+", with: "%2B")],
        ]
        for index in stride(from: 0, to: good.utf8.count, by: 101) { all.append([String(good.prefix(index))]) }
        return all
    }

    /// The code of the gate of the service, with what it can only decide with its store as `ask`.
    private static func code(of request: Request, by gate: Gate) -> String {
        guard let target = ParsedTarget(request.target[...]), let host = HostName(request.host[...]) else {
            return "edge_request_invalid"
        }
        var playback = PlaybackRequest(.path(target.path), token: nil)
        guard let method = PlaybackRequest.Method(rawValue: request.method) else { return "edge_request_invalid" }
        playback.method = method
        var fault: DenyCode?
        for token in request.tokens where !token.isEmpty {
            let presented = token[...].percentDecodedToken
            if let known = playback.token, known != presented { fault = .tokenConflict }
            playback.token = playback.token ?? presented
        }
        let finding = gate.catalogue.find(target.path, host: host.text)
        var presentedGrants: PresentedGrants?
        let grants = request.grants.filter { !$0.isEmpty }
        if case .entry(let entry) = finding, entry.grants != nil, let first = grants.first {
            guard let uri = RequestURI(request.target[...], scheme: .https, authority: host.text) else {
                return "edge_request_invalid"
            }
            var facts = RequestFacts(uri: uri, method: method.rawValue[...])
            facts.clientAddress = IPAddress(request.client[...])
            facts.headers = HeaderList(request.headers)
            presentedGrants = PresentedGrants(facts, first: first[...], others: grants.dropFirst().map { $0[...] })
        }
        switch gate.begin(playback, finding: finding, fault: fault, grants: presentedGrants, at: request.now) {
        case .pending: return "ask"
        case .decided(.allow(let allowance)):
            switch allowance.reason {
            case .verified, .repeated: return "ask"
            case .shadow(let code): return code == .tokenAlreadyUsed ? "ask" : code.rawValue
            default: return allowance.reason.name
            }
        case .decided(.refuse(let refusal)): return refusal.code == .tokenAlreadyUsed ? "ask" : refusal.code.rawValue
        }
    }

    private static func agrees(on request: Request, by engine: EngineUnderTest, with gate: Gate) -> Bool {
        let answer = engine.check(request)
        let wanted = code(of: request, by: gate)
        let isSame = answer.code == wanted || wanted == "ask" && answer.outcome == PLAYGATE_ASK
        #expect(isSame, "\(request.method) \(request.target.prefix(60)): C \(answer.code), Swift \(wanted)")
        return isSame
    }

    @Test("Every path with every grant")
    func grantsOfPaths() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        let headers = [(name: "User-Agent", value: "tv")]
        for grants in try Self.grants(sample) {
            for path in Self.paths {
                var request = Request(target: path, grants: grants, client: "192.0.2.9", headers: headers)
                guard Self.agrees(on: request, by: engine, with: sample.gate) else { return }
                request.method = "POST"
                request.client = ""
                guard Self.agrees(on: request, by: engine, with: sample.gate) else { return }
            }
        }
    }

    @Test("Every path with every media token, by two hosts")
    func tokensOfPaths() throws {
        let sample = try EmbeddedSample()
        let engine = try EngineUnderTest(sample.document().json())
        for tokens in try Self.tokens() {
            for path in Self.paths {
                for (method, host) in [
                    ("GET", "cdn.example"), ("HEAD", "vod.example"), ("OPTIONS", "cdn.example:8443"),
                ] {
                    let request = Request(target: path, method: method, host: host, tokens: tokens)
                    guard Self.agrees(on: request, by: engine, with: sample.gate) else { return }
                }
            }
        }
    }
}
