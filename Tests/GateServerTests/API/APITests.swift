// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import Testing

@Suite struct `The API` {
    // MARK: Playback

    @Test func `allows a good token once`() async throws {
        try await RunningGate.with { gate in
            let token = try gate.token()
            let first = try gate.play(token: token)
            #expect(first.status == 200)
            #expect(first.headers["cache-control"] == "no-store")
            #expect(first.json["allowed"] as? Bool == true)
            #expect(first.json["resource"] as? String == "TNT")
            #expect(first.json["mvpd"] as? String == "SandboxMVPD")
            #expect(first.json["expires"] as? Int64 == gate.now.adding(seconds: 420).millisecondsSince1970)
            let second = try gate.play(token: token)
            #expect(second.status == 403)
            #expect(second.code == "token_already_used")
            #expect(second.json["action"] as? String == "authorization")
            #expect(second.json["status"] as? Int == 403)
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var media: String? = "tnt"
        var path: String?
        var token: @Sendable (RunningGate) throws -> String? = { try $0.token() }
        let status: Int
        let code: String
        var verifierStatus: String?
        /// The members that the log line has in addition.
        var logged: @Sendable (Timestamp) -> String = { _ in "" }
    }

    static let refusals = [
        Refusal(testDescription: "unknown media", media: "x", status: 404, code: "unknown_media"),
        Refusal(testDescription: "unknown path", path: "/x", status: 404, code: "unknown_media"),
        Refusal(testDescription: "bad path", path: "/live/%2e%2e%2fx", status: 404, code: "invalid_path"),
        Refusal(testDescription: "no token", token: { _ in nil }, status: 401, code: "media_token_missing"),
        Refusal(
            testDescription: "garbage",
            token: { _ in "<x" },
            status: 403,
            code: "invalid_envelope",
            verifierStatus: "INVALID_TOKEN_FORMAT"
        ),
        Refusal(
            testDescription: "foreign",
            token: { try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: $0.now).serialized },
            status: 403,
            code: "untrusted_signature",
            verifierStatus: "INVALID_SIGNATURE"
        ),
        Refusal(
            testDescription: "expired",
            token: { try GateSample.token(at: $0.now.adding(seconds: -421)) },
            status: 403,
            code: "expired",
            verifierStatus: "TOKEN_EXPIRED",
            logged: { now in
                let (issued, expires) = (now.adding(seconds: -421), now.adding(seconds: -1))
                return "\"issued\":\"\(issued.iso8601)\",\"expires\":\"\(expires.iso8601)\""
            }
        ),
        Refusal(
            testDescription: "wrong resource",
            media: "tbs",
            status: 403,
            code: "resource_mismatch",
            verifierStatus: "INVALID_RESOURCE_ID",
            logged: { _ in "\"token_resource\":\"TNT\"" }
        ),
        Refusal(
            testDescription: "wrong requestor",
            token: { try $0.token(GateSample.claims(requestor: "OTHER")) },
            status: 403,
            code: "requestor_mismatch",
            verifierStatus: "INVALID_RESOURCE_ID",
            logged: { _ in "\"token_requestor\":\"OTHER\"" }
        ),
    ]

