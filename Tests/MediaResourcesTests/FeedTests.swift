// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaResources

@Suite struct `A feed` {
    /// Reads a feed in chunks of `piece` bytes, and in blocks of as many, at most 64 KiB, if there is no other `block`.
    private func read(
        _ feed: [UInt8],
        piece: Int = .max,
        block: Int? = nil,
        channel: String? = nil
    ) -> ([FeedItem], FeedError?) {
        var reader = FeedReader(channel: channel, blockSize: block ?? min(piece, 64 * 1024))
        var items: [FeedItem] = []
        do {
            for start in stride(from: 0, to: feed.count, by: min(piece, max(1, feed.count))) {
                let chunk = Array(feed[start...].prefix(piece))
                try reader.read(chunk.span) { items.append($0) }
            }
            try reader.finish { items.append($0) }
            return (items, nil)
        } catch { return (items, error) }
    }

    private func read(_ feed: String, channel: String? = nil) -> ([FeedItem], FeedError?) {
        read(Array(feed.utf8), channel: channel)
    }

    private static let head = """
        <?xml version="1.0"?>
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/" xmlns:dc="http://purl.org/dc/elements/1.1/">
        <channel><title> TNT </title><dc:title>other</dc:title><description>d</description><image><title>i</title></image>

        """
    private static let tail = "\n</channel></rss>"

    private static let sloppy =
        head + """
            <item>
              <title><![CDATA[Law & <i>Order</i>]]></title><dc:title>no</dc:title><media:title>no</media:title>
              <guid isPermaLink="false"> 100 </guid><pubDate/>
              <media:group>
                <media:content url="https://cdn.example/a/1.m3u8?x=1&amp;y=&#38;amp;#f" type="t"><media:rating scheme="urn:mpaa">PG</media:rating></media:content>
                <media:content url=" //cdn.example/b%20/2.mpd "/><media:content/>
              </media:group>
              <media:rating scheme="urn:v-chip">TV-PG</media:rating><media:rating/>
              <media:restriction relationship="deny" type="country">us &amp; ca</media:restriction>
            </item>
            <item><title>No &lt;b&gt;guid</title><enclosure url="http://h/c.mp4" length="1"/></item>
            <item><guid>only</guid><comments><item2/></comments></item>
            """ + tail

    @Test func `gives a catalogue, sloppy as it is`() throws {
        let (items, error) = read(Self.sloppy)
        #expect(error == nil)
        try #require(items.count == 3)
        let entries = items.compactMap { if case .entry(let entry) = $0 { entry } else { nil } }
        try #require(entries.count == 3)
        #expect(entries.map(\.mediaID) == ["100", "/c.mp4", "only"])
        #expect(entries.map(\.line) == [4, 14, 15])
        #expect(entries[0].streamPaths == ["/a/1.m3u8", "/b%20/2.mpd"])
        #expect(entries[0].streamURLs[0] == "https://cdn.example/a/1.m3u8?x=1&y=&amp;#f")
        #expect(entries[0].ratings.map(\.value) == ["PG", "TV-PG"])
        #expect(entries[0].restrictions == [MediaRestriction(relationship: "deny", type: "country", value: "us & ca")])
        let wanted = try MediaResource(
            channel: "TNT",
            itemTitle: "Law & <i>Order</i>",
            guid: "100",
            ratings: [Rating(scheme: "urn:v-chip", value: "TV-PG"), Rating(scheme: "urn:mpaa", value: "PG")]
        )
        #expect(entries[0].resource == wanted && entries[0].resource.text == wanted.text)
        #expect(entries[1].resource == (try MediaResource(channel: "TNT", itemTitle: "No <b>guid")))
    }

    @Test func `with a long namespace needs a bounded amount of memory`() {
        // The namespace is stored with each element: 600 of 32 KiB are too many at once, and 400 are not.
        let namespace = String(repeating: "n", count: 32 * 1024)
        for (count, isRefused) in [(400, false), (600, true)] {
            let elements = String(repeating: "<n:a/>", count: count)
            let (_, error) = read(
                "<rss version=\"2.0\" xmlns:n=\"\(namespace)\"><channel><title>TNT</title>\(elements)</channel></rss>"
            )
            #expect((error?.code == .malformedXML) == isRefused, "\(count): \(String(describing: error))")
            #expect(error?.description.contains("16 MiB") ?? !isRefused)
        }
    }

