// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing
import XML

@testable import MediaResources

@Suite struct `The canonical form` {
    @Test func `is a fragment on one line`() throws {
        let text =
            "<rss>\n<channel><title> A &amp; B </title><item><guid>1</guid><title><![CDATA[<x>]]></title></item></channel></rss>"
        let resource = try MediaResource(text)
        #expect(
            resource.canonicalForm == """
                <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>A &amp; B</title><item>\
                <title>&lt;x&gt;</title><guid>1</guid></item></channel></rss>
                """
        )
        #expect(resource.text == text && resource.kind == .fragment)
        #expect(resource.channel == "A & B" && resource.itemTitle == "<x>" && resource.guid == "1")
        #expect(try MediaResource("TNT").canonicalForm == MediaResource(channel: "TNT").text)
        #expect(try MediaResource("<a/>").canonicalForm == "<a/>")
    }

    @Test func `has namespaces as they are`() throws {
        let resource = try MediaResource(
            "<rss><channel><title>T</title><x xmlns='u:a&amp;b' xmlns:y='u:c&amp;d' y:z=''/></channel></rss>"
        )
        let form = resource.canonicalForm
        #expect(form.contains("<x xmlns=\"u:a&amp;b\" xmlns:n0=\"u:c&amp;d\" n0:z=\"\"></x>"))
        #expect(try MediaResource(form) == resource)
        #expect(try MediaResource(form).canonicalForm == form)
    }

    @Test func `does not depend on how a resource is spelt, and on everything that it says`() throws {
        var generator = ResourceGenerator(seed: 11)
        var seen: [MediaResource: Facts] = [:]
        for _ in 0..<3000 {
            let facts = generator.facts()
            let spellings = try (0..<3).map { _ in try MediaResource(generator.spell(facts)) }
            for resource in spellings {
                #expect(resource == spellings[0] && resource.hashValue == spellings[0].hashValue)
                #expect(resource.covers(spellings[1]) && spellings[1].covers(resource))
                #expect(resource.canonicalForm == spellings[0].canonicalForm)
            }
            let again = try MediaResource(spellings[0].canonicalForm)
            #expect(again == spellings[0] && again.canonicalForm == spellings[0].canonicalForm)
            // Two facts that differ give two resources; the same facts give one.
            if let known = seen[spellings[0]] { #expect(known == facts) }
            seen[spellings[0]] = facts
            let other = generator.changed(facts)
            let changed = try MediaResource(generator.spell(other))
            #expect((changed == spellings[0]) == (other == facts))
        }
        #expect(seen.count > 1500)
    }

    @Test func `is what the builder builds`() throws {
        var generator = ResourceGenerator(seed: 12)
        for _ in 0..<1000 {
            let facts = generator.facts()
            let built = try MediaResource(
                channel: facts.channel,
                itemTitle: facts.title,
                guid: facts.guid,
                ratings: facts.ratings.map { Rating(scheme: $0.scheme, value: $0.value) }.shuffled(
                    using: &generator.random
                )
            )
            let read = try MediaResource(generator.spell(facts))
            #expect(built == read && built.text == read.canonicalForm)
            #expect(built.channel == read.channel && built.ratings == read.ratings && built.guid == read.guid)
        }
    }

    @Test func `of a builder refuses what cannot be read`() throws {
        for (channel, title, code) in [
            ("", nil, .empty), (" \n", nil, .empty), ("a\u{0}", nil, .invalidCharacter),
            ("a", "\u{FFFF}", .invalidCharacter),
            ("a", String(repeating: "&", count: 1800), .tooLarge),
        ] as [(String, String?, ResourceError.Code)] {
            let error = #expect(throws: ResourceError.self) { try MediaResource(channel: channel, itemTitle: title) }
            #expect(error?.code == code)
        }
        let many = (0..<59).map { Rating(scheme: "s", value: "\($0)") }
        #expect(throws: ResourceError(.tooManyElements, reason: "")) {
            try MediaResource(channel: "a", itemTitle: "b", guid: "c", ratings: many)
        }
        let most = try MediaResource(channel: "a", itemTitle: "b", guid: "c", ratings: Array(many.dropLast()))
        #expect(throws: Never.self) { try MediaResource(most.text) }
        #expect(try MediaResource(channel: " a\n", itemTitle: "", guid: " ").text == MediaResource(channel: "a").text)
        let odd = try MediaResource(channel: "a\r\n\tb\u{E9}", ratings: [Rating(scheme: "x\n\t\"<&", value: "]]>")])
        #expect(try MediaResource(odd.text) == odd)
    }
}

