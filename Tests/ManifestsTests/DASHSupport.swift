// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests

/// The rules and the documents of the tests of MPDs.
enum DASH {
    static let url = "https://cdn.example/live/tnt/main.mpd"
    static let grant = "AAbb-_.12"
    /// The segment with the grant, after a slash.
    static let segment = "~cat=AAbb-_.12"
    /// The parameter with the grant.
    static let query = "cat=AAbb-_.12"
    static let both: [ManifestRules.Mode] = [.segment(), .query()]

    static func rules(
        _ mode: ManifestRules.Mode,
        url: String = DASH.url,
        grant: String = DASH.grant,
        hosts: [String]? = ["cdn.example", "two.example"],
        limits: ManifestLimits = ManifestLimits()
    ) throws -> ManifestRules {
        try ManifestRules(url: url, grant: grant, mode: mode, hosts: hosts, limits: limits)
    }

    static func rewrite(_ mpd: String, rules: ManifestRules) throws -> String {
        String(decoding: try MPDRewriter.rewrite(mpd.utf8.span, rules: rules), as: UTF8.self)
    }

    /// Returns an MPD with this content.
    static func mpd(_ content: String, attributes: String = "") -> String {
        "<MPD xmlns=\"urn:mpeg:dash:schema:mpd:2011\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"\(attributes)>\(content)</MPD>"
    }

    /// Returns an MPD with one Representation, `v1`, and this content before it.
    static func period(
        _ content: String,
        mpd before: String = "",
        id: String = "v1",
        representation: String = ""
    ) -> String {
        let inner = "<Period>\(content)<AdaptationSet><Representation id=\"\(id)\">\(representation)</Representation>"
        return mpd(before + inner + "</AdaptationSet></Period>")
    }
}
