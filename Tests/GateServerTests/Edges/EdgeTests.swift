// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// The checks of edges in each dialect: the decisions and the fields of the responses.
@Suite struct `The edge listener` {
    private static let catalogue = """
            - { path: /vod/, resource: TNT, admits: ttl }
            - { path: /free/, protected: false }
            - { path: /own/, resource: TNT, admits: ttl, tokens: [{ cookie: own }, { segment: "own:" }] }
        """

    private static let sources = """
        [{ query: token }, { header: X-Media-Token }, { cookie: mt }, { header: Authorization, scheme: MediaToken },
         { segment: "t:" }]
        """

    private static func configuration(_ edge: String = "", use: String = "{ advanced: { capacity: 1000 } }") -> String {
        RunningGate.configuration(
            "replayStore: \(use)\nedge: { listen: \"127.0.0.1:0\", tokens: \(sources)\(edge) }",
            catalogue: catalogue
        )
    }

    private static func with(
        _ configuration: String = configuration(),
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        try await RunningGate.with(configuration, body: body)
    }

    /// The names of all header fields that every response has.
    private static let fields = [
        "decision", "code", "status", "requestor", "mvpd", "resource", "expires", "token", "trace",
    ]

    // MARK: Dialects

    /// Sends a check of `target` in a dialect.
    private static func check(
        by gate: RunningGate,
        in dialect: String,
        target: String,
        headers: [String: String] = [:]
    ) throws -> HTTPConnection.Response {
        var headers = headers
        let path: String
        switch dialect {
        case "nginx":
            let key = "GET gate\(target)"
            headers.merge(
                [
                    "X-Original-URI": target, "X-Original-Method": "GET", "X-Original-Host": "gate",
                    "X-Playgate-Cache-Key": key,
                ]
            ) { own, _ in own }
            path = "/v1/check/nginx"
        case "forward":
            headers.merge(["X-Forwarded-Uri": target, "X-Forwarded-Method": "GET"]) { own, _ in own }
            path = "/v1/check/forward"
        default: path = "/v1/check/\(dialect)\(target)"
        }
        return try HTTPConnection(gate.edge).request("GET", path: path, headers: headers)
    }

    static let dialects = ["nginx", "forward", "envoy", "ats"]