    @Test(arguments: refusals) func `refuses with status, code and verifier status`(each: Refusal) async throws {
        try await RunningGate.with { gate in
            let token = try each.token(gate)
            let answer = try gate.play(each.media, path: each.path, token: token)
            #expect(answer.status == each.status)
            #expect(answer.code == each.code)
            #expect(answer.json["allowed"] as? Bool == false)
            #expect(answer.json["verifierStatus"] as? String == each.verifierStatus)
            #expect(answer.json["helpUrl"] as? String == "/v1/codes/\(each.code)")
            if each.status == 401 { #expect(answer.headers["www-authenticate"] == "MediaToken") }
            let help = try gate.get("/v1/codes/\(each.code)")
            #expect(help.status == 200)
            #expect(help.json["status"] as? Int == each.status)
            // The metric has the code as its label, and the log line has the trace of the response.
            #expect(try gate.metric("playgate_decisions_total{decision=\"refuse\",code=\"\(each.code)\"}") == 1)
            let trace = try #require(answer.json["trace"] as? String)
            let lines = try gate.log(trace)
            #expect(lines.count == 1 && lines[0].contains("\"code\":\"\(each.code)\""))
            let logged = each.logged(gate.now)
            #expect(logged.isEmpty || lines[0].contains(logged), "\(lines)")
        }
    }

    @Test func `writes no tokens and sessions to the log`() async throws {
        try await RunningGate.with { gate in
            let claims = GateSample.claims(session: "viewer-0123456789")
            let raw = try GateSample.trusted.get().issuer.issue(claims, at: gate.now)
            _ = try gate.play(token: raw.serialized)
            _ = try gate.play(token: raw.raw)
            _ = try gate.play(path: "/live/tnt/x?token=\(raw.serialized)", token: raw.serialized)
            _ = try gate.post("/v1/verify", body: "{\"token\":\"\(raw.serialized)\",\"resource\":\"TNT\"}")
            #expect(try gate.log("\"message\":\"playback\"", count: 3).count == 3)
            let log = try gate.folder.text("log")
            #expect(!log.contains("viewer-0123456789"))
            #expect(!log.contains(raw.serialized.prefix(40)))
            #expect(!log.contains("signatureInfo"))
        }
    }

    @Test func `answers a retry of one playback as before`() async throws {
        try await RunningGate.with { gate in
            let token = try gate.token()
            #expect(try gate.play(token: token, playbackID: "p1").json["code"] as? String == "verified")
            #expect(try gate.play(token: token, playbackID: "p1").json["code"] as? String == "repeated")
            #expect(try gate.play(token: token, playbackID: "p2").status == 403)
        }
    }

    @Test func `continues the trace of the caller`() async throws {
        try await RunningGate.with { gate in
            let id = "4bf92f3577b34da6a3ce929d0e0e4736"
            let answer = try gate.play("trailer", headers: ["traceparent": "00-\(id)-00f067aa0ba902b7-01"])
            #expect(answer.json["trace"] as? String == id)
            #expect(answer.headers["x-playgate-trace"] == id)
            for bad in [
                "", "x", "00-\(id)", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
                "ff-\(id)-00f067aa0ba902b7-01",
                "00-\(id.uppercased())-00f067aa0ba902b7-01", "00-\(id)-0000000000000000-01",
                "00-\(id)-00f067aa0ba902b7-01-x",
            ] {
                let trace = try gate.play("trailer", headers: ["traceparent": bad]).json["trace"] as? String ?? ""
                #expect(trace != id && trace.count == 32, "\(bad)")
            }
        }
    }

    @Test(arguments: [
        ("application/xml", true), ("text/xml", true), ("application/json", false), ("*/*", false), ("", false),
        ("application/json;q=0.5, application/xml", true), ("application/xml;q=0.1, application/json", false),
        ("application/xml;q=0", false), ("text/html", false), ("application/xml;q=nan", false),
    ])
    func `says no in XML if the caller accepts XML`(accept: String, isXML: Bool) async throws {
        try await RunningGate.with { gate in
            let answer = try gate.play(headers: ["Accept": accept])
            #expect(answer.status == 401)
            #expect(answer.headers["content-type"] == (isXML ? "application/xml" : "application/json"))
            #expect(
                answer.body.hasPrefix(isXML ? "<error><allowed>false</allowed><action>authorization</action>" : "{")
            )
        }
    }

    @Test func `decides on each playback of a batch`() async throws {
        try await RunningGate.with { gate in
            let token = try gate.token()
            let body = """
                {"playbacks":[{"media":"trailer"},{"media":"tnt","token":"\(token)"},{"media":"x"},\
                {"media":"tbs","token":"\(token)"}]}
                """
            let answer = try gate.post("/v1/playback/batch", body: body)
            #expect(answer.status == 200)
            let results = try #require(answer.json["results"] as? [[String: Any]])
            #expect(results.map { $0["allowed"] as? Bool } == [true, true, false, false])
            let codes = results.map { $0["code"] as? String }
            #expect(codes == ["unprotected", "verified", "unknown_media", "resource_mismatch"])
        }
    }

