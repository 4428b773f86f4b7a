// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import NIOHTTP1
import Testing

@testable import GateConfiguration

/// Origins that send the listener elsewhere, and proxies that remove a part of the player's path.
@Suite struct `A manifest at another URL than the player's` {
    private typealias Script = ScriptedOrigin.Script

    private static let film = "#EXTM3U\n#EXTINF:2,\nseg1.ts\n#EXTINF:2,\n/vod/seg2.ts\n#EXT-X-ENDLIST\n"
    private static let path = "/film/tnt/film.m3u8"

    /// Redirects of the origin, and the paths of what the player then requests, without the grant.
    static let followed: [(name: String, redirects: [String: String], folder: String)] = [
        ("a path", [path: "/s/42/film.m3u8?sid=9"], "/s/42/"),
        ("a relative path", [path: "../hbo/film.m3u8"], "/film/hbo/"),
        ("only a query", [path: "?sid=9", path + "?sid=9": "low/film.m3u8"], "/film/tnt/low/"),
        ("the origin's own URL", [path: "ORIGIN/s/film.m3u8"], "/s/"),
        ("the origin without a scheme", [path: "//HOST/s/film.m3u8"], "/s/"),
        ("five in turn", [path: "/1", "/1": "/2", "/2": "/3", "/3": "/4", "/4": "/5/film.m3u8"], "/5/"),
    ]

