// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The requests that every page must treat in the same way.
enum EdgePageRules {
    /// Names of files in spellings that a server may replace by others.
    static let names = [
        "x%2By.ts", "x+y.ts", "a%5Bb%5D.ts", "a%26b%3Dc.ts", "a&b=c.ts", "a%20b.ts", "%C3%A9.ts", "a%3Ab.ts",
        "a:b@c.ts",
        "a%2Cb.ts", "a%2Fb.ts", "a%25b.ts", "a%40b.ts", "a%24b.ts",
    ]

    /// Paths that lead out of the free folder once they are resolved.
    static let escapes = [
        "../tnt/a.ts", "%2e%2e/tnt/a.ts", "%2E%2E/tnt/a.ts", ".%2e/tnt/a.ts", "..%2ftnt/a.ts", "./../tnt/a.ts",
        "x/../../tnt/a.ts",
        "x//../../tnt/a.ts", "x/%2e%2e/%2e%2e/tnt/a.ts", "..;/tnt/a.ts", "..%5ctnt/a.ts", "%2e%2e", "..",
    ]

    static let hosts = ["127.0.0.1", "localhost", "cdn.example", "CDN.Example:8088", "other.example", "[::1]:8088"]
}

/// Rules that every page of `docs/how-to/edges` follows, whatever the edge: paths, hosts, challenges, names and sizes of
/// heads.
@Suite(.serialized) struct `Every page of an edge` {
    // MARK: Paths

