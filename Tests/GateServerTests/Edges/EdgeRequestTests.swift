// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The facts of a request other than path and token: method, range, host, and the segments that hold tokens.
@Suite struct `A request that an edge asks about` {
    private static func configuration(_ entries: String = "", tokens: String = "{ query: token }") -> String {
        RunningGate.configuration(
            "replayStore: { advanced: { capacity: 1000 } }\nedge: { listen: \"127.0.0.1:0\", tokens: [\(tokens)] }",
            catalogue: """
                    - { path: /live/seg/, resource: TNT, admits: ttl }
                    - { path: /live/free/, protected: false }
                \(entries)
                """
        )
    }

    /// Sends a check in a dialect.
    private static func check(
        by gate: RunningGate,
        in dialect: String,
        target: String,
        method: String = "GET",
        host: String? = "live.example.com",
        headers: [String: String] = [:]
    ) throws -> HTTPConnection.Response {
        var headers = headers
        let connection = try HTTPConnection(gate.edge)
        switch dialect {
        case "nginx", "forward":
            let prefix = dialect == "nginx" ? "X-Original" : "X-Forwarded"
            headers["\(prefix)-\(dialect == "nginx" ? "URI" : "Uri")"] = target
            headers["\(prefix)-Method"] = method
            if let host { headers["\(prefix)-Host"] = host }
            if dialect == "nginx", let range = headers["Range"] { headers["X-Original-Range"] = range }
            return try connection.request("GET", path: "/v1/check/\(dialect)", headers: headers)
        default:
            if dialect == "ats", let host { headers["X-Forwarded-Host"] = host }
            try connection.sendRequest(
                method,
                path: "/v1/check/\(dialect)\(target)",
                headers: headers,
                host: dialect == "envoy" ? host ?? "" : "gate"
            )
            return try connection.response(hasBody: method != "HEAD")
        }
    }

    static let dialects = ["nginx", "forward", "envoy", "ats"]

    // MARK: Methods and ranges