    @Test(arguments: followed.indices)
    func `is followed to the origin's other paths`(number: Int) async throws {
        let (name, redirects, folder) = Self.followed[number]
        let origin = try Self.origin(redirects)
        for mode in ["segment", "query"] {
            try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
                let answer = try gate.start(Self.path)
                let grant = try #require(answer.grants.first, "\(name): \(answer)")
                let expected =
                    mode == "segment"
                    ? ["/~cat=\(grant)\(folder)seg1.ts", "/~cat=\(grant)/vod/seg2.ts"]
                    : ["\(folder)seg1.ts?cat=\(grant)", "/vod/seg2.ts?cat=\(grant)"]
                #expect(answer.references == expected, "\(name)")
            }
        }
    }

    /// An `http` origin may redirect to others by name; their references are theirs, and get a grant if their host is protected.
    @Test func `is followed to hosts that are named`() async throws {
        let other = try ScriptedOrigin(["/s/film.m3u8": Self.film])
        let origin = try Self.origin([Self.path: "\(other.url)/s/film.m3u8"])
        try await ManifestGate.with(origin, manifest: ["advanced: { allowRedirectsTo: [\"127.0.0.1:\(other.port)\"] }"])
        {
            (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.references == ["\(other.url)/s/seg1.ts", "\(other.url)/vod/seg2.ts"], "\(answer)")
            #expect(answer.grants.isEmpty)
        }
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 502 && answer.code == "origin_redirected", "\(answer)")
            #expect(other.heads.count == 1)
        }
    }

    /// Media that needs no grant, too, is requested where the origin has it.
    @Test func `is written for the player without a grant too`() async throws {
        let origin = try Self.origin(["/free/film.m3u8": "/s/42/film.m3u8"])
        try await ManifestGate.with(origin, manifest: ["advanced: { publicPath: /watch }"]) { (gate) throws in
            let answer = try gate.manifest(at: "/free/film.m3u8")
            #expect(answer.references == ["/watch/s/42/seg1.ts", "/watch/vod/seg2.ts"], "\(answer)")
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"unchanged\"}") == 1)
        }
    }

    @Test func `is followed by HEAD too`() async throws {
        let origin = try Self.origin([Self.path: "/s/film.m3u8"])
        try await ManifestGate.with(origin) { (gate) throws in
            let token = try gate.token(GateSample.claims(session: "one", ttl: 20_000)).percentEncoded
            let answer = try gate.manifest(at: "\(Self.path)?token=\(token)", method: "HEAD")
            #expect(answer.status == 200, "\(answer)")
            #expect(origin.heads.map(\.method) == [.HEAD, .HEAD])
        }
    }

    /// Redirects that are not followed.
    static let refused: [(name: String, redirects: [String: String])] = [
        ("to itself", [path: path]),
        ("in a circle", [path: "/1", "/1": path]),
        ("six in turn", [path: "/1", "/1": "/2", "/2": "/3", "/3": "/4", "/4": "/5", "/5": "/6/film.m3u8"]),
        ("to another host", [path: "http://other.example/film.m3u8"]),
        ("to another port", [path: "http://127.0.0.1:1/film.m3u8"]),
        ("to another host without a scheme", [path: "//other.example/film.m3u8"]),
        ("to another scheme", [path: "ftp://HOST/film.m3u8"]),
        ("to a file", [path: "file:///etc/passwd"]),
        ("with a user", [path: "http://user@HOST/s/film.m3u8"]),
        ("with a backslash", [path: "http:\\\\HOST\\film.m3u8"]),
        ("with an encoded slash before dots", [path: "/s%2f../film.m3u8"]),
        ("with an encoding of nothing", [path: "/s%film.m3u8"]),
        ("to nothing", [path: ""]),
    ]

    @Test(arguments: refused.indices)
    func `is refused if it leads anywhere else`(number: Int) async throws {
        let (name, redirects) = Self.refused[number]
        let origin = try Self.origin(redirects)
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(answer.status == 502 && answer.code == "origin_redirected", "\(name): \(answer)")
            #expect(origin.heads.count <= 6)
        }
    }

    @Test func `is refused without one Location`() async throws {
        let both = [("Location", "/1.m3u8"), ("Location", "/2.m3u8")]
        for fields in [[], both] {
            let origin = try ScriptedOrigin { _ in Script(status: .found, fields) }
            try await ManifestGate.with(origin) { (gate) throws in
                #expect(try gate.start(Self.path).code == "origin_redirected")
            }
        }
    }

    static let targets: [(location: String, from: String, to: String?)] = [
        ("https://origin.example/a/x", "https://origin.example/a/y", "https://origin.example/a/x"),
        ("https://origin.example/b/x", "https://origin.example/a/y", nil),
        ("https://origin.example/ab/x", "https://origin.example/a/y", nil),
        ("https://origin.example:443/a/x", "https://origin.example/a/y", nil),
        ("http://origin.example/a/x", "https://origin.example/a/y", nil),
        ("https://two.example/x", "https://origin.example/a/y", "https://two.example/x"),
        ("https://two.example:443/x", "https://origin.example/a/y", "https://two.example:443/x"),
        ("https://TWO.example/x#f", "https://origin.example/a/y", "https://TWO.example/x"),
        ("https://two.example:8443/x", "https://origin.example/a/y", nil),
        ("https://three.example:8443/x", "https://origin.example/a/y", "https://three.example:8443/x"),
        ("https://three.example/x", "https://origin.example/a/y", nil),
        ("http://two.example/x", "https://origin.example/a/y", nil),
        ("x?a=1", "https://two.example/b/y", "https://two.example/b/x?a=1"),
    ]

    @Test(arguments: targets)
    func `is followed by https from https`(location: String, from: String, to: String?) throws {
        let redirects = OriginRedirects(
            origin: try OriginAddress("https://origin.example/a"),
            hosts: try ["two.example", "three.example:8443"].map { try #require(URIAuthority($0)) }
        )
        #expect(redirects.target(of: location, from: from) == to)
    }

    // MARK: Public paths

    @Test(arguments: ["segment", "query"])
    func `has a public path, by configuration or by a trusted peer`(mode: String) async throws {
        let origin = try ScriptedOrigin(["/film/tnt/film.m3u8": Self.film])
        try await ManifestGate.with(origin, manifest: ["advanced: { publicPath: /watch/ }", "mode: \(mode)"]) {
            (gate) throws in
            for (number, prefix) in [nil, "/tv", "/tv/eu-1/", "/"].enumerated() {
                let token = try gate.token(GateSample.claims(session: "\(number)")).percentEncoded
                let answer = try gate.manifest(
                    at: "\(Self.path)?token=\(token)",
                    headers: prefix.map { ["X-Forwarded-Prefix": $0] } ?? [:]
                )
                let grant = try #require(answer.grants.first, "\(answer)")
                let root = (prefix ?? "/watch").hasSuffix("/") ? String((prefix ?? "").dropLast()) : prefix ?? "/watch"
                let relative = root.isEmpty ? "seg1.ts" : "\(root)/film/tnt/seg1.ts"
                let expected =
                    mode == "segment"
                    ? ["\(root)/~cat=\(grant)/film/tnt/seg1.ts", "\(root)/~cat=\(grant)/vod/seg2.ts"]
                    : ["\(relative)?cat=\(grant)", "\(root)/vod/seg2.ts?cat=\(grant)"]
                #expect(answer.references == expected, "\(prefix ?? "none")")
            }
        }
    }

    @Test func `is moved to below the public path`() async throws {
        let live = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nseg1.ts\n"
        let mpd = "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" type=\"dynamic\"><Period/></MPD>"
        let origin = try ScriptedOrigin(["/film/tnt/live.m3u8": live, "/film/tnt/live.mpd": mpd])
        try await ManifestGate.with(origin, manifest: ["advanced: { publicPath: /watch }"]) { (gate) throws in
            let playlist = try gate.start("/film/tnt/live.m3u8")
            let grant = try #require(playlist.grants.first)
            #expect(playlist.references == ["/watch/~cat=\(grant)/film/tnt/live.m3u8"], "\(playlist)")
            let answer = try gate.start("/film/tnt/live.mpd", viewer: "two")
            let path = "/watch/~cat=\(try #require(answer.grants.first))/film/tnt/live.mpd"
            #expect(answer.body.contains("<Location>https://cdn.example\(path)</Location>"), "\(answer)")
        }
    }

    @Test(arguments: ["/../tv", "tv", "/tv, /eu", "/%74v", "/~cat=G", "//tv", "/tv?x"])
    func `has no public path that is none`(prefix: String) async throws {
        let origin = try ScriptedOrigin(["/film/tnt/film.m3u8": Self.film])
        try await ManifestGate.with(origin) { (gate) throws in
            let token = try gate.token().percentEncoded
            let answer = try gate.manifest(at: "\(Self.path)?token=\(token)", headers: ["X-Forwarded-Prefix": prefix])
            #expect(answer.status == 403 && answer.code == "edge_request_invalid", "\(answer)")
            #expect(origin.heads.isEmpty)
        }
        try await ManifestGate.with(origin, manifest: ["peers: []"]) { (gate) throws in
            let token = try gate.token().percentEncoded
            let answer = try gate.manifest(at: "\(Self.path)?token=\(token)", headers: ["X-Forwarded-Prefix": prefix])
            #expect(answer.status == 200 && answer.references.first?.hasPrefix("/~cat=") == true, "\(answer)")
        }
    }

    /// The pages' proxies are trusted, so what a player says must not reach the listener by them.
    @Test(arguments: EdgeProxy.installed([.nginx, .varnish]))
    func `has no public path that a player names`(edge: EdgeProxy) async throws {
        try await edge.withManifests { (gate, proxy) throws in
            proxy.origin.serve(["/film/tnt/master.m3u8": [UInt8](Self.film.utf8)])
            let target = "/film/tnt/master.m3u8?token=\(try gate.filmToken("one").percentEncoded)"
            let answer = try HTTPConnection(proxy.address)
                .request("GET", path: target, headers: ["X-Forwarded-Prefix": "/evil"], host: "cdn.example")
            #expect(answer.status == 200 && answer.references.first?.hasPrefix("/~cat=") == true, "\(answer)")
        }
    }

    // MARK: Origins

    /// An origin that redirects these paths, and has the film at all others. `ORIGIN` and `HOST` in a location are its own.
    private static func origin(_ redirects: [String: String]) throws -> ScriptedOrigin {
        try ScriptedOrigin { head in
            guard let location = redirects[head.uri] else { return Script(film) }
            let host = head.headers.first(name: "host") ?? ""
            let written = location.replacing("ORIGIN", with: "http://\(host)").replacing("HOST", with: host)
            return Script(status: .temporaryRedirect, [("Location", written)])
        }
    }
}
