// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// Tests of every edge with the configuration of its page in `docs/how-to/edges`, between a client and an origin.
@Suite(.serialized) struct `Behind a real edge` {
    @Test(arguments: EdgeProxy.deciding)
    func `2, 9, 11: plays with a token, and trusts no client's word`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let spoofed = [
                "X-Playgate-State": "allowed", "X-Original-Host": "free", "X-Original-Range": "x",
                "X-Playgate-Cache-Key": "GET gate/live/tnt/a.m3u8", "X-Original-URI": "/live/free/a",
                "X-Original-Method": "OPTIONS", "X-Forwarded-Uri": "/live/free/a",
                "X-Forwarded-Method": "HEAD", "X-Forwarded-Prefix": "/live/free", "X-Rewrite-URL": "/live/free/a",
                "X-Envoy-Original-Path": "/live/free/a", "Forwarded": "for=127.0.0.1;host=free", "Cookie": "a=b",
            ]
            // Response header fields in all spellings that an origin may accept; edges limit the number per request.
            for (first, second) in [("-", "-"), ("_", "_"), (".", "."), ("-", "_"), ("_", "-"), (".", "-")] {
                var headers = spoofed
                for name in Self.answered { headers["X\(first)Playgate\(second)\(name)"] = "mine" }
                #expect(try proxy.get("/live/tnt/a.m3u8", headers: headers).status == 401)
                let seen = try proxy.get("/live/free/a", headers: headers)
                #expect(seen.status == 200 && !seen.body.contains("mine"), "\(first)\(second) \(seen)")
            }
            #expect(try proxy.get("/live/none", headers: spoofed).status == (edge.hasFullStatus ? 404 : 403))
            let played = try proxy.get("/live/tnt/a.m3u8?token=\(try gate.token())&x=y", headers: spoofed)
            let lines = played.body.split(separator: "\n")
            // The origin gets the path only, and never the token.
            #expect(played.status == 200 && lines.first == "GET /live/tnt/a.m3u8", "\(played)")
            #expect(!lines.contains { $0.hasPrefix("cookie:") }, "\(played)")
            let named = lines.filter { $0.replacing("_", with: "-").replacing(".", with: "-").hasPrefix("x-playgate") }
            #expect(named == (edge.namesMVPD ? ["x-playgate-mvpd: SandboxMVPD"] : []), "\(played)")
            let free = try proxy.get("/live/free/a", headers: ["X-Playgate-MVPD": "mine"])
            #expect(free.status == 200 && !free.body.contains("mine"), "\(free)")
            #expect(proxy.origin.requests <= 8)
        }
    }

    private static let answered = [
        "Decision", "Code", "Status", "Requestor", "MVPD", "Resource", "Expires", "Token", "Trace",
    ]

    @Test(arguments: EdgeProxy.deciding)
    func `says why it does not play`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let used = try gate.token()
            #expect(try proxy.get("/live/tnt/a?token=\(used)").status == 200)
            let expired = try gate.token()
            gate.now = gate.now.advanced(byMilliseconds: 500_000)
            let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
            let other = try gate.token(GateSample.claims(resource: "TBS"))
            let (first, second) = (try gate.token(), try gate.token(GateSample.claims(session: "another")))
            let rows: [(target: String, cookie: String?, status: Int, full: Int, code: String)] = [
                ("/live/tnt/a", nil, 401, 401, "media_token_missing"),
                ("/live/tnt/a?token=\(expired)", nil, 403, 403, "expired"),
                ("/live/tnt/b?token=\(foreign)", nil, 403, 403, "untrusted_signature"),
                ("/live/tnt/b?token=\(other)", nil, 403, 403, "resource_mismatch"),
                ("/live/tnt/b?token=%3Cx", nil, 403, 403, "invalid_envelope"),
                ("/live/tnt/b?token=\(first)", second, 403, 403, "token_conflict"),
                ("/live/none?token=\(first)", nil, 403, 404, "unknown_media"),
                ("/live/tnt%2fy?token=\(first)", nil, 403, 404, "invalid_path"),
            ]
            for row in rows {
                let answer = try proxy.get(
                    row.target,
                    headers: row.cookie.map { ["Cookie": "media-token=\($0)"] } ?? [:]
                )
                #expect(answer.status == (edge.hasFullStatus ? row.full : row.status), "\(row.code) \(answer)")
                #expect(answer.headers["x-playgate-code"] == row.code, "\(answer)")
                #expect(answer.headers["x-playgate-trace"]?.count == 32, "\(answer)")
            }
            // The cache of an edge does not allow a second use of a token.
            gate.now = gate.now.advanced(byMilliseconds: -500_000)
            let again = try proxy.get("/live/tnt/a?token=\(used)")
            #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used", "\(again)")
            #expect(proxy.origin.requests == 1)
        }
    }

    @Test(arguments: EdgeProxy.asking)
    func `14: lets nobody pass while the gate is away or hangs`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        // A gate that accepts connections, and never responds.
        let python = try #require(Program.installed("python3"))
        let script = """
            import socket, sys, time
            path = sys.argv[1]
            s = socket.socket(socket.AF_UNIX) if path else socket.socket()
            s.bind(path or ("127.0.0.1", 0)); print("bound", s.getsockname()[1:], "done", flush=True)
            sys.argv[2] == "listen" and (s.listen(), print("ready", flush=True))
            time.sleep(300)
            """
        for mode in ["closed", "listen"] {
            let path = edge.asksOverTCP ? "" : folder.file("\(mode).sock")
            let gate = try Program(python, arguments: ["-c", script, path, mode], log: folder.file("\(mode).log"))
            #expect(eventually { gate.output.contains(mode == "listen" ? "ready" : "done") })
            let port = gate.output.split(separator: "\n").first?.filter(\.isNumber) ?? ""
            let address = edge.asksOverTCP ? "127.0.0.1:\(port)" : path
            let proxy = try RunningEdge(edge, in: folder, gate: address, options: RunningEdge.Options(isPatient: false))
            for target in ["/live/seg/1", "/live/free/1", "/live/tnt/1?token=abc"] {
                // The pages configure about half a second. By default most edges wait longer than this client.
                let answer = try proxy.get(target)
                #expect([500, 502, 503, 504].contains(answer.status), "\(mode) \(answer)")
            }
            #expect(proxy.origin.requests == 0)
            gate.signal(SIGKILL)
        }
    }

    @Test(arguments: EdgeProxy.allCases)
    func `asks on connections that it reuses`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let token = try gate.token()
            for number in 0..<50 { #expect(try proxy.get("/live/seg/\(number)?token=\(token)").status == 200) }
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"\(edge.dialect)\",status=\"200\"}") == 50)
            // One connection, and those that the edge opened for health checks.
            let connections = try gate.metric("playgate_connections_total{listener=\"\(edge.listener)\"}") ?? 0
            #expect(connections <= 4, "\(connections)")
        }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `13: shows nobody what another viewer, or another path, was allowed`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let cookie = ["Cookie": "media-token=\(try gate.token())"]
            for _ in 0..<3 {
                #expect(try proxy.get("/live/seg/1", headers: cookie).status == 200)
                #expect(try proxy.get("/live/seg/1").status == 401)
                #expect(try proxy.get("/live/seg/1", headers: ["Cookie": "media-token=x"]).status == 403)
                #expect(try proxy.get("/live/seg/1?token=x").status == 403)
                #expect(try proxy.get("/live/tnt/1", headers: ["Cookie": "media-token=x"]).status == 403)
                #expect(try proxy.get("/live/none", headers: cookie).status == (edge.hasFullStatus ? 404 : 403))
                #expect(try proxy.get("/live/free/1").status == 200)
                #expect(try proxy.get("/live/seg/1/../../none", headers: cookie).status != 200)
            }
        }
    }

    /// The number of targets for each edge, with each of two configurations.
    private static let targets = Int(ProcessInfo.processInfo.environment["PLAYGATE_TARGETS"] ?? "") ?? 4000

    /// The origin only gets paths that the client may request, however the edge normalises a target that the gate allows.
    @Test(arguments: EdgeProxy.deciding, [nil, "~cat="])
    func `3, 4, 5, 6: never lets pass what the origin reads as something else`(
        edge: EdgeProxy,
        segment: String?
    ) async throws {
        let catalogue = EdgeProxy.catalogue + "\n    - { path: /live/tbs/, resource: TBS, admits: ttl }"
        try await edge.withGate(segment: segment, catalogue: catalogue) { (gate, proxy) throws in
            let token = try gate.token()
            let safe = token.replacing("+", with: "-").replacing("/", with: "_")
            var requests = RandomRequests(seed: 7, tokens: [token, safe], segment: segment)
            var (passed, refused, playbacks) = (0, 0, 0)
            var connection = try proxy.connect()
            for _ in 0..<Self.targets {
                let (target, headers) = requests.next()
                let request = { try connection.request("GET", path: target, headers: headers) }
                guard let answer = try HTTPConnection.unlessClosed(request) else {
                    connection = try proxy.connect()
                    continue
                }
                if answer.headers["connection"]?.lowercased() == "close" { connection = try proxy.connect() }
                guard answer.status == 200 else {
                    refused += 1
                    continue
                }
                passed += 1
                let seen = answer.body.split(separator: "\n").first?.split(separator: " ").last ?? ""
                let path = String(seen.prefix { $0 != "?" }).removingPercentEncoding ?? ""
                #expect(!path.contains("\\") && !path.contains(";") && !path.contains("\0"), "\(target) \(seen)")
                let kept = Self.resolved(path, without: segment)
                let isFree = kept.starts(with: ["live", "free"])
                let hasToken = target.contains(safe.prefix(40)) || target.contains(token.prefix(40)) || !headers.isEmpty
                // A good token grants its own resource, and one playback of it.
                let isOwn = kept.starts(with: ["live", "seg"]) || kept.starts(with: ["live", "tnt"])
                #expect(isFree || (hasToken && isOwn), "\(target) \(headers) \(seen)")
                if kept.starts(with: ["live", "tnt"]) { playbacks += 1 }
            }
            #expect(playbacks <= 1)
            #expect(passed > Self.targets / 50 && refused > Self.targets / 5, "\(passed) \(refused)")
        }
    }

    /// Returns the path as a common origin resolves it, without the segments that hold tokens.
    private static func resolved(_ path: String, without prefix: String?) -> [Substring] {
        var kept: [Substring] = []
        for segment in path.split(separator: "/") where segment != "." {
            if let prefix, segment.hasPrefix(prefix) { continue }
            if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
        }
        return kept
    }
}

