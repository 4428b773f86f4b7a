// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

/// Playlists at `https://cdn.example/live/tnt/index.m3u8`.
@Suite("HLS playlists") struct HLSTests {
    static let lines: [(line: String, written: String?)] = [
        // Lines that are references, and lines that are none.
        ("seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("/vod/seg1.ts?x=1", "/~cat=NEW/vod/seg1.ts?x=1"),
        ("?x=1/.", "/~cat=NEW/live/tnt/index.m3u8?x=1/."),
        ("a/.b", "/~cat=NEW/live/tnt/a/.b"),
        ("~catalogue/a.ts", "/~cat=NEW/live/tnt/~catalogue/a.ts"),
        (
            "seg.ts?_HLS_msn=1&_HLS_part=2&_HLS_skip=YES",
            "/~cat=NEW/live/tnt/seg.ts?_HLS_msn=1&_HLS_part=2&_HLS_skip=YES"
        ),
        ("https://ads.example/seg1.ts", nil),
        ("", nil),
        (" \t ", nil),
        ("# a comment about seg1.ts and URI=\"seg1.ts\"", nil),
        ("#EXTINF:6.006,URI=\"seg1.ts\"", nil),
        ("#EXT-X-BYTERANGE:100@0", nil),
        ("#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1,mp4a\",AUDIO=\"a\"", nil),
        // Tags of the standard.
        (
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"i.m3u8\"",
            "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI=\"/~cat=NEW/live/tnt/i.m3u8\""
        ),
        (
            "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"../a,b=c.m3u8\",NAME=\"x\"",
            "#EXT-X-MEDIA:TYPE=AUDIO,URI=\"/~cat=NEW/live/a,b=c.m3u8\",NAME=\"x\""
        ),
        (
            "#EXT-X-KEY:METHOD=AES-128,URI=\"k\",IV=0x00",
            "#EXT-X-KEY:METHOD=AES-128,URI=\"/~cat=NEW/live/tnt/k\",IV=0x00"
        ),
        ("#EXT-X-KEY:METHOD=SAMPLE-AES,URI=\"skd://k\"", nil),
        ("#EXT-X-KEY:METHOD=NONE", nil),
        ("#EXT-X-SESSION-KEY:URI=\"data:text/plain;base64,AA==\",METHOD=AES-128", nil),
        ("#EXT-X-SESSION-KEY:URI=\"/k\",METHOD=AES-128", "#EXT-X-SESSION-KEY:URI=\"/~cat=NEW/k\",METHOD=AES-128"),
        (
            "#EXT-X-MAP:URI=\"init.mp4\",BYTERANGE=\"9@0\"",
            "#EXT-X-MAP:URI=\"/~cat=NEW/live/tnt/init.mp4\",BYTERANGE=\"9@0\""
        ),
        (
            "#EXT-X-PART:DURATION=0.3,URI=\"p.mp4\",INDEPENDENT=YES",
            "#EXT-X-PART:DURATION=0.3,URI=\"/~cat=NEW/live/tnt/p.mp4\",INDEPENDENT=YES"
        ),
        (
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p2.mp4\"",
            "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"/~cat=NEW/live/tnt/p2.mp4\""
        ),
        (
            "#EXT-X-RENDITION-REPORT:URI=\"../b.m3u8\",LAST-MSN=1",
            "#EXT-X-RENDITION-REPORT:URI=\"/~cat=NEW/live/b.m3u8\",LAST-MSN=1"
        ),
        (
            "#EXT-X-SESSION-DATA:DATA-ID=\"x\",URI=\"d.json\"",
            "#EXT-X-SESSION-DATA:DATA-ID=\"x\",URI=\"/~cat=NEW/live/tnt/d.json\""
        ),
        (
            "#EXT-X-DATERANGE:ID=\"x\",X-ASSET-URI=\"ad.m3u8\",X-ASSET-LIST=\"https://ads.example/l\",X-URI=\"y\"",
            "#EXT-X-DATERANGE:ID=\"x\",X-ASSET-URI=\"/~cat=NEW/live/tnt/ad.m3u8\",X-ASSET-LIST=\"https://ads.example/l\",X-URI=\"y\""
        ),
        (
            "#EXT-X-CONTENT-STEERING:SERVER-URI=\"/steer?x=1\",PATHWAY-ID=\"a\"",
            "#EXT-X-CONTENT-STEERING:SERVER-URI=\"/~cat=NEW/steer?x=1\",PATHWAY-ID=\"a\""
        ),
        (
            "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI=\"t.m3u8\"",
            "#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI=\"/~cat=NEW/live/tnt/t.m3u8\""
        ),
        // Blanks around names, an empty reference, repeated references.
        (
            "#EXT-X-MAP: BYTERANGE=\"9@0\" , URI=\"i\" ,",
            "#EXT-X-MAP: BYTERANGE=\"9@0\" , URI=\"/~cat=NEW/live/tnt/i\" ,"
        ),
        ("#EXT-X-MEDIA:TYPE=AUDIO,URI=\"\"", nil),
        ("#EXT-X-MAP:URI=\"a\",URI=\"b\"", "#EXT-X-MAP:URI=\"/~cat=NEW/live/tnt/a\",URI=\"/~cat=NEW/live/tnt/b\""),
        // Quotation marks within the values of metadata, which have no reference.
        ("#EXT-X-DATERANGE:ID=\"a\",X-TITLE=\"the \"best\" of\"", nil),
        ("#EXT-X-SESSION-DATA:DATA-ID=\"t\",VALUE=\"a \"b\" c\"", nil),
        ("#EXT-X-MEDIA:TYPE=CLOSED-CAPTIONS,GROUP-ID=\"cc\",NAME=\"5\" English\"", nil),
        // Tags of no standard: a URI in a list of attributes is a reference, all else stays.
        ("#EXT-X-TILES:URI=\"t.jpg\",LAYOUT=5x4", "#EXT-X-TILES:URI=\"/~cat=NEW/live/tnt/t.jpg\",LAYOUT=5x4"),
        (
            "#EXT-X-STREAM-INF:BANDWIDTH=1,URI=\"v.m3u8\"",
            "#EXT-X-STREAM-INF:BANDWIDTH=1,URI=\"/~cat=NEW/live/tnt/v.m3u8\""
        ),
        ("#EXT-X-STREAM-INF:BANDWIDTH=1,CODECS=\"avc1,mp4a\",AUDIO=\"a\"", nil),
        ("#EXT-X-FOO:\"a\",URI=\"t.jpg\"", nil),
        ("#EXT-X-FOO:URI=t.jpg,A=\"b\"", nil),
        ("#EXT-X-FOO:uri=\"t.jpg\",X-URI=\"t.jpg\"", nil),
        ("#EXT-X-PROGRAM-DATE-TIME:2026-11-22T10:00:00Z", nil),
        ("#EXT-X-KEYS:URI=k", nil),
        ("#EXT-X-MAP:=\"a\"", nil),
    ]

    @Test("line by line", arguments: lines) func line(line: String, written: String?) throws {
        for end in ["\n", "\r\n", ""] {
            let playlist = "#EXTM3U\n#EXT-X-VERSION:9\n\(line)\(end)"
            let expected = "#EXTM3U\n#EXT-X-VERSION:9\n\(written ?? line)\(end)"
            #expect(try rewrite(playlist) == expected)
        }
    }

    @Test(
        "with a mark of the byte order, and blanks behind the first tag",
        arguments: ["\u{FEFF}", ""],
        ["", " ", "\t "]
    )
    func heads(mark: String, blanks: String) throws {
        for end in ["\n", "\r\n"] {
            let head = "\(mark)#EXTM3U\(blanks)\(end)"
            #expect(try rewrite("\(head)seg1.ts\n") == "\(head)/~cat=NEW/live/tnt/seg1.ts\n")
        }
    }

    @Test(
        "with another grant for what players keep over reloads",
        arguments: [
            ("seg1.ts", "NEW"), ("#EXT-X-PART:DURATION=1,URI=\"p.mp4\"", "NEW"),
            ("#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"p.mp4\"", "NEW"), ("#EXT-X-TILES:URI=\"t.jpg\"", "NEW"),
            ("#EXT-X-KEY:METHOD=AES-128,URI=\"k\"", "LONG"), ("#EXT-X-MAP:URI=\"i.mp4\"", "LONG"),
            ("#EXT-X-RENDITION-REPORT:URI=\"../low.m3u8\"", "LONG"),
            ("#EXT-X-DATERANGE:ID=\"a\",X-ASSET-URI=\"ad\"", "LONG"),
            ("#EXT-X-CONTENT-STEERING:SERVER-URI=\"/steer\"", "LONG"),
            ("#EXT-X-SESSION-KEY:METHOD=AES-128,URI=\"k\"", "LONG"),
        ]
    )
    func lasting(line: String, grant: String) throws {
        for mode in [ManifestRules.Mode.segment(), .query()] {
            let url = "https://cdn.example/live/tnt/index.m3u8"
            let rules = try ManifestRules(url: url, grant: "NEW", lastingGrant: "LONG", mode: mode)
            let output = try HLSRewriter.rewrite("#EXTM3U\n\(line)\n".utf8.span, rules: rules)
            let text = String(decoding: output, as: UTF8.self)
            #expect(text.ranges(of: "cat=").count == 1 && text.contains("cat=\(grant)"), "\(text)")
        }
    }

    static let refused: [(playlist: String, code: ManifestCode, line: Int)] = [
        ("", .malformed, 1),
        ("#EXTINF:6,\nseg1.ts\n", .malformed, 1),
        ("\n#EXTM3U\n", .malformed, 1),
        ("#EXTM3U8\n", .malformed, 1),
        ("<MPD/>", .malformed, 1),
        ("\u{FEFF}\u{FEFF}#EXTM3U\n", .malformed, 1),
        (" #EXTM3U\n", .malformed, 1),
        ("#EXTM3U\n#\u{0}\n", .encodingInvalid, 2),
        ("#EXTM3U\n# a\rseg1.ts\n", .malformed, 2),
        ("#EXTM3U\n# a\r", .malformed, 2),
        ("#EXTM3U\n# a\u{B}seg1.ts\n", .malformed, 2),
        ("#EXTM3U\n# a\u{85}seg1.ts\n", .malformed, 2),
        ("#EXTM3U\n# a\u{2028}seg1.ts\n", .malformed, 2),
        ("#EXTM3U\n# a\u{7F}\n", .malformed, 2),
        ("#EXTM3U\n#EXTINF:6,\nseg\t1.ts\n", .referenceInvalid, 3),
        ("#EXTM3U\n #EXT-X-KEY:URI=\"k\"\n", .referenceInvalid, 2),
        ("#EXTM3U\nhttps:\\\\cdn.example\\a\n", .referenceInvalid, 2),
        ("#EXTM3U\nhttps://user@cdn.example/a\n", .referenceInvalid, 2),
        ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=k\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI= \"k\"\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-KEY:METHOD=AES-128,URI=\"k\"x\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-MAP:URI\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-MAP:=\"a\",URI=\"b\"\n", .malformed, 2),
        ("#EXTM3U\n#EXT-X-TILES:URI=\"a\tb\"\n", .referenceInvalid, 2),
        ("#EXTM3U\n#EXT-X-DATERANGE:ID=\"a\"b\",X-ASSET-URI=\"c\"\n", .malformed, 2),
    ]

