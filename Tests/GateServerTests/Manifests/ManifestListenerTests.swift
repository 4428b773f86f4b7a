// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import NIOHTTP1
import Platform
import Testing

@Suite struct `The manifest listener` {
    private static let master =
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow/index.m3u8\nhttps://ads.example/spot.m3u8\n"
    private static let live = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nseg1.ts\n#EXTINF:2,\nseg2.ts\n"
    private static let film = live + "#EXT-X-ENDLIST\n"

    private static func origin() throws -> ScriptedOrigin {
        var texts: [String: String] = [
            "/free/master.m3u8": film, "/plain/index.m3u8": film, "/shadow/index.m3u8": film,
        ]
        for folder in ["/film/tnt/", "/few/tnt/"] {
            texts[folder + "master.m3u8"] = master
            texts[folder + "low/index.m3u8"] = live
            texts[folder + "film.m3u8"] = film
        }
        return try ScriptedOrigin(texts)
    }

    /// The path of a reference with a grant in a segment.
    private static func path(_ reference: String) -> String {
        "/" + reference.split(separator: "/").drop { $0.hasPrefix("~cat=") }.joined(separator: "/")
    }

    @Test(arguments: ["segment", "query"])
    func `writes a grant into the references of a manifest that a media token starts`(mode: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
            let answer = try gate.start("/film/tnt/master.m3u8")
            #expect(answer.status == 200, "\(answer)")
            let grant = try #require(answer.grants.first)
            let variant = mode == "segment" ? "/~cat=\(grant)/film/tnt/low/index.m3u8" : "low/index.m3u8?cat=\(grant)"
            #expect(answer.references == [variant, "https://ads.example/spot.m3u8"])
            #expect(answer.values("Cache-Control") == ["private, no-store"])
            #expect(answer.values("X-Playgate-Code") == ["verified"])
            #expect(answer.values("X-Playgate-Session").first?.utf8.count == 32)
            #expect(answer.values("Content-Type") == ["application/vnd.apple.mpegurl"])
            // The origin never sees a token or a grant.
            let next = mode == "segment" ? variant : "/film/tnt/" + variant
            #expect(try gate.manifest(at: next).status == 200)
            #expect(origin.heads.map(\.uri) == ["/film/tnt/master.m3u8", "/film/tnt/low/index.m3u8"])
            #expect(origin.heads.allSatisfy { !"\($0.headers)".contains("token") && !"\($0.headers)".contains("cat=") })
        }
    }

    @Test func `uses a media token up once, and refuses it after that`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let token = try gate.token()
            #expect(try gate.start("/film/tnt/master.m3u8", token: token).status == 200)
            let again = try gate.start("/film/tnt/master.m3u8", token: token)
            #expect(again.status == 403 && again.code == "token_already_used", "\(again)")
            #expect(again.values("X-Playgate-Code") == ["token_already_used"])
            #expect(origin.heads.count == 1)
            #expect(try gate.manifest(at: "/film/tnt/master.m3u8").status == 401)
            #expect(try gate.manifest(at: "/film/tnt/master.m3u8?token=x").code == "invalid_base64")
            #expect(try gate.manifest(at: "/film/tbs/master.m3u8").code == "unknown_media")
        }
    }

    @Test func `uses nothing up for HEAD, and ignores ranges and conditions`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let target = "/film/tnt/master.m3u8?token=\(try gate.token().percentEncoded)"
            let head = try gate.manifest(at: target, method: "HEAD")
            #expect(head.status == 200 && head.values("X-Playgate-Code") == ["probe"])
            #expect(head.values("Content-Type") == ["application/vnd.apple.mpegurl"])
            #expect(head.values("Content-Length").isEmpty)
            let headers = ["Range": "bytes=0-10", "If-None-Match": "\"e\"", "Accept-Encoding": "br"]
            let answer = try gate.manifest(at: target, headers: headers)
            #expect(answer.status == 200 && answer.references.count == 2, "\(answer)")
            for name in ["Range", "If-None-Match", "Cookie", "X-Forwarded-For"] {
                #expect(origin.heads.allSatisfy { !$0.headers.contains(name: name) })
            }
            #expect(origin.heads.map(\.method) == [.HEAD, .GET])
        }
    }

    @Test func `renews the grants of a live playlist at each reload, past the lives of all before, in queries`()
        async throws
    {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["mode: query"]) { (gate) throws in
            let start = gate.now
            let variant = "/film/tnt/" + (try #require(try gate.start("/film/tnt/master.m3u8").references.first))
            var seen: [String] = []
            for second in stride(from: Int64(0), to: ManifestGate.session, by: 2) {
                gate.now = start.adding(seconds: second)
                let answer = try gate.manifest(at: variant)
                try #require(answer.status == 200, "\(second): \(answer)")
                #expect(answer.values("X-Playgate-Code") == ["granted"])
                let grants = Set(answer.grants)
                #expect(grants.count == 1)
                // Never longer than a life, and never for less than the steps leave of it.
                let left = try gate.life(of: try #require(grants.first))
                let session = ManifestGate.session - second
                #expect(left <= ManifestGate.life && left >= min(ManifestGate.life - 10, session), "\(second): \(left)")
                if seen.last != grants.first { seen.append(contentsOf: grants) }
            }
            // Each grant is in the playlists of ten seconds, and the last to the session's end.
            #expect(Set(seen).count == seen.count && 55...60 ~= seen.count, "\(seen.count)")
            gate.now = start.adding(seconds: ManifestGate.session)
            #expect(try gate.manifest(at: variant).code == "session_ended")
        }
    }

    /// hls.js 1.6 ends a playback if the path of a segment is another one after a reload.
    @Test func `leaves the references of a live playlist as they are, in segments`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let start = gate.now
            let variant = try #require(try gate.start("/film/tnt/master.m3u8").references.first)
            let first = try gate.manifest(at: variant)
            for second in [Int64(2), 30, 300, ManifestGate.session - 1] {
                gate.now = start.adding(seconds: second)
                #expect(try gate.manifest(at: variant).body == first.body, "\(second)")
            }
        }
    }

    @Test func `gives the grants of a finished playlist a life that fits its duration`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["advanced: { vodMargin: 100s }"]) { (gate) throws in
            let answer = try gate.start("/film/tnt/film.m3u8")
            let life = try gate.life(of: try #require(answer.grants.first))
            // Four seconds and the margin, in steps of ten.
            #expect(104...114 ~= life, "\(life)")
        }
        try await ManifestGate.with(origin, manifest: ["advanced: { vodMargin: 10h }"]) { (gate) throws in
            let answer = try gate.start("/film/tnt/film.m3u8")
            #expect(try gate.life(of: try #require(answer.grants.first)) == ManifestGate.session)
        }
    }

    @Test(arguments: ["segment", "query"])
    func `names the URL for the session in a multivariant playlist, if a live one has none`(mode: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
            let start = gate.now
            let token = try gate.token(GateSample.claims(ttl: 20_000)).percentEncoded
            let first = try gate.manifest(at: "/film/tnt/low/index.m3u8?_HLS_skip=YES&token=\(token)")
            #expect(first.status == 200 && first.values("Location").isEmpty, "\(first)")
            #expect(first.body.hasPrefix("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\n"), "\(first)")
            let reference = try #require(first.references.first)
            #expect(reference.contains("_HLS_skip=YES") && !reference.contains("token="), "\(reference)")
            let end = mode == "segment" ? "/film/tnt/low/index.m3u8?_HLS_skip=YES" : "index.m3u8?_HLS_skip=YES&cat="
            #expect(
                mode == "segment" ? reference.hasPrefix("/~cat=") && reference.hasSuffix(end) : reference.contains(end)
            )
            for second in [Int64(0), 30, 300, 599] {
                gate.now = start.adding(seconds: second)
                let answer = try gate.manifest(at: reference)
                #expect(answer.status == 200 && answer.references.count == 2, "\(answer)")
            }
            #expect(origin.heads.allSatisfy { $0.uri == "/film/tnt/low/index.m3u8?_HLS_skip=YES" })
        }
    }

    /// hls.js finds the variant of a report by its URL, and ignores it otherwise.
    @Test(arguments: ["segment", "query"])
    func `reports renditions by the URLs that the multivariant playlist has`(mode: String) async throws {
        let report = "#EXT-X-RENDITION-REPORT:URI=\"../high/index.m3u8\",LAST-MSN=1\n"
        let origin = try ScriptedOrigin([
            "/film/tnt/master.m3u8": Self.master + "#EXT-X-STREAM-INF:BANDWIDTH=2\nhigh/index.m3u8\n",
            "/film/tnt/low/index.m3u8": Self.live + report,
        ])
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
            let start = gate.now
            let master = try #require(URL(string: "https://cdn.example/film/tnt/master.m3u8"))
            let variants = try gate.start("/film/tnt/master.m3u8").references.map {
                URL(string: $0, relativeTo: master)
            }
            let low = try #require(variants.first ?? nil)
            for second in [Int64(0), 50, 500] {
                gate.now = start.adding(seconds: second)
                let target = low.absoluteString.dropFirst("https://cdn.example".count)
                let line = try #require(try gate.manifest(at: String(target)).body.split(separator: "\n").last)
                let reference = String(try #require(line.split(separator: "\"").dropFirst().first))
                let found = URL(string: reference, relativeTo: low)?.absoluteString
                #expect(found == variants.last??.absoluteString, "\(second)")
            }
        }
    }

    @Test(arguments: ["segment", "query"])
    func `names the URL for the session in a live MPD that names none`(mode: String) async throws {
        let mpd =
            "<MPD type=\"dynamic\" minimumUpdatePeriod=\"PT5M\"><Period><AdaptationSet><SegmentTemplate media=\"$Number$.m4s\"/>"
            + "<Representation id=\"v\"/></AdaptationSet></Period></MPD>"
        let origin = try ScriptedOrigin { _ in ScriptedOrigin.Script(mpd, type: "application/dash+xml") }
        try await ManifestGate.with(origin, manifest: ["mode: \(mode)"]) { (gate) throws in
            let start = gate.now
            let first = try gate.start("/film/tnt/live.mpd").body
            let parts = first.split(separator: "Location>")
            let reference = String(try #require(parts.count == 3 ? parts[1] : nil).dropLast(2))
            let target = String(reference.replacing("https://cdn.example", with: "").replacing("&amp;", with: "&"))
            // Players keep the templates and bases of the first: all grants are for the session.
            #expect(Set(first.matches(of: /cat=([A-Za-z0-9_\-]+)/).map(\.output.1)).count == 1)
            for second in [Int64(0), 300, ManifestGate.session - 1] {
                gate.now = start.adding(seconds: second)
                let answer = try gate.manifest(at: target)
                #expect(answer.status == 200, "\(second) \(answer)")
                #expect(try gate.life(of: try #require(answer.grants.first)) == ManifestGate.session - second)
            }
        }
    }

    @Test(arguments: ["#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=12.0\n", "#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n"])
    func `gives all references of a delta update a grant for the session, in queries too`(tag: String) async throws {
        let origin = try ScriptedOrigin([
            "/film/tnt/live.m3u8": Self.live.replacing("#EXTINF:2,\nseg1", with: "\(tag)#EXTINF:2,\nseg1")
        ])
        try await ManifestGate.with(origin, manifest: ["mode: query"]) { (gate) throws in
            let reference = try #require(try gate.start("/film/tnt/live.m3u8").references.first)
            let answer = try gate.manifest(at: reference)
            #expect(answer.grants.count == 2 && Set(answer.grants).count == 1)
            #expect(try gate.life(of: try #require(answer.grants.first)) == ManifestGate.session)
        }
    }

    @Test func `gives segments a life of three target durations, if that is longer`() async throws {
        let origin = try ScriptedOrigin(["/film/tnt/live.m3u8": Self.live.replacing("DURATION:2", with: "DURATION:60")])
        try await ManifestGate.with(origin, manifest: ["mode: query"]) { (gate) throws in
            let reference = try #require(try gate.start("/film/tnt/live.m3u8").references.first)
            let life = try gate.life(of: try #require(try gate.manifest(at: reference).grants.first))
            #expect(180...190 ~= life, "\(life)")
        }
    }

    @Test func `hands the parameters of low-latency reloads to the origin`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let variant = try #require(try gate.start("/film/tnt/master.m3u8").references.first)
            #expect(try gate.manifest(at: variant + "?_HLS_msn=7&_HLS_part=2&cat=x&token=y").status == 200)
            #expect(origin.heads.last?.uri == "/film/tnt/low/index.m3u8?_HLS_msn=7&_HLS_part=2")
        }
    }

    @Test func `refuses a revoked playback at the next reload`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let master = try gate.start("/film/tnt/master.m3u8")
            let variant = try #require(master.references.first)
            let session = try #require(master.values("X-Playgate-Session").first)
            #expect(try gate.manifest(at: variant).status == 200)
            #expect(try gate.post("/v1/revocations", body: "{\"playback\":\"\(session)\"}").status == 201)
            let answer = try gate.manifest(at: variant)
            #expect(answer.status == 403 && answer.code == "grant_revoked", "\(answer)")
        }
    }

    @Test func `holds the slot of a playback for as long as its player reloads`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let start = gate.now
            let variant = try #require(try gate.start("/few/tnt/master.m3u8").references.first)
            for second in stride(from: Int64(0), to: 200, by: 20) {
                gate.now = start.adding(seconds: second)
                #expect(try gate.manifest(at: variant).status == 200)
                // Another start of the same viewer.
                let token = try gate.token(GateSample.claims(session: "one", ttl: 20_001))
                #expect(try gate.start("/few/tnt/master.m3u8", token: token).code == "stream_limit_reached")
            }
            // The first player stops; another takes the slot, and the first does not get it back.
            gate.now = gate.now.adding(seconds: 60)
            #expect(try gate.start("/few/tnt/master.m3u8").status == 200)
            let late = try gate.manifest(at: variant)
            #expect(late.status == 409 && late.code == "stream_limit_reached", "\(late)")
        }
    }

    @Test(arguments: ["/free/master.m3u8", "/plain/index.m3u8", "/shadow/index.m3u8"])
    func `passes on what no grant belongs to`(path: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = path == "/plain/index.m3u8" ? try gate.start(path) : try gate.manifest(at: path)
            #expect(answer.status == 200 && answer.body == Self.film, "\(answer)")
        }
    }

    @Test(arguments: ["/film/tnt/low/seg1.ts", "/film/tnt/master.m3u8/x", "/film/tnt/m3u8", "/"])
    func `serves manifests only`(path: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(path)
            #expect(answer.status == 404 && answer.code == "manifest_path_not_served", "\(answer)")
            #expect(origin.heads.isEmpty)
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"manifest_path_not_served\"}") == 1)
        }
    }

    @Test(arguments: [
        "/film/tnt//master.m3u8", "/film/tnt/../tnt/master.m3u8", "/film/tnt/%2e/master.m3u8",
        "/film/tnt%2Fmaster.m3u8",
        "/film/tnt/;x/master.m3u8", "/~cat=a/../film/tnt/master.m3u8", "/film/tnt/master.m3u8%00.m3u8",
    ])
    func `refuses paths that an origin could read in another way`(path: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.start(path)
            #expect(answer.status == 404 && answer.code == "invalid_path", "\(answer)")
            #expect(origin.heads.isEmpty)
        }
    }

    @Test func `accepts a grant from each source, and gives another in its own`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let grant = try #require(try gate.start("/film/tnt/master.m3u8").grants.first)
            let cookie = ["Cookie": "CTA-Common-Access-Token=\(grant)"]
            for (target, headers) in [
                ("/~cat=\(grant)/film/tnt/low/index.m3u8", [:]), ("/film/tnt/low/index.m3u8?cat=\(grant)", [:]),
                ("/film/tnt/low/index.m3u8", cookie),
                ("/film/tnt/low/index.m3u8", ["CTA-Common-Access-Token": grant]),
            ] {
                let answer = try gate.manifest(at: target, headers: headers)
                #expect(answer.status == 200, "\(target): \(answer)")
                #expect(
                    answer.references.allSatisfy {
                        $0.hasPrefix("/~cat=") && Self.path($0).hasPrefix("/film/tnt/low/seg")
                    }
                )
            }
        }
    }
}
