// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Responses that an edge caches, with the names that README, example and pages print.
@Suite(.serialized) struct `An answer that an edge caches` {
    /// Requests of clients without a token, or with another token than the one that the response was for.
    private static let strangers: [(name: String, query: String, headers: [String: String])] = [
        ("no token", "", [:]), ("an empty query", "?token=", [:]), ("two queries", "?a=b?token=x", [:]),
        ("another cookie", "", ["Cookie": "media-token=x"]), ("an empty cookie", "", ["Cookie": "media-token="]),
        ("an empty cookie first", "", ["Cookie": "media-token=; media-token=x"]),
        ("a cookie in other case", "", ["Cookie": "Media-Token=x"]),
        ("a cookie as a variable of nginx has it", "", ["Cookie": "media_token=x"]),
        ("another header", "", ["X-Media-Token": "x"]), ("an empty header", "", ["X-Media-Token": ""]),
        ("an empty query and a cookie", "?token=", ["Cookie": "media-token=x"]),
    ]

    @Test(arguments: EdgeProxy.allCases)
    func `opens for nobody but the viewer that it was for`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let token = try gate.token()
            let viewers: [(name: String, query: String, headers: [String: String])] = [
                ("a query", "?token=\(token)", [:]), ("a cookie", "", ["Cookie": "media-token=\(token)"]),
                ("a cookie behind others", "", ["Cookie": "a=b; media-token=\(token)"]),
                ("a header", "", ["X-Media-Token": token]),
                ("an empty query and a cookie", "?token=", ["Cookie": "media-token=\(token)"]),
                ("two queries and a cookie", "?a=b?token=x", ["Cookie": "media-token=\(token)"]),
                ("an empty cookie and another", "", ["Cookie": "media-token=; media-token=\(token)"]),
                ("a cookie in other case first", "", ["Cookie": "MEDIA-TOKEN=x; media-token=\(token)"]),
            ]
            for (number, viewer) in viewers.enumerated() {
                let path = "/live/seg/\(number)"
                for _ in 0..<2 {
                    let answer = try proxy.get(path + viewer.query, headers: viewer.headers)
                    #expect(answer.status == 200, "\(edge) \(viewer.name)")
                }
                for stranger in Self.strangers {
                    let answer = try proxy.get(path + stranger.query, headers: stranger.headers)
                    #expect([401, 403].contains(answer.status), "\(edge): \(stranger.name) after \(viewer.name)")
                }
                #expect(try proxy.get(path + viewer.query, headers: viewer.headers).status == 200)
            }
        }
    }

    /// Cache keys of operators that omit a part of the request, and one that is narrower than necessary.
    @Test(
        .needs(.nginx),
        arguments: [
            ("$request_method $uri", false), ("$request_uri", false), ("$request_method $host$uri", false),
            ("$host$request_uri", false), ("$request_method $host$request_uri$remote_addr", false), ("", false),
            ("$request_method $host$request_uri $remote_addr", true),
        ]
    )
    func `is kept by nginx under a whole key only`(key: String, isKept: Bool) async throws {
        let page = try EdgeProxy.file("docs/how-to/edges/nginx.md")
        let line = "set $gate_key \"$request_method $host$request_uri\";"
        try #require(page.contains(line))
        try await EdgeProxy.nginx.withGate(replacing: [line: "set $gate_key \"\(key)\";"]) { (gate, nginx) throws in
            let checks = { try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") ?? 0 }
            let token = try gate.token()
            for _ in 0..<4 { #expect(try nginx.get("/live/seg/1?token=\(token)").status == 200) }
            #expect(try checks() == (isKept ? 1 : 4))
            #expect(try nginx.get("/live/seg/1").status == 401)
        }
    }

    @Test(.needs(.nginx)) func `is not kept by nginx if the header with the key is left out`() async throws {
        let line = "            proxy_set_header X-Playgate-Cache-Key $gate_key;\n"
        try await EdgeProxy.nginx.withGate(replacing: [line: ""]) { (gate, nginx) throws in
            let token = try gate.token()
            // The client's own header field is not passed on.
            let forged = ["X-Playgate-Cache-Key": "GET gate/live/seg/1?token=\(token)"]
            for _ in 0..<3 { #expect(try nginx.get("/live/seg/1?token=\(token)", headers: forged).status == 200) }
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") == 3)
        }
    }

    /// Caches can be configured to serve stale responses if the upstream is down, but not decisions of the gate.
    @Test(arguments: EdgeProxy.allCases)
    func `is not used any more when the gate is away`(edge: EdgeProxy) async throws {
        let stale = "proxy_cache_use_stale error timeout updating http_500 http_502 http_503 http_504;"
        let folder = try TemporaryFolder()
        let replacing = ["    upstream gate {\n": "    \(stale)\n    upstream gate {\n"]
        let edges = edge == .nginx ? replacing : [:]
        let gone = GoneGate()
        try await edge.withGate(edge: ", advanced: { maxCacheAge: 1s }", replacing: edges, folder: folder) {
            (gate, proxy) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for _ in 0..<3 { #expect(try proxy.get("/live/seg/1", headers: cookie).status == 200) }
            gone.hold(proxy, cookie: cookie)
        }
        // The gate has stopped; the edge still runs.
        try await onThread {
            let (proxy, cookie) = try #require(gone.kept)
            let status = { try proxy.get("/live/seg/1", headers: cookie).status }
            #expect(try eventually(within: 60) { try status() >= 500 })
            for _ in 0..<3 { #expect(try status() >= 500) }
        }
        gone.release()
    }

    /// Holds an edge that runs after its gate has stopped.
    private final class GoneGate: @unchecked Sendable {
        private(set) var kept: (proxy: RunningEdge, cookie: [String: String])?
        func hold(_ proxy: RunningEdge, cookie: [String: String]) { kept = (proxy, cookie) }
        func release() { kept = nil }
    }
}
