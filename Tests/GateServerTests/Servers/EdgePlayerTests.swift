// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeChecks
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import NIOHTTP1
import Platform
import RequestTargets
import Testing

import struct HTTPServer.HTTPFields

@testable import EdgeListener
@testable import GateConfiguration

/// What a player in a browser needs of every edge, with the configuration of its page in `docs/how-to/edges`.
@Suite(.serialized) struct `A player behind a real edge` {
    private static let exposed = ["Access-Control-Expose-Headers": "X-Playgate-Code, X-Playgate-Trace"]
    private static let cors = [
        "Access-Control-Allow-Origin": "https://player.example", "Access-Control-Allow-Credentials": "true",
    ]

    private static func expect(_ fields: [String: String], of answer: HTTPConnection.Response, comment what: String) {
        for (name, value) in fields { #expect(answer.values(name) == [value], "\(what): \(name) \(answer.fields)") }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `gets its preflights answered without a token`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            for (path, method, header) in [
                ("/live/tnt/a.m3u8", "GET", "cta-common-access-token"), ("/live/seg/1", "GET", "range"),
                ("/live/none", "GET", "x-media-token"), ("/live/tnt/licence", "POST", "content-type,soapaction"),
            ] {
                let preflight = [
                    "Origin": "https://player.example", "Access-Control-Request-Method": method,
                    "Access-Control-Request-Headers": header,
                ]
                let answer = try proxy.connect().request("OPTIONS", path: path, headers: preflight)
                #expect(answer.status == 204, "\(answer)")
                Self.expect(Self.cors, of: answer, comment: path)
                let allowed = [
                    "Access-Control-Allow-Methods": "GET, HEAD, POST", "Access-Control-Max-Age": "7200",
                    "Access-Control-Allow-Headers":
                        "Range, Content-Type, SOAPAction, X-Media-Token, CTA-Common-Access-Token",
                ]
                Self.expect(allowed, of: answer, comment: path)
            }
            #expect(proxy.origin.requests == 0)
            for status in [200, 401, 403] {
                let checks = "playgate_edge_requests_total{edge=\"\(edge.dialect)\",status=\"\(status)\"}"
                #expect(try gate.metric(checks) ?? 0 == 0)
            }
        }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `may read every answer, and no shared cache may store one`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let token = try gate.token()
            let origin = ["Origin": "https://player.example"]
            for path in ["/live/seg/1", "/live/seg/hostile", "/live/free/hostile"] {
                let answer = try proxy.get("\(path)?token=\(token)", headers: origin)
                #expect(answer.status == 200)
                Self.expect(Self.cors.merging(Self.exposed) { $1 }, of: answer, comment: path)
                let kept = answer.values("Cache-Control").joined(separator: ", ")
                #expect(
                    kept.hasPrefix("private, ") && !kept.contains("public") && !kept.contains("s-maxage"),
                    "\(kept)"
                )
                if edge != .trafficserver {
                    #expect(kept == "private, max-age=\(path.hasSuffix("hostile") ? 7 : 60)", "\(path)")
                }
                #expect(answer.values("Set-Cookie").isEmpty && answer.values("Expires").isEmpty, "\(answer.fields)")
            }
            for path in ["/live/seg/1", "/live/seg/1?token=x", "/live/none"] {
                let answer = try proxy.get(path, headers: origin)
                #expect([401, 403, 404].contains(answer.status))
                Self.expect(Self.cors.merging(Self.exposed) { $1 }, of: answer, comment: path)
                #expect(answer.values("X-Playgate-Code").count == 1 && answer.values("X-Playgate-Trace").count == 1)
                #expect(answer.values("Cache-Control") == ["no-store"], "\(answer.fields)")
            }
        }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `may ask for a head or a range first, and reload, without losing its token`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            for presentation in [{ ("?token=\($0)", [:]) }, { ("", ["Cookie": "media-token=\($0)"]) }] as [Presentation]
            {
                let (query, headers) = presentation(try gate.token(GateSample.claims(session: UUID().uuidString)))
                let target = "/live/tnt/master.m3u8\(query)"
                for _ in 0..<2 {
                    #expect(try proxy.connect().request("HEAD", path: target, headers: headers).status == 200)
                    let part = try proxy.get(target, headers: headers.merging(["Range": "bytes=0-1"]) { $1 })
                    #expect(part.status == 403 && part.headers["x-playgate-code"] == "range_not_permitted", "\(part)")
                }
                // A range that is the whole is a start.
                let whole = try proxy.get(target, headers: headers.merging(["Range": "bytes=0-"]) { $1 })
                #expect([200, 206].contains(whole.status), "\(whole)")
                let again = try proxy.get(target, headers: headers)
                #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used", "\(again)")
                let segment = try proxy.get(
                    "/live/seg/1\(query)",
                    headers: headers.merging(["Range": "bytes=0-1"]) { $1 }
                )
                #expect([200, 206].contains(segment.status), "\(segment)")
            }
        }
    }

    private typealias Presentation = (String) -> (String, [String: String])

    /// The second viewer of a segment costs the origin nothing, wherever the two show their tokens.
    @Test(arguments: EdgeProxy.deciding.filter(\.sharesContent), [nil, "~cat="])
    func `shares the content with all others, only by its path`(edge: EdgeProxy, segment: String?) async throws {
        try await edge.withGate(segment: segment) { (gate, proxy) throws in
            let viewers = try ["one", "two", "three", "four"].map { try gate.token(GateSample.claims(session: $0)) }
            let safe = viewers.map { $0.replacing("+", with: "-").replacing("/", with: "_") }
            var bodies: Set<String> = []
            for number in 0..<3 {
                let path = "/live/seg/\(number).ts"
                var requests: [(String, [String: String])] = [
                    ("\(path)?token=\(viewers[0])", [:]), ("\(path)?token=\(viewers[1])&x=y", [:]),
                    (path, ["Cookie": "media-token=\(viewers[2])"]), (path, ["X-Media-Token": viewers[3]]),
                ]
                if let segment {
                    requests += [
                        ("/\(segment)\(safe[0])\(path)", [:]), ("/live/\(segment)\(safe[1])/seg/\(number).ts", [:]),
                    ]
                }
                for (target, headers) in requests {
                    let answer = try proxy.get(target, headers: headers)
                    #expect(answer.status == 200, "\(target.prefix(20)) \(answer)")
                    bodies.insert(answer.body)
                }
            }
            #expect(bodies.count == 3)
            #expect(proxy.origin.requests == 3)
            // The cache opens for nobody without a token.
            #expect(try proxy.get("/live/seg/0.ts").status == 401)
            // What the origin got contains no token.
            for body in bodies {
                #expect(viewers.allSatisfy { !body.contains($0.prefix(30)) } && !body.contains("~cat="), "\(body)")
                #expect(!body.contains("media-token") && !body.contains("x-media-token"))
            }
        }
    }

    /// Edges without a cache cut the token from the requests to the origin too.
    @Test(arguments: EdgeProxy.deciding)
    func `shows its token to the gate only`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        try await edge.withGate(segment: "~cat=", folder: folder) { (gate, proxy) throws in
            let token = try gate.token()
            let safe = token.replacing("+", with: "-").replacing("/", with: "_")
            var bodies = ""
            for (target, headers): (String, [String: String]) in [
                ("/live/seg/1?token=\(token)", [:]), ("/live/seg/2", ["Cookie": "media-token=\(token)"]),
                ("/live/seg/3", ["X-Media-Token": token]), ("/~cat=\(safe)/live/seg/4", [:]),
                ("/live/seg/~cat=\(safe)/5", [:]), ("/%7Ecat=\(safe)/live/seg/6", [:]),
                ("/live/%7ecat=\(safe)/seg/7", [:]),
            ] {
                let answer = try proxy.get(target, headers: headers)
                #expect(answer.status == 200, "\(target.prefix(20)) \(answer)")
                bodies += answer.body
            }
            for number in 1...7 { #expect(bodies.contains("GET /live/seg/\(number)\n"), "\(bodies)") }
            // Refusals, and errors: the origin is away, the path is too long.
            for target in [
                "/live/none/~cat=\(safe)/a?token=\(token)",
                "/live/seg/\(String(repeating: "a", count: 9000))?token=\(token)",
            ] {
                _ = try? proxy.get(target, headers: ["X-Media-Token": token])
            }
            #expect(!bodies.contains(token.prefix(30)) && !bodies.contains(safe.prefix(30)))
            proxy.stop()
            let logs = try proxy.logs()
            #expect(!logs.contains(token.prefix(30)) && !logs.contains(safe.prefix(30)), "\(edge): \(logs)")
            if [.nginx, .haproxy, .trafficserverModule].contains(edge) {
                #expect(logs.contains("/live/seg/1"), "\(logs)")
            }
        }
    }

    /// Behind an origin that accepts h2c, a connection that changed its protocol would pass unchecked.
    @Test(
        arguments: EdgeProxy.installed([
            .nginx, .nginxModule, .caddy, .haproxy, .varnish, .varnishModule, .trafficserverModule,
        ])
    )
    func `passes no change of the protocol to the origin`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let headers = [
                "X-Media-Token": try gate.token(), "Connection": "Upgrade, HTTP2-Settings", "Upgrade": "h2c",
                "HTTP2-Settings": "AAMAAABkAARAAAAAAAIAAAAA",
            ]
            let answer = try proxy.get("/live/seg/1", headers: headers)
            #expect(answer.status == 200 && !answer.body.lowercased().contains("h2c"), "\(answer)")
            #expect(!answer.body.lowercased().contains("http2-settings:"), "\(answer)")
        }
    }

    /// An edge logs most when something fails.
    @Test(arguments: EdgeProxy.asking)
    func `has its token in no log if the gate is away`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        let options = RunningEdge.Options(isPatient: false, hasSegments: true)
        let proxy = try RunningEdge(
            edge,
            in: folder,
            gate: edge.asksOverTCP ? "127.0.0.1:1" : folder.file("none"),
            options: options
        )
        let token = "2D3RhEOhAQWhBFBncm9zc2VuIHNlc2FtZQ"
        for target in [
            "/live/seg/1?token=\(token)", "/~cat=\(token)/live/seg/2", "/live/~cat=\(token)/a?token=\(token)",
            "/%7Ecat=\(token)/live/seg/2", "/live/%7ecat=\(token)/a",
        ] {
            let headers = ["X-Media-Token": token, "CTA-Common-Access-Token": token, "Cookie": "media-token=\(token)"]
            let answer = try proxy.get(target, headers: headers)
            #expect([500, 502, 503, 504].contains(answer.status), "\(answer)")
            #expect(answer.values("Access-Control-Allow-Origin") == ["https://player.example"], "\(answer.fields)")
        }
        proxy.stop()
        let logs = try proxy.logs()
        #expect(!logs.contains(token.prefix(20)), "\(edge): \(logs)")
    }

    @Test(arguments: EdgeProxy.asking.filter(\.asksOverHTTP))
    func `gets a new grant from the edges that can deliver it`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        let path = edge.asksOverTCP ? nil : folder.file("edge.sock")
        let gate = try GrantingGate(path, isOffload: edge == .haproxy)
        let proxy = try RunningEdge(edge, in: folder, gate: path ?? "127.0.0.1:\(gate.port)")
        for round in 0..<2 {
            for target in ["/live/renew/1", "/live/renew/hostile"] {
                let answer = try proxy.get(target)
                #expect(answer.status == 200)
                let cookies = answer.values("Set-Cookie")
                #expect(cookies == (edge.deliversGrants ? [GrantingGate.cookie] : []), "\(edge) \(answer.fields)")
                // The bare token is for edges, and the origin sees nothing of it.
                #expect(answer.values("X-Playgate-Grant").isEmpty && answer.values("X-Playgate-Set-Cookie").isEmpty)
                #expect(!answer.body.contains(GrantingGate.token), "\(answer.body)")
            }
            // A cached response has no cookie of another viewer, and neither has one without a new grant.
            let kept = try proxy.get("/live/seg/\(round)")
            #expect(kept.status == 200 && kept.values("Set-Cookie").isEmpty, "\(kept.fields)")
        }
        if edge.sharesContent { #expect(proxy.origin.requests <= (edge == .nginx ? 5 : 4)) }
        #expect(!(try proxy.logs().contains(GrantingGate.token)))
    }

    @Test(.enabled(if: EdgeProxy.asking.contains(.caddy)))
    func `behind a balancer of Caddy has its own address, and no host of its own choice`() async throws {
        let folder = try TemporaryFolder()
        let gate = try GrantingGate(folder.file("edge.sock"), isOffload: false)
        // A socket of the system has no address for Caddy to trust.
        let options = RunningEdge.Options(hasBalancer: true, port: try RunningEdge.freePort())
        let proxy = try RunningEdge(.caddy, in: folder, gate: folder.file("edge.sock"), options: options)
        let balancer = [
            "X-Forwarded-For": "6.6.6.6, 203.0.113.9", "X-Forwarded-Host": "evil", "X-Forwarded-Proto": "https",
        ]
        #expect(try proxy.get("/live/seg/1", headers: balancer).status == 200)
        let head = try #require(gate.checks.first)
        let networks = [IPNetwork("10.0.0.0/8"), IPNetwork("127.0.0.0/8")].compactMap { $0 }
        let lines = head.headers["x-forwarded-for"].map { $0[...] }
        #expect(ForwardedFor.networks(networks).client(in: lines) == "203.0.113.9", "\(head)")
        #expect(head.headers["x-forwarded-proto"] == ["https"], "\(head)")
        #expect(head.headers["x-forwarded-host"].allSatisfy { !$0.contains("evil") }, "\(head)")
    }

    /// The facts that a grant may be bound to: those that the edge states, and none that a client states.
    @Test(arguments: EdgeProxy.asking.filter(\.asksOverHTTP))
    func `is described to the gate by its edge, and not by itself`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        let path = edge.asksOverTCP ? nil : folder.file("edge.sock")
        let gate = try GrantingGate(path, isOffload: edge == .haproxy)
        let proxy = try RunningEdge(edge, in: folder, gate: path ?? "127.0.0.1:\(gate.port)")
        let spoofed = [
            "X-Original-URL": "ftp://evil/live/seg/1", "X-Original-Scheme": "ftp", "X-Original-Host": "evil",
            "X-Original-Client": "6.6.6.6", "X-Forwarded-Proto": "ftp", "X-Forwarded-Host": "evil",
            "X-Forwarded-For": "6.6.6.6", "X-Envoy-External-Address": "6.6.6.6", "X-Playgate-Scheme": "ftp",
            "X-Playgate-Client": "6.6.6.6", "X-Playgate-Host": "evil", "X-Original-ALPN": "h9",
            "X-Original-Client-Key": "MAEF", "X-Original-ASN": "666", "X-Original-Geo": "XX",
            "X-Original-Position": "66,66", "User-Agent": "Player/1.0",
        ]
        #expect(try proxy.get("/live/seg/1?a=b", headers: spoofed).status == 200)
        let head = try #require(gate.checks.first)
        let dialect = try #require(EdgeDialect(rawValue: edge.dialect))
        let fields = HTTPFields(head.headers)
        let (target, sources) = ("/live/seg/1?a=b"[...], TokenSources(tokens: [], grants: []))
        let reader = EdgeFieldReader(row: dialect.row, sources: sources)
        let found = EdgeFields(fields, names: reader.names)
        let parsed = try #require(ParsedTarget(target))
        let report = EdgeFieldReport(fields: found, target: parsed, sentTarget: target, reader: reader)
        let authority = found.value(.host).flatMap { URIAuthority($0) }
        let origin: (scheme: RequestURI.Scheme?, authority: URIAuthority?) =
            switch report.origin(authority) {
            case .own(let scheme): (scheme, authority)
            case .other(let scheme, let authority): (scheme, authority)
            }
        var facts = RequestFacts(uri: try #require(RequestURI(target)))
        facts.client = report
        // Caddy does not say who asks over a unix socket, as in this test.
        let isSilent = edge == .caddy
        if let scheme = origin.scheme {
            #expect(scheme == .http)
        } else {
            #expect(isSilent && facts.unknown(.scheme).reason == .notReported, "\(head)")
        }
        if let authority = origin.authority {
            #expect(authority.host == "gate" && [nil, 80].contains(authority.port), "\(head)")
        } else {
            #expect(isSilent && facts.unknown(.host).reason == .notReported, "\(head)")
        }
        if let address = facts.clientAddress {
            // 127.0.0.1, or 0.0.0.0 for a unix socket.
            #expect([IPAddress("127.0.0.1"), IPAddress("0.0.0.0")].contains(address), "\(head)")
        }
        if edge == .trafficserver { #expect(facts.clientAddress == IPAddress("127.0.0.1"), "\(head)") }
        for fact in [RequestFact.alpn, .clientKey, .clientASN, .countries, .position] {
            #expect(facts.unknown(fact).reason == .notReported, "\(fact): \(head)")
        }
        #expect(fields.first("user-agent") == "Player/1.0", "\(head)")
    }
}