    @Test(arguments: [1, 2, 7, 64, 1000])
    func `may come in pieces of any size`(piece: Int) {
        let whole = read(Array(Self.sloppy.utf8))
        let parts = read(Array(Self.sloppy.utf8), piece: piece)
        #expect("\(whole)" == "\(parts)")
    }

    /// libxml2 accepts a `]]>` in a long text if its input ends within it, and would then read the item.
    @Test func `ends in the same way, wherever chunks end`() {
        let text = String(repeating: "x", count: 400) + "]]>" + String(repeating: "x", count: 400)
        let item = "<item><guid>1</guid></item>"
        let feed = Array("<rss><channel><title>T</title><description>\(text)</description>\(item)</channel></rss>".utf8)
        for piece in 1...feed.count {
            let (items, error) = read(feed, piece: piece, block: 64 * 1024)
            #expect(items.isEmpty && error?.code == .malformedXML, "in chunks of \(piece): \(items)")
        }
    }

    @Test(arguments: [1, 1000, 65_535, 65_537, 200_000])
    func `is read whole, however chunks and blocks lie`(piece: Int) {
        let items = (1...5000).map { "<item>\n<guid>\($0)</guid></item>\n" }.joined()
        let feed = Array("<rss><channel><title>T</title>\n\(items)</channel></rss>".utf8)
        let (found, error) = read(feed, piece: piece, block: 64 * 1024)
        #expect(error == nil)
        let names = found.map { if case .entry(let entry) = $0 { entry.mediaID } else { "" } }
        #expect(names == (1...5000).map(String.init))
    }

    @Test(
        arguments: [
            ("<title>t</title>", .noMediaID), ("", .nameless), ("<guid> </guid><title/>", .nameless),
            ("<media:content url='/x'/>", .nameless),
            ("<title>a</title><title>b</title><guid>1</guid>", .repeatedElement),
            ("<guid/><guid>1</guid>", .repeatedElement), ("<title>a<b>c</b></title><guid>1</guid>", .markupInText),
            ("<guid><x/>1</guid>", .markupInText), ("<guid>1</guid><media:rating>a<b/></media:rating>", .markupInText),
            ("<guid>1</guid><title>\(String(repeating: "x", count: 70_000))</title>", .textTooLong),
            ("<guid>\(String(repeating: "x", count: 9000))</guid>", .badResource),
            ("<guid>1</guid>\(String(repeating: "<media:content url='/x'/>", count: 257))", .tooMuch),
            ("<guid>1</guid>\(String(repeating: "<media:rating>x</media:rating>", count: 33))", .tooMuch),
            ("<guid>1</guid>\(String(repeating: "<media:restriction>x</media:restriction>", count: 65))", .tooMuch),
            ("<guid>1</guid><media:content url='x.mp4'/>", .badURL),
            ("<guid>1</guid><media:content url='http:///x'/>", .badURL),
            ("<guid>1</guid><media:content url='mailto:x'/>", .badURL),
            ("<guid>1</guid><enclosure url='/a b'/>", .badURL),
            ("<guid>1</guid><media:content url='https:\\\\h\\x'/>", .badURL),
            ("<guid>1</guid><item><guid>2</guid></item>", .misplaced),
        ] as [(String, FeedRefusal.Reason)]
    )
    func `reports each item that is no resource`(item: String, reason: FeedRefusal.Reason) throws {
        let (items, error) = read(Self.head + "<item>\(item)</item>\n<item><guid>after</guid></item>" + Self.tail)
        #expect(error == nil)
        try #require(items.count == 2)
        guard case .refused(let refusal) = items[0], case .entry(let next) = items[1] else {
            Issue.record("\(items)")
            return
        }
        #expect(refusal.reason == reason && refusal.line == 4)
        #expect(next.mediaID == "after" && next.line == 5)
    }

