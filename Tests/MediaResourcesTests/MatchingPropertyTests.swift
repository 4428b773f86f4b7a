// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

@testable import MediaResources

/// The rules of matching, tested with generated resources and every combination of options.
@Suite struct `Matching of anything` {
    typealias Options = MediaResource.MatchOptions

    /// The options that widen matching.
    private static let widening: [any WritableKeyPath<Options, Bool> & Sendable] = [
        \.channelCoversAssets, \.ignoreRating, \.schemeAliases, \.ignoreCase, \.collapseWhitespace,
        \.videoNamespaceAlias,
    ]

    private static let combinations: [Options] = (0..<(1 << widening.count)).map { bits in
        var options = Options()
        for (index, option) in widening.enumerated() { options[keyPath: option] = bits >> index & 1 == 1 }
        return options
    }

    @Test func `is what the options say, and no asset covers its channel`() throws {
        var generator = SaidGenerator(seed: 10)
        var covered = 0
        for _ in 0..<800 {
            let (left, right) = generator.pair()
            let (granted, wanted) = (try generator.read(left), try generator.read(right))
            for options in Self.combinations {
                let covers = granted.covers(wanted, options: options)
                func row() -> Comment { "\(granted) for \(wanted), \(options)" }
                #expect(covers == left.shouldCover(right, options: options) || granted.text == wanted.text, row())
                #expect((granted.mismatch(with: wanted, options: options) == nil) == covers, row())
                #expect((wanted.mismatch(withGranted: granted.text, options: options) == nil) == covers, row())
                if left.hasItem, !right.hasItem { #expect(!covers, row()) }
                if !left.hasItem, right.hasItem, !options.channelCoversAssets { #expect(!covers, row()) }
                if covers { covered += 1 }
                var exact = options
                exact.exactOnly = true
                #expect(granted.covers(wanted, options: exact) == (granted.text == wanted.text), row())
            }
        }
        #expect(covered > 8000, "\(covered)")
    }

    @Test func `is equality without options`() throws {
        var generator = SaidGenerator(seed: 11)
        var pool: [(said: Said, resource: MediaResource)] = []
        for _ in 0..<30 {
            let (left, right) = generator.pair()
            for said in [left, left, right] { pool.append((said, try generator.read(said))) }
        }
        let table = pool.map { left in pool.map { left.resource.covers($0.resource) } }
        for (row, left) in pool.enumerated() {
            #expect(table[row][row])
            for (column, right) in pool.enumerated() {
                #expect(table[row][column] == table[column][row])
                #expect(table[row][column] == (left.said.withoutSpelling == right.said.withoutSpelling))
                #expect(table[row][column] == (left.resource == right.resource))
                guard table[row][column] else { continue }
                for third in pool.indices { #expect(table[column][third] == table[row][third]) }
            }
        }
    }

    /// Resources that match only with an option also match without it once the difference that it ignores is removed.
    @Test func `gets wider by an option, and by no more than that says`() throws {
        var generator = SaidGenerator(seed: 12)
        var widened: [WritableKeyPath<Options, Bool>: Int] = [:]
        for _ in 0..<800 {
            let (left, right) = generator.pair()
            let (granted, wanted) = (try generator.read(left), try generator.read(right))
            for narrow in Self.combinations {
                for option in Self.widening where !narrow[keyPath: option] {
                    var wide = narrow
                    wide[keyPath: option] = true
                    let (before, after) = (
                        granted.covers(wanted, options: narrow), granted.covers(wanted, options: wide)
                    )
                    func row() -> Comment { "\(granted) for \(wanted), \(narrow) and \(option)" }
                    #expect(after || !before, row())
                    guard after, !before else { continue }
                    widened[option, default: 0] += 1
                    let (same, other) = left.levelled(with: right, by: option)
                    #expect(try generator.read(same).covers(generator.read(other), options: narrow), row())
                }
            }
        }
        for option in Self.widening { #expect(widened[option, default: 0] > 30, "\(option)") }
    }

    /// A regression test for an attack: with ratings ignored, an asset with only a rating had no content left, and content
    /// beside the item kept its channel from being recognised as a channel.
    @Test(
        arguments: [
            ("", ""), ("", " a='1'"), ("<x/>", ""), ("<x>y</x>", " xmlns:n='urn:n' n:a='1'"),
            ("<link>https://x.example/</link><description/>", ""),
        ]
    )
    func `separates an asset of nothing but a rating from its channel`(beside: String, attributes: String) throws {
        func text(_ item: String) -> String {
            "<rss\(media)><channel\(attributes)><title>TNT</title>\(item)\(beside)</channel></rss>"
        }
        let asset = try MediaResource(text("<item>\(rating("TV-MA"))</item>"))
        for empty in ["", "<item/>", "<item><guid/>\(rating(" "))</item>"] {
            let channel = try MediaResource(text(empty))
            for options in Self.combinations {
                #expect(asset.mismatch(with: channel, options: options) == .assetForChannel)
                guard !options.channelCoversAssets else { continue }
                #expect(channel.mismatch(with: asset, options: options) == .channelForAsset)
            }
        }
    }
}

/// The content of a generated resource, with the spelling details that options ignore.
struct Said: Equatable {
    /// A location for unknown elements and attributes: outside the item, or in it.
    enum Location: CaseIterable {
        case onRSS, inRSS, onChannel, inChannel, onChannelTitle
        case onItem, inItem, onTitle, onGUID

        var isInItem: Bool { [.onItem, .inItem, .onTitle, .onGUID].contains(self) }
    }

    var channel: String
    var title: String?
    var guid: String?
    var ratings: Set<Facts.Rated> = []
    var unknown: Set<Location> = []
    var isVideo = false

    var hasItem: Bool { title != nil || guid != nil || !ratings.isEmpty || unknown.contains { $0.isInItem } }

    var hasUnknownBesideItem: Bool { unknown.contains { !$0.isInItem } }

    /// True if the fragment uses the namespace of Media RSS.
    var usesVideo: Bool { isVideo && !ratings.isEmpty }

    var withoutSpelling: Said {
        var said = self
        said.isVideo = false
        return said
    }

    /// The rules of docs/reference/resources.md, implemented independently.
    func shouldCover(_ wanted: Said, options: MediaResource.MatchOptions) -> Bool {
        func fold(_ text: String?) -> String? {
            var text = text
            if options.ignoreCase { text = text?.lowercased() }
            return options.collapseWhitespace ? text?.split(separator: " ").joined(separator: " ") : text
        }
        func schemes(_ ratings: Set<Facts.Rated>) -> Set<Facts.Rated> {
            options.schemeAliases ? Set(ratings.map(\.withoutAlias)) : ratings
        }
        guard fold(channel) == fold(wanted.channel), hasItem || !wanted.hasItem || options.channelCoversAssets else {
            return false
        }
        guard hasItem == wanted.hasItem else {
            return wanted.hasItem && !hasUnknownBesideItem && !wanted.hasUnknownBesideItem
        }
        return fold(title) == fold(wanted.title) && fold(guid) == fold(wanted.guid) && unknown == wanted.unknown
            && (options.ignoreRating || schemes(ratings) == schemes(wanted.ratings))
            && (options.videoNamespaceAlias || usesVideo == wanted.usesVideo)
    }

    /// Returns both resources with the differences removed that `option` ignores.
    func levelled(
        with wanted: Said,
        by option: WritableKeyPath<MediaResource.MatchOptions, Bool>
    ) -> (Said, Said) {
        func each(_ change: (inout Said) -> Void) -> (Said, Said) {
            var pair = (self, wanted)
            change(&pair.0)
            change(&pair.1)
            return pair
        }
        func texts(_ change: @escaping (String) -> String) -> (Said, Said) {
            each { said in
                said.channel = change(said.channel)
                said.title = said.title.map(change)
                said.guid = said.guid.map(change)
            }
        }
        switch option {
        case \.channelCoversAssets:
            // The option lets a channel cover its assets, and lets no asset cover another resource.
            guard !hasItem, wanted.hasItem else { return (self, wanted) }
            var channel = wanted
            (channel.title, channel.guid, channel.ratings) = (nil, nil, [])
            channel.unknown = channel.unknown.filter { !$0.isInItem }
            return (self, channel)
        case \.ignoreRating:
            // An item stays an item without its ratings.
            guard hasItem, wanted.hasItem else { return (self, wanted) }
            return each { said in
                said.ratings = [.init(scheme: "s", value: "v")]
                said.isVideo = isVideo
            }
        case \.schemeAliases: return each { $0.ratings = Set($0.ratings.map(\.withoutAlias)) }
        case \.ignoreCase: return texts { $0.lowercased() }
        case \.collapseWhitespace: return texts { $0.split(separator: " ").joined(separator: " ") }
        default: return each { $0.isVideo = false }
        }
    }
}

extension Facts.Rated {
    fileprivate var withoutAlias: Facts.Rated {
        scheme == "urn:vchip" ? Facts.Rated(scheme: "urn:v-chip", value: value) : self
    }
}

/// A generator of pairs of similar resources.
struct SaidGenerator {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// Returns the content of a token and of a wanted resource, equal except for up to two changes.
    mutating func pair() -> (Said, Said) {
        let said = said()
        var other = said
        for _ in 0..<Int.random(in: 0...2, using: &random) { other = changed(other) }
        return Bool.random(using: &random) ? (said, other) : (other, said)
    }

    private mutating func said() -> Said {
        var said = Said(channel: word())
        for _ in 0..<Int.random(in: 0...4, using: &random) { said = changed(said) }
        return said
    }

    private mutating func changed(_ said: Said) -> Said {
        var said = said
        switch Int.random(in: 0..<11, using: &random) {
        case 0: said.channel = word()
        case 1: said.title = Bool.random(using: &random) ? word() : nil
        case 2: said.guid = Bool.random(using: &random) ? word() : nil
        case 3: (said.title, said.guid) = (nil, nil)
        case 4, 5:
            let scheme = pick(["urn:v-chip", "urn:vchip", "urn:mpaa"])
            said.ratings.formSymmetricDifference([.init(scheme: scheme, value: pick(["TV-PG", "tv-pg"]))])
        case 6: said.ratings = []
        case 7: said.isVideo.toggle()
        case 8:
            said.ratings = Set(said.ratings.map { .init(scheme: pick(["urn:v-chip", $0.scheme]), value: $0.value) })
        default: said.unknown.formSymmetricDifference([pick(Said.Location.allCases)])
        }
        // An absent element has no attributes.
        if said.title == nil { said.unknown.remove(.onTitle) }
        if said.guid == nil { said.unknown.remove(.onGUID) }
        return said
    }

    /// Creates a resource with this content, in one of many spellings.
    mutating func read(_ said: Said) throws -> MediaResource {
        func attribute(_ location: Said.Location) -> String { said.unknown.contains(location) ? " a='1'" : "" }
        func element(_ location: Said.Location) -> String { said.unknown.contains(location) ? "<x>1</x>" : "" }
        if !said.hasItem, said.unknown.isEmpty, Bool.random(using: &random) { return try MediaResource(said.channel) }
        var parts = said.ratings.map { "<m:rating scheme='\($0.scheme)'>\($0.value)</m:rating>" }
        if let title = said.title { parts.append("<title\(attribute(.onTitle))>\(title)</title>") }
        if let guid = said.guid { parts.append("<guid\(attribute(.onGUID))>\(guid)</guid>") }
        parts.shuffle(using: &random)
        let item = "<item\(attribute(.onItem))>\(parts.joined())\(element(.inItem))</item>"
        let namespace = "http://\(said.isVideo ? "video." : "")search.yahoo.com/mrss/"
        let space = pick(["", "\n "])
        return try MediaResource(
            "<rss xmlns:m='\(namespace)'\(attribute(.onRSS))>\(space)<channel\(attribute(.onChannel))>"
                + "<title\(attribute(.onChannelTitle))>\(said.channel)</title>\(said.hasItem ? item : pick(["", "<item/>"]))"
                + "\(element(.inChannel))</channel>\(element(.inRSS))\(space)</rss>"
        )
    }

    private mutating func word() -> String { pick(["TNT", "TNT", "tnt", "A B", "A  B", "a b"]) }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { random.pick(elements) }
}