    @Test("that are refused", arguments: refused) func refusal(playlist: String, code: ManifestCode, line: Int) {
        let fault = #expect(throws: ManifestFault.self) { try rewrite(playlist) }
        #expect(fault?.code == code)
        #expect(fault?.line == line)
    }

    @Test(
        "that are not UTF-8",
        arguments: ["C3", "C328", "C080", "E08080", "EDA080", "F0808080", "F4908080", "FF", "80"]
    )
    func invalidText(hexadecimal: String) throws {
        let bytes = stride(from: 0, to: hexadecimal.count, by: 2).compactMap { index in
            UInt8(hexadecimal.dropFirst(index).prefix(2), radix: 16)
        }
        let playlist = [UInt8]("#EXTM3U\n# ".utf8) + bytes + [0x0A]
        let fault = #expect(throws: ManifestFault.self) { try HLSRewriter.rewrite(playlist.span, rules: rules()) }
        #expect(fault?.code == .encodingInvalid)
    }

    @Test("with text beyond ASCII") func otherText() throws {
        let playlist = "#EXTM3U\n#EXTINF:6,\u{E9}\u{20AC}\u{1F600}\u{FEFF}\ns\u{E9}g.ts\n"
        #expect(try rewrite(playlist) == playlist.replacing("s\u{E9}g", with: "/~cat=NEW/live/tnt/s\u{E9}g"))
    }