    @Test func `lets one of a batch with one token play`() async throws {
        try await RunningGate.with { gate in
            let one = "{\"media\":\"tnt\",\"token\":\"\(try gate.token())\"}"
            let body = "{\"playbacks\":[\(Array(repeating: one, count: 100).joined(separator: ","))]}"
            let results = try gate.post("/v1/playback/batch", body: body).json["results"] as? [[String: Any]] ?? []
            #expect(results.count == 100)
            #expect(results.count { $0["allowed"] as? Bool == true } == 1)
        }
    }

    // MARK: Verification, revocation, catalogue

    @Test func `verifies without using a token up`() async throws {
        try await RunningGate.with { gate in
            let token = try gate.token()
            for body in [
                "{\"token\":\"\(token)\",\"resource\":\"TNT\"}",
                "{\"token\":\"\(token)\",\"resource\":\"<rss><channel><title>TNT</title></channel></rss>\"}",
                "{\"token\":\"\(token)\",\"resource\":\"TNT\",\"requestor\":\"REF30\"}",
                "{\"token\":\"\(token)\",\"authenticityOnly\":true}",
            ] {
                let answer = try gate.post("/v1/verify", body: body)
                #expect(answer.status == 200)
                #expect(answer.json["valid"] as? Bool == true)
                #expect(answer.json["verifierStatus"] as? String == "VALID_TOKEN")
                #expect((answer.json["token"] as? [String: Any])?["mvpdID"] as? String == "SandboxMVPD")
            }
            for (body, code) in [
                ("{\"token\":\"\(token)\",\"resource\":\"TBS\"}", "resource_mismatch"),
                ("{\"token\":\"\(token)\",\"resource\":\"TNT\",\"requestor\":\"X\"}", "requestor_mismatch"),
                ("{\"token\":\"\",\"resource\":\"TNT\"}", "token_empty"),
            ] {
                let answer = try gate.post("/v1/verify", body: body)
                #expect(answer.status == 403)
                #expect(answer.json["valid"] as? Bool == false)
                #expect(answer.code == code)
            }
            #expect(try gate.play(token: token).status == 200)
        }
    }

    @Test(arguments: ["token", "fingerprint", "sessionGUID", "mvpd"])
    func `revokes`(member: String) async throws {
        try await RunningGate.with { gate in
            let issued = try GateSample.trusted.get().issuer.issue(GateSample.claims(session: "s1"), at: gate.now)
            let verified = try gate.post(
                "/v1/verify",
                body: "{\"token\":\"\(issued.serialized)\",\"authenticityOnly\":true}"
            )
            let facts = try #require(verified.json["token"] as? [String: Any])
            let values = [
                "token": issued.serialized, "fingerprint": facts["fingerprint"] as? String ?? "", "sessionGUID": "s1",
                "mvpd": "SandboxMVPD",
            ]
            gate.now = gate.now.adding(seconds: 1)
            let answer = try gate.post("/v1/revocations", body: "{\"\(member)\":\"\(values[member] ?? "")\"}")
            #expect(answer.status == 201)
            let codes = ["sessionGUID": "session_revoked", "mvpd": "mvpd_revoked"]
            #expect(try gate.play(token: issued.serialized).code == codes[member] ?? "token_revoked")
            // A token that is issued to the session after the early leeway is accepted; the MVPD stays revoked.
            gate.now = gate.now.adding(seconds: 60)
            let later = try GateSample.token(GateSample.claims(session: "s1"), at: gate.now)
            #expect(try gate.play(token: later).status == (member == "mvpd" ? 403 : 200))
        }
    }

    @Test func `shows the catalogue`() async throws {
        try await RunningGate.with { gate in
            let answer = try gate.get("/v1/catalogue/a%20b%2Fc")
            #expect(answer.status == 200)
            #expect(answer.json["resource"] as? String == "TNT")
            #expect(answer.json["media"] as? String == "a b/c")
            #expect(try gate.get("/v1/catalogue/trailer").json["protected"] as? Bool == false)
            for path in ["/v1/catalogue/x", "/v1/catalogue/%", "/v1/catalogue/%zz", "/v1/catalogue/%ff"] {
                #expect(try gate.get(path).code == "unknown_media")
            }
        }
    }

    // MARK: Bad requests