    @Test(arguments: dialects) func `lets one request pass with a token`(dialect: String) async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            let target = "/live/tnt/master.m3u8?token=\(token)"
            let allowed = try Self.check(by: gate, in: dialect, target: target)
            #expect(allowed.status == 200)
            #expect(allowed.body.isEmpty && allowed.headers["content-length"] == "0")
            #expect(allowed.headers["x-playgate-decision"] == "allow")
            #expect(allowed.headers["x-playgate-code"] == "verified")
            #expect(allowed.headers["x-playgate-resource"] == "TNT")
            #expect(allowed.headers["x-playgate-requestor"] == "REF30")
            #expect(allowed.headers["x-playgate-token"] == "query:token")
            #expect(allowed.headers["cache-control"] == "no-store")
            #expect(allowed.headers["x-accel-expires"] == "0")
            let again = try Self.check(by: gate, in: dialect, target: target)
            #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used")
            let none = try Self.check(by: gate, in: dialect, target: "/live/tnt/master.m3u8")
            #expect(none.status == 401 && none.headers["x-playgate-code"] == "media_token_missing")
            #expect(none.headers["www-authenticate"] == "MediaToken")
            let unknown = try Self.check(by: gate, in: dialect, target: "/other?token=\(token)")
            #expect(unknown.status == 403 && unknown.headers["x-playgate-code"] == "unknown_media")
            #expect(unknown.headers["x-playgate-status"] == "404")
            for answer in [allowed, again, none, unknown] {
                for field in Self.fields { #expect(answer.headers["x-playgate-\(field)"] != nil, "\(field)") }
            }
            // The log has the decisions, and no token.
            #expect(try gate.log("\"edge\":\"\(dialect)\"", count: 4).count == 4)
            #expect(try gate.folder.text("log").contains(token.prefix(40)) == false)
        }
    }

    @Test func `checks a token again and again where the entry says so, until it expires or is revoked`() async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            for _ in 0..<3 {
                let answer = try Self.check(by: gate, in: "nginx", target: "/vod/seg1.ts?token=\(token)")
                #expect(answer.status == 200 && answer.headers["x-playgate-code"] == "within_ttl")
                #expect(answer.headers["cache-control"] == "max-age=5, must-revalidate")
                #expect(answer.headers["x-accel-expires"] == "5")
            }
            // `Vary` names the other inputs for caches that use the check's own URL as key.
            let vary = "Authorization, Cookie, X-Media-Token"
            let rows = [
                ("nginx", vary), ("forward", "X-Forwarded-Uri, X-Forwarded-Method, X-Forwarded-Host, \(vary)"),
                ("envoy", "Host, \(vary)"), ("ats", "X-Forwarded-Host, \(vary)"),
            ]
            for (dialect, fields) in rows {
                #expect(
                    try Self.check(by: gate, in: dialect, target: "/vod/s?token=\(token)").headers["vary"] == fields
                )
            }
            let start = gate.now
            // The cache lifetime never exceeds the token's lifetime.
            let life = GateSample.claims().timeToLiveMilliseconds
            gate.now = start.advanced(byMilliseconds: life - 2500)
            #expect(
                try Self.check(by: gate, in: "nginx", target: "/vod/s?token=\(token)").headers["x-accel-expires"] == "2"
            )
            gate.now = start.advanced(byMilliseconds: life + 1)
            #expect(
                try Self.check(by: gate, in: "nginx", target: "/vod/s?token=\(token)").headers["x-playgate-code"]
                    == "expired"
            )
            gate.now = start
            #expect(try gate.post("/v1/revocations", body: "{\"token\":\"\(token)\"}").status == 201)
            let revoked = try Self.check(by: gate, in: "nginx", target: "/vod/seg1.ts?token=\(token)")
            #expect(revoked.status == 403 && revoked.headers["x-playgate-code"] == "token_revoked")
        }
    }

    @Test(arguments: dialects) func `lets unprotected paths pass`(dialect: String) async throws {
        try await Self.with { (gate) throws in
            let answer = try Self.check(by: gate, in: dialect, target: "/free/a.ts")
            #expect(answer.status == 200 && answer.headers["x-playgate-code"] == "unprotected")
            #expect(answer.headers["x-playgate-resource"] == "")
        }
    }

    // MARK: Places of tokens

    @Test func `finds a token in every source that is configured, encoded or not`() async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            let encoded = token.percentEncoded
            // In a segment, only the URL-safe alphabet: many servers decode an encoded slash.
            let safe = token.replacing("+", with: "-").replacing("/", with: "_")
            let safeEncoded = safe.percentEncoded
            let presentations: [(String, [String: String], String)] = [
                ("/vod/a?token=\(encoded)&x=1", [:], "query:token"), ("/vod/a?x&token=\(token)", [:], "query:token"),
                ("/vod/a", ["x-media-token": token], "header:X-Media-Token"),
                ("/vod/a", ["Cookie": "a=b; mt=\(token); c"], "cookie:mt"),
                ("/vod/a", ["Cookie": "mt=\"\(encoded)\""], "cookie:mt"),
                ("/vod/a", ["Authorization": "mediatoken \(token)"], "header:Authorization"),
                ("/vod/t:\(safe)/a", [:], "segment:t:"), ("/vod/t:\(safeEncoded)/a", [:], "segment:t:"),
                ("/vod/a?token=\(token)", ["Cookie": "mt=\(token)"], "query:token, cookie:mt"),
                ("/own/a", ["Cookie": "own=\(token)"], "cookie:own"),
                ("/own:\(safe)/own/a", [:], "segment:own:"),
            ]
            for (target, headers, name) in presentations {
                let answer = try Self.check(by: gate, in: "forward", target: target, headers: headers)
                #expect(answer.status == 200, "\(name) \(answer.headers)")
                #expect(answer.headers["x-playgate-token"] == name)
            }
            for (target, headers): (String, [String: String]) in [
                ("/own/a?token=\(token)", [:]), ("/vod/a?Token=\(token)", [:]), ("/vod/a?xtoken=\(token)", [:]),
                ("/vod/a", ["X_Media_Token": token]), ("/vod/a", ["Authorization": "Bearer \(token)"]),
                ("/vod/a", ["Cookie": "xmt=\(token)"]), ("/vod/a?token=", [:]),
            ] {
                let answer = try Self.check(by: gate, in: "forward", target: target, headers: headers)
                #expect(
                    answer.headers["x-playgate-code"] == "media_token_missing",
                    "\(target.prefix(20)) \(headers.keys)"
                )
            }
        }
    }

    @Test func `refuses two tokens that differ`() async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            let other = try gate.token(GateSample.claims(session: "another"))
            for (target, headers): (String, [String: String]) in [
                ("/vod/a?token=\(token)&token=\(other)", [:]), ("/vod/a?token=\(token)", ["Cookie": "mt=\(other)"]),
                ("/vod/a", ["Cookie": "mt=\(token); mt=\(other)"]),
                ("/vod/a?token=\(token)", ["X-Media-Token": "x"]),
            ] {
                let answer = try Self.check(by: gate, in: "forward", target: target, headers: headers)
                #expect(answer.status == 403 && answer.headers["x-playgate-code"] == "token_conflict")
            }
        }
    }

    // MARK: Requests that must be refused; the numbers are those of known flaws in other products

    /// Targets that are not in the normal form, which gate, edge and origin interpret in the same way.
    static let ambiguous = [
        "", "vod/a", "http://h/vod/a", "//h/vod/a#", "/vod/a#x", "/vod/a?x#", "/vod/%2fa", "/vod/%5ca", "/vod\\a",
        "/free/%2e%2e%2fvod/a", "/free/..%2fvod/a", "/vod/%252fa", "/vod/%c0%afa", "/vod/%00", "/vod/%0d%0aa",
        "/vod/a;x", "/vod;a/..;/free/a", "/free/%zz", "/free/%", "/free/%c0%ae%c0%ae/vod", "*", "/../vod/a",
        "/free/a\u{7F}",
        "/free/\u{FFFD}",
    ]

    @Test(arguments: dialects) func `1, 4, 5, 6: refuses what can be read in two ways`(dialect: String) async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            for target in Self.ambiguous {
                let answer = try? Self.check(by: gate, in: dialect, target: target, headers: ["X-Media-Token": token])
                // Input that is not HTTP gets 400.
                #expect([400, 403].contains(answer?.status ?? 400), "\(target) \(answer?.headers ?? [:])")
            }
            let long = "/free/" + String(repeating: "a", count: 20_000)
            #expect(
                try Self.check(by: gate, in: dialect, target: long, headers: ["X-Playgate-Cache-Key": ""]).status == 403
            )
        }
    }

    @Test func `3: resolves dot segments as nginx does, and refuses them elsewhere`() async throws {
        try await Self.with { (gate) throws in
            for target in ["/free/../vod/a", "/free/./../vod/a", "/free/%2e%2e/vod/a", "/vod//a", "//vod/a"] {
                // The path that nginx resolves is protected.
                #expect(
                    try Self.check(by: gate, in: "nginx", target: target).headers["x-playgate-code"]
                        == "media_token_missing"
                )
                for dialect in ["forward", "envoy", "ats"] {
                    #expect(
                        try Self.check(by: gate, in: dialect, target: target).headers["x-playgate-code"]
                            == "invalid_path",
                        "\(target)"
                    )
                }
            }
        }
    }

    @Test(arguments: [
        ("nginx", "X-Original-URI", "X-Original-Method"), ("forward", "X-Forwarded-Uri", "X-Forwarded-Method"),
    ])
    func `2, 8, 9: reads its own headers, once each, and no others`(
        dialect: String,
        uri: String,
        method: String
    ) async throws {
        try await Self.with { (gate) throws in
            let ask = { (lines: [String]) in
                let connection = try HTTPConnection(gate.edge)
                let head = ["GET /v1/check/\(dialect)?x=/free/ HTTP/1.1", "Host: g"] + lines
                try connection.send(head.joined(separator: "\r\n") + "\r\n\r\n")
                return try connection.response()
            }
            #expect(try ask(["\(uri): /free/a", "\(method): GET"]).status == 200)
            for lines in [
                [], ["\(uri): /free/a"], ["\(method): GET"], ["\(uri): /free/a", "\(uri): /free/a", "\(method): GET"],
                ["\(uri): /free/a", "\(method): GET", "\(method): GET"], ["\(uri): /free/a", "\(method): get/1"],
                ["\(uri.replacing("-", with: "_")): /free/a", "\(method): GET"],
                ["\(uri.replacing("-", with: ".")): /free/a", "\(method): GET"],
                ["X-Rewrite-URL: /free/a", "X-Envoy-Original-Path: /free/a", "\(method): GET"],
                ["Forwarded: path=/free/a", "X-Forwarded-Prefix: /free", "\(method): GET"],
            ] {
                let answer = try ask(lines)
                #expect(answer.status == 403 && answer.headers["x-playgate-code"] == "edge_request_invalid", "\(lines)")
            }
            // Header fields of other products, in addition to the dialect's own, have no effect.
            let others = [
                "X-Original-URL: /free/a", "X-Rewrite-URL: /free/a", "X-Forwarded-Prefix: /free", "Forwarded: host=x",
                "X-Envoy-Original-Path: /free/a", "X-HTTP-Method-Override: GET", "User-Agent: kube-probe/1",
            ]
            #expect(try ask(["\(uri): /vod/a", "\(method): GET"] + others).status == 401)
        }
    }

    /// Requests of edges that are not available as packages, according to their documentation.
    @Test(arguments: [
        // Traefik 3: forwardAuth, with `trustForwardHeader: false`.
        """
        GET /v1/check/forward HTTP/1.1\r\nHost: gate:8081\r\nUser-Agent: Player/1.0\r\nAccept-Encoding: gzip\r\n\
        Cookie: mt=TOKEN\r\nRange: bytes=0-99\r\nX-Forwarded-For: 203.0.113.7\r\nX-Forwarded-Host: cdn.example.com\r\n\
        X-Forwarded-Method: GET\r\nX-Forwarded-Port: 443\r\nX-Forwarded-Proto: https\r\nX-Forwarded-Server: edge1\r\n\
        X-Forwarded-Uri: /vod/seg1.ts?a=b\r\nX-Real-Ip: 203.0.113.7\r\n\r\n
        """,
        // Envoy: HTTP ext_authz with `path_prefix`; method, path and host of the client, and no body.
        """
        GET /v1/check/envoy/vod/seg1.ts?a=b HTTP/1.1\r\nhost: cdn.example.com\r\ncontent-length: 0\r\ncookie: mt=TOKEN\r\n\
        x-forwarded-for: 203.0.113.7\r\nx-envoy-internal: true\r\nx-envoy-expected-rq-timeout-ms: 300\r\n\
        traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n
        """,
    ])
    func `answers what Traefik and Envoy document`(request: String) async throws {
        try await Self.with { (gate) throws in
            let connection = try HTTPConnection(gate.edge)
            for (token, status, code) in [(try gate.token(), 200, "within_ttl"), ("x", 403, "invalid_base64")] {
                try connection.send(request.replacing("TOKEN", with: token))
                let answer = try connection.response()
                #expect(answer.status == status && answer.headers["x-playgate-code"] == code, "\(answer)")
                #expect(answer.headers["content-length"] == "0" && answer.headers["connection"] == nil)
            }
        }
    }

    @Test func `1: sees a byte that cannot be in a target wherever it stands`() async throws {
        try await Self.with { (gate) throws in
            let connection = try HTTPConnection(gate.edge)
            let code = { (target: String) in
                let headers = ["X-Forwarded-Uri": target, "X-Forwarded-Method": "GET"]
                return try connection.request("GET", path: "/v1/check/forward", headers: headers).headers[
                    "x-playgate-code"
                ]
            }
            for position in 0..<80 {
                let (before, after) = (
                    String(repeating: "a", count: position), String(repeating: "b", count: 80 - position)
                )
                for forbidden in ["#", " c", "\t", "\u{FFFD}"] {
                    let answer = try code("/free/\(before)\(forbidden)\(after)")
                    #expect(answer == "edge_request_invalid", "\(position) \(forbidden)")
                }
                // The last of these starts with the same byte as U+FFFD.
                for allowed in ["~", "!", "é", "\u{F900}"] {
                    #expect(try code("/free/\(before)\(allowed)\(after)") == "unprotected", "\(position) \(allowed)")
                }
            }
        }
    }

    @Test func `7: reads the path as the path, and never the query`() async throws {
        try await Self.with { (gate) throws in
            for target in ["/vod/a?x=/free/", "/vod/a?/free/a", "/vod/free/?/free/"] {
                #expect(try Self.check(by: gate, in: "forward", target: target).status == 401)
            }
        }
    }

    @Test func `11, 23: always answers every field, and escapes what a token says`() async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token(GateSample.claims(mvpd: "Ev il\u{E9}%,;\"X"))
            // Of a client with a field of this name, nothing is passed on.
            let target = "/vod/a?token=\(token)"
            for name in ["X-Playgate-MVPD", "x_playgate.mvpd", "X!Playgate", "x.playgate-anything"] {
                let refused = try Self.check(by: gate, in: "forward", target: target, headers: [name: "mine"])
                #expect(refused.headers["x-playgate-code"] == "edge_request_invalid", "\(name) \(refused)")
                #expect(refused.headers["x-playgate-mvpd"] == "", "\(name) \(refused)")
            }
            let answer = try Self.check(
                by: gate,
                in: "forward",
                target: target,
                headers: ["XX-Playgate-MVPD": "mine", "X-Play": "mine"]
            )
            #expect(answer.headers["x-playgate-mvpd"] == "Ev%20il%C3%A9%25%2C%3B%22X")
        }
    }

    @Test func `14: answers unknown endpoints with a refusal, and dialects that are switched off`() async throws {
        try await Self.with(Self.configuration(", advanced: { dialects: [forward] }")) { (gate) throws in
            for path in [
                "/", "/v1/check", "/v1/check/", "/v1/check/nginx", "/v1/check/forward/free/a", "/v1/check/envoy/free/a",
                "/livez", "/metrics", "/v1/check/Forward", "/free/a",
            ] {
                let headers = ["X-Original-URI": "/free/a", "X-Original-Method": "GET"]
                let answer = try HTTPConnection(gate.edge).request("GET", path: path, headers: headers)
                #expect(answer.status == 403 && answer.headers["x-playgate-code"] == "edge_request_invalid", "\(path)")
            }
            #expect(try Self.check(by: gate, in: "forward", target: "/free/a").status == 200)
        }
    }

    @Test func `21: gives one clean answer whatever stands around a request`() async throws {
        try await Self.with { (gate) throws in
            let own = "X-Forwarded-Uri: /free/a\r\nX-Forwarded-Method: GET\r\n"
            let connection = try HTTPConnection(gate.edge)
            for extra in [
                "Range: bytes=0-1\r\n", "If-None-Match: *\r\nIf-Modified-Since: x\r\n", "TE: trailers\r\n",
                "Expect: 100-continue\r\n", "Accept-Encoding: gzip\r\n",
            ] {
                try connection.send("GET /v1/check/forward HTTP/1.1\r\nHost: g\r\n\(own)\(extra)\r\n")
                #expect(try connection.response().status == 200, "\(extra)")
            }
            for method in ["HEAD", "POST", "PUT", "OPTIONS", "TRACE", "PROPFIND"] {
                try connection.send(
                    "\(method) /v1/check/forward HTTP/1.1\r\nHost: g\r\n\(own)Content-Length: 3\r\n\r\nabc"
                )
                #expect(try connection.response().status == 200, "\(method)")
            }
            try connection.send(
                "GET /v1/check/forward HTTP/1.1\r\nHost: g\r\n\(own)Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
            )
            #expect(try connection.response().status == 200)
            // A protocol upgrade is never granted, and the connection does not hang.
            try connection.send(
                "GET /v1/check/forward HTTP/1.1\r\nHost: g\r\n\(own)Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
            )
            let last = try connection.response()
            #expect(last.status == 200 && last.headers["connection"] == "close")
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `answers requests that are sent ahead, in order, and accepts headers of 16 KiB`() async throws {
        try await Self.with { (gate) throws in
            let connection = try HTTPConnection(gate.edge)
            var text = ""
            for number in 0..<50 {
                let path = number.isMultiple(of: 2) ? "/free/a" : "/vod/a"
                text +=
                    "GET /v1/check/envoy\(path) HTTP/1.1\r\nHost: g\r\nX: \(String(repeating: "x", count: 300))\r\n\r\n"
            }
            try connection.send(text)
            for number in 0..<50 { #expect(try connection.response().status == (number.isMultiple(of: 2) ? 200 : 401)) }
            let big = ["X": String(repeating: "x", count: 16_384)]
            #expect(try connection.request("GET", path: "/v1/check/envoy/free/a", headers: big).status == 200)
        }
    }

    @Test func `22, 24: puts nothing of a request into a line of its own`() async throws {
        try await Self.with { (gate) throws in
            _ = try Self.check(by: gate, in: "forward", target: "/x\u{2028}\"y")
            #expect(try gate.log("unknown_media").count == 1)
            for line in try gate.folder.text("log").split(separator: "\n") {
                #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil, "\(line)")
            }
        }
    }

    @Test func `24: writes no token into the log, wherever it was`() async throws {
        try await Self.with { (gate) throws in
            let token = String(try gate.token().prefix(200))
            let targets = [
                "/vod/t:\(token)/a#x", "/vod/t:\(token)/a", "/none/t:\(token)", "/own:\(token)/own/a",
                "/vod/a;?token=\(token)",
                "/vod/a?token=\(token)&token=x", "/t:\(token)/../vod/a",
            ]
            for dialect in Self.dialects {
                for target in targets {
                    #expect(try Self.check(by: gate, in: dialect, target: target).status == 403, "\(target)")
                }
            }
            _ = try HTTPConnection(gate.edge).request("GET", path: "/v1/nothing/t:\(token)")
            #expect(try gate.log("\"decision\":\"refuse\"", count: 29).count == 29)
            #expect(try gate.folder.text("log").contains(token.prefix(20)) == false)
        }
    }

    @Test func `24: writes no query into the log, and nothing that changes how a line reads`() async throws {
        try await Self.with { (gate) throws in
            let secret = "PHNpZ25hdHVyZUluZm8"
            // A combining character after the question mark forms one Swift character with it.
            for target in ["/none?\u{301}token=\(secret)", "/none?\u{301}&x=\(secret)", "/none\u{301}?\(secret)"] {
                #expect(try Self.check(by: gate, in: "forward", target: target).status == 403)
                #expect(try gate.play(path: target).status == 404)
            }
            for control in ["\u{202E}", "\u{2066}", "\u{200F}", "\u{61C}", "\u{202A}"] {
                #expect(try Self.check(by: gate, in: "forward", target: "/none/\(control)gpj.exe").status == 403)
                #expect(try gate.play("\(control)tnt").status == 404)
            }
            _ = try gate.log("\"decision\":\"refuse\"", count: 16)
            let log = try gate.folder.text("log")
            #expect(!log.contains(secret))
            #expect(
                !log.unicodeScalars.contains {
                    (0x2028...0x202E).contains($0.value) || (0x2066...0x2069).contains($0.value)
                }
            )
            #expect(log.contains("\\u202e") && log.contains("\\u061c"))
        }
    }

    @Test(arguments: [("debug", true), ("info", true), ("warning", false), ("error", false)])
    func `writes lines of decisions where news are wanted`(level: String, isWritten: Bool) async throws {
        let configuration = Self.configuration() + "\nlog: { level: \(level) }\n"
        try await Self.with(configuration) { (gate) throws in
            #expect(try Self.check(by: gate, in: "forward", target: "/none").status == 403)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.metric("playgate_decisions_total{decision=\"refuse\",code=\"unknown_media\"}") == 1)
            // Log lines are in order, and errors are logged at every level.
            try gate.folder.write("gate.yaml", contents: "typo: 1\n")
            #expect(try gate.admin("POST", path: "/reload").status == 422)
            #expect(try gate.log("reload failed").isEmpty == false)
            #expect(try gate.folder.text("log").contains("\"message\":\"playback\"") == isWritten)
        }
    }

    @Test func `26: lets one of many first uses pass`() async throws {
        try await Self.with { (gate) throws in
            let token = try gate.token()
            let connections = try (0..<20).map { _ in try HTTPConnection(gate.edge) }
            for connection in connections {
                try connection.sendRequest("GET", path: "/v1/check/envoy/live/tnt/a?token=\(token)")
            }
            let statuses = try connections.map { try $0.response().status }
            #expect(statuses.count { $0 == 200 } == 1 && statuses.count { $0 == 403 } == 19)
        }
    }

    @Test func `leaves the event loop for a store that does input and output`() async throws {
        let folder = try TemporaryFolder()
        let use = "{ deadline: 10s, sqlite: \"\(folder.file("uses.sqlite"))\" }"
        try await Self.with(Self.configuration(use: use)) { (gate) throws in
            let token = try gate.token()
            let connection = try HTTPConnection(gate.edge)
            for target in ["/live/tnt/a?token=\(token)", "/live/tnt/a?token=\(token)", "/vod/a?token=\(token)"] {
                try connection.sendRequest("GET", path: "/v1/check/envoy\(target)")
            }
            connection.endSending()
            #expect(try (0..<3).map { _ in try connection.response().status } == [200, 403, 200])
        }
    }

    @Test func `refuses what it has no room for`() async throws {
        try await Self.with(Self.configuration(use: "{ advanced: { capacity: 1 } }")) { (gate) throws in
            _ = try Self.check(by: gate, in: "nginx", target: "/live/tnt/a?token=\(try gate.token())")
            let other = try gate.token(GateSample.claims(session: "another"))
            let full = try Self.check(by: gate, in: "nginx", target: "/live/tnt/a?token=\(other)")
            #expect(full.status == 403 && full.headers["x-playgate-status"] == "503")
            #expect(full.headers["x-playgate-code"] == "replay_store_full")
        }
    }
}
