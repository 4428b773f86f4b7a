// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import PlaybackGate
import Testing

@Suite struct `A catalogue` {
    private static func entry(path: String, resource: String?) throws -> Catalogue.Entry {
        let protection: Catalogue.Entry.Protection =
            try resource.map { .resource(try MediaResource($0), requestor: "REF30") } ?? .none
        return Catalogue.Entry(key: .path(try PathPattern(path)), protection: protection)
    }

    private static func catalogue() throws -> Catalogue {
        var catalogue = Catalogue()
        for (path, resource) in [
            ("/live/", "ALL"), ("/live/tnt/", "TNT"), ("/live/tnt/free.m3u8", nil), ("/live/tnt/*.jpg", nil),
            ("/live/*/poster.jpg", "POSTER"), ("/vod/**/free/*", nil), ("/vod/", "VOD"), ("/tie/a*", nil),
            ("/tie/*b", "TIE"),
        ] as [(String, String?)] {
            try catalogue.add(entry(path: path, resource: resource))
        }
        return catalogue
    }

    @Test(
        arguments: [
            ("/live/tbs/x.ts", "/live/"), ("/live/tnt/x.ts", "/live/tnt/"), ("/live/tnt/a/b/x.ts", "/live/tnt/"),
            ("/live/tnt/free.m3u8", "/live/tnt/free.m3u8"), ("/live/tnt/a.jpg", "/live/tnt/*.jpg"),
            ("/live/tnt/poster.jpg", "/live/*/poster.jpg"), ("/live/tnt", "/live/tnt/"), ("/live/tntx", "/live/"),
            ("/livex", nil), ("/live", "/live/"), ("/vod/a/b/free/x", "/vod/**/free/*"), ("/vod/a/b", "/vod/"),
            ("/LIVE/tnt/x", nil), ("/tie/ab", "/tie/*b"), ("/", nil), ("/live/%74nt/x.ts", "/live/tnt/"),
            ("/live/tbs/../tnt/x.ts", "/live/tnt/"), ("//live//tnt//x.ts", "/live/tnt/"),
        ] as [(String, String?)]
    )
    func `uses the longest pattern of those that cover a path`(path: String, pattern: String?) throws {
        #expect(try Self.catalogue().entry(path: try MediaPath(path))?.key.text == pattern)
    }

    /// True if a pattern covers a path: the definition of patterns, byte by byte.
    private static func covers(_ pattern: Substring, path: Substring) -> Bool {
        guard let first = pattern.first else { return path.isEmpty }
        switch first {
        case "*":
            let rest = pattern.drop { $0 == "*" }
            let isWithinSegment = pattern.count - rest.count == 1
            for taken in 0...path.count {
                if isWithinSegment, path.prefix(taken).contains("/") { return false }
                if covers(rest, path: path.dropFirst(taken)) { return true }
            }
            return false
        case "?": return path.first.map { $0 != "/" } ?? false && covers(pattern.dropFirst(), path: path.dropFirst())
        default: return path.first == first && covers(pattern.dropFirst(), path: path.dropFirst())
        }
    }

    /// Compares random catalogues with a search of all entries.
    @Test func `finds the entries that a search of all finds`() throws {
        var random = SplitMix64(seed: 11)
        var outcomes: [String: Int] = [:]
        for _ in 0..<400 {
            let parts = ["a", "b", "aa", random.next() % 2 == 0 ? "*" : "b", random.next() % 4 == 0 ? "**" : "a", "?b"]
            var catalogue = Catalogue()
            var all: [String: Bool] = [:]
            for _ in 0..<Int(random.next() % 12) {
                let names = (0..<Int(random.next() % 4)).map { _ in parts[Int(random.next() % 6)] }
                let text = "/" + names.joined(separator: "/") + (random.next() % 2 == 0 && !names.isEmpty ? "/" : "")
                let isProtected = random.next() % 2 == 0
                guard all[text] == nil else { continue }
                all[text] = isProtected
                try catalogue.add(Self.entry(path: text, resource: isProtected ? "TNT" : nil))
            }
            for _ in 0..<100 {
                let names = (0..<Int(random.next() % 5)).map { _ in ["a", "b", "aa", "ab"][Int(random.next() % 4)] }
                let path = "/" + names.joined(separator: "/") + (random.next() % 4 == 0 && !names.isEmpty ? "/" : "")
                let found = catalogue.entry(path: try MediaPath(path))?.key.text
                let isPlain = { (text: String) in !text.contains("*") && !text.contains("?") }
                let covering = all.keys.filter { text in
                    guard isPlain(text), text.hasSuffix("/") else { return Self.covers(text[...], path: path[...]) }
                    return path.hasPrefix(text) || path + "/" == text
                }
                outcomes[covering.count > 1 ? "several" : covering.isEmpty ? "none" : "one", default: 0] += 1
                if covering.contains(path), isPlain(path), !path.hasSuffix("/") {
                    #expect(found == path)
                    continue
                }
                let length = { (text: String) in text.count { $0 != "*" && $0 != "?" } }
                let longest = covering.map(length).max()
                let best = covering.filter { length($0) == longest }
                let protecting = best.filter { all[$0] == true }
                let expected = protecting.isEmpty ? best : protecting
                #expect(found.map(expected.contains) ?? expected.isEmpty, "\(path): \(found ?? "none") of \(all)")
            }
        }
        #expect(["none", "one", "several"].allSatisfy { outcomes[$0] ?? 0 > 1000 }, "\(outcomes)")
    }