    @Test("above their limits") func limits() throws {
        var limits = ManifestLimits()
        (limits.size, limits.lines, limits.lineLength, limits.attributes, limits.references) = (80, 4, 30, 2, 2)
        for allowed in [
            "#EXTM3U\na\nb\n\n", "#EXTM3U\n#EXT-X-MAP:URI=\"aaa\",A=\"b4567\"\n", "#EXTM3U\n#EXT-X-A:B=\"\",C=\"\"\n",
        ] {
            _ = try HLSRewriter.rewrite(allowed.utf8.span, rules: rules(limits: limits))
        }
        let long = "#EXTM3U\n#" + String(repeating: "a", count: 30)
        let others = [
            "#EXTM3U\na\nb\nc\n", "#EXTM3U\n\n\n\n\n", "#EXTM3U\n#EXT-X-MAP:A=1,B=1,C=1\n", long, long + "\n",
            "#EXTM3U\n" + String(repeating: "#aaaaaaaaaaaaaaaaaaaaaaaa\n", count: 3),
        ]
        for playlist in others {
            for size in [1, 1000] {
                let fault = #expect(throws: ManifestFault.self) {
                    try rewritten([UInt8](playlist.utf8), inPiecesOf: size, rules: rules(limits: limits))
                }
                #expect(fault?.code == .tooLarge, "\(playlist)")
            }
        }
    }

    @Test("in a query") func query() throws {
        let playlist = """
            #EXTM3U
            #EXT-X-MAP:URI="init.mp4?x=1"
            seg1.ts
            seg2.ts?cat=\(ReferenceTests.old)
            https://ads.example/seg3.ts
            https://cdn.example/seg4.ts
            https://cdn.example/seg5.ts
            """
        let expected = """
            #EXTM3U
            #EXT-X-MAP:URI="init.mp4?x=1&cat=NEW"
            seg1.ts?cat=NEW
            seg2.ts?cat=NEW
            https://ads.example/seg3.ts
            https://cdn.example/seg4.ts?cat=NEW
            https://cdn.example/seg5.ts?cat=NEW
            """
        #expect(try rewrite(playlist, mode: .query()) == expected)
    }

    private func rewrite(_ playlist: String, mode: ManifestRules.Mode = .segment()) throws -> String {
        String(decoding: try HLSRewriter.rewrite(playlist.utf8.span, rules: rules(mode)), as: UTF8.self)
    }
}

/// Rules for a playlist at `https://cdn.example/live/tnt/index.m3u8`.
func rules(
    _ mode: ManifestRules.Mode = .segment(),
    query: String = "",
    limits: ManifestLimits = .init()
) throws -> ManifestRules {
    try ManifestRules(url: "https://cdn.example/live/tnt/index.m3u8" + query, grant: "NEW", mode: mode, limits: limits)
}

/// Rewrites a playlist in pieces of `size` bytes.
func rewritten(_ playlist: [UInt8], inPiecesOf size: Int, rules: ManifestRules) throws -> [UInt8] {
    var rewriter = HLSRewriter(rules: rules)
    var output: [UInt8] = []
    var start = 0
    while start < playlist.count {
        let end = min(start + size, playlist.count)
        try rewriter.append(playlist.span.extracting(start..<end), to: &output)
        start = end
    }
    try rewriter.finish(to: &output)
    return output
}
