// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import NIOHTTP1
import Testing

/// Options of the manifest listener that an origin or a player may need.
@Suite struct `Options of manifests` {
    private static let path = "/film/tnt/film.m3u8"

    @Test(arguments: ["segment", "query"])
    func `leave keys without a grant`(mode: String) async throws {
        let film = "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k.bin\"\n#EXTINF:2,\nseg1.ts\n#EXT-X-ENDLIST\n"
        let origin = try ScriptedOrigin([Self.path: film])
        for isOn in [true, false] {
            try await ManifestGate.with(
                origin,
                manifest: ["mode: \(mode)", "advanced: { rewrite: \(isOn ? "keysWithoutGrant" : "[]") }"]
            ) {
                (gate) throws in
                let answer = try gate.start(Self.path)
                #expect(answer.body.contains("URI=\"/film/tnt/k.bin\"") == isOn, "\(answer)")
                #expect(answer.grants.count == (isOn ? 1 : 2))
            }
        }
    }

    @Test func `write the grant once`() async throws {
        let film = "#EXTM3U\n#EXT-X-VERSION:8\n#EXTINF:2,\nseg1.ts\n#EXTINF:2,\nseg2.ts\n#EXT-X-ENDLIST\n"
        let origin = try ScriptedOrigin([Self.path: film])
        try await ManifestGate.with(origin, manifest: ["advanced: { rewrite: [defineGrant] }"]) { (gate) throws in
            let answer = try gate.start(Self.path)
            #expect(
                answer.references == ["/~cat={$playgate}/film/tnt/seg1.ts", "/~cat={$playgate}/film/tnt/seg2.ts"],
                "\(answer)"
            )
            let value = try #require(answer.body.firstMatch(of: /NAME="playgate",VALUE="([^"]+)"/))
            #expect(try gate.life(of: String(value.output.1)) > 0)
        }
    }

    /// An origin with a parameter `cat` of its own.
    @Test func `give the grant's parameter another name`() async throws {
        let live = "#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nseg1.ts?cat=sports\n"
        let origin = try ScriptedOrigin(["/film/tnt/live.m3u8": live])
        let options = ["mode: query", "advanced: { parameter: pgcat }", "grants: [{ query: pgcat }]"]
        try await ManifestGate.with(origin, manifest: options) { (gate) throws in
            let first = try #require(try gate.start("/film/tnt/live.m3u8").references.first)
            #expect(first.hasPrefix("/film/tnt/live.m3u8?pgcat="), "\(first)")
            let playlist = try gate.manifest(at: first)
            let segment = try #require(playlist.references.first, "\(playlist)")
            #expect(segment.hasPrefix("seg1.ts?cat=sports&pgcat="), "\(segment)")
            #expect(try gate.manifest(at: first.replacing("pgcat=", with: "cat=")).status != 200)
        }
        try await ManifestGate.with(origin, manifest: ["mode: query"]) { (gate) throws in
            let first = try #require(try gate.start("/film/tnt/live.m3u8").code)
            #expect(first == "manifest_reference_invalid")
        }
    }

    /// What a multivariant playlist or a player's page names beside playlists.
    @Test func `serve steering manifests and thumbnails`() async throws {
        let steering = "{\"VERSION\":1,\"TTL\":10,\"RELOAD-URI\":\"/film/tnt/steer?n=2\"}"
        let sprites = "WEBVTT\n\n00:00.000 --> 00:05.000\ns.jpg#xywh=0,0,1,1\n"
        let origin = try ScriptedOrigin { head in
            head.uri.hasPrefix("/film/tnt/steer")
                ? .init(steering, type: "application/json") : .init(sprites, type: "text/vtt")
        }
        let options = ["mode: query", "paths: [/film/tnt/steer]", "advanced: { suffixes: [.m3u8, .vtt] }"]
        try await ManifestGate.with(origin, manifest: options) { (gate) throws in
            let answer = try gate.start("/film/tnt/steer")
            let grant = try #require(answer.grants.first, "\(answer)")
            #expect(answer.body == steering.replacing("?n=2", with: "?n=2&cat=\(grant)"))
            #expect(answer.values("Content-Type") == ["application/json"])
            // A player asks again with what hls.js adds.
            let again = try gate.manifest(at: "/film/tnt/steer?n=2&cat=\(grant)&_HLS_pathway=A&_HLS_throughput=5000")
            #expect(again.status == 200 && again.grants == [grant], "\(again)")
            let thumbnails = try gate.manifest(at: "/film/tnt/sprites.vtt?cat=\(grant)")
            #expect(thumbnails.body.contains("\ns.jpg?cat=\(grant)#xywh=0,0,1,1\n"), "\(thumbnails)")
        }
    }
}
