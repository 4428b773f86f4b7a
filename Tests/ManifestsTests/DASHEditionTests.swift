// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests
import Testing

/// What the sixth edition of ISO/IEC 23009-1 adds: other MPDs that are played instead, or in a Period, and URLs to call.
@Suite("MPDs that name other MPDs") struct DASHEditionTests {
    private static let insert = "urn:mpeg:dash:event:alternativeMPD:insert:2025"
    private static let callback = "urn:mpeg:dash:event:callback:2015"

    private static func events(scheme: String, event: String) -> String {
        DASH.period("<EventStream schemeIdUri=\"\(scheme)\">\(event)</EventStream>")
    }

    private static func url(for path: String, mode: ManifestRules.Mode, host: String = "cdn.example") -> String {
        switch mode {
        case .segment: "https://\(host)/\(DASH.segment)\(path)"
        case .query: "https://\(host)\(path)?\(DASH.query)"
        }
    }

    static let references: [(mpd: String, old: String, path: String, host: String)] = [
        (
            events(
                scheme: insert,
                event: "<Event presentationTime=\"1\"><InsertPresentation url=\"ad.mpd\" maxDuration=\"9\"/></Event>"
            ), "ad.mpd",
            "/live/tnt/ad.mpd", "cdn.example"
        ),
        (
            events(
                scheme: "urn:mpeg:dash:event:alternativeMPD:replace:2025",
                event: "<Event><ReplacePresentation url=\"https://two.example/ad.mpd\"/></Event>"
            ),
            "https://two.example/ad.mpd", "/ad.mpd", "two.example"
        ),
        (
            events(scheme: callback, event: "<Event>https://two.example/seen</Event>"), "https://two.example/seen",
            "/seen",
            "two.example"
        ),
        (events(scheme: callback, event: "<Event messageData=\"/seen\"/>"), "/seen", "/seen", "cdn.example"),
        (
            events(scheme: callback, event: "<Event><![CDATA[/seen]]></Event>"), "<![CDATA[/seen]]>", "/seen",
            "cdn.example"
        ),
    ]

    @Test("write the grant into alternative MPDs and callbacks, as absolute URLs", arguments: references, DASH.both)
    func event(row: (mpd: String, old: String, path: String, host: String), mode: ManifestRules.Mode) throws {
        let output = try DASH.rewrite(row.mpd, rules: DASH.rules(mode))
        #expect(
            output == row.mpd.replacing(row.old, with: Self.url(for: row.path, mode: mode, host: row.host)),
            "\(output)"
        )
        #expect(try DASH.rewrite(output, rules: DASH.rules(mode)) == output)
    }

    @Test("write the grant into imported MPDs", arguments: DASH.both) func imported(mode: ManifestRules.Mode) throws {
        for (text, attribute) in [("/p2.mpd", ""), ("", " uri=\"/p2.mpd\""), ("https://cdn.example/p2.mpd", "")] {
            let mpd = DASH.mpd(
                "<Period><ImportedMPD earliestResolutionTimeOffset=\"5\"\(attribute)>\(text)</ImportedMPD></Period>"
            )
            let output = try DASH.rewrite(mpd, rules: DASH.rules(mode))
            let path = mode == .query() ? "/p2.mpd?\(DASH.query)" : "/\(DASH.segment)/p2.mpd"
            #expect(output.contains("\(path)\(attribute.isEmpty ? "<" : "\"")"), "\(output)")
            #expect(output.ranges(of: DASH.grant).count == 1)
        }
    }

    static let unchanged: [String] = [
        events(scheme: insert, event: "<Event><InsertPresentation url=\"https://ads.example/ad.mpd\"/></Event>"),
        events(scheme: callback, event: "<Event>https://ads.example/seen</Event>"),
        events(scheme: callback, event: "<Event messageData=\"\">https://ads.example/seen</Event>"),
        events(scheme: insert, event: "<Event><InsertPresentation url=\"\"/></Event>"),
        DASH.mpd("<Period><x:Event xmlns:x=\"urn:x\">a</x:Event></Period>"),
        events(scheme: "urn:scte:scte35:2013:xml", event: "<Event>/seen</Event>"),
        events(scheme: "urn:example:custom", event: "<Event><InsertPresentation url=\"/ad.mpd\"/></Event>"),
        DASH.mpd("<Period><ImportedMPD>https://ads.example/p2.mpd</ImportedMPD></Period>"),
    ]

    @Test("leave those of other hosts and schemes alone", arguments: unchanged, DASH.both)
    func foreign(mpd: String, mode: ManifestRules.Mode) throws {
        #expect(try DASH.rewrite(mpd, rules: DASH.rules(mode)) == mpd)
    }

    static let refused: [String] = [
        "\n" + events(scheme: callback, event: "<Event contentEncoding=\"base64\">L3NlZW4=</Event>"),
        "\n" + events(scheme: callback, event: "<Event>/a<!-- x -->/seen</Event>"),
    ]

    @Test("refuse the line of a callback that cannot be read", arguments: refused) func refusal(mpd: String) throws {
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(mpd, rules: DASH.rules(.segment())) }
        #expect(fault?.code == .unsupported && fault?.line == 2)
    }

    @Test("write the scheme of a reference that has none, if the player has come by another", arguments: DASH.both)
    func schemes(mode: ManifestRules.Mode) throws {
        for (player, source) in [("http", "https"), ("https", "http")] {
            let rules = try ManifestRules(
                url: "\(player)://cdn.example/live/i.mpd",
                source: "\(source)://cdn.example/s/i.mpd",
                grant: DASH.grant,
                mode: mode
            )
            for reference in ["//cdn.example/$Number$.m4s", "//ads.example/$Number$.m4s"] {
                let output = try DASH.rewrite(DASH.period("<SegmentTemplate media=\"\(reference)\"/>"), rules: rules)
                // By the scheme in the text, or by that of a base.
                let isWritten = output.contains("media=\"\(source):") || output.contains("<BaseURL>\(source)://")
                #expect(isWritten, "\(output)")
            }
        }
    }
}
