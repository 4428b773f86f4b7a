// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Platform
import Testing

/// What `EdgeSamenessTests` demands of the adapters in this process, of real servers: a module gives the code that the gate gives
/// to a sub-request with the same target, credentials and facts.
@Suite(.serialized) struct `One request by every module` {
    /// The number of requests by each module. `PLAYGATE_STEPS` sets another.
    private static let count = ProcessInfo.processInfo.environment["PLAYGATE_STEPS"].flatMap { Int($0) } ?? 2_000

    private static let modules: [EdgeProxy] = [.nginxModule, .varnishModule, .envoyModule, .trafficserverModule]

    /// Files and a glob, in addition to the entries of edges and of the film.
    private static let entries = """
            - { path: "/vod/*.m3u8", resource: TNT, admits: ttl }
            - { path: /vod/, protected: false }

        """

    @Test(arguments: EdgeProxy.installed(modules))
    func `has the same answer`(edge: EdgeProxy) async throws {
        let catalogue = "\(EdgeProxy.catalogue)\n\(Film.catalogue)\(Self.entries)"
        try await edge.withGate(catalogue: catalogue, more: Film.grants, isOnPort: true) { (gate, proxy) throws in
            let sample = try Sample(of: gate, host: proxy.address)
            var random = SplitMix64(seed: 4)
            var codes: Set<String> = []
            var (player, service) = (try proxy.connect(), try HTTPConnection(gate.edge))
            for number in 0..<Self.count {
                let request = sample.request(&random)
                let expected = try service.request("GET", path: edge.endpoint, headers: request.check(by: edge))
                    .gateCode
                let answer = try player.request(
                    "GET",
                    path: request.target,
                    headers: request.fields,
                    host: request.host
                )
                let found = answer.gateCode.isEmpty ? "\(answer.status) without a code" : answer.gateCode
                codes.insert(Self.same(expected))
                #expect(Self.same(found) == Self.same(expected), "\(edge) \(number): \(request)")
                if Self.same(found) != Self.same(expected) { return }
                if answer.headers["connection"] == "close" { player = try proxy.connect() }
                if number % 500 == 499 { service = try HTTPConnection(gate.edge) }
            }
            // The generator reaches what it is for.
            for code in [
                "granted", "start", "within_ttl", "unprotected", "unknown_media", "invalid_path", "token_conflict",
                "media_token_missing", "untrusted_signature", "grant_malformed",
            ] {
                #expect(codes.contains(code), "\(edge): \(code) is not in \(codes.sorted())")
            }
        }
    }

    /// A media token that starts a playback is used up by whoever comes first.
    private static func same(_ code: String) -> String {
        ["verified", "repeated", "token_already_used"].contains(code) ? "start" : code
    }
}

extension EdgeProxy {
    /// The gate's endpoint for edges that treat paths as this one does.
    fileprivate var endpoint: String { self == .nginxModule ? "/v1/check/nginx" : "/v1/check/forward" }
}

/// A request with credentials in sources of its own.
private struct PlayerRequest: CustomStringConvertible {
    var target: String
    var fields: [String: String] = [:]
    let host: String

    var description: String { "\(target.prefix(300)) \(fields.mapValues { $0.prefix(80) })" }

    /// The header fields of the check that states this request.
    func check(by edge: EdgeProxy) -> [String: String] {
        let facts =
            edge == .nginxModule
            ? [
                "X-Original-URI": target, "X-Original-Method": "GET", "X-Original-Scheme": "http",
                "X-Original-Client": "127.0.0.1",
            ]
            : [
                "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Proto": "http",
                "X-Forwarded-For": "127.0.0.1",
            ]
        let name = edge == .nginxModule ? "X-Original-Host" : "X-Forwarded-Host"
        var all = fields.merging(facts) { $1 }
        all[name] = host
        if edge == .nginxModule { all["X-Original-Range"] = all.removeValue(forKey: "Range") }
        return all
    }
}

/// Paths and credentials, from which requests are made.
private struct Sample {
    private let host: String
    private let tokens: [String]
    private let grants: [String]

    private static let paths = [
        "/film/tnt/1.ts", "/film/tnt/low/2.ts", "/film/tnt/low/3.ts", "/film/tbs/1.ts", "/live/seg/1.ts",
        "/live/seg/2.ts",
        "/live/free/1.ts", "/film/tnt/master.m3u8", "/live/tnt/a.m3u8", "/vod/film.m3u8", "/vod/1.ts", "/none/1.ts",
        "/",
        "/vod/film.m3u8%3f", "/vod/film.m3u8%23x", "/film/tnt/%C3%A9.ts", "/film/tnt/a;b=c/1.ts", "/film/tnt/%2525.ts",
        "/film/tnt/%2F1.ts", "/film/tnt/%5C1.ts", "/film/tnt/a+b.ts", "/film/tnt/a%2Bb.ts", "/live/seg/~x=1/1.ts",
    ]

    init(of gate: RunningGate, host: String) throws {
        self.host = host
        let playback = try gate.play("film", token: try gate.filmToken("viewer"))
        let all = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
        let issued = all.compactMap { $0["token"] as? String }
        let good = try #require(issued.first)
        grants = issued + [good, "x", String(good.dropLast()), good + "A", try gate.token()]
        let token = try gate.token()
        tokens = [
            token, token, token, try gate.token(GateSample.claims(session: "another")),
            try gate.token(GateSample.claims(resource: "TBS")),
            try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized, "x", "<x", good,
        ]
    }

    func request(_ random: inout SplitMix64) -> PlayerRequest {
        var path = Self.paths.randomElement(using: &random) ?? "/"
        var (query, cookies, fields): ([String], [String], [String: String]) = ([], [], [:])
        if Bool.random(using: &random) {
            query.append(["a=b", "a=%20b", "x=100%25", ""].randomElement(using: &random) ?? "")
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let token = tokens.randomElement(using: &random) ?? ""
            switch Int.random(in: 0...2, using: &random) {
            case 0: query.append("token=\(token.asSent)")
            case 1: fields["X-Media-Token"] = token
            default: cookies.append("media-token=\(token)")
            }
        }
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            let grant = grants.randomElement(using: &random) ?? ""
            switch Int.random(in: 0...3, using: &random) {
            case 0: query.append("cat=\(grant.asSent)")
            case 1: fields["CTA-Common-Access-Token"] = grant
            case 2: path = "/~cat=\(grant.asSent)\(path)"
            default: cookies.append("CTA-Common-Access-Token=\(grant)")
            }
        }
        if !cookies.isEmpty { fields["Cookie"] = cookies.joined(separator: "; ") }
        if Int.random(in: 0..<8, using: &random) == 0 {
            fields["Range"] = ["bytes=0-", "bytes=1-2"].randomElement(using: &random)
        }
        let target = query.isEmpty ? path : "\(path)?\(query.joined(separator: "&"))"
        let other = Int.random(in: 0..<6, using: &random) == 0
        return PlayerRequest(target: target, fields: fields, host: other ? "cdn.example" : host)
    }
}

extension String {
    /// The text in a target. Envoy decodes what needs no encoding, before anyone checks it.
    fileprivate var asSent: String {
        allSatisfy { $0.isLetter || $0.isNumber || "-_".contains($0) } ? self : percentEncoded
    }
}
