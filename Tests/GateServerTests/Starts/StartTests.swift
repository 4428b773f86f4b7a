// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import NIOHTTP1
import Platform
import Testing

/// A running gate whose playbacks are started by the tokens of an identity provider.
@Suite struct `Starts by access tokens` {
    /// A gate without media tokens: one stream, started at its manifest or by a media id.
    static func configuration(_ start: String, profile: String = "", more: String = "") -> String {
        """
        requestor: REF30
        stateFolder: state
        replayStore: { advanced: { capacity: 1000 } }
        starts:
          - \(start)
        grants:
          subjectKey: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
          profiles: { live: { key: pg-1, \(profile) } }
        keys: { pg-1: { secret: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=, algorithm: HS256 } }
        streams:
          - { folder: /live/tnt/, resource: TNT, manifest: master.m3u8, media: tnt, grant: live }
          - { folder: /live/cnn/, resource: CNN, media: cnn, grant: live }
        api: { listen: "127.0.0.1:0", anonymous: true, hosts: [gate] }
        admin: { listen: "127.0.0.1:0" }
        edge: { listen: "127.0.0.1:0", tokens: [{ query: token }, { header: Authorization, scheme: Bearer }, { header: Authorization, scheme: DPoP }] }
        watch: false
        \(more)
        """
    }

    static let usual =
        "{ issuer: \"https://id.example/realms/tv\", source: keys.json, audience: playgate, allow: [{ claim: entitlements }] }"

    private static func with(
        _ start: String = usual,
        profile: String = "",
        more: String = "",
        body: @escaping @Sendable (RunningGate, TokenMaker) throws -> Void
    ) async throws {
        let maker = try TokenMaker()
        try await RunningGate.with(
            configuration(start, profile: profile, more: more),
            files: ["keys.json": try maker.keySet]
        ) { gate throws in try body(gate, maker) }
    }

    /// Asks an edge for a path. Returns the code of the decision, and the cookie of a grant.
    static func check(
        _ target: String,
        by gate: RunningGate,
        headers: [String: String] = [:]
    ) throws -> (code: String?, cookie: String?) {
        let own = [
            "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Proto": "https",
            "X-Forwarded-Host": "cdn.example",
        ]
        let answer = try HTTPConnection(gate.edge).request(
            "GET",
            path: "/v1/check/forward",
            headers: own.merging(headers) { $1 }
        )
        return (answer.headers["x-playgate-code"], answer.headers["set-cookie"].map { String($0.prefix { $0 != ";" }) })
    }

    @Test func `start one playback each, of what they entitle to, at the API`() async throws {
        try await Self.with { (gate, maker) throws in
            #expect(try gate.admin("GET", path: "/readyz").status == 200)
            let token = try maker.token("a", at: gate.now)
            let other = try gate.play("cnn", token: token)
            #expect(other.status == 403 && other.json["code"] as? String == "access_token_resource_refused")
            let first = try gate.play("tnt", token: token)
            #expect(first.status == 200 && first.json["code"] as? String == "verified", "\(first)")
            #expect(first.json["mvpd"] as? String == "https://id.example/realms/tv")
            #expect(first.json["grant"] != nil)
            #expect(try gate.play("tnt", token: token).json["code"] as? String == "token_already_used")
            // The same jti in another token is the same token.
            let again = try maker.token("a", claims: ",\"x\":1", at: gate.now)
            #expect(try gate.play("tnt", token: again).json["code"] as? String == "token_already_used")
            let retried = try maker.token("b", at: gate.now)
            for _ in 0..<2 { #expect(try gate.play("tnt", token: retried, playbackID: "p").status == 200) }
            #expect(try gate.play("tnt", token: retried, playbackID: "q").status == 403)
        }
    }

    @Test func `start a stream at an edge, and its grant opens the rest`() async throws {
        try await Self.with { (gate, maker) throws in
            for (number, style) in ["query", "Bearer"].enumerated() {
                let token = try maker.token("edge-\(number)", at: gate.now)
                let isQuery = style == "query"
                let target = "/live/tnt/master.m3u8" + (isQuery ? "?token=\(token)" : "")
                let started = try Self.check(
                    target,
                    by: gate,
                    headers: isQuery ? [:] : ["Authorization": "Bearer \(token)"]
                )
                #expect(started.code == "verified", "\(style)")
                let cookie = try #require(started.cookie)
                #expect(try Self.check("/live/tnt/1.ts", by: gate, headers: ["Cookie": cookie]).code == "granted")
                #expect(try Self.check("/live/cnn/1.ts", by: gate, headers: ["Cookie": cookie]).code != "granted")
                #expect(try Self.check("/live/tnt/1.ts?token=\(token)", by: gate).code == "grant_missing")
                #expect(
                    try Self.check(target, by: gate, headers: isQuery ? [:] : ["Authorization": "Bearer \(token)"]).code
                        == "token_already_used"
                )
            }
        }
    }

