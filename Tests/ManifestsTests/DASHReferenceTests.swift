// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests
import Testing

@Suite("References of MPDs") struct DASHReferenceTests {
    /// A case: the content of a Period and of the MPD before it, and both after rewriting.
    struct Case: CustomTestStringConvertible {
        let testDescription: String
        let content: (mpd: String, period: String)
        let segment: (mpd: String, period: String)
        let query: (mpd: String, period: String)

        init(
            _ name: String,
            content: (mpd: String, period: String),
            segment: (mpd: String, period: String),
            query: (mpd: String, period: String)
        ) {
            testDescription = name
            self.content = content
            self.segment = segment
            self.query = query
        }
    }

    private static let written = "<BaseURL>https://cdn.example/~cat=AAbb-_.12/live/tnt/</BaseURL>"

    static let cases: [Case] = [
        Case(
            "a template: every identifier survives",
            content: (
                "",
                "<SegmentTemplate media=\"$RepresentationID$/$Number%05d$-$Bandwidth$-$$.m4s\" initialization='$RepresentationID$/i.mp4'/>"
            ),
            segment: (
                written,
                "<SegmentTemplate media=\"$RepresentationID$/$Number%05d$-$Bandwidth$-$$.m4s\" initialization='$RepresentationID$/i.mp4'/>"
            ),
            query: (
                "",
                "<SegmentTemplate media=\"$RepresentationID$/$Number%05d$-$Bandwidth$-$$.m4s?cat=AAbb-_.12\" "
                    + "initialization='$RepresentationID$/i.mp4?cat=AAbb-_.12'/>"
            )
        ),
        Case(
            "a template with an index, bitstream switching, time and sub-number",
            content: (
                "", "<SegmentTemplate media=\"$Time$.m4s\" index=\"$SubNumber$.sidx\" bitstreamSwitching=\"b.mp4\"/>"
            ),
            segment: (
                written,
                "<SegmentTemplate media=\"$Time$.m4s\" index=\"$SubNumber$.sidx\" bitstreamSwitching=\"b.mp4\"/>"
            ),
            query: (
                "",
                "<SegmentTemplate media=\"$Time$.m4s?cat=AAbb-_.12\" index=\"$SubNumber$.sidx?cat=AAbb-_.12\" "
                    + "bitstreamSwitching=\"b.mp4?cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "an absolute path, which leaves the segment of the base",
            content: ("", "<SegmentTemplate media=\"/vod/$Number$.m4s\"/>"),
            segment: ("", "<SegmentTemplate media=\"/~cat=AAbb-_.12/vod/$Number$.m4s\"/>"),
            query: ("", "<SegmentTemplate media=\"/vod/$Number$.m4s?cat=AAbb-_.12\"/>")
        ),
        Case(
            "dots that stay below the root, and dots that climb above it",
            content: ("", "<SegmentTemplate media=\"../x/$Number$.m4s\" initialization=\"../../../x/i.mp4\"/>"),
            segment: (
                written, "<SegmentTemplate media=\"../x/$Number$.m4s\" initialization=\"/~cat=AAbb-_.12/x/i.mp4\"/>"
            ),
            query: (
                "",
                "<SegmentTemplate media=\"../x/$Number$.m4s?cat=AAbb-_.12\" initialization=\"../../../x/i.mp4?cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "a list, with queries and escapes",
            content: (
                "",
                "<SegmentList><Initialization sourceURL=\"i.mp4\"/><RepresentationIndex sourceURL=\"r.sidx\"/>"
                    + "<BitstreamSwitching sourceURL=\"b.mp4\"/>"
                    + "<SegmentURL media=\"s1.m4s\" index=\"s1.sidx\"/><SegmentURL media=\"s2.m4s?a=1&amp;b=2\"/></SegmentList>"
            ),
            segment: (
                written,
                "<SegmentList><Initialization sourceURL=\"i.mp4\"/><RepresentationIndex sourceURL=\"r.sidx\"/>"
                    + "<BitstreamSwitching sourceURL=\"b.mp4\"/>"
                    + "<SegmentURL media=\"s1.m4s\" index=\"s1.sidx\"/><SegmentURL media=\"s2.m4s?a=1&amp;b=2\"/></SegmentList>"
            ),
            query: (
                "",
                "<SegmentList><Initialization sourceURL=\"i.mp4?cat=AAbb-_.12\"/>"
                    + "<RepresentationIndex sourceURL=\"r.sidx?cat=AAbb-_.12\"/>"
                    + "<BitstreamSwitching sourceURL=\"b.mp4?cat=AAbb-_.12\"/>"
                    + "<SegmentURL media=\"s1.m4s?cat=AAbb-_.12\" index=\"s1.sidx?cat=AAbb-_.12\"/>"
                    + "<SegmentURL media=\"s2.m4s?a=1&amp;b=2&amp;cat=AAbb-_.12\"/></SegmentList>"
            )
        ),
        Case(
            "a BaseURL that is the file of a segment",
            content: (
                "",
                "<BaseURL serviceLocation=\"a\" byteRange=\"$base$?$query$&amp;b=$first$-$last$\"> v.mp4 </BaseURL><SegmentBase indexRange=\"0-9\"><Initialization range=\"0-1\"/></SegmentBase>"
            ),
            segment: (
                written,
                "<BaseURL serviceLocation=\"a\" byteRange=\"$base$?$query$&amp;b=$first$-$last$\"> v.mp4 </BaseURL><SegmentBase indexRange=\"0-9\"><Initialization range=\"0-1\"/></SegmentBase>"
            ),
            query: (
                "",
                "<BaseURL serviceLocation=\"a\" byteRange=\"$base$?$query$&amp;b=$first$-$last$\"> v.mp4?cat=AAbb-_.12 </BaseURL><SegmentBase indexRange=\"0-9\"><Initialization range=\"0-1\"/></SegmentBase>"
            )
        ),
        Case(
            "a BaseURL that is a folder, absolute, on a protected host",
            content: (
                "<BaseURL>https://two.example/x/</BaseURL>",
                "<BaseURL>y/</BaseURL><SegmentTemplate media=\"$Number$.m4s\"/>"
            ),
            segment: (
                "<BaseURL>https://two.example/~cat=AAbb-_.12/x/</BaseURL>",
                "<BaseURL>y/</BaseURL><SegmentTemplate media=\"$Number$.m4s\"/>"
            ),
            query: (
                "<BaseURL>https://two.example/x/</BaseURL>",
                "<BaseURL>y/</BaseURL><SegmentTemplate media=\"$Number$.m4s?cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "a BaseURL on another host: nothing below it has the grant",
            content: (
                "<BaseURL>https://ads.example/x/</BaseURL>",
                "<BaseURL>/y/</BaseURL><SegmentTemplate media=\"$Number$.m4s\" initialization=\"/i.mp4\"/>"
            ),
            segment: (
                "<BaseURL>https://ads.example/x/</BaseURL>",
                "<BaseURL>/y/</BaseURL><SegmentTemplate media=\"$Number$.m4s\" initialization=\"/i.mp4\"/>"
            ),
            query: (
                "<BaseURL>https://ads.example/x/</BaseURL>",
                "<BaseURL>/y/</BaseURL><SegmentTemplate media=\"$Number$.m4s\" initialization=\"/i.mp4\"/>"
            )
        ),
        Case(
            "an empty BaseURL, which has no place for a text",
            content: ("<BaseURL serviceLocation=\"a\" />", "<SegmentTemplate media=\"$Number$.m4s\"/>"),
            segment: (
                "<BaseURL serviceLocation=\"a\" >/~cat=AAbb-_.12/live/tnt/main.mpd</BaseURL>",
                "<SegmentTemplate media=\"$Number$.m4s\"/>"
            ),
            query: (
                "<BaseURL serviceLocation=\"a\" />", "<SegmentTemplate media=\"$Number$.m4s?cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "references without a scheme, and with another one",
            content: (
                "",
                "<BaseURL>//two.example/x/</BaseURL><SegmentTemplate media=\"$Number$.m4s\" initialization=\"data:video/mp4;base64,AAAA\"/>"
            ),
            segment: (
                "",
                "<BaseURL>//two.example/~cat=AAbb-_.12/x/</BaseURL><SegmentTemplate media=\"$Number$.m4s\" initialization=\"data:video/mp4;base64,AAAA\"/>"
            ),
            query: (
                "",
                "<BaseURL>//two.example/x/</BaseURL><SegmentTemplate media=\"$Number$.m4s?cat=AAbb-_.12\" initialization=\"data:video/mp4;base64,AAAA\"/>"
            )
        ),
        Case(
            "an old grant, which is replaced",
            content: (
                "<BaseURL>https://cdn.example/~cat=OLD/x/</BaseURL>",
                "<SegmentTemplate media=\"$Number$.m4s\" initialization=\"https://two.example/i.mp4?a=1&amp;cat=\(ReferenceTests.old)\"/>"
            ),
            segment: (
                "<BaseURL>https://cdn.example/~cat=AAbb-_.12/x/</BaseURL>",
                "<SegmentTemplate media=\"$Number$.m4s\" initialization=\"https://two.example/~cat=AAbb-_.12/i.mp4?a=1&amp;cat=\(ReferenceTests.old)\"/>"
            ),
            query: (
                "<BaseURL>https://cdn.example/~cat=OLD/x/</BaseURL>",
                "<SegmentTemplate media=\"$Number$.m4s?cat=AAbb-_.12\" initialization=\"https://two.example/i.mp4?a=1&amp;cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "locations of the MPD and of patches, content steering and clocks",
            content: (
                "<Location>main.mpd?s=1</Location><Location>https://ads.example/live/tnt/main.mpd</Location>"
                    + "<PatchLocation ttl=\"60\">https://cdn.example/patch.mpp</PatchLocation>"
                    + "<ContentSteering defaultServiceLocation=\"a\">https://two.example/steer</ContentSteering>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"https://cdn.example/t https://time.example/t\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"2026-01-01T00:00:00Z\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:ntp:2014\" value=\"cdn.example\"/>",
                ""
            ),
            segment: (
                "<Location>https://cdn.example/~cat=AAbb-_.12/live/tnt/main.mpd?s=1</Location>"
                    + "<Location>https://ads.example/live/tnt/main.mpd</Location>"
                    + "<PatchLocation ttl=\"60\">https://cdn.example/~cat=AAbb-_.12/patch.mpp</PatchLocation>"
                    + "<ContentSteering defaultServiceLocation=\"a\">https://two.example/~cat=AAbb-_.12/steer</ContentSteering>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"https://cdn.example/~cat=AAbb-_.12/t https://time.example/t\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"2026-01-01T00:00:00Z\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:ntp:2014\" value=\"cdn.example\"/>",
                ""
            ),
            query: (
                "<Location>https://cdn.example/live/tnt/main.mpd?s=1&amp;cat=AAbb-_.12</Location>"
                    + "<Location>https://ads.example/live/tnt/main.mpd</Location>"
                    + "<PatchLocation ttl=\"60\">https://cdn.example/patch.mpp?cat=AAbb-_.12</PatchLocation>"
                    + "<ContentSteering defaultServiceLocation=\"a\">https://two.example/steer?cat=AAbb-_.12</ContentSteering>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"https://cdn.example/t?cat=AAbb-_.12 https://time.example/t\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:direct:2014\" value=\"2026-01-01T00:00:00Z\"/>"
                    + "<UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:ntp:2014\" value=\"cdn.example\"/>",
                ""
            )
        ),
        Case(
            "a Location in another folder: the base is written, since players differ about it",
            content: ("<Location>/other/main.mpd</Location>", "<SegmentTemplate media=\"$Number$.m4s\"/>"),
            segment: (
                written + "<Location>https://cdn.example/~cat=AAbb-_.12/other/main.mpd</Location>",
                "<SegmentTemplate media=\"$Number$.m4s\"/>"
            ),
            query: (
                "<BaseURL>https://cdn.example/live/tnt/</BaseURL><Location>https://cdn.example/other/main.mpd?cat=AAbb-_.12</Location>",
                "<SegmentTemplate media=\"$Number$.m4s?cat=AAbb-_.12\"/>"
            )
        ),
        Case(
            "elements in other documents, another MPD, and events, which are left alone",
            content: (
                "<EssentialProperty schemeIdUri=\"urn:mpeg:dash:chaining:2016\" value=\"next.mpd\"/>",
                "<EventStream schemeIdUri=\"https://cdn.example/\" value=\"https://cdn.example/\"><Event><BaseURL>https://cdn.example/</BaseURL></Event></EventStream>"
                    + "<SegmentList xlink:href=\"https://two.example/list.xml\" xlink:actuate=\"onLoad\"/>"
                    + "<AdaptationSet xlink:href=\"urn:mpeg:dash:resolve-to-zero:2013\"/>"
            ),
            segment: (
                written
                    + "<EssentialProperty schemeIdUri=\"urn:mpeg:dash:chaining:2016\" value=\"/~cat=AAbb-_.12/live/tnt/next.mpd\"/>",
                "<EventStream schemeIdUri=\"https://cdn.example/\" value=\"https://cdn.example/\"><Event><BaseURL>https://cdn.example/</BaseURL></Event></EventStream>"
                    + "<SegmentList xlink:href=\"https://two.example/~cat=AAbb-_.12/list.xml\" xlink:actuate=\"onLoad\"/>"
                    + "<AdaptationSet xlink:href=\"urn:mpeg:dash:resolve-to-zero:2013\"/>"
            ),
            query: (
                "<EssentialProperty schemeIdUri=\"urn:mpeg:dash:chaining:2016\" value=\"next.mpd?cat=AAbb-_.12\"/>",
                "<EventStream schemeIdUri=\"https://cdn.example/\" value=\"https://cdn.example/\"><Event><BaseURL>https://cdn.example/</BaseURL></Event></EventStream>"
                    + "<SegmentList xlink:href=\"https://two.example/list.xml?cat=AAbb-_.12\" xlink:actuate=\"onLoad\"/>"
                    + "<AdaptationSet xlink:href=\"urn:mpeg:dash:resolve-to-zero:2013\"/>"
            )
        ),
        Case(
            "what is no reference of a player",
            content: (
                "<ProgramInformation moreInformationURL=\"https://cdn.example/about\"><BaseURL>https://cdn.example/</BaseURL></ProgramInformation>"
                    + "<Metrics metrics=\"a\"><Reporting schemeIdUri=\"urn:x\" value=\"https://cdn.example/report\"/></Metrics>",
                "<!-- <BaseURL>https://cdn.example/</BaseURL> --><?x https://cdn.example/?>"
            ),
            segment: (
                "<ProgramInformation moreInformationURL=\"https://cdn.example/about\"><BaseURL>https://cdn.example/</BaseURL></ProgramInformation>"
                    + "<Metrics metrics=\"a\"><Reporting schemeIdUri=\"urn:x\" value=\"https://cdn.example/report\"/></Metrics>",
                "<!-- <BaseURL>https://cdn.example/</BaseURL> --><?x https://cdn.example/?>"
            ),
            query: (
                "<ProgramInformation moreInformationURL=\"https://cdn.example/about\"><BaseURL>https://cdn.example/</BaseURL></ProgramInformation>"
                    + "<Metrics metrics=\"a\"><Reporting schemeIdUri=\"urn:x\" value=\"https://cdn.example/report\"/></Metrics>",
                "<!-- <BaseURL>https://cdn.example/</BaseURL> --><?x https://cdn.example/?>"
            )
        ),
        Case(
            "escapes: read as characters, written escaped",
            content: (
                "",
                "<BaseURL>https://cdn.example/a&#47;b&apos;/</BaseURL><SegmentTemplate media='$Number$.m4s?a=&#x31;&amp;b=\"'/>"
            ),
            segment: (
                "",
                "<BaseURL>https://cdn.example/~cat=AAbb-_.12/a/b&apos;/</BaseURL><SegmentTemplate media='$Number$.m4s?a=&#x31;&amp;b=\"'/>"
            ),
            query: (
                "",
                "<BaseURL>https://cdn.example/a&#47;b&apos;/</BaseURL><SegmentTemplate media='$Number$.m4s?a=1&amp;b=&quot;&amp;cat=AAbb-_.12'/>"
            )
        ),
    ]

    @Test("that carry a segment", arguments: cases) func segment(example: Case) throws {
        try check(example, mode: .segment(), expected: example.segment)
    }

    @Test("that carry a parameter", arguments: cases) func query(example: Case) throws {
        try check(example, mode: .query(), expected: example.query)
    }

    private func check(_ example: Case, mode: ManifestRules.Mode, expected: (mpd: String, period: String)) throws {
        let rules = try DASH.rules(mode)
        let output = try DASH.rewrite(DASH.period(example.content.period, mpd: example.content.mpd), rules: rules)
        #expect(output == DASH.period(expected.period, mpd: expected.mpd))
        #expect(try DASH.rewrite(output, rules: rules) == output)
    }

    static let parts: [(name: String, mpd: @Sendable (String) -> String)] = [
        ("Period", { DASH.period($0) }),
        ("Representation", { DASH.period("", representation: $0) }),
        (
            "SubRepresentation",
            { DASH.period("", representation: "<SubRepresentation level=\"1\">\($0)</SubRepresentation>") }
        ),
        ("Preselection", { DASH.period("<Preselection id=\"p\">\($0)</Preselection>") }),
        ("InitializationSet", { DASH.period("", mpd: "<InitializationSet id=\"1\">\($0)</InitializationSet>") }),
    ]

    @Test("have the grant in what every kind of representation may have", arguments: parts, DASH.both)
    func part(part: (name: String, mpd: @Sendable (String) -> String), mode: ManifestRules.Mode) throws {
        for (before, after) in [
            ("<InbandEventStream xlink:href=\"", "\"/>"), ("<EssentialProperty xlink:href=\"", "\"/>"),
            (
                "<ProducerReferenceTime><UTCTiming schemeIdUri=\"urn:mpeg:dash:utc:http-iso:2014\" value=\"",
                "\"/></ProducerReferenceTime>"
            ),
        ] where part.name != "Period" || !after.hasSuffix("ProducerReferenceTime>") {
            let output = try DASH.rewrite(part.mpd(before + "/x" + after), rules: DASH.rules(mode))
            let written = mode == .query() ? "/x?\(DASH.query)" : "/\(DASH.segment)/x"
            let expected = part.mpd(before + written + after)
            // The Representation has a base of its own with a grant in a segment.
            #expect(output.replacing(Self.written, with: "") == expected, "\(part.name): \(output)")
        }
    }
}
