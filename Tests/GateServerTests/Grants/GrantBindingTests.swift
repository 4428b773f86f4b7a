// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// Grants of profiles with `bind`.
@Suite struct `A grant that is bound to its player` {
    private static let secret = String(repeating: "A", count: 44)

    private static let other = String(repeating: "B", count: 44)

    private static func configuration(_ bind: String) -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 100 } }
            \(grants(bind))
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            """,
            catalogue: entries
        )
    }

    private static func grants(_ bind: String) -> String {
        """
        keys: { k1: { secret: \(secret) }, k2: { secret: \(other) } }
        grants:
          subjectKey: \(secret)
          profiles:
            live: { issuer: playgate, key: k1, bind: \(bind), scheme: http, cookie: { sameSite: Lax } }
            free: { issuer: free, key: k2, scheme: http, cookie: { sameSite: Lax } }
        """
    }

    private static let entries = """
            - { path: /film/master.m3u8, resource: TNT, grant: [live] }
            - { path: /film/, resource: TNT, admits: grant, grant: live }
            - { path: /both/, resource: TNT, grant: [free, live] }
            - { path: /loose/, resource: TNT, grant: free }
        """

    private static let both = "{ address: prefix, headers: [User-Agent] }"

    private static func play(
        at gate: RunningGate,
        token: String,
        members: String = "",
        path: String = "/film/master.m3u8"
    ) throws -> HTTPConnection.Response {
        try gate.post("/v1/playback", body: "{\"path\":\"\(path)\",\"token\":\"\(token)\"\(members)}")
    }

    private static let facts = #","client":"203.0.113.9","headers":{"user-agent":"Player/1","X-Other":"x"}"#

    /// The claims of a grant as `/v1/grants/verify` lists them.
    private static func claims(by gate: RunningGate, of grant: String) throws -> [String: String] {
        let body = "{\"grant\":\"\(grant)\",\"url\":\"https://cdn.example/film/a.ts\"}"
        let list = try gate.post("/v1/grants/verify", body: body).json["claims"] as? [[String: Any]] ?? []
        let pairs = list.map { ($0["claim"] as? String ?? "", $0["value"] as? String ?? "") }
        return Dictionary(pairs) { first, _ in first }
    }

    @Test func `needs the facts at its start, which consumes nothing without them`() async throws {
        try await RunningGate.with(Self.configuration(Self.both)) { (gate) throws in
            let token = try gate.token()
            for members in [
                "", #","client":"203.0.113.9""#, #","headers":{"User-Agent":"Player/1"}"#,
                #","client":"203.0.113.9","headers":{"User-Agent":" "}"#,
            ] {
                let refused = try Self.play(at: gate, token: token, members: members)
                #expect(refused.status == 403 && refused.code == "grant_context_missing", "\(members): \(refused)")
                #expect(refused.json["action"] as? String == "configuration")
            }
            // One of two profiles binds.
            #expect(try Self.play(at: gate, token: token, path: "/both/a").code == "grant_context_missing")
            for client in ["203.0.113.9:80", "player", ""] {
                #expect(
                    try Self.play(at: gate, token: token, members: ",\"client\":\"\(client)\"").code
                        == "invalid_request"
                )
            }
            #expect(try Self.play(at: gate, token: token, members: Self.facts).json["code"] as? String == "verified")
        }
    }

    @Test func `carries the network and the values, a long one by its digest`() async throws {
        try await RunningGate.with(Self.configuration(Self.both)) { (gate) throws in
            for (client, agent, catnip, cath) in [
                ("203.0.113.9", "Player/1", "52([24, h'cb0071'])", #"{"user-agent": {0: "Player/1"}}"#),
                ("::ffff:203.0.113.9", " Player/1\\t", "52([24, h'cb0071'])", #"{"user-agent": {0: "Player/1"}}"#),
                (
                    "2001:db8:1:2ff::9", String(repeating: "a", count: 257), "54([56, h'20010db8000102'])",
                    "{\"user-agent\": {-1: h'"
                ),
            ] {
                let members = ",\"client\":\"\(client)\",\"headers\":{\"User-Agent\":\"\(agent)\"}"
                let token = try gate.token(GateSample.claims(session: client))
                let answer = try Self.play(at: gate, token: token, members: members)
                let grant = answer.json["grant"] as? [String: Any]
                let claims = try Self.claims(by: gate, of: grant?["token"] as? String ?? "")
                #expect(claims["catnip"] == "[\(catnip)]", "\(claims) \(answer)")
                #expect(claims["cath"]?.hasPrefix(cath) == true, "\(claims)")
            }
        }
    }

    @Test func `opens only for its player, and no edge may cache an answer`() async throws {
        try await RunningGate.with(Self.configuration(Self.both)) { (gate) throws in
            let agent = ["User-Agent": "Player/1", "X-Forwarded-For": "203.0.113.9"]
            let token = try gate.token().percentEncoded
            for missing in agent.keys {
                let refused = try gate.check(
                    "/film/master.m3u8?token=\(token)",
                    headers: agent.filter { $0.key != missing }
                )
                #expect(refused.status == 403 && refused.gateCode == "grant_context_missing", "\(missing): \(refused)")
            }
            let invalid = agent.merging(["X-Forwarded-For": "203.0.113.9, 203.0.113.10"]) { $1 }
            #expect(
                try gate.check("/film/master.m3u8?token=\(token)", headers: invalid).gateCode == "grant_context_missing"
            )
            let start = try gate.check("/film/master.m3u8?token=\(token)", headers: agent)
            #expect(start.gateCode == "verified", "\(start)")
            let cookie = String(try #require(start.values("Set-Cookie").first).prefix { $0 != ";" })
            #expect(try eventually { try gate.check("/film/a.ts", cookie: cookie, headers: agent).status == 200 })
            for (name, value, code) in [
                ("User-Agent", "Player/1", "granted"), ("X-Forwarded-For", "203.0.113.200", "granted"),
                ("User-Agent", "Player/2", "grant_header_mismatch"), ("User-Agent", "", "grant_header_mismatch"),
                ("X-Forwarded-For", "203.0.114.9", "grant_address_mismatch"),
                ("X-Forwarded-For", "2001:db8::1", "grant_address_mismatch"),
                ("X-Forwarded-For", "", "grant_context_missing"),
            ] {
                let answer = try gate.check("/film/a.ts", cookie: cookie, headers: agent.merging([name: value]) { $1 })
                #expect(answer.gateCode == code, "\(name): \(value): \(answer)")
                #expect(answer.headers["cache-control"]?.contains("max-age") != true, "\(answer)")
            }
            // One that is bound to nobody may be kept.
            let loose = try gate.token(GateSample.claims(session: "loose")).percentEncoded
            let free = try gate.check("/loose/a?token=\(loose)")
            let other = String(try #require(free.values("Set-Cookie").first).prefix { $0 != ";" })
            let kept = try gate.check("/loose/b", cookie: other)
            #expect(kept.gateCode == "granted" && kept.headers["cache-control"]?.contains("max-age") == true, "\(kept)")
            // A renewal keeps the restrictions.
            gate.now = gate.now.adding(seconds: 200)
            let renewed = try gate.check("/film/a.ts", cookie: cookie, headers: agent)
            #expect(renewed.gateCode == "renewed", "\(renewed)")
            let fresh = String(try #require(renewed.values("Set-Cookie").first).prefix { $0 != ";" })
            #expect(try gate.check("/film/a.ts", cookie: fresh, headers: agent).gateCode == "granted")
            #expect(
                try gate.check("/film/a.ts", cookie: fresh, headers: agent.merging(["User-Agent": "x"]) { $1 })
                    .gateCode == "grant_header_mismatch"
            )
        }
    }

    @Test func `is made by an exchange only with the facts`() async throws {
        try await RunningGate.with(Self.configuration(Self.both)) { (gate) throws in
            let answer = try Self.play(at: gate, token: try gate.token(), members: Self.facts, path: "/both/a")
            let grants = answer.json["grants"] as? [[String: Any]] ?? []
            let free = try #require(grants.first { $0["profile"] as? String == "free" }?["token"] as? String)
            let ask = { (more: String) in
                try gate.post(
                    "/v1/grants",
                    body: "{\"grant\":\"\(free)\",\"profile\":\"live\",\"path\":\"/both/a\"\(more)}"
                )
            }
            #expect(try eventually { try ask(Self.facts).status == 200 })
            #expect(try ask("").code == "grant_context_missing")
            let bound = try ask(Self.facts).json["grant"] as? [String: Any]
            #expect(
                try Self.claims(by: gate, of: bound?["token"] as? String ?? "")["catnip"] == "[52([24, h'cb0071'])]"
            )
        }
    }

    /// nginx states the address in X-Original-Client, and passes the header fields on.
    @Test(.needs(.nginx)) func `opens only for its player behind nginx`() async throws {
        try await EdgeProxy.nginx.withGate(catalogue: Self.entries, more: Self.grants(Self.both), isOnPort: true) {
            (gate, nginx) throws in
            nginx.origin.serve(["/film/master.m3u8": Array("master".utf8), "/film/a.ts": Array("segment".utf8)])
            let get = { (target: String, address: String, fields: [String: String]) in
                try HTTPConnection(nginx.address, from: address).request("GET", path: target, headers: fields)
            }
            let agent = ["User-Agent": "Player/1"]
            let token = try gate.token().percentEncoded
            let start = "/film/master.m3u8?token=\(token)"
            let unknown = try get(start, "127.0.0.1", [:])
            #expect(unknown.status == 403 && unknown.gateCode == "grant_context_missing", "\(unknown)")
            let first = try get(start, "127.0.0.1", agent)
            #expect(first.status == 200 && first.gateCode == "verified", "\(first)")
            let cookie = String(try #require(first.values("Set-Cookie").first).prefix { $0 != ";" })
            let presented = agent.merging(["Cookie": cookie]) { $1 }
            #expect(try eventually { try get("/film/a.ts", "127.0.0.1", presented).status == 200 })
            for (address, fields, code) in [
                ("127.0.0.77", presented, "granted"), ("127.0.9.1", presented, "grant_address_mismatch"),
                ("127.0.0.1", presented.merging(["User-Agent": "Player/2"]) { $1 }, "grant_header_mismatch"),
                // What a client writes into the edge's own field does not count.
                ("127.0.9.1", presented.merging(["X-Original-Client": "127.0.0.1"]) { $1 }, "grant_address_mismatch"),
            ] {
                let answer = try get("/film/a.ts", address, fields)
                #expect(answer.gateCode == code && answer.status == (code == "granted" ? 200 : 403), "\(answer)")
            }
        }
    }
}
