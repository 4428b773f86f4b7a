// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Manifests
import Testing

/// Manifests that are not at the player's URL: the origin redirects their request, or a proxy removes a part of the
/// path.
@Suite("Manifests at another URL than the player's") struct MovedManifestTests {
    /// The URL of a player, and that of the manifest, as the origin has it.
    struct Address: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var publicPath = ""
        /// The path of the player's URL, without the public path.
        var path = "/live/tnt/index"
        /// The path of the origin, or a URL on another host; `nil` without a redirect.
        var redirect: String?

        var url: String { "https://cdn.example\(publicPath)\(path)" }
        /// The URL of the manifest, without the public path.
        var origin: String {
            redirect.map { $0.hasPrefix("/") ? "https://cdn.example\($0)" : $0 } ?? "https://cdn.example\(path)"
        }
        var source: String { publicURL(origin) }

        /// Returns the player's URL for one of the origin.
        func publicURL(_ url: String) -> String {
            let site = "https://cdn.example"
            return url.hasPrefix(site + "/") ? site + publicPath + url.dropFirst(site.count) : url
        }

        func rules(_ mode: ManifestRules.Mode) throws -> ManifestRules {
            try ManifestRules(
                url: url,
                source: redirect == nil ? nil : source,
                publicPath: publicPath.isEmpty ? "/" : publicPath,
                grant: DASH.grant,
                mode: mode,
                hosts: ["cdn.example", "two.example"]
            )
        }