    @Test(arguments: [1, 2, 297, 298, 299, 300, 301, 302, 1000])
    func `has line ends of one byte in CDATA, wherever its chunks and libxml2's pieces end`(size: Int) throws {
        for count in 295...305 {
            let text = String(repeating: "x", count: count) + "\r\n" + String(repeating: "y\r", count: 400) + "\n."
            let feed =
                "<rss><channel><title>T</title><item><guid>1</guid><title><![CDATA[\(text)]]></title></item></channel></rss>"
            let (items, error) = read(Array(feed.utf8), piece: size)
            #expect(error == nil)
            guard case .entry(let entry) = try #require(items.first) else {
                Issue.record("refused")
                continue
            }
            let expected = String(repeating: "x", count: count) + "\n" + String(repeating: "y\n", count: 400) + "."
            #expect(entry.resource.itemTitle == expected)
        }
    }

    @Test func `needs its channel before its items, or from outside`() {
        let late =
            "<rss><channel><item><guid>1</guid></item><title>TNT</title><item><guid>2</guid></item></channel></rss>"
        #expect(reasons(read(late).0) == [.channelUnknown, nil])
        #expect(reasons(read(late, channel: "HBO").0) == [nil, nil])
        #expect(
            reasons(read("<rss><channel><title/><item><guid>1</guid></item></channel></rss>").0) == [.channelUnknown]
        )
        #expect(
            reasons(read("<rss><item><guid>1</guid></item><channel><title>T</title></channel></rss>").0) == [.misplaced]
        )
        #expect(
            reasons(read("<rss><channel><title>T</title><x><item><guid>1</guid></item></x></channel></rss>").0) == [
                .misplaced
            ]
        )
        guard case .entry(let entry) = read(Self.sloppy, channel: " HBO ").0[2] else { return #expect(Bool(false)) }
        #expect(entry.resource.channel == "HBO")
    }

    private func reasons(_ items: [FeedItem]) -> [FeedRefusal.Reason?] {
        items.map { if case .refused(let refusal) = $0 { refusal.reason } else { nil } }
    }

    @Test func `gives the rating of the channel to items without one`() throws {
        let feed =
            "<rss xmlns:m='http://search.yahoo.com/mrss'><channel><title>T</title><m:rating scheme='urn:v-chip'>TV-G</m:rating>"
            + "<item><guid>1</guid></item><item><guid>2</guid><m:rating scheme='urn:v-chip'>TV-MA</m:rating></item></channel></rss>"
        let ratings: [[String]] = read(feed).0.map {
            if case .entry(let entry) = $0 { entry.ratings.map(\.value) } else { [] }
        }
        #expect(ratings == [["TV-G"], ["TV-MA"]])
    }

    @Test(
        arguments: [
            ("", .malformedXML), ("junk", .malformedXML), ("<feed/>", .notRSS), ("<rss xmlns='u'/>", .notRSS),
            ("<!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>", .doctype), ("<rss><channel><title>T</title>", .malformedXML),
            ("<rss><channel><title>T</title><title>U</title></channel></rss>", .ambiguousChannel),
            ("<rss><channel/><channel/></rss>", .ambiguousChannel),
            ("<rss><channel><title>T<b/></title></channel></rss>", .ambiguousChannel),
            ("<rss><channel>&nbsp;</channel></rss>", .malformedXML), ("<rss></rss><x/>", .malformedXML),
            ("<rss>" + String(repeating: "<x>", count: 64) + String(repeating: "</x>", count: 64) + "</rss>", .tooDeep),
            ("<rss><channel><x:y/></channel></rss>", .malformedXML),
        ] as [(String, FeedError.Code)]
    )
    func `that is broken is an error, again and again`(feed: String, code: FeedError.Code) {
        #expect(read(feed).1?.code == code, "\(String(describing: read(feed).1))")
        var reader = FeedReader()
        try? reader.read(Array(feed.utf8).span) { _ in }
        try? reader.finish { _ in }
        for _ in 0..<2 {
            do throws(FeedError) {
                try reader.read(Array("<rss/>".utf8).span) { _ in }
                Issue.record("a broken feed was read on")
            } catch { #expect(error.code == code) }
        }
    }

    @Test func `is over when it has ended`() throws {
        var reader = FeedReader()
        try reader.read(Array("<rss><channel><title>T</title></channel></rss>".utf8).span) { _ in }
        try reader.finish { _ in }
        do throws(FeedError) {
            try reader.read(Array("<x/>".utf8).span) { _ in }
            Issue.record("read on after its end")
        } catch { #expect(error.code == .malformedXML) }
        do throws(FeedError) {
            try reader.finish { _ in }
            Issue.record("ended twice")
        } catch { #expect(error.code == .malformedXML) }
    }

    @Test func `is broken where it is cut, at every length`() {
        let bytes = Array(Self.sloppy.utf8)
        for length in 0..<(bytes.count - 1) { #expect(read(Array(bytes.prefix(length))).1 != nil) }
        #expect(read("<rss>\n<channel>\n<x></y>").1?.line == 3)
    }

    @Test func `may be in another encoding that it declares`() throws {
        let latin =
            Array("<?xml version='1.0' encoding='ISO-8859-1'?><rss><channel><title>caf".utf8) + [0xE9]
            + Array("</title><item><guid>1</guid></item></channel></rss>".utf8)
        let text =
            "<?xml version='1.0' encoding='UTF-16'?><rss><channel><title>café</title><item><guid>1</guid></item></channel></rss>"
        var wide: [UInt8] = [0xFF, 0xFE]
        for unit in text.utf16 { wide += [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)] }
        let marked = [0xEF, 0xBB, 0xBF] + Array(text.replacing(" encoding='UTF-16'", with: "").utf8)
        for feed in [latin, wide, marked] {
            let (items, error) = read(feed)
            #expect(error == nil)
            guard case .entry(let entry)? = items.first else {
                Issue.record("\(items)")
                continue
            }
            #expect(entry.resource.channel == "café")
        }
    }

    /// Start tags that span several lines, in several encodings and pieces.
    @Test(arguments: [1, 2, 5, 100, 65_536, Int.max])
    func `gives the line on which a tag begins`(piece: Int) throws {
        let tags = [
            "<item>", "<item\n>", "<item\n\n a='1'\r\n\tb=\"2\"\n>", "<item a='\n>\n'\n b='&#10;&gt;&amp;'>",
            "<item\n xmlns:x='urn:a\nb'\n x:a='1'>", "<!-- <item\n> --><item\n a='1'>",
            "<![CDATA[<\n]]>\n<item\na='<!--\n-->'>".replacing("'<", with: "'&lt;"),
            "<?pi <\n?><item a='\(String(repeating: "long\n", count: 100))'>", "text\n\n<item  >",
        ]
        var feed = "<?xml version='1.0'?>\n<rss\n><channel\n><title\n>é</title>"
        var expected: [Int] = []
        for index in 0..<60 {
            let tag = tags[index * 7 % tags.count]
            let start = tag.replacing("<!-- <item", with: "<!-- <####").ranges(of: "<item").first?.lowerBound
            let before = try tag[..<#require(start)]
            expected.append((feed + before).utf8.count { $0 == 0xA } + 1)
            feed += tag + "<guid\n>\(index)</guid\n></item\n>" + (index.isMultiple(of: 2) ? "\n" : "<x\n/>")
        }
        feed += "</channel></rss>"
        var wide: [UInt8] = [0xFF, 0xFE]
        for unit in feed.utf16 { wide += [UInt8(truncatingIfNeeded: unit), UInt8(unit >> 8)] }
        for bytes in [Array(feed.utf8), wide] {
            let (items, error) = read(bytes, piece: piece)
            #expect(error == nil)
            let lines = items.map { if case .entry(let entry) = $0 { entry.line } else { 0 } }
            #expect(lines == expected)
        }
    }

    @Test func `has exact lines, however long it is, and every item once`() {
        var reader = FeedReader()
        var lines: [Int] = []
        func note(_ item: FeedItem) {
            if case .entry(let entry) = item { lines.append(entry.line) }
        }
        func feed(_ text: String) throws(FeedError) { try reader.read(Array(text.utf8).span, body: note) }
        #expect(throws: Never.self) {
            try feed("<rss><channel><title>T</title>\n")
            for index in 0..<35_000 { try feed("<item>\n<guid>\(index)</guid></item>\n") }
            try feed("</channel></rss>")
            try reader.finish(note)
        }
        #expect(lines == (0..<35_000).map { 2 + 2 * $0 })
    }

    /// Spellings of the namespace in feeds of programmers and of the tools that write them.
    @Test(arguments: [
        "http://search.yahoo.com/mrss/", "http://search.yahoo.com/mrss", "https://search.yahoo.com/mrss/",
        "https://search.yahoo.com/mrss", "HTTP://Search.Yahoo.com/mrss/", "http://www.search.yahoo.com/mrss/",
        "http://video.search.yahoo.com/mrss/", "https://video.search.yahoo.com/mrss",
        "http://www.rssboard.org/media-rss", "https://www.rssboard.org/media-rss", "http://www.rssboard.org/media-rss/",
        "http://rssboard.org/media-rss", " http://search.yahoo.com/mrss/ ",
    ])
    func `finds ratings and streams under every spelling of the namespace`(namespace: String) throws {
        let item = """
            <item><guid>1</guid><media:rating scheme="urn:v-chip">TV-MA</media:rating>
            <media:group><media:content url="/a.m3u8"/></media:group>
            <media:restriction relationship="allow" type="country">us</media:restriction></item>
            """
        let (items, error) = read(
            "<rss version=\"2.0\" xmlns:media=\"\(namespace)\"><channel><title>TNT</title>\(item)</channel></rss>"
        )
        guard error == nil, case .entry(let entry)? = items.first else {
            Issue.record("\(items) \(String(describing: error))")
            return
        }
        #expect(entry.ratings == [Rating(scheme: "urn:v-chip", value: "TV-MA")])
        #expect(entry.streamPaths == ["/a.m3u8"] && entry.restrictions.count == 1)
        let fragment = """
            <rss version="2.0" xmlns:m="\(namespace)"><channel><title>TNT</title><item><guid>1</guid>\
            <m:rating scheme="urn:v-chip">TV-MA</m:rating></item></channel></rss>
            """
        #expect(try MediaResource(fragment) == entry.resource)
    }

    @Test(
        arguments: [
            ("http://search.yahoo.com/mrss/1.5/", "", "<m:rating>TV-MA</m:rating>", true),
            ("http://www.rssboard.org/media-rss/1.5", "", "<m:content url='/x.m3u8'/>", true),
            ("urn:mrss", "", "<m:group><m:restriction>us</m:restriction></m:group>", true),
            ("http://search.yahoo.com/mrss//", "<m:rating>TV-MA</m:rating>", "", true),
            ("urn:other", "", "<m:rating>TV-MA</m:rating>", false), ("urn:other", "", "<rating>TV-MA</rating>", false),
            ("http://search.yahoo.com/mrss/1.5/", "", "<m:thumbnail url='/x.jpg'/>", false),
        ] as [(String, String, String, Bool)]
    )
    func `loses no rating or stream silently`(namespace: String, channel: String, item: String, isRefused: Bool) {
        var reader = FeedReader()
        var items: [FeedItem] = []
        let feed = Array(
            """
            <rss version="2.0" xmlns:m="\(namespace)"><channel><title>TNT</title>\(channel)\
            <item><guid>1</guid>\(item)</item></channel></rss>
            """.utf8
        )
        #expect(throws: Never.self) {
            try reader.read(feed.span) { items.append($0) }
            try reader.finish { items.append($0) }
        }
        #expect(reasons(items) == [isRefused ? .unknownNamespace : nil])
        let isNoted = reader.foreignElements.contains { $0.contains("rating in ") }
        #expect(isNoted == item.contains("rating"))
    }

    @Test(
        arguments: [
            ("<media:content url='/a.jpg' medium='image'/>", []), ("<media:content url='/a' type='image/jpeg'/>", []),
            ("<media:content url='/a.jpg'/>", []), ("<media:content url='/a.m3u8' medium='Document'/>", []),
            ("<media:content url='/a.vtt?x=.mp4'/>", []), ("<enclosure url='/a.pdf' type='application/pdf'/>", []),
            ("<enclosure url='/poster.PNG'/>", []), ("<media:content medium='executable' url='/a'/>", []),
            ("<media:content url='/a' type='TEXT/vtt; charset=utf-8'/>", []),
            ("<media:content url='/a' type='application/x-mpegURL'/>", ["/a"]),
            ("<media:content url='/a' type='text/x-mpegurl'/>", ["/a"]),
            ("<media:content url='/a.jpg' medium='video'/>", ["/a.jpg"]), ("<media:content url='/v.1/a'/>", ["/v.1/a"]),
            ("<media:content type='audio/mpeg' url='/a.txt'/>", ["/a.txt"]),
            ("<media:content url='/a.mp4'/>", ["/a.mp4"]),
            ("<media:content url='/p.jpg'/><media:content url='/a.mp4'/>", ["/a.mp4"]),
        ] as [(String, [String])]
    )
    func `mistakes no image or document for a stream`(content: String, paths: [String]) {
        let (items, _) = read(Self.head + "<item><title>t</title>\(content)</item>" + Self.tail)
        switch items.first {
        case .entry(let entry):
            #expect(entry.streamPaths == paths)
            #expect(entry.mediaID == paths.first)
        case .refused(let refusal): #expect(refusal.reason == .noMediaID && paths.isEmpty)
        case nil: Issue.record("no item")
        }
    }
}
