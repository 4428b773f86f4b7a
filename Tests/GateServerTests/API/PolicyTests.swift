// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Platform
import RequestTargets
import Testing

@testable import EdgeChecks
@testable import PlaybackGate

@Suite struct `The policy for edges that decide by themselves` {
    private static let secret = "a-secret-for-tests-of-more-than-32-bytes-of-Base"

    private static func configuration(
        api: String = "  anonymous: true\n  hosts: [gate, g]\n",
        goodFor: String = "30s"
    ) -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(String(repeating: "A", count: 44)) } }
            grants: { subjectKey: "\(secret)", profiles: { live: { issuer: playgate, key: k1, host: cdn.example } } }
            edge:
              listen: 127.0.0.1:0
              tokens: [{ query: token }]
              advanced: { dialects: [nginx] }
            advanced: { bundleMaxAge: \(goodFor) }
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: live }
                    - { path: /film/, resource: TNT, admits: grant, grant: live }
                    - { path: /segments/, resource: TNT, admits: ttl }
                """,
            api: api
        )
    }

    private static func policy(_ gate: RunningGate) throws -> (policy: EdgeBundle, tag: String) {
        #expect(try eventually { try gate.get("/v1/policy").status == 200 })
        let answer = try gate.get("/v1/policy")
        let bytes = [UInt8](answer.body.utf8)
        return (try EdgeBundle(bytes.span, at: gate.now), try #require(answer.headers["etag"]))
    }

    @Test func `decides as the service does about every token, grant and path`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let engine = try EmbeddedChecker(try Self.policy(gate).policy)
            let tokens = try ["", GateSample.token(), GateSample.token(GateSample.claims(resource: "TBS")), "x"]
            let start = try Self.check(by: gate, target: "/film/master.m3u8?token=\(try Self.freshToken("starter"))")
            let cookie = try #require(start.headers["x-playgate-grant"])
            let paths = [
                "/film/1.ts", "/film/a/1.ts", "/film/../film/1.ts", "/segments/1.ts", "/live/tnt/1.ts", "/none",
                "/film/%2f",
                "/film/a;b", "/film/%C3%A9.ts",
            ]
            for path in paths {
                for token in tokens {
                    for grant in ["", cookie, cookie + "A", "x"] {
                        let answer = try Self.check(
                            by: gate,
                            target: token.isEmpty ? path : "\(path)?token=\(token)",
                            grant: grant
                        )
                        let own = Self.ask(engine, path: path, token: token, grant: grant, at: gate.now)
                        let code = answer.headers["x-playgate-code"] ?? ""
                        let isUndecided = own == "ask" && ["verified", "token_already_used"].contains(code)
                        #expect(
                            own == code || isUndecided,
                            "\(path) \(token.prefix(8)) \(grant.prefix(8)): \(own), \(code)"
                        )
                    }
                }
            }
        }
    }

    private static func freshToken(_ session: String) throws -> String {
        try GateSample.token(GateSample.claims(session: session))
    }

    private static func check(
        by gate: RunningGate,
        target: String,
        grant: String = ""
    ) throws -> HTTPConnection.Response {
        var headers = [
            "X-Original-URI": target, "X-Original-Method": "GET", "X-Original-Host": "cdn.example",
            "X-Original-Scheme": "https",
        ]
        if !grant.isEmpty { headers["Cookie"] = "CTA-Common-Access-Token=\(grant)" }
        return try HTTPConnection(gate.edge).request("GET", path: "/v1/check/nginx", headers: headers)
    }

    /// The code of an engine; `ask` if only the service can tell.
    private static func ask(
        _ engine: EmbeddedChecker,
        path: String,
        token: String,
        grant: String,
        at now: Timestamp
    ) -> String {
        guard let target = ParsedTarget(path[...]) else { return "edge_request_invalid" }
        let request = EdgeCheckRequest(
            target,
            method: .get,
            authority: URIAuthority("cdn.example"),
            form: .resolved
        )
        let report = Report(token: token, grant: grant)
        let check = engine.check(request, at: now, mediaToken: { _ in report.mediaToken }, report: { report })
        switch check.outcome {
        case .ask: return "ask"
        case .decided(.allow(let allowance)): return allowance.reason.name
        case .decided(.refuse(let refusal)): return refusal.code.rawValue
        }
    }

    @Test func `is not sent again to a caller that has it, until something changes`() async throws {
        try await RunningGate.with(Self.configuration(goodFor: "90s")) { (gate) throws in
            let (policy, tag) = try Self.policy(gate)
            #expect(policy.goodFor == .seconds(90))
            #expect(policy.issued == gate.now)
            #expect(try gate.get("/v1/policy", headers: ["If-None-Match": tag]).status == 304)
            #expect(try gate.get("/v1/policy", headers: ["If-None-Match": "\"other\""]).status == 200)
            let body = "{\"playback\":\"e688045c604d5ecc272cf7d83b00ec16\"}"
            #expect(try gate.post("/v1/revocations", body: body).status == 201)
            // The answer waits for the mirror, and has the changed part alone.
            let path = "/v1/policy?wait=20&parts=revocations"
            let answer = try gate.get(path, headers: ["If-None-Match": tag])
            #expect(answer.status == 200 && answer.headers["etag"] != tag)
            #expect(answer.body.contains("\"parts\": true"))
            let bytes = [UInt8](answer.body.utf8)
            let (next, hasOnlyRevocations) = try policy.updated(by: bytes.span, at: gate.now)
            #expect(hasOnlyRevocations && next.revocations.count == 1)
        }
    }

    @Test(arguments: ["?wait=56", "?wait=-1", "?wait=x", "?wait=1&wait=2", "?parts=", "?parts=trust", "?x=1", "?"])
    func `refuses parameters that it does not know`(_ query: String) async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            _ = try Self.policy(gate)
            #expect(try gate.get("/v1/policy" + query).status == 400)
        }
    }

    @Test func `is only for callers with the scope edge`() async throws {
        let api = """
              keys:
                - { name: player, sha256: \(SHA256.digest("pg_player").hexadecimal), scopes: [playback, revoke, grant] }
                - { name: edge, sha256: \(SHA256.digest("pg_edge").hexadecimal), scopes: [edge] }

            """
        try await RunningGate.with(Self.configuration(api: api)) { (gate) throws in
            let edge = ["Authorization": "Bearer pg_edge"]
            #expect(try eventually { try gate.get("/v1/policy", headers: edge).status == 200 })
            #expect(try gate.get("/v1/policy").status == 401)
            #expect(try gate.get("/v1/policy", headers: ["Authorization": "Bearer pg_player"]).status == 403)
            let log = try gate.folder.text("log")
            #expect(!log.contains("AAAAAAAA") && !log.contains(Self.secret))
        }
    }
}

/// The credentials of a request by HTTPS.
private struct Report: EdgeReport {
    let token: String
    let grant: String

    var hasHeaders: Bool { false }

    var mediaToken: PresentedToken {
        var presented = PresentedToken()
        presented.add(token[...], from: 0)
        return presented
    }

    func grants() -> PresentedGrantTokens {
        var presented = PresentedGrantTokens()
        presented.add(grant[...])
        return presented
    }

    func report(of fact: RequestFact) -> ReportedFact { fact == .scheme ? .text("https") : .none }
    func values(of name: String) -> [Substring] { [] }
}