    @Test func `tells spellings of one letter apart`() throws {
        var catalogue = Catalogue()
        try catalogue.add(try Self.entry(path: "/caf\u{E9}/", resource: nil))
        #expect(catalogue.entry(path: try MediaPath("/caf%C3%A9/x")) != nil)
        #expect(catalogue.entry(path: try MediaPath("/cafe%CC%81/x")) == nil)
    }

    @Test(arguments: ["/live/", "/live/tnt/free.m3u8", "/live/tnt/*.jpg"])
    func `refuses a second entry for one pattern`(pattern: String) throws {
        var catalogue = try Self.catalogue()
        #expect(throws: Catalogue.DuplicateEntry.self) {
            try catalogue.add(try Self.entry(path: pattern, resource: "OTHER"))
        }
        #expect(catalogue.count == 9)
    }

    @Test func `refuses a second entry for one media id`() throws {
        var catalogue = Catalogue()
        let entry = Catalogue.Entry(key: .media("m"), protection: .none)
        try catalogue.add(entry)
        #expect(throws: Catalogue.DuplicateEntry.self) { try catalogue.add(entry) }
        #expect(catalogue.entry(media: "m") == entry)
        #expect(catalogue.entry(media: "M") == nil)
    }

    // MARK: Feeds

    private static func items(_ text: String) throws -> [CatalogueEntry] {
        var entries: [CatalogueEntry] = []
        var reader = FeedReader()
        let add = { (item: FeedItem) in if case .entry(let entry) = item { entries.append(entry) } }
        try reader.read([UInt8](text.utf8).span, body: add)
        try reader.finish(add)
        return entries
    }

    private static func feed(_ items: String) -> String {
        "<rss xmlns:media=\"http://search.yahoo.com/mrss/\"><channel><title>TNT</title>\(items)</channel></rss>"
    }

    private static func item(guid: String, title: String, url: String) -> String {
        "<item><title>\(title)</title><guid>\(guid)</guid><media:content url=\"\(url)\"/></item>"
    }

    @Test(arguments: [
        (FeedPathScope.none, "/vod/1/master.m3u8", false), (.file, "/vod/1/master.m3u8", true),
        (.file, "/vod/1/seg1.ts", false), (.folder, "/vod/1/seg1.ts", true), (.folder, "/vod/1/a/seg1.ts", true),
        (.folder, "/vod/2/seg1.ts", false),
    ])
    func `has the items of a feed`(scope: FeedPathScope, path: String, isFound: Bool) throws {
        var catalogue = Catalogue()
        let feed = Self.feed(Self.item(guid: "1", title: "Part 1", url: "https://cdn.example/vod/1/master.m3u8?x=y"))
        for item in try Self.items(feed) {
            #expect(catalogue.add(item, requestor: "REF30", source: "feed", scope: scope).isEmpty)
        }
        #expect(catalogue.entry(media: "1")?.protection.resource?.itemTitle == "Part 1")
        #expect((catalogue.entry(path: try MediaPath(path)) != nil) == isFound)
    }

    @Test func `does not let one item of a feed speak for all paths`() throws {
        var catalogue = Catalogue()
        for item in try Self.items(
            Self.feed(Self.item(guid: "1", title: "Part 1", url: "https://cdn.example/master.m3u8"))
        ) {
            _ = catalogue.add(item, requestor: "REF30", source: "feed", scope: .folder)
        }
        #expect(catalogue.entry(path: try MediaPath("/other.m3u8")) == nil)
        #expect(catalogue.entry(path: try MediaPath("/master.m3u8")) != nil)
    }

    @Test func `plays nothing that items of feeds contradict each other about`() throws {
        var catalogue = Catalogue()
        let feed = Self.feed(
            Self.item(guid: "1", title: "Part 1", url: "/vod/x/a")
                + Self.item(guid: "1", title: "Part 2", url: "/vod/x/b")
                + Self.item(guid: "3", title: "Part 3", url: "/vod/x/a")
        )
        let conflicts = try Self.items(feed.replacing("url=\"/", with: "url=\"https://h/")).map {
            catalogue.add($0, requestor: "REF30", source: "feed").map(\.text)
        }
        #expect(conflicts == [[], ["1"], ["/vod/x/a"]])
        #expect(catalogue.entry(media: "1")?.protection == .ambiguous)
        #expect(catalogue.entry(path: try MediaPath("/vod/x/a"))?.protection == .ambiguous)
        #expect(catalogue.entry(path: try MediaPath("/vod/x/b"))?.protection.resource?.itemTitle == "Part 2")
        // A third occurrence is ambiguous too: the contradiction is kept.
        let third = try Self.items(Self.feed(Self.item(guid: "1", title: "Part 1", url: "https://h/z")))
        #expect(third.flatMap { catalogue.add($0, requestor: "REF30", source: "feed") }.map(\.text) == ["1"])
        #expect(catalogue.entry(media: "1")?.protection == .ambiguous)
    }

    @Test func `retains what is listed whatever a feed says`() throws {
        var catalogue = Catalogue()
        try catalogue.add(Catalogue.Entry(key: .media("1"), protection: .none))
        for item in try Self.items(Self.feed(Self.item(guid: "1", title: "Part 1", url: "https://h/a"))) {
            #expect(catalogue.add(item, requestor: "REF30", source: "feed").isEmpty)
        }
        #expect(catalogue.entry(media: "1")?.protection == Catalogue.Entry.Protection.none)
        #expect(catalogue.entry(path: try MediaPath("/a"))?.protection.resource?.guid == "1")
    }
}