/// The content of a generated resource.
struct Facts: Equatable {
    struct Rated: Hashable {
        var scheme: String
        var value: String
    }

    var channel: String
    var title: String?
    var guid: String?
    var ratings: Set<Rated> = []
}

/// A generator of resources and their spellings.
struct ResourceGenerator {
    var random: SplitMix64

    init(seed: UInt64) { random = SplitMix64(seed: seed) }

    mutating func facts() -> Facts {
        var facts = Facts(channel: word())
        if Bool.random(using: &random) { facts.title = word() }
        if Bool.random(using: &random) { facts.guid = word() }
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            facts.ratings.insert(.init(scheme: pick(["urn:v-chip", "urn:mpaa", "urn:simple", "x y"]), value: word()))
        }
        return facts
    }

    /// The facts with one of them changed.
    mutating func changed(_ facts: Facts) -> Facts {
        var facts = facts
        switch Int.random(in: 0..<4, using: &random) {
        case 0: facts.channel += pick(["x", " x", "é"])
        case 1: facts.title = facts.title == nil ? word() : pick([nil, facts.title.map { $0 + "!" }])
        case 2: facts.guid = facts.guid == nil ? word() : pick([nil, facts.guid.map { $0 + "!" }])
        default:
            if facts.ratings.isEmpty || Bool.random(using: &random) {
                facts.ratings.insert(.init(scheme: "urn:new", value: word()))
            } else {
                facts.ratings.removeFirst()
            }
        }
        return facts
    }

    mutating func spell(_ facts: Facts) -> String {
        let isPlain = facts.title == nil && facts.guid == nil && facts.ratings.isEmpty && !facts.channel.hasPrefix("<")
        if isPlain, Bool.random(using: &random) {
            return pick(["", " ", "\n"]) + facts.channel + pick(["", "\t"])
        }
        let prefix = pick(["media", "m", "x-1"])
        var parts = facts.ratings.map { rating in
            let scheme =
                rating.scheme == "urn:simple" && Bool.random(using: &random)
                ? "" : " scheme=\(pick(["\"", "'"]))".paired { rating.scheme }
            return "<\(prefix):rating\(scheme)>\(text(rating.value))</\(prefix):rating>"
        }
        if let title = facts.title { parts.append("<title>\(text(title))</title >") }
        if let guid = facts.guid { parts.append("<guid>\(text(guid))</guid>") }
        parts += pick([[], ["<guid/>"].filter { _ in facts.guid == nil }, ["<!-- no -->"], ["<?no way?>"]])
        parts.shuffle(using: &random)
        let item =
            parts.isEmpty
            ? pick(["", "<item/>", "<item> </item>"]) : "<item>\(space())\(parts.joined(separator: space()))</item>"
        let namespace = "xmlns:\(prefix)='http://\(pick(["", "video."]))search.yahoo.com/mrss\(pick(["", "/"]))'"
        let attributes = pick(["version='2.0' \(namespace)", "\(namespace)\n version=\"2.0\"", namespace])
        var content = ["<title>\(text(facts.channel))</title>", item]
        content.shuffle(using: &random)
        return pick(["", "<?xml version='1.0' encoding='UTF-8'?>", "\n"]) + "<rss \(attributes)>\(space())<channel>"
            + content.joined(separator: space()) + "</channel>\(space())</rss>" + space()
    }

    private mutating func word() -> String {
        pick(["TNT", "a b", "A & B", "<x>", "]]>", "é", "e\u{301}", "☃", "1", "2", "\"'", "a  b", "TV-PG"])
            + pick(["", "", "1", "z"])
    }

    private mutating func space() -> String { pick(["", "", " ", "\n\t"]) }

    private mutating func text(_ text: String) -> String {
        var escaped: [UInt8] = []
        escaped.appendXMLText(text.utf8.span)
        let section = text.contains("]]>") ? nil : "<![CDATA[\(text)]]>"
        let numbers = text.unicodeScalars.map { "&#x\(String($0.value, radix: 16));" }.joined()
        return space() + pick([String(decoding: escaped, as: UTF8.self), section ?? numbers, numbers]) + space()
    }

    private mutating func pick<Element>(_ elements: [Element]) -> Element { random.pick(elements) }
}

extension String {
    /// Appends the text and a closing quote. The opening quote is the last character of this string.
    fileprivate func paired(_ text: () -> String) -> String { self + text() + suffix(1) }
}