    static let badBodies: [(String, String, String)] = [
        ("/v1/playback", "", "not JSON"), ("/v1/playback", "{", "not JSON"), ("/v1/playback", "[]", "JSON object"),
        ("/v1/playback", "null", "JSON object"), ("/v1/playback", "\"x\"", "JSON object"),
        ("/v1/playback", "{}", "exactly one of media and path"),
        ("/v1/playback", "{\"media\":\"a\",\"path\":\"/b\"}", "exactly one of media and path"),
        ("/v1/playback", "{\"media\":1}", "media: must be a string"),
        ("/v1/playback", "{\"media\":[\"a\"]}", "media: must be a string"),
        ("/v1/playback", "{\"media\":\"a\",\"playbackId\":\"x\"}", "unknown member \"playbackId\""),
        ("/v1/playback", "{\"media\":\"a\",\"playbackID\":\"\"}", "playbackID must not be empty"),
        (
            "/v1/playback", "{\"media\":\"a\",\"playbackID\":\"\(String(repeating: "x", count: 257))\"}",
            "not have more than 256"
        ),
        ("/v1/playback", "{\"media\":\"\(String(repeating: "x", count: 1025))\"}", "not have more than 1024"),
        ("/v1/playback", String(repeating: "[", count: 10_000), "too deep"),
        ("/v1/playback", String(repeating: "[", count: 511), "too deep"),
        ("/v1/playback", String(repeating: "[", count: 512), "too deep"),
        ("/v1/playback", String(repeating: "[", count: 513), "too deep"),
        ("/v1/playback", String(repeating: "[", count: 8), "not JSON"),
        ("/v1/playback", "{\"a\":\"\\\"[[[[[[[[[[\"}", "unknown member"),
        ("/v1/playback", "{\"media\":\"a\",\"media\":\"b\"}", "is a duplicate"),
        ("/v1/playback", "{\"media\":\"a\"}x", "not JSON"), ("/v1/playback", "{\"media\":\"\\ud800\"}", "not JSON"),
        ("/v1/playback", "{\"media\":\"\\x\"}", "not JSON"), ("/v1/playback", "{\"media\":\"a\nb\"}", "not JSON"),
        ("/v1/playback", "{\"media\":01}", "not JSON"), ("/v1/playback", "{\"media\":1.}", "not JSON"),
        ("/v1/playback", "{\"media\":-}", "not JSON"), ("/v1/playback", "{\"media\":truth}", "not JSON"),
        ("/v1/playback", "{\"media\":\"a\",}", "not JSON"), ("/v1/playback", "{\"media\" \"a\"}", "not JSON"),
        ("/v1/playback", String(repeating: "{\"a\":", count: 10_000), "too deep"),
        ("/v1/playback/batch", "{}", "playbacks is missing"),
        ("/v1/playback/batch", "{\"playbacks\":{}}", "playbacks: must be a list"),
        ("/v1/playback/batch", "{\"playbacks\":[]}", "from 1 to 100"),
        ("/v1/playback/batch", "{\"playbacks\":[1]}", "playbacks[0]"),
        ("/v1/playback/batch", "{\"playbacks\":[{\"media\":\"a\"},{\"medi\":\"a\"}]}", "playbacks[1]: unknown member"),
        (
            "/v1/playback/batch",
            "{\"playbacks\":[\(Array(repeating: "{\"media\":\"a\"}", count: 101).joined(separator: ","))]}",
            "more than 100"
        ), ("/v1/verify", "{\"resource\":\"TNT\"}", "token is missing"),
        ("/v1/verify", "{\"token\":\"x\"}", "resource is missing"),
        ("/v1/verify", "{\"token\":\"x\",\"resource\":null}", "resource: must be a string"),
        ("/v1/playback", "{\"media\":\"a\",\"playbackID\":null}", "playbackID: must be a string"),
        ("/v1/verify", "{\"token\":\"x\",\"resource\":\"\"}", "resource"),
        ("/v1/verify", "{\"token\":\"x\",\"resource\":\"<rss>\"}", "resource"),
        ("/v1/verify", "{\"token\":\"x\",\"resource\":\"TNT\",\"authenticityOnly\":true}", "resource must be absent"),
        ("/v1/verify", "{\"token\":\"x\",\"authenticityOnly\":\"true\"}", "true or false"),
        ("/v1/verify", "{\"token\":\"x\",\"authenticityOnly\":false}", "resource is missing"),
        ("/v1/revocations", "{}", "one of token"), ("/v1/revocations", "{\"mvpd\":\"\"}", "must not be empty"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"sessionGUID\":\"b\"}", "one of token"),
        ("/v1/revocations", "{\"fingerprint\":\"xyz\"}", "64 hexadecimal"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"expires\":1}", "in the future"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"expires\":\"tomorrow\"}", "ISO 8601"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"expires\":-1}", "ISO 8601"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"expires\":1e400}", "ISO 8601"),
        ("/v1/revocations", "{\"mvpd\":\"a\",\"expires\":9007199254740992}", "400 days"),
    ]

    @Test func `says what is wrong with a body`() async throws {
        try await RunningGate.with { gate in
            for (path, body, reason) in Self.badBodies {
                let answer = try gate.post(path, body: body)
                #expect(answer.status == 400, "\(path) \(body.prefix(80)): \(answer.body)")
                #expect(answer.code == "invalid_request")
                let details = answer.json["details"] as? String ?? ""
                #expect(details.contains(reason), "\(path) \(body.prefix(80)): \(details)")
            }
            // Invalid UTF-8, which a Swift string cannot hold.
            let connection = try gate.connect()
            let body: [UInt8] = Array("{\"media\":\"".utf8) + [0xFF, 0xC0, 0xAE] + Array("\"}".utf8)
            try connection.send(
                "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
            )
            try connection.send(body)
            #expect(try connection.response().status == 400)
            #expect(try gate.post("/v1/revocations", body: "{\"token\":\"x\"}").code == "token_not_authentic")
        }
    }

    @Test(
        arguments: [
            ("GET", "/v1/playback", 405, "method_not_allowed", "POST"),
            ("PUT", "/v1/verify", 405, "method_not_allowed", "POST"),
            ("POST", "/v1/codes", 405, "method_not_allowed", "GET, HEAD"),
            ("DELETE", "/v1/catalogue/x", 405, "method_not_allowed", "GET, HEAD"),
            ("GET", "/", 404, "operation_unknown", nil), ("GET", "/v1", 404, "operation_unknown", nil),
            ("GET", "/v1/catalogue/", 404, "operation_unknown", nil),
            ("GET", "/v1/codes/nonsense", 404, "code_unknown", nil),
            ("POST", "/v1/playback/", 404, "operation_unknown", nil), ("OPTIONS", "*", 404, "operation_unknown", nil),
        ] as [(String, String, Int, String, String?)]
    )
    func `knows its operations and their methods`(
        method: String,
        path: String,
        status: Int,
        code: String,
        allow: String?
    ) async throws {
        try await RunningGate.with { gate in
            let answer = try gate.connect().request(method, path: path)
            #expect(answer.status == status)
            #expect(answer.code == code)
            #expect(answer.headers["allow"] == allow)
        }
    }

    @Test func `answers HEAD like GET, without a body`() async throws {
        try await RunningGate.with { gate in
            let connection = try gate.connect()
            let full = try connection.request("GET", path: "/v1/codes")
            let head = try connection.request("HEAD", path: "/v1/codes")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(head.headers["content-length"] == full.headers["content-length"])
            #expect(try connection.request("GET", path: "/openapi.yaml").body.hasPrefix("openapi: 3.1.0"))
        }
    }

    @Test(arguments: [
        "text/plain", "application/x-www-form-urlencoded", "", "application/jsonx", "multipart/form-data",
    ])
    func `accepts JSON only with the type of JSON`(type: String) async throws {
        try await RunningGate.with { gate in
            let answer = try gate.post("/v1/playback", body: "{\"media\":\"trailer\"}", headers: ["Content-Type": type])
            #expect(answer.status == 415)
            #expect(answer.code == "unsupported_media_type")
            let good = ["Content-Type": "Application/JSON; charset=utf-8"]
            #expect(try gate.post("/v1/playback", body: "{\"media\":\"trailer\"}", headers: good).status == 200)
        }
    }

    @Test func `reads no more of a body than it may`() async throws {
        try await RunningGate.with { gate in
            let answer = try gate.post("/v1/playback", body: "{\"media\":\"\(String(repeating: "x", count: 70_000))\"}")
            #expect(answer.status == 413)
            #expect(answer.code == "body_too_large")
        }
    }
}
