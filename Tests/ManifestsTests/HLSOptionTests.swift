// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

/// Playlists of `https://cdn.example/live/tnt/index.m3u8`, with options.
@Suite("Options of HLS playlists") struct HLSOptionTests {
    private static let grant = String(repeating: "n", count: 64)
    private static let old = String(repeating: "o", count: 64)

    private static func rewrite(
        _ playlist: String,
        mode: ManifestRules.Mode,
        options: ManifestRules.Options,
        grant: String = HLSOptionTests.grant,
        url: String = "https://cdn.example/live/tnt/index.m3u8"
    ) throws -> String {
        let rules = try ManifestRules(url: url, grant: grant, lastingGrant: "LASTING", options: options, mode: mode)
        return String(decoding: try HLSRewriter.rewrite(playlist.utf8.span, rules: rules), as: UTF8.self)
    }

    // MARK: Keys

    static let keys: [(uri: String, written: String)] = [
        ("key.bin", "/live/tnt/key.bin"), ("../key.bin?id=1", "/live/key.bin?id=1"), ("/keys/1#f", "/keys/1#f"),
        ("https://cdn.example/keys/1", "https://cdn.example/keys/1"),
        ("https://keys.example/1", "https://keys.example/1"),
        ("/~cat=OLD/keys/1", "/keys/1"), ("skd://1", "skd://1"), ("?id=1", "/live/tnt/index.m3u8?id=1"),
    ]

    @Test("may leave keys without a grant", arguments: keys, [ManifestRules.Mode.segment(), .query()])
    func key(key: (uri: String, written: String), mode: ManifestRules.Mode) throws {
        // An old grant in a segment is none in a query.
        if mode == .query(), key.uri.contains("~cat") { return }
        for tag in ["EXT-X-KEY", "EXT-X-SESSION-KEY"] {
            let line = { (uri: String) in "#\(tag):METHOD=AES-128,URI=\"\(uri)\",IV=0x01\n" }
            let playlist = "#EXTM3U\n\(line(key.uri))#EXT-X-MAP:URI=\"i.mp4\"\n"
            let output = try Self.rewrite(playlist, mode: mode, options: .sparingKeys)
            #expect(output.contains(line(key.written)), "\(output)")
            #expect(output.contains("LASTING"), "the section has its grant")
            #expect(try Self.rewrite(output, mode: mode, options: .sparingKeys) == output)
        }
    }

