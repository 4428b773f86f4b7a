// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests
import Testing

/// References of a level are relative to the `BaseURL`s of the Representations in it, and to those of no other level.
@Suite("Bases of the levels of an MPD") struct DASHLevelTests {
    private static let media = "<SegmentTemplate media=\"a/$Number$\"/>"
    private static let granted = "<SegmentTemplate media=\"a/$Number$?\(DASH.query)\"/>"
    private static let own = "<Representation id=\"1\"/>"
    private static let protected = "<Representation id=\"2\"><BaseURL>https://two.example/x/</BaseURL></Representation>"
    private static let other = "<Representation id=\"3\"><BaseURL>https://ads.example/x/</BaseURL></Representation>"

    private static func set(_ content: String) -> String { "<AdaptationSet>\(content)</AdaptationSet>" }

    private static func period(_ content: String) -> String { "<Period>\(content)</Period>" }

    @Test("decide about a template above them alone") func neighbours() throws {
        let rules = try DASH.rules(.query())
        let sets = { (template: String) in
            Self.set(template + Self.own + Self.protected + Self.own) + Self.set(Self.media + Self.other)
                + Self.set(template + Self.protected)
        }
        let mpd = { (template: String) in
            DASH.mpd(
                Self.period(sets(template)) + Self.period(Self.media + Self.set(Self.other) + Self.set(Self.other))
                    + Self.period(template + Self.set(Self.own) + Self.set(Self.protected + Self.own))
            )
        }
        #expect(try DASH.rewrite(mpd(Self.media), rules: rules) == mpd(Self.granted))
    }

    @Test(
        "are refused if they differ about a host, wherever they are",
        arguments: [
            set(media + own + other), set(media + other + own + own), set(media + own + protected + other),
            media + set(own) + set(own + other), media + set(other) + set(protected) + set(own),
            set(own + own) + set(media + other + protected),
        ]
    ) func differences(sets: String) throws {
        let rules = try DASH.rules(.query())
        let periods = [Self.period(Self.set(Self.own)), Self.period(sets), Self.period(Self.set(Self.other))].joined()
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(DASH.mpd(periods), rules: rules) }
        #expect(fault?.code == .unsupported)
    }

    @Test("are plain or not by the identifiers of the level alone") func identifiers() throws {
        let rules = try DASH.rules(.segment(), url: "https://cdn.example/main.mpd")
        let template = "<SegmentTemplate media=\"$RepresentationID$/$Number$\"/>"
        let periods = { (id: String) in
            Self.period(Self.set(template + "<Representation id=\"v&#49;\"/>"))
                + Self.period(Self.set(Self.own) + Self.set(template + "<Representation id=\"\(id)\"/>" + Self.own))
        }
        #expect(try DASH.rewrite(DASH.mpd(periods("v2")), rules: rules).contains(periods("v2")))
        // With this identifier the template leaves the segment with the grant, whatever is written.
        let fault = #expect(throws: ManifestFault.self) { try DASH.rewrite(DASH.mpd(periods("../x")), rules: rules) }
        #expect(fault?.code == .unsupported)
    }
}
