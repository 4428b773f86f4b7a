// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

@Suite("Refusals of MPDs") struct DASHRefusalTests {
    private static let template = "<SegmentTemplate media=\"$Number$.m4s\"/>"

    private static func bytes(start: [UInt8], text: String) -> [UInt8] { start + Array(text.utf8) }

    static let refused: [(name: String, mpd: [UInt8], ManifestCode)] = [
        ("nothing", [], .malformed),
        ("no XML", Array("#EXTM3U\n".utf8), .malformed),
        ("an open element", Array("<MPD><Period></MPD>".utf8), .malformed),
        ("an open tag", Array("<MPD><Period".utf8), .malformed),
        ("two roots", Array("<MPD/><MPD/>".utf8), .malformed),
        ("another root", Array("<mpd/>".utf8), .malformed),
        ("another namespace", Array("<MPD xmlns=\"urn:x\"/>".utf8), .malformed),
        ("an unknown prefix", Array(DASH.mpd("<x:a/>").utf8), .malformed),
        ("an attribute twice", Array(DASH.period("<SegmentTemplate media=\"a\" media=\"b\"/>").utf8), .malformed),
        ("a tag in a value", Array(DASH.period("<SegmentTemplate media=\"<\"/>").utf8), .malformed),
        ("an end in a comment", Array(DASH.mpd("<!-- -- -->").utf8), .malformed),
        ("a NUL", Array(DASH.mpd("\0").utf8), .malformed),
        ("bytes that are no UTF-8", Array("<MPD a=\"".utf8) + [0xFF, 0xFE] + Array("\"/>".utf8), .malformed),
        ("a document type", Array(("<!DOCTYPE MPD>" + DASH.mpd("")).utf8), .unsupported),
        (
            "an entity", Array(("<!DOCTYPE MPD [<!ENTITY a \"b\">]>" + DASH.period("<BaseURL>&a;</BaseURL>")).utf8),
            .unsupported
        ),
        ("an unknown entity", Array(DASH.period("<BaseURL>&a;</BaseURL>").utf8), .malformed),
        ("UTF-16", Array(DASH.mpd("").utf16).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }, .encodingInvalid),
        ("UTF-16 with a mark", bytes(start: [0xFE, 0xFF], text: "<MPD/>"), .encodingInvalid),
        ("Latin-1", Array(("<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>" + DASH.mpd("")).utf8), .encodingInvalid),
        ("a patch", Array("<Patch xmlns=\"urn:mpeg:dash:schema:mpd-patch:2020\" mpdId=\"a\"/>".utf8), .unsupported),
        (
            "a URL in two sections", Array(DASH.period("<BaseURL><![CDATA[a]]><![CDATA[/]]></BaseURL>").utf8),
            .unsupported
        ),
        ("a URL half in CDATA", Array(DASH.period("<BaseURL>a<![CDATA[/]]></BaseURL>").utf8), .unsupported),
        (
            "a URL with a comment in it", Array(DASH.period("<BaseURL><![CDATA[a]]><!-- --></BaseURL>").utf8),
            .unsupported
        ),
        ("a URL with a comment", Array(DASH.period("<BaseURL>a<!-- -->/</BaseURL>").utf8), .unsupported),
        ("a URL with an element", Array(DASH.period("<BaseURL>a/<b/></BaseURL>").utf8), .unsupported),
        (
            "an element with its name from another namespace",
            Array(DASH.period("<x:BaseURL xmlns:x=\"urn:x\"/>").utf8), .unsupported
        ),
        ("a tab in a URL", Array(DASH.period("<BaseURL>a\tb/</BaseURL>\(Self.template)").utf8), .referenceInvalid),
        ("a blank in a host", Array(DASH.period("<BaseURL>https://cdn .example/</BaseURL>").utf8), .referenceInvalid),
        (
            "a backslash for a slash", Array(DASH.period("<BaseURL>\\\\ads.example/</BaseURL>\(Self.template)").utf8),
            .referenceInvalid
        ),
        ("user information", Array(DASH.period("<BaseURL>https://a@cdn.example/</BaseURL>").utf8), .referenceInvalid),
        (
            "a template that names a long identifier very often",
            Array(
                DASH.period(
                    "<SegmentTemplate media=\"/\(String(repeating: "$RepresentationID$", count: 3000))\"/>",
                    id: String(repeating: "a", count: 60_000)
                ).utf8
            ), .tooLarge
        ),
        (
            "an encoded slash", Array(DASH.period("<SegmentTemplate media=\"a%2f../$Number$.m4s\"/>").utf8),
            .referenceInvalid
        ),
    ]

    @Test("for what they are", arguments: refused) func document(name: String, mpd: [UInt8], code: ManifestCode) throws
    {
        for mode in DASH.both {
            var output: [UInt8] = []
            var rewriter = MPDRewriter(rules: try DASH.rules(mode))
            var fault: ManifestFault?
            do throws(ManifestFault) {
                try rewriter.append(mpd.span, to: &output)
                try rewriter.finish(to: &output)
            } catch {
                fault = error
            }
            #expect(fault?.code == code && output.isEmpty, "\(name): \(String(describing: fault))")
        }
    }

    /// Texts that no single reference can stand for: with the grant for one base, without it for another.
    static let mixed: [(name: String, mpd: String, modes: [ManifestRules.Mode])] = [
        (
            "a template for two hosts",
            DASH.period(
                "<BaseURL>https://cdn.example/</BaseURL><BaseURL>https://ads.example/</BaseURL>\(Self.template)"
            ), [.query()]
        ),
        (
            "a BaseURL for two hosts, which is a file",
            DASH.period(
                "<BaseURL>v.mp4</BaseURL>",
                mpd: "<BaseURL>https://cdn.example/</BaseURL><BaseURL>https://ads.example/</BaseURL>"
            ), [.query()]
        ),
        (
            "an absolute path for two hosts",
            DASH.period(
                "<BaseURL>https://cdn.example/</BaseURL><BaseURL>https://ads.example/</BaseURL>"
                    + "<SegmentTemplate media=\"/$Number$.m4s\"/>"
            ), [.segment(), .query()]
        ),
        (
            "a template for two hosts, of which the lower levels name one",
            DASH.mpd(
                "<Period>\(template)<AdaptationSet><Representation/><Representation>"
                    + "<BaseURL>https://ads.example/</BaseURL></Representation></AdaptationSet></Period>"
            ), [.query()]
        ),
        (
            "a template for two hosts, of which the last level inherits one",
            DASH.mpd(
                "<Period>\(template)<AdaptationSet><BaseURL>https://ads.example/</BaseURL><Representation/></AdaptationSet>"
                    + "<AdaptationSet><Representation/></AdaptationSet></Period>"
            ), [.query()]
        ),
        (
            "an identifier that is a host, of one of two Representations",
            DASH.mpd(
                "<Period><AdaptationSet><SegmentTemplate media=\"$RepresentationID$/$Number$.m4s\"/><Representation id=\"a\"/>"
                    + "<Representation id=\"https://ads.example\"/></AdaptationSet></Period>"
            ), [.query()]
        ),
        (
            "an identifier that climbs out of the segment",
            DASH.period("<SegmentTemplate media=\"x/$RepresentationID$/$Number$.m4s\"/>", id: "../../../../.."),
            [.segment()]
        ),
    ]

    @Test("because no text of a reference fits all bases", arguments: mixed)
    func severalBases(name: String, mpd: String, modes: [ManifestRules.Mode]) throws {
        for mode in modes {
            let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(mpd, rules: DASH.rules(mode)) }
            #expect(fault?.code == .unsupported || fault?.code == .referenceInvalid)
        }
    }

    @Test("never for two hosts in a segment, which only the protected BaseURL carries") func split() throws {
        let bases = "<BaseURL>https://cdn.example/a/</BaseURL><BaseURL>https://ads.example/a/</BaseURL>"
        let output = try DASH.rewrite(DASH.period(bases + Self.template), rules: DASH.rules(.segment()))
        let expected =
            "<BaseURL>https://cdn.example/\(DASH.segment)/a/</BaseURL><BaseURL>https://ads.example/a/</BaseURL>"
        #expect(output == DASH.period(expected + Self.template))
    }

    @Test("of a BaseURL whose byteRange drops the query") func byteRange() throws {
        let mpd = DASH.period("<BaseURL byteRange=\"$base$?b=$first$-$last$\">v.mp4</BaseURL>")
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(mpd, rules: DASH.rules(.query())) }
        #expect(fault?.code == .unsupported)
        _ = try DASH.rewrite(mpd, rules: DASH.rules(.segment()))
    }

    // MARK: Limits

    private static let limits: [(name: String, ManifestLimits, fits: String, exceeds: String)] = {
        var cases: [(String, ManifestLimits, String, String)] = []
        var limits = ManifestLimits()
        limits.size = 400
        let frame = DASH.mpd("<!---->").utf8.count
        cases.append(
            (
                "size", limits, DASH.mpd("<!--\(String(repeating: "a", count: 400 - frame))-->"),
                DASH.mpd("<!--\(String(repeating: "a", count: 401 - frame))-->")
            )
        )
        limits = ManifestLimits()
        limits.depth = 4
        cases.append(("depth", limits, DASH.period(""), DASH.period("<a><b><c/></b></a>")))
        limits = ManifestLimits()
        limits.references = 2
        let url = "<SegmentURL media=\"a.m4s\"/>"
        cases.append(
            (
                "references", limits, DASH.period("<SegmentList>\(url)\(url)</SegmentList>"),
                DASH.period("<SegmentList>\(url)\(url)\(url)</SegmentList>")
            )
        )
        limits = ManifestLimits()
        limits.attributes = 3
        cases.append(
            ("attributes", limits, DASH.mpd("", attributes: " a=\"\""), DASH.mpd("", attributes: " a=\"\" b=\"\""))
        )
        limits = ManifestLimits()
        limits.lineLength = 200
        cases.append(
            (
                "tags", limits, DASH.mpd("<a b=\"\(String(repeating: "c", count: 191))\"/>"),
                DASH.mpd("<a b=\"\(String(repeating: "c", count: 192))\"/>")
            )
        )
        cases.append(
            (
                "text", limits, DASH.period("<BaseURL>\(String(repeating: "c", count: 200))</BaseURL>"),
                DASH.period("<BaseURL>\(String(repeating: "c", count: 201))</BaseURL>")
            )
        )
        return cases
    }()

    @Test("at the limits", arguments: limits)
    func limit(name: String, limits: ManifestLimits, fits: String, exceeds: String) throws {
        let rules = try DASH.rules(.segment(), limits: limits)
        _ = try DASH.rewrite(fits, rules: rules)
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(exceeds, rules: rules) }
        #expect(fault?.code == .tooLarge, "\(name)")
    }

    @Test("of nothing for many bases that are all different") func manyBases() throws {
        let representations = (0..<90_000).map { "<Representation><BaseURL>\($0)/</BaseURL></Representation>" }
        let mpd = DASH.mpd("<Period><AdaptationSet>\(representations.joined())</AdaptationSet></Period>")
        #expect(try DASH.rewrite(mpd, rules: DASH.rules(.query())).hasPrefix("<MPD"))
    }

    @Test("of work that grows with the product of levels") func work() throws {
        let bases = (0..<8).map { "<BaseURL>https://cdn.example/\($0)/</BaseURL>" }.joined()
        let lower = (0..<8).map { "<BaseURL>\($0)/</BaseURL>" }.joined()
        let templates = String(repeating: "<SegmentTemplate media=\"../$RepresentationID$/$Number$\"/>", count: 1000)
        let representations = (0..<1000).map { "<Representation id=\"\($0)\"/>" }.joined()
        var limits = ManifestLimits()
        limits.references = 5_000
        let rules = try DASH.rules(.query(), limits: limits)
        let levels = "<Period>\(lower)\(templates)<AdaptationSet>\(representations)</AdaptationSet></Period>"
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(DASH.mpd(bases + levels), rules: rules) }
        #expect(fault?.code == .tooLarge)
        let product = DASH.mpd(bases + "<Period>\(lower)<BaseURL>8/</BaseURL></Period>")
        let second = #expect(throws: ManifestFault.self) { try DASH.rewrite(product, rules: rules) }
        #expect(second?.code == .tooLarge)
    }
}