    @Test func `refuse with the code of the first failed check, and count it`() async throws {
        try await Self.with { (gate, maker) throws in
            let stranger = try TokenMaker()
            let table = [
                (try stranger.token("s", at: gate.now), "access_token_signature_invalid"),
                (try maker.token("t", at: gate.now.adding(seconds: -700)), "access_token_expired"),
                (try maker.token("t", at: gate.now.adding(seconds: 100)), "access_token_not_yet_valid"),
                (try TokenMaker(id: "key-2").token("t", at: gate.now), "access_token_key_unknown"),
                ("eyJhbGciOiJub25lIn0.e30.", "access_token_algorithm_refused"), ("a.b.c", "invalid_base64"),
                (try GateSample.token(at: gate.now), "no_usable_key"),
            ]
            for (token, code) in table {
                let answer = try gate.play("tnt", token: token)
                #expect(answer.status == 403 && answer.json["code"] as? String == code, "\(code): \(answer)")
                #expect(try Self.check("/live/tnt/master.m3u8?token=\(token)", by: gate).code == code)
            }
            let count = try gate.metric("playgate_decisions_total{code=\"access_token_expired\",result=\"refuse\"}")
            #expect(count ?? 2 >= 1)
        }
    }

    @Test func `start several playbacks until they expire if the operator wants it, and limits count each`()
        async throws
    {
        let start = Self.usual.replacing(" }] }", with: " }], reuse: { until: expiry }, streams: plan }")
        try await Self.with(start, profile: "maxConcurrentStreams: 3") { (gate, maker) throws in
            let token = try maker.token("r", claims: ",\"plan\":2", at: gate.now)
            #expect(try gate.play("tnt", token: token).json["code"] as? String == "verified")
            #expect(try gate.play("tnt", token: token).status == 200)
            let third = try gate.play("tnt", token: token)
            #expect(third.status == 409 && third.json["code"] as? String == "stream_limit_reached", "\(third)")
            // The profile's limit stays the most.
            let rich = try maker.token("x", viewer: "rich", claims: ",\"plan\":9", at: gate.now)
            let statuses = try (0..<4).map { _ in try gate.play("tnt", token: rich).status }
            #expect(statuses == [200, 200, 200, 409])
            #expect(
                try gate.play("tnt", token: maker.token("n", at: gate.now)).json["code"] as? String
                    == "access_token_claim_missing"
            )
            // A probe starts nothing.
            gate.now = gate.now.adding(seconds: 601 + 30)
            #expect(try gate.play("tnt", token: token).json["code"] as? String == "access_token_expired")
        }
    }

    @Test func `end a playback when what the viewer has bought ends`() async throws {
        let start = Self.usual.replacing(" }] }", with: " }], until: /plan/end }")
        try await Self.with(start, profile: "life: 5m, session: 4h") { (gate, maker) throws in
            let end = gate.now.adding(seconds: 120)
            let token = try maker.token(
                "u",
                claims: ",\"plan\":{\"end\":\(end.millisecondsSince1970 / 1000)}",
                at: gate.now
            )
            let started = try Self.check("/live/tnt/master.m3u8?token=\(token)", by: gate)
            let cookie = try #require(started.cookie)
            gate.now = end.adding(seconds: -1)
            #expect(
                ["granted", "renewed"].contains(
                    try Self.check("/live/tnt/9.ts", by: gate, headers: ["Cookie": cookie]).code
                )
            )
            gate.now = end.adding(seconds: 1)
            let code = try Self.check("/live/tnt/9.ts", by: gate, headers: ["Cookie": cookie]).code
            #expect(code == "session_ended")
        }
    }

    @Test func `are revoked by their viewer, and excluded by their provider`() async throws {
        let policies = "policies: [{ mvpds: { deny: [Other] } }]"
        try await Self.with(Self.usual.replacing("audience:", with: "name: Own, audience:"), more: policies) {
            (gate, maker) throws in
            let token = try maker.token("v", viewer: "viewer-7", at: gate.now)
            #expect(try gate.play("tnt", token: token).json["mvpd"] as? String == "Own")
            let revoked = try gate.post("/v1/revocations", body: #"{"sessionGUID":"viewer-7"}"#)
            #expect(revoked.status / 100 == 2, "\(revoked)")
            let next = try maker.token("w", viewer: "viewer-7", at: gate.now)
            #expect(try gate.play("tnt", token: next).json["code"] as? String == "session_revoked")
            #expect(try gate.play("tnt", token: maker.token("x", at: gate.now)).status == 200)
        }
        try await Self.with(Self.usual.replacing("audience:", with: "name: Other, audience:"), more: policies) {
            (gate, maker) throws in
            #expect(
                try gate.play("tnt", token: maker.token("y", at: gate.now)).json["code"] as? String
                    == "mvpd_not_allowed"
            )
        }
    }

    @Test func `media tokens start playbacks beside them`() async throws {
        let trust = "trust: { keys: [{ file: signer.pem }] }"
        try await Self.with(more: trust) { (gate, maker) throws in
            #expect(try gate.play("tnt", token: gate.token()).json["code"] as? String == "verified")
            #expect(try gate.play("tnt", token: maker.token("m", at: gate.now)).json["code"] as? String == "verified")
        }
    }
}

