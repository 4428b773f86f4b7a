// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing
import XML

@Suite("Bytes of MPDs") struct DASHPieceTests {
    private static let mpd =
        "\u{FEFF}<?xml version=\"1.0\" encoding='utf-8'?>\r\n<!-- é <a> --><d:MPD xmlns:d=\"urn:mpeg:DASH:schema:MPD:2011\" a='>' >"
        + "<?p <a>?><d:ProgramInformation/>\n <d:Period ><d:AdaptationSet\t><d:SegmentTemplate\n media = '$Number$.m4s' "
        + "d:media=\"x\"/><d:Representation id=\"é\"/></d:AdaptationSet><![CDATA[<d:BaseURL>]]></d:Period ></d:MPD  >\n<!--z-->"

    @Test("stay as they are around the grant, with a prefix and a byte order mark") func exact() throws {
        let base = "<d:BaseURL>https://cdn.example/\(DASH.segment)/live/tnt/</d:BaseURL>"
        let segment = try DASH.rewrite(Self.mpd, rules: DASH.rules(.segment()))
        #expect(segment == Self.mpd.replacing("<d:Period >", with: base + "<d:Period >"))
        let query = try DASH.rewrite(Self.mpd, rules: DASH.rules(.query()))
        #expect(query == Self.mpd.replacing("'$Number$.m4s'", with: "'$Number$.m4s?\(DASH.query)'"))
    }

    @Test("come in pieces of any size") func pieces() throws {
        let input = Array(Self.mpd.utf8)
        for mode in DASH.both {
            let rules = try DASH.rules(mode)
            let whole = try MPDRewriter.rewrite(input.span, rules: rules)
            for size in [1, 2, 3, 7, 64] {
                var rewriter = MPDRewriter(rules: rules)
                var output: [UInt8] = []
                for start in stride(from: 0, to: input.count, by: size) {
                    try rewriter.append(input[start..<min(start + size, input.count)].span, to: &output)
                }
                try rewriter.finish(to: &output)
                #expect(output == whole)
            }
            for end in 0..<input.count - "\n<!--z-->".utf8.count {
                let start = String(decoding: input[..<end], as: UTF8.self)
                #expect(throws: ManifestFault.self) { try DASH.rewrite(start, rules: rules) }
            }
        }
    }

    @Test("are more than libxml2 gets at a time") func chunks() throws {
        let segments = (0..<20_000).map { "<SegmentURL media=\"s\($0).m4s\" mediaRange='0-9'/>\n" }
        let mpd = DASH.period("<SegmentList>\(segments.joined())</SegmentList>")
        let output = try DASH.rewrite(mpd, rules: DASH.rules(.query()))
        #expect(output == mpd.replacing(".m4s\"", with: ".m4s?\(DASH.query)\""))
    }

    @Test("of a second host alone, if the MPD is not protected") func otherDocument() throws {
        let mpd = DASH.period(
            "<BaseURL>a/</BaseURL><BaseURL>https://cdn.example/b/</BaseURL><SegmentTemplate media=\"$Number$\"/>"
        )
        let rules = try DASH.rules(.segment(), url: "https://pages.example/x.mpd", hosts: ["cdn.example"])
        let output = try DASH.rewrite(mpd, rules: rules)
        #expect(output == mpd.replacing("https://cdn.example/b/", with: "https://cdn.example/\(DASH.segment)/b/"))
    }

    @Test("are the same if the MPD was fetched with the grant") func sameGrant() throws {
        let mpd = DASH.period("<SegmentTemplate media=\"$Number$.m4s\"/>")
        let rules = try DASH.rules(.segment(), url: "https://cdn.example/\(DASH.segment)/live/tnt/main.mpd")
        #expect(try DASH.rewrite(mpd, rules: rules) == mpd)
        let renewed = try DASH.rules(.segment(), url: "https://cdn.example/~cat=OLD/live/tnt/main.mpd")
        let base = "<BaseURL>https://cdn.example/\(DASH.segment)/live/tnt/</BaseURL>"
        #expect(
            try DASH.rewrite(mpd, rules: renewed) == DASH.period("<SegmentTemplate media=\"$Number$.m4s\"/>", mpd: base)
        )
    }

    // MARK: Annex I

    static let templates: [(url: String, before: String, after: String)] = [
        ("main.mpd?cat=OLD", "$querypart$", ""),
        ("main.mpd?a=1&cat=OLD&b=2$", "$querypart$", "a=1&amp;b=2$$"),
        ("main.mpd?a=1&cat=OLD", "x=y&amp;$querypart$&amp;c=$query:cat$", "x=y&amp;a=1"),
        ("main.mpd?a=1&cat=OLD", "a=$query:a$", "a=$query:a$"),
        ("main.mpd?a=1&c%61t=OLD", "$querypart$&amp;c=$query:c%61t$", "a=1"),
        // The player's URL may have a grant where that of the rules has none, as behind the manifest listener.
        ("main.mpd?a=1", "$querypart$", "a=1"),
        ("main.mpd?", "$querypart$", ""),
        ("main.mpd", "$querypart$", ""),
        ("main.mpd", "x=y&amp;z=$querypart$", "x=y"),
        ("main.mpd", "x=y&amp;c=$query:cat$", "x=y"),
        ("main.mpd?a=1", "a=$query:a$&amp;t=$query:a$$query:token$", "a=$query:a$"),
        ("main.mpd?a=1", "a=$query:a$&amp;t=$query:cat", "a=$query:a$"),
        ("main.mpd", "x=$$y", "x=$$y"),
    ]

    @Test("of templates of queries: the grant of the MPD's URL is in no other URL", arguments: templates)
    func queries(url: String, before: String, after: String) throws {
        func mpd(template: String, use: String = "true") -> String {
            DASH.mpd(
                "<EssentialProperty schemeIdUri=\"urn:mpeg:dash:urlparam:2014\"><up:UrlQueryInfo "
                    + "xmlns:up=\"urn:mpeg:dash:schema:urlparam:2014\" queryTemplate=\"\(template)\" useMPDUrlQuery=\"\(use)\"/>"
                    + "</EssentialProperty>"
            )
        }
        for mode in DASH.both {
            let rules = try DASH.rules(mode, url: "https://cdn.example/live/tnt/" + url)
            #expect(try DASH.rewrite(mpd(template: before), rules: rules) == mpd(template: after))
            #expect(try DASH.rewrite(mpd(template: after), rules: rules) == mpd(template: after))
            #expect(
                try DASH.rewrite(mpd(template: before, use: "false"), rules: rules)
                    == mpd(template: before, use: "false")
            )
        }
    }
}