    @Test(
        "leaves a parameter of the origin's in the query of a key",
        arguments: [ManifestRules.Mode.segment(), .query()]
    )
    func parameterOfKey(mode: ManifestRules.Mode) throws {
        let playlist = "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k?cat=news&a=1\"\n"
        #expect(
            try Self.rewrite(playlist, mode: mode, options: .sparingKeys).contains("URI=\"/live/tnt/k?cat=news&a=1\"")
        )
        let imported = "#EXTM3U\n#EXT-X-DEFINE:IMPORT=\"cat\"\n#EXT-X-KEY:METHOD=AES-128,URI=\"k?cat={$cat}\"\n"
        #expect(try Self.rewrite(imported, mode: .query(), options: .sparingKeys).contains("URI=\"/live/tnt/k\""))
    }

    @Test("takes an old grant out of the query of a key") func queryOfKey() throws {
        let playlist = "#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k?cat=\(Self.old)&a=1\"\n"
        #expect(try Self.rewrite(playlist, mode: .query(), options: .sparingKeys).contains("URI=\"/live/tnt/k?a=1\""))
    }

    // MARK: The variable with the grant

    private static let live = """
        #EXTM3U
        #EXT-X-VERSION:9
        #EXT-X-TARGETDURATION:2
        #EXT-X-MAP:URI="init.mp4"
        #EXTINF:2,
        seg1.m4s
        #EXTINF:2,
        /vod/seg2.m4s?x=1
        #EXT-X-PART:DURATION=1,URI="seg3.1.m4s"
        #EXTINF:2,
        https://ads.example/seg.m4s

        """

    static let written: [(mode: ManifestRules.Mode, lines: [String])] = [
        (
            .segment(),
            [
                "/~cat={$playgate}/live/tnt/seg1.m4s", "/~cat={$playgate}/vod/seg2.m4s?x=1",
                "URI=\"/~cat={$playgate}/live/tnt/seg3.1.m4s\"",
            ]
        ),
        (
            .query(),
            ["seg1.m4s?cat={$playgate}", "/vod/seg2.m4s?x=1&cat={$playgate}", "URI=\"seg3.1.m4s?cat={$playgate}\""]
        ),
    ]

    @Test("have the grant once in a playlist of version 8 or later", arguments: written)
    func definition(mode: ManifestRules.Mode, lines: [String]) throws {
        let output = try Self.rewrite(Self.live, mode: mode, options: .definingGrant)
        // Before the first segment: a multivariant playlist has none, and every playlist may import its variables.
        #expect(output.contains("\n#EXT-X-DEFINE:NAME=\"playgate\",VALUE=\"\(Self.grant)\"\n#EXTINF:2,\n"), "\(output)")
        for line in lines { #expect(output.contains(line), "\(line): \(output)") }
        #expect(output.ranges(of: Self.grant).count == 1 && output.contains("LASTING"))
        #expect(output.contains("\nhttps://ads.example/seg.m4s\n"))
        // With its variables replaced, it is the playlist that it would be otherwise.
        let plain = output.replacing("#EXT-X-DEFINE:NAME=\"playgate\",VALUE=\"\(Self.grant)\"\n", with: "")
            .replacing("{$playgate}", with: Self.grant)
        #expect(try plain == Self.rewrite(Self.live, mode: mode, options: []))
        // Again with the same grant, and with another.
        #expect(try Self.rewrite(output, mode: mode, options: .definingGrant) == output)
        #expect(
            try Self.rewrite(output, mode: mode, options: .definingGrant, grant: Self.old)
                == output.replacing(Self.grant, with: Self.old)
        )
        let without = try Self.rewrite(output, mode: mode, options: [], grant: Self.old)
        #expect(!without.contains(Self.grant) && !without.contains("{$"), "\(without)")
    }

    @Test(
        "have it in each reference of older ones, and before the version",
        arguments: [ManifestRules.Mode.segment(), .query()]
    )
    func older(mode: ManifestRules.Mode) throws {
        for version in ["7", "", "x", "99999999999999999999", "-8"] {
            let playlist = Self.live.replacing("#EXT-X-VERSION:9", with: "#EXT-X-VERSION:\(version)")
            #expect(
                try Self.rewrite(playlist, mode: mode, options: .definingGrant)
                    == Self.rewrite(playlist, mode: mode, options: [])
            )
        }
        let late = "#EXTM3U\n#EXTINF:2,\na.ts\n#EXT-X-VERSION:8\n#EXTINF:2,\nb.ts\n"
        let output = try Self.rewrite(late, mode: mode, options: .definingGrant)
        #expect(output.ranges(of: Self.grant).count == 2 && output.ranges(of: "{$playgate}").count == 1)
    }

    @Test("leave a variable of that name to the origin, or refuse it") func collision() throws {
        for own in ["NAME=\"playgate\",VALUE=\"x\"", "IMPORT=\"playgate\""] {
            let define = "#EXT-X-DEFINE:\(own)\n"
            let before = "#EXTM3U\n#EXT-X-VERSION:8\n\(define)#EXTINF:2,\na.ts\n"
            #expect(
                try Self.rewrite(before, mode: .query(), options: .definingGrant)
                    == before.replacing("a.ts", with: "a.ts?cat=\(Self.grant)")
            )
            let after = "#EXTM3U\n#EXT-X-VERSION:8\n#EXTINF:2,\na.ts\n\(define)"
            let fault = #expect(throws: ManifestFault.self) {
                try Self.rewrite(after, mode: .query(), options: .definingGrant)
            }
            #expect(fault?.code == .malformed && fault?.line == 5)
        }
    }

    /// What would give the variable to other hosts.
    static let leaks: [String] = [
        "#EXTINF:2,\nhttps://evil.example/a.ts?t={$playgate}\n", "#EXTINF:2,\nhttps://evil.example/{$playgate}/a.ts\n",
        "#EXT-X-DEFINE:NAME=\"y\",VALUE=\"{$playgate}\"\n#EXTINF:2,\nhttps://evil.example/{$y}\n",
        "#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://{$playgate}\"\n",
    ]

    @Test("give the variable to no other host", arguments: leaks, [ManifestRules.Mode.segment(), .query()])
    func leak(lines: String, mode: ManifestRules.Mode) throws {
        for define in ["NAME=\"playgate\",VALUE=\"\(Self.old)\"", "IMPORT=\"playgate\""] {
            let playlist = "#EXTM3U\n#EXT-X-DEFINE:\(define)\n#EXT-X-VERSION:8\n\(lines)"
            for options in [ManifestRules.Options.definingGrant, []] {
                let fault = #expect(throws: ManifestFault.self) {
                    try Self.rewrite(playlist, mode: mode, options: options)
                }
                #expect(fault?.code == .referenceInvalid, "\(lines)")
            }
        }
    }

    @Test("have no variable in a multivariant playlist, which others import") func multivariant() throws {
        let variants = "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-STREAM-INF:BANDWIDTH=2\nhttps://evil.example/index.m3u8\n"
        #expect(try Self.rewrite(variants, mode: .segment(), options: .definingGrant) == variants)
        let both = "#EXTM3U\n#EXT-X-VERSION:8\n#EXTINF:2,\na.ts\n#EXT-X-STREAM-INF:BANDWIDTH=2\nb.m3u8\n"
        #expect(throws: ManifestFault.self) { try Self.rewrite(both, mode: .segment(), options: .definingGrant) }
    }

    @Test("make a reload of 21,600 segments small") func large() throws {
        let lines = (0..<21_600).map { "#EXTINF:2,\nsegment-\($0).m4s\n" }.joined()
        let playlist = "#EXTM3U\n#EXT-X-VERSION:8\n\(lines)"
        let grant = String(repeating: "g", count: 330)
        let (small, large) = (
            try Self.rewrite(playlist, mode: .segment(), options: .definingGrant, grant: grant),
            try Self.rewrite(playlist, mode: .segment(), options: [], grant: grant)
        )
        #expect(
            large.utf8.count > 7_500_000 && small.utf8.count < 1_500_000,
            "\(large.utf8.count), \(small.utf8.count)"
        )
    }
}
