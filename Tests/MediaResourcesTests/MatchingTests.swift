// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaResources

/// Creates a fragment.
func fragment(_ channel: String, item: String? = nil, attributes: String = "") -> String {
    "<rss\(attributes)><channel><title>\(channel)</title>\(item.map { "<item>\($0)</item>" } ?? "")</channel></rss>"
}

let media = " xmlns:media=\"http://search.yahoo.com/mrss/\""
let video = " xmlns:media=\"http://video.search.yahoo.com/mrss/\""

func rating(_ value: String, scheme: String = "urn:v-chip") -> String {
    "<media:rating scheme=\"\(scheme)\">\(value)</media:rating>"
}

@Suite struct `Matching` {
    typealias Options = MediaResource.MatchOptions

    /// Granted, wanted, and the mismatch without options; tested in both directions.
    @Test(
        arguments: [
            ("TNT", "TNT", nil), ("TNT", fragment("TNT"), nil), (" TNT\n", "TNT", nil), ("TNT", "tnt", .channel),
            ("TNT", "T N T", .channel), ("A &amp; B", fragment("A &amp; B"), .channel),
            ("A & B", fragment("A &amp; B"), nil),
            (fragment("TNT", attributes: " version='2.0'" + media), "TNT", nil),
            ("<rss>\n <channel>\n  <title>\n TNT </title>\n </channel>\n</rss>\n", "TNT", nil),
            (fragment("<![CDATA[TNT]]>"), "TNT", nil), (fragment("T<![CDATA[N]]>T"), "TNT", nil),
            (fragment("<![CDATA[a\r\nb]]>"), fragment("a\nb"), nil),
            (fragment("<![CDATA[a\rb]]>"), fragment("a\rb"), nil),
            (fragment("<![CDATA[a\r\r\n\nb]]>"), fragment("a\n\n\nb"), nil),
            (fragment("a<![CDATA[\r]]><![CDATA[\n]]>b"), fragment("a\n\nb"), nil),
            (fragment("<![CDATA[a\rb]]>"), fragment("a&#13;b"), .channel),
            (fragment("TNT", item: ""), "TNT", nil), (fragment("TNT", item: "<guid/>"), "TNT", nil),
            (fragment("TNT", item: "<title> </title><guid></guid>"), "TNT", nil),
            (fragment("TNT", item: rating(""), attributes: media), "TNT", nil),
            (
                fragment("TNT", item: "<guid>1</guid>"),
                fragment("TNT", item: "<guid>1</guid>" + rating(" "), attributes: media),
                nil
            ),
            (fragment("A &amp; B"), fragment("<![CDATA[A & B]]>"), nil), (fragment("&#65;"), "A", nil),
            (fragment("T", item: "<x a='&amp;#38;'/>"), fragment("T", item: "<x a='&#38;#38;'/>"), nil),
            (fragment("T", item: "<x a='&amp;#38;'/>"), fragment("T", item: "<x a='&amp;'/>"), .other),
            (fragment("T", item: "<x xmlns='u:a&amp;b'/>"), fragment("T", item: "<y:x xmlns:y='u:a&#38;b'/>"), nil),
            (fragment("T", item: "<x xmlns='u:a&amp;b'/>"), fragment("T", item: "<x xmlns='u:a&amp;c'/>"), .other),
            (
                fragment("TNT", item: "<title>a</title><guid>1</guid>"),
                fragment("TNT", item: "<guid>1</guid><title>a</title>"), nil
            ),
            (fragment("TNT", item: "<guid>1</guid>"), fragment("TNT", item: "<guid>2</guid>"), .guid),
            (fragment("TNT", item: "<guid>1</guid>"), fragment("TBS", item: "<guid>1</guid>"), .channel),
            (fragment("TNT", item: "<title>a</title>"), fragment("TNT", item: "<title>b</title>"), .itemTitle),
            (fragment("TNT", item: "<title>a</title>"), fragment("TNT", item: "<guid>a</guid>"), .itemTitle),
            (
                fragment("TNT", item: rating("TV-PG"), attributes: media),
                fragment("TNT", item: rating("TV-MA"), attributes: media), .rating
            ),
            (
                fragment("TNT", item: rating("TV-PG"), attributes: media),
                fragment("TNT", item: rating("TV-PG", scheme: "urn:vchip"), attributes: media), .rating
            ),
            (
                fragment("TNT", item: "<guid>1</guid>" + rating("TV-PG"), attributes: media),
                fragment("TNT", item: "<guid>1</guid>"), .rating
            ),
            (
                fragment("TNT", item: rating("A") + rating("B", scheme: "urn:mpaa"), attributes: media),
                fragment("TNT", item: rating("B", scheme: "urn:mpaa") + rating("A") + rating("A"), attributes: media),
                nil
            ),
            (
                fragment("TNT", item: "<media:rating>adult</media:rating>", attributes: media),
                fragment("TNT", item: rating("adult", scheme: "urn:simple"), attributes: media), nil
            ),
            (
                fragment("TNT", item: rating("A"), attributes: media),
                fragment("TNT", item: rating("A"), attributes: " xmlns:media='http://search.yahoo.com/mrss'"), nil
            ),
            (
                fragment("TNT", item: rating("A"), attributes: media),
                fragment("TNT", item: rating("A"), attributes: video), nil
            ),
            (
                fragment("TNT", item: rating("A"), attributes: media),
                fragment(
                    "TNT",
                    item: "<x:rating xmlns:x='http://search.yahoo.com/mrss/' scheme='urn:v-chip'>A</x:rating>"
                ),
                nil
            ),
            (
                fragment("TNT", item: rating("A"), attributes: media),
                fragment("TNT", item: rating("A"), attributes: " xmlns:media='urn:other'"), .rating
            ),
            (fragment("TNT", item: "<guid>1</guid>"), fragment("TNT", item: "<guid a='b'>1</guid>"), .other),
            (fragment("TNT", item: "<guid>1</guid><x/>"), fragment("TNT", item: "<guid>1</guid>"), .other),
            (fragment("TNT", item: "<guid>1</guid><x/><y/>"), fragment("TNT", item: "<guid>1</guid><y/><x/>"), .other),
            (fragment("TNT", item: "<x a='1' b='2'/>"), fragment("TNT", item: "<x b=\"2\"\n a=\"1\"></x>"), nil),
            (
                fragment("TNT", item: "<p:x xmlns:p='u' p:a='1'/>"),
                fragment("TNT", item: "<x xmlns='u' xmlns:q='u' q:a='1'/>"), nil
            ),
            (fragment("TNT", item: "<x>a</x>"), fragment("TNT", item: "<x>b</x>"), .other), ("<a/>", "<a/>", nil),
            ("<a/>", "<a />", .opaque), ("<a/>", fragment("&lt;a/>"), .opaque), ("caf\u{E9}", "cafe\u{301}", .channel),
        ] as [(String, String, ResourceMismatch?)]
    )
    func `without options is equality`(granted: String, wanted: String, mismatch: ResourceMismatch?) throws {
        let (left, right) = (try MediaResource(granted), try MediaResource(wanted))
        #expect(left.mismatch(with: right) == mismatch)
        #expect(left.covers(right) == (mismatch == nil))
        #expect(right.covers(left) == (mismatch == nil))
        #expect((left == right) == (mismatch == nil))
        #expect((left.hashValue == right.hashValue) == (mismatch == nil))
        #expect(right.mismatch(withGranted: granted) == mismatch)
    }