        /// Returns the URL that a player is to request for a reference, by Foundation's reading of RFC 3986.
        ///
        /// - Parameter base: What it is relative to; `nil` for the manifest.
        func wantedURL(for reference: String, in base: String? = nil, mode: ManifestRules.Mode) throws -> String {
            let isNamed = reference.contains("//") || base?.contains("//") ?? false
            let outer = try base.map { try read($0, against: origin) } ?? origin
            let found = try read(reference, against: outer)
            // Whoever writes the host writes the player's path.
            let url = isNamed ? found : publicURL(found)
            guard ["https://cdn.example/", "https://two.example/"].contains(where: { url.hasPrefix($0) }) else {
                return url
            }
            switch mode {
            case .query: return url + (url.contains("?") ? "&" : "?") + DASH.query
            case .segment:
                let site =
                    url.hasPrefix("https://cdn.example\(publicPath)/")
                    ? "https://cdn.example\(publicPath)" : String(url.prefix(19))
                return site + "/\(DASH.segment)" + url.dropFirst(site.count)
            }
        }
    }

    static func read(_ reference: String, against base: String) throws -> String {
        guard !reference.isEmpty else { return base }
        let text = reference.replacing(" ", with: "%20")
        let url = try #require(
            URL(string: text, relativeTo: URL(string: base))?.absoluteURL.absoluteString,
            "\(reference)"
        )
        // One host, however it is written.
        return url.replacing("https://CDN.example:443/", with: "https://cdn.example/")
            .replacing("https://cdn.example./", with: "https://cdn.example/")
    }

    static let addresses = [
        Address(testDescription: "no redirect"),
        Address(testDescription: "a redirect on the same host", redirect: "/s/42/i?sid=9"),
        Address(testDescription: "a redirect to another folder level", redirect: "/i"),
        Address(testDescription: "a redirect to a protected host", redirect: "https://two.example/s/42/i?sid=9"),
        Address(testDescription: "a redirect to a foreign host", redirect: "https://ads.example/s/42/i"),
        Address(testDescription: "a public path", publicPath: "/watch"),
        Address(testDescription: "a deep public path", publicPath: "/watch/eu-1", path: "/index"),
        Address(testDescription: "a public path and a redirect", publicPath: "/watch", redirect: "/s/42/i"),
        Address(
            testDescription: "a public path and a redirect to a protected host",
            publicPath: "/watch",
            redirect: "https://two.example/i"
        ),
        Address(
            testDescription: "a public path and a redirect to a foreign host",
            publicPath: "/watch",
            redirect: "https://ads.example/s/i"
        ),
    ]

    static let references = [
        "seg1.ts", "a/seg1.ts", "../a/seg1.ts", "../../../../x.ts", "/vod/seg1.ts", "/watch/seg1.ts", "seg1.ts?y=2",
        "?y=2", "my seg.ts",
        "https://cdn.example/vod/a.ts", "https://cdn.example/watch/vod/a.ts", "https://cdn.example/watch/eu-1/a.ts",
        "https://two.example/a.ts",
        "https://CDN.example:443/watch/a.ts", "https://cdn.example./watch/a.ts", "https://ads.example/a.ts",
        "//ads.example/a.ts", "//cdn.example/a.ts", "//two.example/watch/a.ts", "./a.ts",
        "/",
    ]

    @Test("have the references of the origin", arguments: addresses, DASH.both)
    func playlist(address: Address, mode: ManifestRules.Mode) throws {
        let rules = try address.rules(mode)
        for reference in Self.references {
            // Twice, since what is found out about one line is used for the next.
            let lines = "#EXTM3U\n#EXT-X-MAP:URI=\"\(reference)\"\n\(reference)\n\(reference)\n"
            let output = String(decoding: try HLSRewriter.rewrite(lines.utf8.span, rules: rules), as: UTF8.self)
            let written = output.split(separator: "\n").dropFirst()
            #expect(written.count == 3)
            for line in written {
                let text = line.hasPrefix("#") ? String(line.dropFirst(16).dropLast()) : String(line)
                let found = try Self.read(text, against: address.url)
                #expect(try found == address.wantedURL(for: reference, mode: mode), "\(reference) became \(line)")
            }
        }
    }

    static let bases = [
        nil, "v/", "/vod/v/", "https://two.example/v/", "https://ads.example/v/", "https://cdn.example/watch/v/",
        "../v/",
    ]

    @Test("have the references of the origin, below every BaseURL", arguments: addresses, DASH.both)
    func mpd(address: Address, mode: ManifestRules.Mode) throws {
        let rules = try address.rules(mode)
        for base in Self.bases {
            for reference in [
                "$Number$.m4s", "../$Number$.m4s", "/vod/$Number$.m4s", "https://two.example/$Number$.m4s",
                "https://ads.example/$Number$.m4s",
            ] {
                let before = base.map { "<BaseURL>\($0)</BaseURL>" } ?? ""
                let mpd = DASH.period("<SegmentTemplate media=\"\(reference)\"/>", mpd: before)
                let output = try DASH.rewrite(mpd, rules: rules)
                let written = output.firstMatch(of: /<BaseURL>(.*)<\/BaseURL>/).map { String($0.output.1) }
                let media = try #require(output.firstMatch(of: /media="(.*?)"/).map { String($0.output.1) })
                let found = try Self.read(media.number, against: Self.read(written ?? "", against: address.url))
                #expect(
                    try found == address.wantedURL(for: reference.number, in: base, mode: mode),
                    "\(base ?? "no base"), \(reference): \(output)"
                )
            }
        }
    }

    @Test("are asked for again by the player's URL", arguments: addresses, DASH.both)
    func location(address: Address, mode: ManifestRules.Mode) throws {
        let rules = try ManifestRules(
            url: address.url,
            source: address.redirect == nil ? nil : address.source,
            publicPath: address.publicPath + "/",
            grant: DASH.grant,
            options: .addingLocation,
            mode: mode
        )
        let output = try DASH.rewrite(DASH.period("<SegmentTemplate media=\"a.m4s\"/>"), rules: rules)
        let location = try #require(output.firstMatch(of: /<Location>(.*)<\/Location>/).map { String($0.output.1) })
        var plain = Address(testDescription: "")
        (plain.publicPath, plain.path) = (address.publicPath, address.path)
        #expect(try location == plain.wantedURL(for: address.path, mode: mode), "\(output)")
    }

    static let refused: [(url: String, source: String?, publicPath: String, ManifestRulesError.Code)] =
        [
            ("https://cdn.example/a", "/b", "/", .urlInvalid),
            ("https://cdn.example/a", "ftp://cdn.example/b", "/", .urlInvalid),
            ("https://cdn.example/a", "https://user@cdn.example/b", "/", .urlInvalid),
            ("https://cdn.example/a", "https://cdn.example/%2e%2e%2fb", "/", .urlInvalid),
            ("https://cdn.example/a", nil, "/watch", .publicPathInvalid),
            ("https://cdn.example/watch", nil, "/watch", .publicPathInvalid),
            ("https://cdn.example/watchmen/a", nil, "/watch", .publicPathInvalid),
        ]
        + [
            "", "watch", "//", "/watch//", "/./", "/../", "/watch/..", "/%77atch", "/a b", "/a?b", "/~cat=G", "/\\",
            "/a//b", "/é",
        ].map {
            ("https://cdn.example\($0)/a", nil, $0, .publicPathInvalid)
        }

    @Test("are refused if that cannot be told", arguments: refused)
    func refusal(url: String, source: String?, publicPath: String, code: ManifestRulesError.Code) {
        let error = #expect(throws: ManifestRulesError.self) {
            try ManifestRules(url: url, source: source, publicPath: publicPath, grant: DASH.grant, mode: .segment())
        }
        // The URL is looked at first.
        #expect(error?.code == code || error?.code == .urlInvalid)
    }

    @Test("take no variable from a query that the player does not see") func variable() throws {
        let rules = try Self.addresses[1].rules(.segment())
        let playlist = "#EXTM3U\n#EXT-X-DEFINE:QUERYPARAM=\"sid\"\n{$sid}.ts\n"
        let fault = #expect(throws: ManifestFault.self) { try HLSRewriter.rewrite(playlist.utf8.span, rules: rules) }
        #expect(fault?.code == .unsupported && fault?.line == 2)
    }
}

extension String {
    /// A template with its number.
    fileprivate var number: String { replacing("$Number$", with: "7") }
}