/// Keys that are found by the discovery document of their issuer.
@Suite struct `Keys of identity providers` {
    private static func configuration(_ server: IdentityServer) -> String {
        let source = "{ url: \"\(server.issuer)/.well-known/openid-configuration\", networks: [127.0.0.1] }"
        return `Starts by access tokens`.configuration(
            "{ issuer: \"\(server.issuer)\", source: \(source), audience: playgate, allow: [{ claim: entitlements }] }"
        )
    }

    private static func code(_ token: String, by gate: RunningGate) throws -> String? {
        try gate.play("tnt", token: token).json["code"] as? String
    }

    @Test func `are discovered, rotated, and kept while the provider is away`() async throws {
        let server = try await IdentityServer()
        let (old, new) = (try TokenMaker(server.issuer), try TokenMaker(server.issuer, id: "key-2"))
        try server.publish([old.made.key])
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            #expect(try Self.code(old.token("1", at: gate.now), by: gate) == "verified")
            // A key that is not known yet: the answer says that it may be soon.
            try server.publish([old.made.key, new.made.key])
            let token = try new.token("2", at: gate.now)
            let first = try gate.play("tnt", token: token)
            #expect(first.status == 503 && first.json["code"] as? String == "access_token_key_awaited", "\(first)")
            #expect(try eventually { try Self.code(token, by: gate) == "verified" })
            #expect(try Self.code(old.token("3", at: gate.now), by: gate) == "verified")
            // Away: the keys stay.
            server.answer("/.well-known/openid-configuration", with: .init(status: .internalServerError, body: ""))
            gate.now = gate.now.adding(seconds: 3700)
            #expect(
                try eventually {
                    try gate.metric(
                        "playgate_key_set_fetches_total{issuer=\"\(server.issuer)\",result=\"status_refused\"}"
                    ) ?? 0 > 0
                }
            )
            #expect(try Self.code(old.token("4", at: gate.now), by: gate) == "verified")
            // Back, without the old key.
            try server.publish([new.made.key])
            gate.now = gate.now.adding(seconds: 400)
            #expect(
                try eventually { try Self.code(old.token("5", at: gate.now), by: gate) == "access_token_key_unknown" }
            )
        }
    }

    @Test(arguments: [
        "{\"issuer\":\"https://evil.example\",\"jwks_uri\":\"ISSUER/keys\"}",
        "{\"issuer\":\"ISSUER/\",\"jwks_uri\":\"ISSUER/keys\"}",
        "{\"issuer\":\"ISSUER\"}", "{\"issuer\":\"ISSUER\",\"jwks_uri\":\"http://id.example/keys\"}",
        "{\"issuer\":\"ISSUER\",\"jwks_uri\":\"file:///etc/passwd\"}", "{\"issuer\":\"ISSUER\",\"issuer\":\"ISSUER\"}",
        "[]", "", "<html>",
    ])
    func `are not those of another issuer's document`(document: String) async throws {
        let server = try await IdentityServer()
        let maker = try TokenMaker(server.issuer)
        try server.publish([maker.made.key])
        let text = document.replacing("ISSUER", with: server.issuer)
        server.answer("/.well-known/openid-configuration", with: .init(body: text))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(
                try eventually {
                    try gate.metric(
                        "playgate_key_set_fetches_total{issuer=\"\(server.issuer)\",result=\"discovery_refused\"}"
                    ) ?? 0 > 0
                }
            )
            #expect(server.requests("/keys").isEmpty)
            let code = try Self.code(maker.token("1", at: gate.now), by: gate)
            #expect(code == "access_token_key_unknown" || code == "access_token_key_awaited", "\(code ?? "")")
            #expect(try gate.admin("GET", path: "/readyz").status == 503)
        }
    }
}