    /// Granted, wanted, the option, and the mismatch without it. Only this option makes them match.
    @Test func `options let differ what they name`() throws {
        let rows: [(String, String, WritableKeyPath<Options, Bool>, ResourceMismatch)] = [
            ("TNT", "tnt", \.ignoreCase, .channel),
            (fragment("A  B"), "A B", \.collapseWhitespace, .channel),
            ("TNT", fragment("TNT", item: "<guid>1</guid>"), \.channelCoversAssets, .channelForAsset),
            (fragment("TNT"), fragment("TNT", item: "<x/>"), \.channelCoversAssets, .channelForAsset),
            (
                fragment("TNT", item: "<guid>1</guid>" + rating("TV-PG"), attributes: media),
                fragment("TNT", item: "<guid>1</guid>"),
                \.ignoreRating, .rating
            ),
            (
                fragment("TNT", item: rating("TV-PG"), attributes: media),
                fragment("TNT", item: rating("TV-PG", scheme: "urn:vchip"), attributes: media), \.schemeAliases, .rating
            ),
        ]
        for (granted, wanted, option, mismatch) in rows {
            let (left, right) = (try MediaResource(granted), try MediaResource(wanted))
            var options = Options()
            #expect(left.mismatch(with: right, options: options) == mismatch)
            options[keyPath: option] = true
            #expect(left.mismatch(with: right, options: options) == nil)
            #expect(left.covers(right, options: options))
            let asset = try MediaResource(fragment("TNT", item: "<guid>1</guid><title>z</title>"))
            for other in ["TBS", "TNT", fragment("TNT", item: "<guid>9</guid><title>z</title>")] {
                #expect(!asset.covers(try MediaResource(other), options: options))
            }
        }
    }

