// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// The operations on grants, at a running gate.
@Suite struct `The API of grants` {
    typealias Object = [String: Any]

    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    private static func configuration(_ rules: String = "", profile: String = "") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(secret) } }
            grants:
              subjectKey: \(secret)
              profiles:
                live:
                  issuer: playgate
                  key: k1
                  host: cdn.example
                  deliver: [cookie, segment, query, header]
                  \(rules)
            \(profile)
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: [live\(profile.isEmpty ? "" : ", second")] }
                    - { path: /film/, resource: TNT, admits: grant, grant: live }
                    - { path: /other/, resource: TNT, grant: live }
                    - { media: film, resource: TNT, grant: live, manifest: /film/master.m3u8 }
                """
        )
    }

    private static let second = "    second: { issuer: second, key: k1, host: cdn-2.example, revocation: tags }"

    /// A playback that was started, and its grant.
    private static func start(_ gate: RunningGate, session: String = "s1") throws -> (answer: Object, grant: Object) {
        let token = try gate.token(GateSample.claims(session: session))
        let answer = try gate.play(path: "/film/master.m3u8", token: token, playbackID: session)
        #expect(answer.status == 200, "\(answer)")
        let grants = answer.json["grants"] as? [Object] ?? []
        return (answer.json, try #require(answer.json["grant"] as? Object ?? grants.first))
    }

    private static func post(to gate: RunningGate, path: String, body: Object) throws -> HTTPConnection.Response {
        try gate.post(path, body: String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self))
    }

    private static func milliseconds(_ value: Any?) -> Int64? { (value as? NSNumber)?.int64Value }

    @Test func `hands over a grant in all shapes of its profile`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let grant = try Self.start(gate).grant
            let now = gate.now.millisecondsSince1970
            let token = try #require(grant["token"] as? String)
            #expect(grant["profile"] as? String == "live" && grant["format"] as? String == "cat")
            #expect(Self.milliseconds(grant["expires"]) == now + 300_000)
            #expect(Self.milliseconds(grant["renewAfter"]) == now + 180_000)
            #expect(Self.milliseconds(grant["sessionEnds"]) == now + 12 * 3_600_000)
            #expect((grant["session"] as? String)?.utf8.count == 32)
            #expect(grant["scope"] as? [String] == ["https://cdn.example/film/"])
            let cookie = "CTA-Common-Access-Token=\(token); Path=/film/; Max-Age=300; Secure; HttpOnly; SameSite=None"
            #expect(grant["setCookies"] as? [String] == [cookie])
            #expect(grant["segment"] as? String == "~cat=\(token)" && grant["query"] as? String == "cat=\(token)")
            #expect(grant["header"] as? [String] == ["CTA-Common-Access-Token", token])
            #expect(grant["url"] as? String == "https://cdn.example/~cat=\(token)/film/master.m3u8")
            // What starts no playback gets none.
            #expect(try gate.play("trailer").json["grant"] == nil)
        }
    }

    @Test func `gives a repeated start the same session, and another start another`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let token = try gate.token()
            let starts = try (0..<2).map { _ in
                try gate.play("film", token: token, playbackID: "p").json["grant"] as? Object
            }
            #expect(starts[0]?["session"] as? String == starts[1]?["session"] as? String && starts[0] != nil)
            #expect(starts[0]?["token"] as? String != starts[1]?["token"] as? String)
            #expect(try Self.start(gate, session: "s2").grant["session"] as? String != starts[0]?["session"] as? String)
        }
    }

    @Test func `asks for a grant where only grants open`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let answer = try gate.play(path: "/film/seg1.ts", token: try gate.token())
            #expect(answer.status == 401 && answer.code == "grant_missing")
            #expect(answer.headers["www-authenticate"] == "MediaToken")
        }
    }

    @Test func `exchanges a grant for one of another profile of the same entry`() async throws {
        try await RunningGate.with(Self.configuration(profile: Self.second)) { (gate) throws in
            let (answer, grant) = try Self.start(gate)
            #expect((answer["grants"] as? [Object])?.count == 2 && answer["grant"] == nil)
            let token = try #require(grant["token"] as? String)
            // The mirror of revocations is read first.
            var body: Object = ["grant": token, "profile": "second", "path": "/film/master.m3u8"]
            #expect(try eventually { try Self.post(to: gate, path: "/v1/grants", body: body).status == 200 })
            let other = try #require(try Self.post(to: gate, path: "/v1/grants", body: body).json["grant"] as? Object)
            #expect(
                other["profile"] as? String == "second" && other["session"] as? String == grant["session"] as? String
            )
            #expect(other["scope"] as? [String] == ["https://cdn-2.example/film/"])
            #expect(Self.milliseconds(other["sessionEnds"]) == Self.milliseconds(grant["sessionEnds"]))
            for (path, profile, status, code) in [
                ("/film/master.m3u8", "none", 400, "invalid_request"),
                ("/other/a.m3u8", "live", 403, "grant_uri_mismatch"),
                ("/none/a", "live", 404, "unknown_media"), ("/live/tnt/a", "live", 400, "invalid_request"),
            ] {
                (body["path"], body["profile"]) = (path, profile)
                let refused = try Self.post(to: gate, path: "/v1/grants", body: body)
                #expect(refused.status == status && refused.code == code, "\(path): \(refused)")
            }
        }
    }

    @Test func `renews a grant in its window, and never past the end of its session`() async throws {
        try await RunningGate.with(Self.configuration("session: 400s")) { (gate) throws in
            let grant = try Self.start(gate).grant
            let renew = { (token: Any?) in
                try Self.post(to: gate, path: "/v1/grants/renew", body: ["grant": token ?? ""])
            }
            #expect(try eventually { try renew(grant["token"]).status == 200 })
            let early = try renew(grant["token"]).json
            #expect(early["renewed"] as? Bool == false && early["grant"] == nil)
            #expect(Self.milliseconds(early["renewAfter"]) == Self.milliseconds(grant["renewAfter"]))
            gate.now = gate.now.adding(seconds: 180)
            let renewed = try #require(try renew(grant["token"]).json["grant"] as? Object)
            #expect(renewed["session"] as? String == grant["session"] as? String)
            #expect(Self.milliseconds(renewed["expires"]) == Self.milliseconds(grant["sessionEnds"]))
            gate.now = gate.now.adding(seconds: 120)
            #expect(try renew(grant["token"]).code == "grant_expired")
            #expect(try renew("AAAA").code == "grant_malformed")
            gate.now = gate.now.adding(seconds: 100)
            #expect(try renew(renewed["token"]).code == "session_ended")
        }
    }

    @Test func `renews and exchanges nothing of a playback that was revoked`() async throws {
        try await RunningGate.with(Self.configuration(profile: Self.second)) { (gate) throws in
            let grant = try Self.start(gate).grant
            let (token, session) = (grant["token"] as? String ?? "", grant["session"] as? String ?? "")
            #expect(
                try eventually {
                    try Self.post(to: gate, path: "/v1/grants/renew", body: ["grant": token]).status == 200
                }
            )
            #expect(try gate.post("/v1/revocations", body: "{\"playback\":\"\(session)\"}").status == 201)
            #expect(try Self.post(to: gate, path: "/v1/grants/renew", body: ["grant": token]).code == "grant_revoked")
            let body: Object = ["grant": token, "profile": "second", "media": "film"]
            #expect(try Self.post(to: gate, path: "/v1/grants", body: body).code == "invalid_request")
            let path: Object = ["grant": token, "profile": "second", "path": "/film/master.m3u8"]
            #expect(try Self.post(to: gate, path: "/v1/grants", body: path).code == "grant_revoked")
        }
    }

    @Test func `explains a grant, claim by claim`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let grant = try Self.start(gate).grant
            var body: Object = ["grant": grant["token"] ?? "", "url": "https://cdn.example/film/seg1.ts"]
            let good = try Self.post(to: gate, path: "/v1/grants/verify", body: body).json
            #expect(
                good["valid"] as? Bool == true && good["code"] is NSNull && good["key"] as? String == "k1",
                "\(good)"
            )
            let names = (good["claims"] as? [Object] ?? []).compactMap { $0["claim"] as? String }
            for name in ["iss", "exp", "nbf", "catu", "catm", "catr"] { #expect(names.contains(name), "\(names)") }
            for (member, value, code, claim) in [
                ("url", "https://cdn.example/other/seg1.ts", "grant_uri_mismatch", "catu"),
                ("method", "POST", "grant_method_refused", "catm"),
                ("at", "2031-01-02T10:09:05Z", "grant_expired", "exp"),
            ] {
                var other = body
                other[member] = value
                let bad = try Self.post(to: gate, path: "/v1/grants/verify", body: other).json
                #expect(bad["valid"] as? Bool == false && bad["code"] as? String == code, "\(bad)")
                #expect((bad["claim"] as? String)?.contains(claim) == true, "\(bad)")
            }
            body["url"] = "/film/seg1.ts"
            #expect(try Self.post(to: gate, path: "/v1/grants/verify", body: body).code == "invalid_request")
        }
    }

    @Test func `limits the playbacks of a viewer until one ends`() async throws {
        try await RunningGate.with(Self.configuration("maxConcurrentStreams: 1")) { (gate) throws in
            let first = try Self.start(gate).grant
            let token = try gate.token(GateSample.claims(session: "s1", ttl: 400_000))
            let refused = try gate.play(path: "/film/master.m3u8", token: token, playbackID: "p2")
            #expect(refused.status == 409 && refused.code == "stream_limit_reached", "\(refused)")
            // Another viewer has a limit of his own.
            _ = try Self.start(gate, session: "s2")
            let end = { (session: String) in try gate.connect().request("DELETE", path: "/v1/playback/\(session)") }
            let session = try #require(first["session"] as? String)
            #expect(try end(session).json["freed"] as? Bool == true)
            #expect(try end(session).json["freed"] as? Bool == false)
            // The refused start has consumed nothing.
            #expect(try gate.play(path: "/film/master.m3u8", token: token, playbackID: "p2").status == 200)
            #expect(try end("x").code == "invalid_request" && (try gate.get("/v1/playback/\(session)").status) == 405)
        }
    }

    /// Both grants are of one session.
    @Test func `exchanges a grant within the slot of its playback, which it prolongs`() async throws {
        try await RunningGate.with(Self.configuration("maxConcurrentStreams: 1", profile: Self.second)) {
            (gate) throws in
            let grant = try Self.start(gate).grant
            let body: Object = ["grant": grant["token"] ?? "", "profile": "second", "path": "/film/master.m3u8"]
            let exchange = { try Self.post(to: gate, path: "/v1/grants", body: body) }
            #expect(try eventually { try exchange().status == 200 })
            #expect(try gate.metric("playgate_store_leases") == 1)
            // The slot would end after 310 s; now it ends 310 s after this.
            gate.now = gate.now.adding(seconds: 200)
            #expect(try exchange().status == 200)
            gate.now = gate.now.adding(seconds: 200)
            let another = { (id: String) in
                let token = try gate.token(GateSample.claims(session: "s1"))
                return try gate.play(path: "/film/master.m3u8", token: token, playbackID: id)
            }
            #expect(try another("p2").code == "stream_limit_reached")
            gate.now = gate.now.adding(seconds: 111)
            #expect(try another("p3").status == 200)
        }
    }

    @Test func `exchanges no grant of a playback that was ended`() async throws {
        try await RunningGate.with(Self.configuration("maxConcurrentStreams: 1", profile: Self.second)) {
            (gate) throws in
            let grant = try Self.start(gate).grant
            let body: Object = ["grant": grant["token"] ?? "", "profile": "second", "path": "/film/master.m3u8"]
            #expect(try eventually { try Self.post(to: gate, path: "/v1/grants", body: body).status == 200 })
            let session = try #require(grant["session"] as? String)
            #expect(
                try gate.connect().request("DELETE", path: "/v1/playback/\(session)").json["freed"] as? Bool == true
            )
            let token = try gate.token(GateSample.claims(session: "s1", ttl: 400_000))
            #expect(try gate.play(path: "/film/master.m3u8", token: token, playbackID: "p2").status == 200)
            let refused = try Self.post(to: gate, path: "/v1/grants", body: body)
            #expect(refused.status == 403 && refused.code == "grant_revoked", "\(refused)")
        }
    }

    @Test func `changes its profiles with a reload, and its subject key after a restart`() async throws {
        let before = Self.configuration()
        try await RunningGate.with(before) { (gate) throws in
            let token = try gate.token()
            let start = { try gate.play("film", token: token, playbackID: "p").json["grant"] as? Object }
            let first = try #require(try start())
            let other = before.replacing(
                "subjectKey: \(Self.secret)",
                with: "subjectKey: \(Self.secret.replacing("M", with: "N"))"
            )
            try #require(other != before)
            try gate.folder.write(
                "gate.yaml",
                contents: other.replacing("host: cdn.example", with: "host: cdn-3.example")
            )
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.log("a change of grants.subjectKey takes effect after a restart").count == 1)
            let second = try #require(try start())
            #expect(second["scope"] as? [String] == ["https://cdn-3.example/film/"])
            #expect(second["session"] as? String == first["session"] as? String)
        }
    }

    @Test(arguments: ["/v1/grants", "/v1/grants/renew", "/v1/grants/verify"])
    func `has no grants without their section`(path: String) async throws {
        try await RunningGate.with { (gate) throws in
            let body: Object =
                switch path {
                case "/v1/grants": ["grant": "AAAA", "profile": "live", "media": "tnt"]
                case "/v1/grants/renew": ["grant": "AAAA"]
                default: ["grant": "AAAA", "url": "https://cdn.example/a"]
                }
            let answer = try Self.post(to: gate, path: path, body: body)
            #expect(answer.status == 404 && answer.code == "grants_not_configured", "\(answer)")
        }
    }
}
