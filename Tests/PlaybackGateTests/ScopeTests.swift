// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import Testing
import VendorTokens

@testable import PlaybackGate

/// What others check without a catalogue opens no path of another resource or requestor.
@Suite struct `Scopes of what others check` {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The other entries: pattern, resource (`nil` for unprotected), requestor, host.
        let others: [(path: String, resource: String?, requestor: String, host: String?)]
        /// The path of the entry with the profile.
        var path = "/live/tnt/"
        var scope: String?
        var host: String?
        /// The pattern of the entry that would be opened; `nil` for none.
        let stranger: String?

        init(
            _ name: String,
            path: String = "/live/tnt/",
            scope: String? = nil,
            host: String? = nil,
            beside others: [(String, String?, String, String?)],
            stranger: String?
        ) {
            testDescription = name
            (self.path, self.scope, self.host, self.others) = (path, scope, host, others)
            self.stranger = stranger
        }
    }

    static let rows = [
        Row("nothing else", beside: [], stranger: nil),
        Row("a folder beside it", beside: [("/live/tbs/", "TBS", "REF30", nil)], stranger: nil),
        Row("a folder whose name begins alike", beside: [("/live/tnt2/", "TBS", "REF30", nil)], stranger: nil),
        Row("a folder around it", beside: [("/live/", "BASIC", "REF30", nil)], stranger: nil),
        Row("a folder in it", beside: [("/live/tnt/hd/", "HD", "REF30", nil)], stranger: "/live/tnt/hd/"),
        Row("a folder in it, of the same resource", beside: [("/live/tnt/hd/", "TNT", "REF30", nil)], stranger: nil),
        Row(
            "a folder in it, of another requestor",
            beside: [("/live/tnt/hd/", "TNT", "REF31", nil)],
            stranger: "/live/tnt/hd/"
        ),
        Row("an unprotected folder in it", beside: [("/live/tnt/ads/", nil, "", nil)], stranger: nil),
        Row("a file in it", beside: [("/live/tnt/a.mp4", "A", "REF30", nil)], stranger: "/live/tnt/a.mp4"),
        Row(
            "a glob that reaches into it",
            beside: [("/live/*/keys/k?", "A", "REF30", nil)],
            stranger: "/live/*/keys/k?"
        ),
        Row("a glob that is weaker", beside: [("/live/**", "A", "REF30", nil)], stranger: nil),
        Row(
            "a glob that ends before it",
            beside: [("/live/*.m3u8.with-a-long-name", "A", "REF30", nil)],
            stranger: nil
        ),
        Row(
            "a folder of another host",
            host: "a.example",
            beside: [("/live/tnt/hd/", "A", "REF30", "b.example")],
            stranger: nil
        ),
        Row(
            "a folder of its host",
            host: "a.example",
            beside: [("/live/tnt/hd/", "A", "REF30", "a.example")],
            stranger: "/live/tnt/hd/"
        ),
        Row(
            "a folder of a host, where the profile names none",
            beside: [("/live/tnt/hd/", "A", "REF30", "b.example")],
            stranger: "/live/tnt/hd/"
        ),
        Row(
            "files of a folder",
            path: "/vod/a.mp4",
            beside: [("/vod/b.mp4", "B", "REF30", nil)],
            stranger: "/vod/b.mp4"
        ),
        Row(
            "a file whose folder is another's",
            path: "/vod/a.mp4",
            beside: [("/vod/", "B", "REF30", nil)],
            stranger: "/vod/"
        ),
        Row(
            "a scope of its own",
            path: "/vod/a.mp4",
            scope: "/vod/a/",
            beside: [("/vod/b.mp4", "B", "REF30", nil)],
            stranger: nil
        ),
        Row("the root", path: "/live/tnt/", scope: "/", beside: [("/x", "B", "REF30", nil)], stranger: "/x"),
        Row(
            "an encoded folder",
            path: "/live/a b/",
            beside: [("/live/a b/c", "B", "REF30", nil)],
            stranger: "/live/a b/c"
        ),
        Row("a folder around a glob", path: "/vod/*/a.m3u8", beside: [("/vod/", "B", "REF30", nil)], stranger: "/vod/"),
        Row(
            "a folder around its own glob",
            path: "/live/tnt/*",
            scope: "/live/tnt/",
            beside: [("/live/", "B", "REF30", nil)],
            stranger: "/live/"
        ),
        Row("a folder that its own hides", scope: "/live/tnt/", beside: [("/live/", "B", "REF30", nil)], stranger: nil),
        Row(
            "a media id's manifest",
            path: "/vod/a.mp4",
            beside: [("media:/vod/b.m3u8", "B", "REF30", nil)],
            stranger: "b"
        ),
        Row(
            "a media id of another folder",
            path: "/vod/a.mp4",
            beside: [("media:/live/b.m3u8", "B", "REF30", nil)],
            stranger: nil
        ),
        Row(
            "a glob beside a file of its folders",
            path: "/vod/*/a.m3u8",
            beside: [("/vod/1/b.mp4", "B", "REF30", nil)],
            stranger: "/vod/1/b.mp4"
        ),
        Row(
            "globs of one folder",
            path: "/vod/*/a.m3u8",
            beside: [("/vod/?/b.*", "B", "REF30", nil)],
            stranger: "/vod/?/b.*"
        ),
        Row(
            "a glob around a glob",
            path: "/vod/*/a.m3u8",
            beside: [("/**.mp4", "B", "REF30", nil)],
            stranger: "/**.mp4"
        ),
        Row(
            "globs of one root and other folders",
            path: "/vod/*/hd/a?",
            beside: [("/vod/*/sd/b?", "B", "REF30", nil)],
            stranger: nil
        ),
        Row("globs of other names", path: "/vod/a-*/x?", beside: [("/vod/b-*/x?", "B", "REF30", nil)], stranger: nil),
        Row("a glob of longer names", path: "/vod/é?/x?", beside: [("/vod/é??/x?", "B", "REF30", nil)], stranger: nil),
        Row(
            "a glob of the same names",
            path: "/vod/?-/x?",
            beside: [("/vod/é-/*", "B", "REF30", nil)],
            stranger: "/vod/é-/*"
        ),
        Row(
            "a glob beside a file of other folders",
            path: "/vod/*/a.m3u8",
            beside: [("/vod/b.mp4", "B", "REF30", nil)],
            stranger: nil
        ),
    ]

    private static func entry(
        path: String,
        resource: String?,
        requestor: String,
        host: String?,
        grants: Catalogue.Entry.GrantTerms? = nil
    ) throws -> Catalogue.Entry {
        Catalogue.Entry(
            key: path.hasPrefix("media:") ? .media("b") : .path(try PathPattern(path)),
            protection: try resource.map { .resource(try MediaResource($0), requestor: requestor) } ?? .none,
            hosts: try host.map { [try #require(HostName($0[...]))] } ?? [],
            grants: grants
        )
    }

    @Test(arguments: rows) func `have no path of another`(_ row: Row) throws {
        var rules = GrantProfile.Rules()
        rules.host = row.host
        rules.renewal = nil
        let profile = GrantProfile("cdn", format: .vendor(.edgeAuth), issuer: "cdn", keyID: "k", rules: rules)
        let own = try Self.entry(
            path: row.path,
            resource: "TNT",
            requestor: "REF30",
            host: nil,
            grants: .init([profile], scope: row.scope)
        )
        var catalogue = Catalogue()
        try catalogue.add(own)
        for (path, resource, requestor, host) in row.others {
            let manifest = path.hasPrefix("media:") ? String(path.dropFirst("media:".count)) : nil
            let terms = manifest.map { Catalogue.Entry.GrantTerms([profile], manifest: $0) }
            try catalogue.add(
                try Self.entry(path: path, resource: resource, requestor: requestor, host: host, grants: terms)
            )
        }
        #expect(ScopeSurvey(catalogue).stranger(to: own, by: profile)?.key.text == row.stranger)
    }

    /// A vendor's format without files signs nothing of an item whose folder is not said, which nobody would notice.
    @Test(
        arguments: [(FeedPathScope.file, SigningError.Code.scope), (.folder, nil)]
            as [(FeedPathScope, SigningError.Code?)]
    )
    func `of a format without files are none for a file`(_ paths: FeedPathScope, _ code: SigningError.Code?) throws {
        let item = """
            <item><title>F</title><guid>f</guid><media:content url="https://cdn.example/vod/a/x.mp4"/></item>
            """
        var rules = GrantProfile.Rules()
        rules.host = "cdn.example"
        let profile = GrantProfile("nginx", format: .vendor(.secureLink), issuer: "nginx", keyID: "k", rules: rules)
        var link = SecureLinkRules(try SigningTemplate("{expires}{scope} {secret}"))
        link.isWeak = true
        let secret = try SigningSecret("a secret of thirty-two bytes, or more", form: .text)
        let format = FormatIssuer.vendor(try SecureLinkIssuer(secret, rules: link))
        let catalogue = try Catalogue(feedOf: item, paths, grants: [profile])
        let entry = try #require(catalogue.entries.first { $0.key.pattern != nil })
        #expect(format.fault(signing: entry, by: profile, at: GateSample.time)?.code == code)
    }

    /// An item of a feed is its files, unless its folder is said.
    @Test(arguments: [
        (FeedPathScope.file, "/vod/a/x.mp4"), (.none, "/vod/a/x.mp4"), (.folder, "/vod/a/"),
    ]) func `are an item's file, or its folder if that is said`(_ paths: FeedPathScope, _ scope: String) throws {
        let item = """
            <item><title>F</title><guid>f</guid><media:content url="https://cdn.example/vod/a/x.mp4"/></item>
            """
        let profiles = [GrantFormat.cat, .uriSigning, .vendor(.edgeAuth)].map { format in
            GrantProfile(format.name, format: format, issuer: "cdn", keyID: "k")
        }
        let catalogue = try Catalogue(feedOf: item, paths, grants: profiles)
        for entry in catalogue.entries {
            for profile in profiles {
                // At gates, a Common Access Token opens what it was given for, in whatever folder.
                let expected = profile.format == .cat ? "/vod/a/" : scope
                #expect(entry.scope(profile, path: "/vod/a/x.mp4") == expected, "\(entry.key.text) \(profile.name)")
            }
        }
    }
}
