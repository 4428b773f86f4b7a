// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests
import Testing

/// What an MPD gets that it did not have: the URL by which players ask for it again.
@Suite("The Location of an MPD") struct DASHLocationTests {
    private static func rewrite(_ mpd: String, mode: ManifestRules.Mode, url: String = DASH.url) throws -> String {
        let rules = try ManifestRules(
            url: url,
            grant: DASH.grant,
            options: .addingLocation,
            mode: mode,
            hosts: ["cdn.example", "two.example"]
        )
        return try DASH.rewrite(mpd, rules: rules)
    }

    private static let template = "<SegmentTemplate media=\"$Number$.m4s\"/>"

    @Test("is its URL with the grant, in the order of the schema") func location() throws {
        let mpd = DASH.period(Self.template, mpd: "<ProgramInformation/><BaseURL>v/</BaseURL><UTCTiming/>")
        let url = "https://cdn.example/live/tnt/main.mpd?a=1&b=2"
        let segment = try Self.rewrite(mpd, mode: .segment(), url: url)
        let written =
            "<Location>https://cdn.example/\(DASH.segment)/live/tnt/main.mpd?a=1&amp;b=2</Location><UTCTiming/>"
        #expect(segment.contains("</BaseURL>\(written)"), "\(segment)")
        let query = try Self.rewrite(mpd, mode: .query(), url: url)
        #expect(
            query.contains("<Location>https://cdn.example/live/tnt/main.mpd?a=1&amp;b=2&amp;\(DASH.query)</Location>")
        )
    }

    @Test("follows a BaseURL that is written too") func withBase() throws {
        let text = try Self.rewrite(DASH.period(Self.template), mode: .segment())
        let base = "<BaseURL>https://cdn.example/\(DASH.segment)/live/tnt/</BaseURL>"
        #expect(
            text.contains("\(base)<Location>https://cdn.example/\(DASH.segment)/live/tnt/main.mpd</Location><Period>")
        )
    }

    @Test("replaces no Location, and has the prefix of the MPD") func others() throws {
        let own = DASH.period(Self.template, mpd: "<Location>other.mpd</Location>")
        #expect(try Self.rewrite(own, mode: .query()).ranges(of: "<Location>").count == 1)
        let prefixed = "<d:MPD xmlns:d=\"urn:mpeg:dash:schema:mpd:2011\"><d:Period/></d:MPD>"
        #expect(
            try Self.rewrite(prefixed, mode: .query()).contains("<d:Location>https://cdn.example/live/tnt/main.mpd?")
        )
    }

    @Test("stays the same when the MPD is rewritten again", arguments: DASH.both) func again(
        mode: ManifestRules.Mode
    ) throws {
        let once = try Self.rewrite(DASH.period(Self.template), mode: mode)
        #expect(try Self.rewrite(once, mode: mode) == once)
    }
}

@Suite("URLs of MPDs in unusual forms") struct DASHFormTests {
    private static let template = "<SegmentTemplate media=\"$Number$.m4s\"/>"

    static let bases: [(text: String, written: String)] = [
        ("<![CDATA[https://two.example/v/]]>", "https://two.example/\(DASH.segment)/v/"),
        ("\n  <![CDATA[ https://two.example/v/ ]]>\n", "\n  https://two.example/\(DASH.segment)/v/\n"),
        ("<![CDATA[https://two.example/v&w/]]>", "https://two.example/\(DASH.segment)/v&amp;w/"),
        ("https://two.example/my film/", "https://two.example/\(DASH.segment)/my%20film/"),
        ("<![CDATA[https://ads.example/v&w/]]>", "<![CDATA[https://ads.example/v&w/]]>"),
    ]

    @Test("are read: CDATA, and blanks", arguments: bases) func base(text: String, written: String) throws {
        let mpd = DASH.period(Self.template, mpd: "<BaseURL>\(text)</BaseURL>")
        let output = try DASH.rewrite(mpd, rules: DASH.rules(.segment()))
        #expect(
            output == mpd.replacing("<BaseURL>\(text)</BaseURL>", with: "<BaseURL>\(written)</BaseURL>"),
            "\(output)"
        )
        #expect(try DASH.rewrite(output, rules: DASH.rules(.segment())) == output)
    }

    @Test("are read with blanks in templates") func blanks() throws {
        let mpd = DASH.period("<SegmentTemplate media=\" my film/$Number$.m4s\" initialization=\"/my film/i.mp4\"/>")
        let output = try DASH.rewrite(mpd, rules: DASH.rules(.query()))
        #expect(output.contains("media=\" my%20film/$Number$.m4s?\(DASH.query)\""), "\(output)")
        #expect(output.contains("initialization=\"/my%20film/i.mp4?\(DASH.query)\""), "\(output)")
    }
}