    @Test(arguments: dialects) func `may be GET or HEAD, unless its entry says more`(dialect: String) async throws {
        let entry = "    - { path: /licence/, resource: TNT, admits: ttl, methods: [GET, POST, OPTIONS] }"
        try await RunningGate.with(Self.configuration(entry)) { (gate) throws in
            let token = try gate.token()
            for path in ["/live/seg/a", "/live/free/a", "/live/tnt/a"] {
                for method in ["POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE", "PROPFIND", "TRACE"] {
                    let answer = try Self.check(by: gate, in: dialect, target: "\(path)?token=\(token)", method: method)
                    #expect(answer.status == 403, "\(method) \(path)")
                    #expect(answer.headers["x-playgate-code"] == "method_not_permitted", "\(method) \(path)")
                    #expect(answer.headers["x-playgate-status"] == "405")
                }
            }
            for (method, status) in [("GET", 200), ("POST", 200), ("OPTIONS", 200), ("HEAD", 403), ("PURGE", 403)] {
                let answer = try Self.check(by: gate, in: dialect, target: "/licence/a?token=\(token)", method: method)
                #expect(answer.status == status, "\(method)")
            }
            // No check has consumed the token.
            #expect(
                try Self.check(by: gate, in: dialect, target: "/live/tnt/a?token=\(token)").headers["x-playgate-code"]
                    == "verified"
            )
        }
    }

    @Test(arguments: dialects) func `consumes no token by HEAD or a range`(dialect: String) async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let token = try gate.token()
            let target = "/live/tnt/master.m3u8?token=\(token)"
            for _ in 0..<2 {
                let head = try Self.check(by: gate, in: dialect, target: target, method: "HEAD")
                #expect(head.status == 200 && head.headers["x-playgate-code"] == "probe", "\(head)")
                #expect(head.headers["cache-control"] == "no-store")
                for range in ["bytes=0-1", "bytes=0-0", "bytes=1-", "bytes=-5", "bytes=0-,0-1", "x", "bytes = 0-"] {
                    let part = try Self.check(by: gate, in: dialect, target: target, headers: ["Range": range])
                    #expect(part.status == 403, "\(range)")
                    #expect(part.headers["x-playgate-code"] == "range_not_permitted", "\(range)")
                }
            }
            #expect(try Self.check(by: gate, in: dialect, target: target).headers["x-playgate-code"] == "verified")
            #expect(
                try Self.check(by: gate, in: dialect, target: target).headers["x-playgate-code"] == "token_already_used"
            )
            // A request for the whole file is a playback, also as a range.
            let whole = "/live/tnt/b?token=\(try gate.token(GateSample.claims(session: "other")))"
            let first = try Self.check(by: gate, in: dialect, target: whole, headers: ["Range": "bytes=0-"])
            #expect(first.headers["x-playgate-code"] == "verified")
            let second = try Self.check(by: gate, in: dialect, target: whole, headers: ["Range": "bytes=0-"])
            #expect(second.headers["x-playgate-code"] == "token_already_used")
            // Segments may be requested in parts, any number of times.
            let segment = try Self.check(
                by: gate,
                in: dialect,
                target: "/live/seg/1?token=\(token)",
                headers: ["Range": "bytes=5-9"]
            )
            #expect(segment.headers["x-playgate-code"] == "within_ttl")
            // A probe needs a valid token.
            let bad = try Self.check(by: gate, in: dialect, target: "/live/tnt/a?token=x", method: "HEAD")
            #expect(bad.status == 403 && bad.headers["x-playgate-code"] == "invalid_base64")
        }
    }

    // MARK: Hosts

    @Test(arguments: dialects) func `is for a host, where entries name hosts`(dialect: String) async throws {
        let entries = """
                - { path: /vod/, resource: TBS, admits: ttl }
                - { path: /vod/, resource: TNT, admits: ttl, hosts: [live.example.com, "LIVE2.example.com"] }
                - { path: /vod/free/, protected: false, hosts: ["[2001:db8::1]"] }
            """
        try await RunningGate.with(Self.configuration(entries)) { (gate) throws in
            let token = try gate.token()
            let rows: [(path: String, host: String?, code: String)] = [
                ("/vod/a", "live.example.com", "within_ttl"), ("/vod/a", "LIVE.Example.com:8443", "within_ttl"),
                ("/vod/a", "live.example.com.", "within_ttl"), ("/vod/a", "live2.example.com", "within_ttl"),
                ("/vod/a", "other.example.com", "resource_mismatch"),
                ("/vod/a", "xlive.example.com", "resource_mismatch"),
                ("/vod/free/a", "[2001:db8::1]:80", "unprotected"), ("/vod/free/a", "live.example.com", "within_ttl"),
                ("/vod/free/a", "other", "resource_mismatch"), ("/live/free/a", "other", "unprotected"),
                ("/vod/a", "live.example.com/", "edge_request_invalid"), ("/vod/a", "a b", "edge_request_invalid"),
                ("/vod/a", "live.example.com,other", "edge_request_invalid"),
                ("/vod/a", "live.example.com:x", "edge_request_invalid"), ("/vod/a", nil, "host_missing"),
                ("/live/free/a", nil, "host_missing"),
            ]
            for row in rows where row.host != nil || dialect != "envoy" {
                let answer = try Self.check(by: gate, in: dialect, target: "\(row.path)?token=\(token)", host: row.host)
                #expect(answer.headers["x-playgate-code"] == row.code, "\(row)")
            }
            if dialect == "nginx" || dialect == "forward" {
                let name = dialect == "nginx" ? "X-Original-Host" : "X-Forwarded-Host"
                let uri = dialect == "nginx" ? "X-Original-URI" : "X-Forwarded-Uri"
                let method = dialect == "nginx" ? "X-Original-Method" : "X-Forwarded-Method"
                let connection = try HTTPConnection(gate.edge)
                try connection.send(
                    "GET /v1/check/\(dialect) HTTP/1.1\r\nHost: g\r\n\(uri): /vod/free/a\r\n\(method): GET\r\n"
                        + "\(name): [2001:db8::1]\r\n\(name): live.example.com\r\n\r\n"
                )
                #expect(try connection.response().headers["x-playgate-code"] == "edge_request_invalid")
            }
            // A player backend sends the host too.
            for (host, status) in [(",\"host\":\"live.example.com\"", 200), (",\"host\":\"x\"", 403), ("", 403)] {
                let body = "{\"path\":\"/vod/a\"\(host),\"token\":\"\(token)\"}"
                #expect(try gate.post("/v1/playback", body: body).status == status, "\(host)")
            }
            #expect(try gate.post("/v1/playback", body: "{\"path\":\"/vod/a\"}").code == "host_missing")
            #expect(
                try gate.post("/v1/playback", body: "{\"media\":\"tnt\",\"host\":\"a b\"}").code == "invalid_request"
            )
        }
    }

    // MARK: Segments with tokens

    /// Targets whose path differs if a token's segment is removed before or after the rest is resolved.
    static let displaced = [
        "/live/seg/t=/../free/a", "/live/free/t=/../../seg/a", "/live/free/t=x/../../../live/seg/a",
        "/live/free/t=x/../seg/a", "/live/free/../t=x/free/a", "/live/free/./t=x/a", "/live/free/t=x/./a",
        "/live/free/t=x//a", "/live//free/t=x/a", "/live/free/t=x/%2e%2e/seg/a", "/live/free/t=x/%2E./seg/a",
        "/live/free/t=x%2f..%2f..%2fseg/a", "/live/free/t=%2e%2e/a/%2e%2e", "/live/free/%74=x/seg/a",
        "/live/free/t%3dx/a", "/live/free/t%3Dx/a", "/live/free/t=x%5c..%5cseg/a", "/live/free/t=a%00/a",
        "/live/free/t=a;b/a", "/live/free/t=%3Cx%3E/a", "/live/free/t=x%23/a", "/live/free/t=x%3f/a",
        "/live/free/t=x%2Fseg/a", "/live/free/t=x%252f/a", "/live/free/t=x/..",
        "/t=x/../live/free/a", "/live/free/t=x/a/..", "/live/free/t=%zz/a", "/live/t=x/%66ree/../seg/a",
    ]

    @Test(arguments: dialects) func `has a token's segment where that can mean one path only`(
        dialect: String
    ) async throws {
        let configuration = Self.configuration(tokens: "{ query: token }, { segment: \"t=\" }")
        try await RunningGate.with(configuration) { (gate) throws in
            for target in Self.displaced {
                let answer = try Self.check(by: gate, in: dialect, target: target)
                #expect(answer.headers["x-playgate-code"] == "invalid_path", "\(target) \(answer.headers)")
                #expect(answer.status == 403)
            }
            // Some request lines do not transport bytes beyond ASCII.
            if dialect == "nginx" || dialect == "forward" {
                let answer = try Self.check(by: gate, in: dialect, target: "/live/free/t=\u{301}/a")
                #expect(answer.headers["x-playgate-code"] == "invalid_path")
            }
            let token = try gate.token().replacing("+", with: "-").replacing("/", with: "_")
            for (target, code) in [
                ("/live/free/t=x/a", "unprotected"), ("/t=/live/free/a", "unprotected"),
                ("/live/free/t=", "unprotected"),
                ("/live/t=\(token)/seg/a", "within_ttl"), ("/t=\(token)/live/seg/a?x=y", "within_ttl"),
                ("/live/seg/t=\(token)/a", "within_ttl"), ("/live/seg/t=\(token)", "within_ttl"),
                ("/live/seg/t=/a", "media_token_missing"), ("/live/free/T=x/a", "unprotected"),
                ("/live/t=x/none", "unknown_media"), ("/live/free/xt=x/a", "unprotected"),
            ] {
                let answer = try Self.check(by: gate, in: dialect, target: target)
                #expect(answer.headers["x-playgate-code"] == code, "\(target)")
            }
        }
    }
}
