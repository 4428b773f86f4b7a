// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaResources

/// `TNT<!-- -->Sports` is `TNTSports` to one reader and `TNT` to another: an identifier with a comment is refused.
@Suite struct `Text with a comment in it` {
    static let interruptions = [
        "<!-- -->", "<!---->", "<?pi?>", "<?pi x?>", "<!-- a --><?b?><!-- c -->", " <!-- --> ", "&#32;<!-- -->",
        "<![CDATA[]]><!-- --><![CDATA[]]>", "<!-- \(String(repeating: "x", count: 3000)) -->",
    ]

    @Test(arguments: interruptions)
    func `is in no fragment`(interruption: String) throws {
        let pieces = ["TNT\(interruption)Sports", "<![CDATA[TNT]]>\(interruption)Sports", "T&amp;\(interruption)&#65;"]
        for text in pieces {
            for fragment in [
                fragment(text), fragment("TNT", item: "<title>\(text)</title>"),
                fragment("TNT", item: "<guid>\(text)</guid>"),
                fragment("TNT", item: rating(text), attributes: media), fragment("TNT", item: "<x>\(text)</x>"),
                fragment("TNT", item: "<x><y/><z>\(text)</z></x>"),
            ] {
                let error = #expect(throws: ResourceError.self) { try MediaResource(fragment) }
                #expect(error?.code == .mixedContent, "\(fragment): \(String(describing: error))")
                let wanted = try MediaResource("TNTSports")
                #expect(wanted.mismatch(withGranted: fragment) == .malformedGrant)
                #expect(try MediaResource(opaque: fragment).mismatch(withGranted: fragment) == nil)
            }
        }
    }

    @Test(
        arguments: [
            "<rss><!-- a --><channel><?b?><title>TNT</title><!-- c --></channel><!-- d --></rss><!-- e -->",
            "<!-- a --><?b?>" + fragment("TNT"), fragment("<!-- a -->TNT"), fragment("TNT<?a?>"),
            fragment(" <!-- a --> TNT <!-- b --> "), fragment("TNT", item: "<!-- a --> <?b?>"),
            fragment("TNT", item: "<guid> <!-- a --> </guid>"),
        ]
    )
    func `is a fragment where the comment parts nothing`(text: String) throws {
        #expect(try MediaResource(text) == MediaResource("TNT"))
    }

    /// CDATA sections and references are spellings of one text. Comment syntax in a CDATA section is text.
    @Test(
        arguments: [
            ("TNT<![CDATA[Sports]]>", "TNTSports"), ("TNT<![CDATA[]]>Sports", "TNTSports"),
            ("<![CDATA[TNT]]><![CDATA[Sports]]>", "TNTSports"), ("TNT&#83;ports", "TNTSports"),
            ("TNT<![CDATA[<!-- -->]]>Sports", "TNT<!-- -->Sports"), ("TNT&lt;?pi?>Sports", "TNT<?pi?>Sports"),
            ("TNT &#32;Sports", "TNT  Sports"),
        ]
    )
    func `is not text in several spellings`(text: String, meaning: String) throws {
        #expect(try MediaResource(fragment(text)).channel == meaning)
        let feed = "<rss><channel><title>\(text)</title><item><guid>\(text)</guid></item></channel></rss>"
        guard case .entry(let entry)? = items(feed).items.first else { return #expect(Bool(false)) }
        #expect(entry.resource.channel == meaning && entry.mediaID == meaning)
    }

    @Test(arguments: interruptions, [1, 3, 64, Int.max])
    func `is in no item of a feed`(interruption: String, piece: Int) throws {
        let text = "TNT\(interruption)Sports"
        for element in [
            "<guid>\(text)</guid>", "<guid>1</guid><title>\(text)</title>", "<guid>1</guid>\(rating(text))",
            "<guid>1</guid><media:restriction>\(text)</media:restriction>",
        ] {
            let feed =
                "<rss\(media)><channel><title>T<!-- a --></title><item>\(element)</item>"
                + "<item><!-- a --><guid>after</guid><description>\(text)</description></item></channel></rss>"
            let (items, error) = items(feed, piece: piece)
            #expect(error == nil)
            guard items.count == 2, case .refused(let refusal) = items[0], case .entry(let next) = items[1] else {
                Issue.record("\(items)")
                continue
            }
            #expect(refusal.reason == .markupInText && next.mediaID == "after")
        }
    }

    @Test(arguments: interruptions)
    func `is not the title of a feed's channel`(interruption: String) {
        let feed =
            "<rss><channel><title>TNT\(interruption)Sports</title><item><guid>1</guid></item></channel></rss>"
        #expect(items(feed).error?.code == .ambiguousChannel)
        guard case .entry(let entry)? = items(feed, channel: "HBO").items.first else { return #expect(Bool(false)) }
        #expect(entry.resource.channel == "HBO")
    }

    private func items(
        _ feed: String,
        piece: Int = 64 * 1024,
        channel: String? = nil
    ) -> (items: [FeedItem], error: FeedError?) {
        var reader = FeedReader(channel: channel, blockSize: piece)
        var items: [FeedItem] = []
        let bytes = Array(feed.utf8)
        do throws(FeedError) {
            for start in stride(from: 0, to: bytes.count, by: min(piece, bytes.count)) {
                try reader.read(Array(bytes[start...].prefix(piece)).span) { items.append($0) }
            }
            try reader.finish { items.append($0) }
            return (items, nil)
        } catch { return (items, error) }
    }
}