/// Random requests that traverse folders, with a token of one of them in any location, or none.
private struct RandomRequests {
    private var random: SplitMix64
    private let tokens: [String]
    private let segments: [String]

    private static let parts = [
        "live", "free", "seg", "tbs", "tnt", "/", "//", "..", ".", "%2e", "%2E%2e", "%2f", "%5c", "\\", ";a=b", ";",
        "%23",
        "%3f", "?", "#", "a.ts", "%66ree", "%c0%af", "%00", "%252e", "&", "=", "%", "é", "?token=x", "?a=b?token=x",
    ]

    init(seed: UInt64, tokens: [String], segment: String?) {
        random = SplitMix64(seed: seed)
        self.tokens = tokens
        segments =
            segment.map { [$0, "\($0)x", "\($0)..", "%7Ecat=x", "\($0)%2f", "\($0)%2e%2e", "\($0)\(tokens[1])"] } ?? []
    }

    mutating func next() -> (target: String, headers: [String: String]) {
        var target = ["/live/free/", "/live/free/", "/live/seg/", "/live/"].randomElement(using: &random) ?? ""
        let parts = Self.parts + segments + segments
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            target += parts.randomElement(using: &random) ?? ""
            if Bool.random(using: &random) { target += "/" }
        }
        let token = tokens[0]
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return (target + (target.contains("?") ? "&" : "?") + "token=\(token)", [:])
        case 1: return (target, ["Cookie": "media-token=\(token)"])
        case 2: return (target, ["X-Media-Token": token])
        default: return (target, [:])
        }
    }
}