    @Test func `an asset never covers its channel`() throws {
        let asset = try MediaResource(fragment("TNT", item: "<guid>1</guid>"))
        var options = Options()
        options.channelCoversAssets = true
        options.ignoreRating = true
        options.ignoreCase = true
        options.schemeAliases = true
        #expect(asset.mismatch(with: try MediaResource("TNT"), options: options) == .assetForChannel)
        #expect(!(try MediaResource("TBS").covers(asset, options: options)))
    }

    @Test func `exact only compares bytes`() throws {
        var options = Options()
        options.exactOnly = true
        let channel = try MediaResource("TNT")
        #expect(channel.mismatch(with: try MediaResource(fragment("TNT")), options: options) == .notExact)
        #expect(channel.mismatch(withGranted: " TNT", options: options) == .notExact)
        #expect(channel.mismatch(withGranted: "TNT", options: options) == nil)
        options = Options()
        options.videoNamespaceAlias = false
        let one = try MediaResource(fragment("TNT", item: rating("A"), attributes: media))
        let other = try MediaResource(fragment("TNT", item: rating("A"), attributes: video))
        #expect(one.mismatch(with: other, options: options) == .namespace)
        #expect(one.mismatch(with: one, options: options) == nil)
    }

    @Test(arguments: ["<rss>", "<!DOCTYPE rss><rss/>", "<rss><channel><title>&x;</title></channel></rss>", "a\u{1}"])
    func `compares malformed text by its bytes`(text: String) throws {
        #expect(throws: ResourceError.self) { try MediaResource(text) }
        let wanted = try MediaResource(opaque: text)
        #expect(wanted.mismatch(withGranted: text) == nil)
        #expect(wanted.mismatch(withGranted: text + " ") == .malformedGrant)
        #expect(try MediaResource("TNT").mismatch(withGranted: text) == .malformedGrant)
        #expect(try MediaResource("TNT").mismatch(withGranted: "") == .malformedGrant)
        #expect(throws: ResourceError(.empty, reason: "")) { try MediaResource(opaque: " \n") }
    }

    @Test func `resources are keys of dictionaries`() throws {
        var catalogue = [try MediaResource("TNT"): 1]
        catalogue[try MediaResource(fragment("TNT"))] = 2
        catalogue[try MediaResource(fragment("TNT", item: "<guid>1</guid>"))] = 3
        #expect(catalogue.count == 2)
        #expect(catalogue[try MediaResource(fragment(" TNT ", item: "<guid> </guid>"))] == 2)
    }
}

@Suite struct `Ratings` {
    @Test(
        arguments: [
            ("urn:v-chip", "TV-PG", "urn:v-chip", "TV-PG", true), ("urn:v-chip", "TV-G", "urn:v-chip", "TV-PG", true),
            ("urn:v-chip", "TV-14", "urn:v-chip", "TV-PG", false),
            ("urn:vchip", "tvy7-fv", "urn:v-chip", "TV-Y7", true),
            ("urn:v-chip", "TV-Y", "urn:v-chip", "TV-MA", true), ("urn:v-chip", "TV-MA", "urn:v-chip", "TV-14", false),
            ("urn:mpaa", "PG-13", "urn:mpaa", "R", true), ("urn:mpaa", "nc-17", "urn:mpaa", "R", false),
            ("urn:mpaa", "G", "urn:mpaa", "G", true), ("urn:mpaa", "G", "urn:v-chip", "TV-MA", false),
            ("urn:v-chip", "X", "urn:v-chip", "TV-MA", false), ("urn:v-chip", "TV-G", "urn:v-chip", "X", false),
            ("urn:simple", "nonadult", "urn:simple", "nonadult", false), ("urn:x", "1", "urn:x", "2", false),
            ("urn:v-chip", "", "urn:v-chip", "TV-MA", false),
            ("urn:v-chip", "TV-14-DLSV", "urn:v-chip", "TV-MA", false),
        ])
    func `are at most others on one known scale`(s1: String, v1: String, s2: String, v2: String, isAtMost: Bool) {
        #expect(Rating(scheme: s1, value: v1).isAtMost(Rating(scheme: s2, value: v2)) == isAtMost)
    }

    @Test func `of a resource all count that can be compared`() throws {
        let limit = Rating(scheme: "urn:v-chip", value: "TV-PG")
        func isRated(_ ratings: String) throws -> Bool {
            try MediaResource(fragment("T", item: "<guid>1</guid>" + ratings, attributes: media)).isRatedAtMost(limit)
        }
        #expect(try isRated(rating("TV-PG")) && isRated(rating("TV-G") + rating("R", scheme: "urn:mpaa")))
        #expect(
            try !isRated("") && !isRated(rating("G", scheme: "urn:mpaa")) && !isRated(rating("TV-PG") + rating("TV-MA"))
        )
        #expect(try !isRated(rating("TV-G") + rating("?")))
    }
}