    /// A player's path is the origin's, and the answer to one spelling is not kept for another.
    @Test(arguments: EdgeProxy.deciding)
    func `sends the origin the path as the player sent it`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let token = try gate.token()
            for folder in ["/live/free/", "/live/seg/"] {
                for name in EdgePageRules.names {
                    let seen = try proxy.get("\(folder)\(name)?token=\(token)")
                    #expect(seen.status == 200, "\(seen)")
                    #expect(seen.body.split(separator: "\n").first == "GET \(folder)\(name)", "\(seen.body)")
                }
            }
        }
    }

    /// The same if a token is cut out of the path.
    @Test(arguments: EdgeProxy.deciding)
    func `sends the origin the rest of a path with a token as the player sent it`(edge: EdgeProxy) async throws {
        try await edge.withGate(segment: "~cat=") { (gate, proxy) throws in
            let token = try gate.token().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            for name in EdgePageRules.names {
                let seen = try proxy.get("/~cat=\(token)/live/seg/\(name)")
                #expect(seen.status == 200, "\(seen)")
                #expect(seen.body.split(separator: "\n").first == "GET /live/seg/\(name)", "\(seen.body)")
            }
        }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `opens no path by another one's dots`(edge: EdgeProxy) async throws {
        try await edge.withGate { (_, proxy) throws in
            for path in EdgePageRules.escapes {
                let seen = try proxy.get("/live/free/\(path)")
                guard seen.status == 200 else { continue }
                // Some resolve `//` after dots, and stay in the folder.
                let line = seen.body.split(separator: "\n").first ?? ""
                #expect(
                    line.hasPrefix("GET /live/free/") && !line.contains("..") && !line.contains("%2"),
                    "\(path) \(line)"
                )
            }
            // What leads back may pass, resolved.
            for path in [
                "/live/tnt/../free/a.ts", "/live//free/a.ts", "/live/tnt/%2e%2e/free/a.ts", "/live/free/./a.ts",
            ] {
                let seen = try proxy.get(path)
                guard seen.status == 200 else { continue }
                #expect(seen.body.split(separator: "\n").first == "GET /live/free/a.ts", "\(path) \(seen.body)")
            }
        }
    }

    /// nginx's own `proxy_redirect` does not know a `proxy_pass` with variables.
    @Test(arguments: EdgeProxy.installed([.nginx, .nginxModule]))
    func `holds redirects of the origin and within nginx to the checked path`(edge: EdgeProxy) async throws {
        try await edge.withGate { (_, proxy) throws in
            let moved = try proxy.get("/live/free/moved")
            #expect(
                moved.status == 301 && moved.headers["location"]?.hasSuffix("/live/free/moved/") == true,
                "\(moved)"
            )
            #expect(moved.headers["location"]?.contains(":\(proxy.origin.port)/") == false, "\(moved)")
            // A redirect by the origin within nginx is fetched by its own path, once.
            let within = try proxy.get("/live/free/within%2B")
            #expect(within.status == 200 && within.body.hasPrefix("GET /live/free/other.ts\n"), "\(within)")
            #expect(proxy.origin.requests == 3)
        }
    }

    /// The page's lines for an origin that needs a part of the query.
    @Test(.needs(.nginx)) func `sends a part of the query as nginx's page says`() async throws {
        let replacing = [
            "set $args \"\";": "set $args \"part=$arg_part\";", "$origin_path $uri\";": "$origin_path $uri $args\";",
            "$origin_path;\n": "$origin_path$origin_args;\n",
            "    map $uri $requested":
                "    map $origin_path $origin_args { volatile; \"\" \"\"; default \"?$args\"; }\n    map $uri $requested",
        ]
        let page = try EdgeProxy.file("docs/how-to/edges/nginx-rules.md")
        for (printed, other) in replacing where printed != "$origin_path $uri\";" && !printed.hasPrefix("$origin_path;")
        {
            #expect(page.contains(other.split(separator: "\n")[0].trimmingCharacters(in: .whitespaces)), "\(printed)")
        }
        try await EdgeProxy.nginx.withGate(replacing: replacing) { (_, nginx) throws in
            for (path, seen) in [
                ("/live/free/a%2Bb?part=7&token=x", "/live/free/a%2Bb?part=7"),
                ("/live/free/a%2Bb?part=8", "/live/free/a%2Bb?part=8"),
                ("/live//free/a?part=7", "/live/free/a?part=7"), ("/live/free/./a", "/live/free/a?part="),
            ] {
                let answer = try nginx.get(path)
                #expect(answer.status == 200 && answer.body.hasPrefix("GET \(seen)\n"), "\(path) \(answer)")
            }
        }
    }

    // MARK: Hosts and challenges

    @Test(arguments: EdgeProxy.deciding)
    func `checks requests to every host, and says which credential it lacks`(edge: EdgeProxy) async throws {
        try await edge.withGate(isOnPort: true) { (gate, proxy) throws in
            let token = try gate.token()
            for host in EdgePageRules.hosts {
                let get = { try proxy.connect().request("GET", path: $0, host: host) }
                let missing = try get("/live/seg/1")
                #expect(
                    missing.status == 401 && missing.headers["x-playgate-code"] == "media_token_missing",
                    "\(host) \(missing)"
                )
                #expect(missing.values("WWW-Authenticate") == ["MediaToken"], "\(missing.fields)")
                let refused = try get("/live/seg/1?token=x")
                #expect(refused.status == 403 && refused.values("WWW-Authenticate").isEmpty, "\(host) \(refused)")
                let unknown = try get("/live/none?token=\(token)")
                #expect(
                    unknown.status == (edge.hasFullStatus ? 404 : 403) && unknown.values("WWW-Authenticate").isEmpty,
                    "\(host) \(unknown)"
                )
                let played = try get("/live/seg/1?token=\(token)")
                #expect(played.status == 200 && played.body.hasPrefix("GET /live/seg/1\n"), "\(host) \(played)")
            }
        }
    }

    // MARK: Names

    /// Names that the gate gives to no field today, or that only other edges know.
    private static let fieldNames = ["Viewer", "Scheme", "Client", "Manifest-URL", "MVPD-2", "-MVPD", ""]

    /// An origin that trusts `X-Playgate-…` never sees such a field of a client. Where an edge cannot remove it, the request is refused.
    @Test(arguments: EdgeProxy.deciding)
    func `lets no field with a name of the gate's pass`(edge: EdgeProxy) async throws {
        try await edge.withGate { (gate, proxy) throws in
            let token = try gate.token()
            for path in ["/live/free/a", "/live/seg/a?token=\(token)"] {
                for name in Self.fieldNames {
                    for (first, second) in [
                        ("-", "-"), ("_", "_"), (".", "."), ("_", "."), (".", "-"), ("!", "-"), ("~", "!"),
                    ] {
                        let field = "x\(first)PlayGate\(second)\(name)"
                        let seen = try proxy.get(path, headers: [field: "mine"])
                        #expect([200, 400, 403].contains(seen.status), "\(field) \(seen)")
                        #expect(!seen.body.contains("mine"), "\(field) \(seen)")
                    }
                }
                #expect(try proxy.get(path).status == 200)
            }
        }
    }

    // MARK: Heads

    /// A fragment of an asset, with as much text as the gate says about a resource.
    private static let asset =
        "<rss version='2.0'><channel><title>TNT</title><item><title>\(String(repeating: "a", count: 900))</title></item></channel></rss>"

    /// A gate whose answers have the largest heads: a resource with much text, and a grant with a long signature for all ways of delivery.
    private static func withLargeHeads(
        at edge: EdgeProxy,
        body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        let folder = try TemporaryFolder()
        let openssl = try #require(Program.installed("openssl"), "openssl is not installed: run scripts/setup test")
        let key = [
            "genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:4096", "-out", folder.file("large.pem"),
        ]
        try #require(try CommandRun(openssl, arguments: key).status == 0)
        let more = """
            keys: { large: { private: { file: "\(folder.file("large.pem"))" }, algorithm: PS256 } }
            grants:
              subjectKey: "\(Film.secret)"
              profiles:
                large:
                  issuer: playgate
                  key: large
                  life: 300s
                  scheme: http
                  renew: { type: header, deadline: 120s }
                  deliver: [cookie, segment, query, header]
                  cookie: { sameSite: Lax }
            """
        let entries = """
            \(EdgeProxy.catalogue)
                - { path: /live/asset/, resource: "\(asset)", grant: large }
                - { path: /live/asset/kept/, resource: "\(asset)", admits: ttl }
            """
        try await edge.withGate(catalogue: entries, more: more, folder: folder, body)
    }

    /// A token that was consumed for nothing is the worst answer of all: the viewer cannot play, nor try again.
    @Test(arguments: EdgeProxy.deciding)
    func `passes on the largest heads`(edge: EdgeProxy) async throws {
        try await Self.withLargeHeads(at: edge) { (gate, proxy) throws in
            // Traffic Server's own plugin for scripts reads 2 KiB of a path: longer ones are refused before a token is consumed.
            let isCut = edge == .trafficserver
            if isCut {
                let long = try proxy.get("/live/free/\(String(repeating: "a", count: 2100))")
                #expect(long.status == 414 && proxy.origin.requests == 0, "\(long)")
            }
            let file = String(repeating: "a", count: isCut ? 1800 : 3300)
            for (index, path) in ["/live/asset/a.m3u8", "/live/asset/\(file).m3u8"].enumerated() {
                let token = try gate.token(GateSample.claims(resource: Self.asset, session: "viewer-\(index)"))
                let cookie = ["Cookie": "media-token=\(token)"]
                let played = try proxy.get(path, headers: cookie)
                #expect(
                    played.status == 200 && played.body.hasPrefix("GET \(path)\n"),
                    "\(path.count) \(played.status) \(played.fields)"
                )
                if edge.deliversGrants {
                    #expect(played.values("Set-Cookie").contains { $0.count > 900 }, "\(played.fields)")
                }
                let again = try proxy.get(path, headers: cookie)
                #expect(
                    again.status == 403 && again.headers["x-playgate-code"] == "token_already_used",
                    "\(again.status) \(again.fields)"
                )
            }
            let token = try gate.token(GateSample.claims(resource: Self.asset, session: "reader"))
            for path in ["/live/asset/kept/\(file).ts", "/live/free/\(file).ts"] {
                for _ in 0..<2 {
                    let kept = try proxy.get("\(path)?token=\(token)")
                    #expect(kept.status == 200 && kept.body.hasPrefix("GET \(path)\n"), "\(kept.status) \(kept.fields)")
                }
            }
            for (path, full, code) in [
                ("/live/asset/kept/\(file).ts", 401, "media_token_missing"),
                ("/live/asset/kept/\(file).ts?token=x", 403, "invalid_base64"),
                ("/live/none/\(file).ts?token=\(token)", 404, "unknown_media"),
            ] {
                let refused = try proxy.get(path)
                #expect(
                    refused.status == (edge.hasFullStatus || full == 401 ? full : 403),
                    "\(refused.status) \(refused.fields)"
                )
                #expect(refused.headers["x-playgate-code"] == code, "\(refused.fields)")
            }
        }
    }
}