/// Tokens that only their server understands.
@Suite struct `Opaque access tokens` {
    private static func configuration(_ server: IdentityServer, more: String = "") -> String {
        `Starts by access tokens`.configuration(
            """
            { issuer: "\(server.issuer)", audience: playgate, allow: [{ claim: scope }], source: keys.json,
                introspection: { url: "\(server.issuer)/introspect", client: gate, secret: "s:cret" \(more) } }
            """
        )
    }

    private static func with(
        more: String = "",
        body: @escaping @Sendable (RunningGate, IdentityServer) throws -> Void
    ) async throws {
        let server = try await IdentityServer()
        let keys = try TokenMaker(server.issuer).keySet
        try await RunningGate.with(configuration(server, more: more), files: ["keys.json": keys]) { (gate) throws in
            try body(gate, server)
        }
    }

    private static func answer(_ changes: String = "", by gate: RunningGate) -> String {
        let second = gate.now.millisecondsSince1970 / 1000
        return
            "{\"active\":true,\"scope\":\"openid TNT\",\"sub\":\"v\",\"aud\":\"playgate\",\"iat\":\(second),\"exp\":\(second + 60)\(changes)}"
    }

    @Test func `start what their server says, with the gate's credentials, once`() async throws {
        try await Self.with { (gate, server) throws in
            server.answer("/introspect", with: .init(body: Self.answer(",\"jti\":\"o-1\"", by: gate)))
            #expect(try gate.play("tnt", token: "opaque+1/~.").json["code"] as? String == "verified")
            #expect(
                server.requests("/introspect") == [
                    "Basic Z2F0ZTpzJTNBY3JldA== token=opaque%2B1%2F~.&token_type_hint=access_token"
                ]
            )
            #expect(try gate.play("tnt", token: "opaque+1/~.").json["code"] as? String == "token_already_used")
            #expect(server.requests("/introspect").count == 1)
            #expect(try gate.play("cnn", token: "other").json["code"] as? String == "access_token_resource_refused")
            let started = try `Starts by access tokens`.check("/live/tnt/master.m3u8?token=edge-token", by: gate)
            #expect(started.code == "token_already_used")
            server.answer("/introspect", with: .init(body: Self.answer(",\"jti\":\"o-2\"", by: gate)))
            #expect(try `Starts by access tokens`.check("/live/tnt/master.m3u8?token=edge-2", by: gate).cookie != nil)
        }
    }

    @Test func `a server that is away or lies starts nothing`() async throws {
        try await Self.with { (gate, server) throws in
            let unavailable = "access_token_introspection_unavailable"
            let table: [(IdentityServer.Answer, String)] = [
                (.init(body: "{\"active\":false}"), "access_token_inactive"),
                (.init(body: "{\"active\":\"true\"}"), "access_token_inactive"),
                (.init(body: "{\"active\":1}"), "access_token_inactive"),
                (.init(body: "{}"), unavailable), (.init(body: "{\"active\":null}"), unavailable),
                (.init(body: "[]"), "access_token_malformed"), (.init(body: ""), "access_token_malformed"),
                (.init(body: "{\"active\":true,\"active\":true}"), "access_token_malformed"),
                (.init(body: "{\"active\":true}"), "access_token_audience_mismatch"),
                (
                    .init(body: Self.answer(",\"iss\":\"https://evil.example\"", by: gate)),
                    "access_token_issuer_refused"
                ),
                (
                    .init(body: Self.answer(by: gate).replacing("\"exp\":", with: "\"x\":")),
                    "access_token_claim_missing"
                ),
                (
                    .init(body: Self.answer(by: gate).replacing("playgate", with: "other")),
                    "access_token_audience_mismatch"
                ),
                (.init(body: Self.answer(by: gate).replacing("TNT", with: "TBS")), "access_token_resource_refused"),
                (.init(body: Self.answer(",\"nbf\":4102444800", by: gate)), "access_token_not_yet_valid"),
                (.init(status: .unauthorized, body: Self.answer(by: gate)), unavailable),
                (.init(status: .found, body: Self.answer(by: gate)), unavailable),
                (.init(status: .internalServerError, body: ""), unavailable),
                (.init(body: Self.answer(by: gate), type: "text/html"), unavailable),
                (
                    .init(body: Self.answer(",\"x\":\"\(String(repeating: "x", count: 70_000))\"", by: gate)),
                    unavailable
                ),
            ]
            for (number, row) in table.enumerated() {
                server.answer("/introspect", with: row.0)
                let answer = try gate.play("tnt", token: "opaque-\(number)")
                #expect(answer.json["code"] as? String == row.1, "\(row.0.body.prefix(200))")
                #expect(answer.status == (row.1 == unavailable ? 503 : 403))
            }
            let before = server.requests("/introspect").count
            #expect(try gate.play("tnt", token: "t\u{E9}").json["code"] as? String == "access_token_inactive")
            #expect(
                try gate.play("tnt", token: String(repeating: "t", count: 4097)).json["code"] as? String
                    == "access_token_inactive"
            )
            #expect(server.requests("/introspect").count == before)
        }
    }

    @Test func `a server that does not answer is waited for no longer than its deadline`() async throws {
        try await Self.with(more: ", deadline: 200ms, cache: 0s") { (gate, server) throws in
            server.answer("/introspect", with: .init(body: "", isMissing: true))
            #expect(
                try gate.play("tnt", token: "slow").json["code"] as? String == "access_token_introspection_unavailable"
            )
            server.answer("/introspect", with: .init(body: Self.answer(by: gate)))
            #expect(try gate.play("tnt", token: "fast").json["code"] as? String == "verified")
            #expect(try gate.play("tnt", token: "fast").json["code"] as? String == "token_already_used")
            // Without a cache, the server is asked each time.
            #expect(server.requests("/introspect").count == 3)
        }
    }

    @Test func `an answer is used again only while it and its token are good`() async throws {
        try await Self.with { (gate, server) throws in
            server.answer("/introspect", with: .init(body: Self.answer(by: gate)))
            #expect(try gate.play("cnn", token: "a").status == 403)
            #expect(try gate.play("cnn", token: "a").status == 403)
            #expect(server.requests("/introspect").count == 1)
            gate.now = gate.now.adding(seconds: 31)
            #expect(try gate.play("cnn", token: "a").status == 403)
            #expect(server.requests("/introspect").count == 2)
            gate.now = gate.now.adding(seconds: 29 + 31)
            #expect(try gate.play("tnt", token: "a").json["code"] as? String == "access_token_expired")
        }
    }
}
