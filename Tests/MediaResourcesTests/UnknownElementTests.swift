// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import MediaResources

/// Elements and attributes without a rule: skipped in feeds, compared in fragments, both up to documented limits.
@Suite struct `Unknown elements` {
    static let names = ["é", "日本", "𐐀", "_", "x-1.b", "x:é"]

    @Test(arguments: names)
    func `have names of any script`(name: String) throws {
        let declared = "xmlns:x='urn:x'"
        let fragments = [
            fragment("T", item: "<\(name) \(declared)/>"), fragment("T", item: "<y \(declared) \(name)='1'/>"),
        ]
        for text in fragments {
            let resource = try MediaResource(text)
            #expect(try resource != MediaResource("T") && MediaResource(resource.canonicalForm) == resource)
        }
        #expect(feed("<\(name) \(declared) \(name)='1'>t</\(name)>") == .entry)
    }

    @Test func `have as many attributes as there is room for`() throws {
        func element(_ count: Int) -> String {
            "<x \((0..<count).map { "a\($0)='1'" }.joined(separator: " "))/>"
        }
        let resource = try MediaResource(fragment("T", item: element(700)))
        #expect(try MediaResource(fragment("T", item: element(701))) != resource)
        #expect(throws: ResourceError(.tooLarge, reason: "")) { try MediaResource(fragment("T", item: element(1000))) }
        #expect(feed(element(5000)) == .entry)
    }

    @Test func `stand as deep as the limits say`() {
        func nested(_ depth: Int) -> String {
            String(repeating: "<x>", count: depth) + String(repeating: "</x>", count: depth)
        }
        // The depth includes rss, channel and item.
        #expect(throws: Never.self) { try MediaResource(fragment("T", item: nested(5))) }
        #expect(throws: ResourceError(.tooDeep, reason: "")) { try MediaResource(fragment("T", item: nested(6))) }
        #expect(feed(nested(61)) == .entry)
        #expect(feed(nested(62)) == .broken(.tooDeep))
    }

    @Test func `are as many as the limits say`() {
        func row(_ count: Int) -> String { String(repeating: "<x/>", count: count) }
        // The count includes rss, channel, title and item.
        #expect(throws: Never.self) { try MediaResource(fragment("T", item: row(60))) }
        #expect(throws: ResourceError(.tooManyElements, reason: "")) { try MediaResource(fragment("T", item: row(61))) }
        #expect(feed(row(100_000)) == .entry)
    }

    @Test func `of a feed are as large as the limits say`() {
        func text(_ count: Int) -> String { String(repeating: "n", count: count) }
        #expect(feed("<\(text(50_000))/>") == .entry)
        #expect(feed("<\(text(50_001))/>") == .broken(.malformedXML))
        #expect(feed("<!--\(text(9_900_000))-->") == .entry)
        #expect(feed("<!--\(text(10_100_000))-->") == .broken(.malformedXML))
        #expect(feed("<x a='\(text(10_100_000))'/>") == .broken(.malformedXML))
        #expect(feed("<x>\(text(12_000_000))</x>") == .entry)
    }

    static let namespaces = [
        "not a uri", "relative/path", "http://[", "http://x:port/", "%", "urn:é", "", " ", ":", "a&lt;b", "u?a&amp;b",
        "u?a&amp;#38;b", "a&#9;b", " http://search.yahoo.com/mrss/",
    ]

    /// A namespace is a name. A name that is not a URI is another namespace, and no reason to refuse a feed.
    @Test(arguments: namespaces)
    func `are in namespaces of any name`(namespace: String) throws {
        let element = "<x xmlns='\(namespace)' a='1'><y/></x>"
        #expect(feed(element) == .entry)
        #expect(feed("", attributes: " xmlns='' xmlns:odd='\(namespace.isEmpty ? "a b" : namespace)'") == .entry)
        let prefixed = "<x xmlns:p='\(namespace)' p:a='1'/>"
        for text in [element, prefixed] where !(text == prefixed && namespace.isEmpty) {
            let resource = try MediaResource(fragment("T", item: text))
            #expect(try MediaResource(resource.canonicalForm) == resource, "\(resource.canonicalForm)")
            let others = Self.namespaces.filter { $0 != namespace && !$0.isEmpty }
            for other in others {
                let changed = fragment("T", item: text.replacing("'\(namespace)'", with: "'\(other)'"))
                #expect(try MediaResource(changed) != resource)
            }
        }
    }

    @Test(arguments: ["<p:x/>", "<x p:a='1'/>", "<x xmlns:p=''/>", "<x xmlns:xml='urn:a'/>", "<x xmlns:p='&b;'/>"])
    func `have prefixes that are declared`(element: String) {
        #expect(throws: ResourceError(.malformedXML, reason: "")) { try MediaResource(fragment("T", item: element)) }
        #expect(feed(element) == .broken(.malformedXML))
    }

    private enum Outcome: Equatable {
        case entry, refused
        case broken(FeedError.Code)
    }

    /// Returns the outcome for a feed with these elements in its item.
    private func feed(_ elements: String, attributes: String = "") -> Outcome {
        let text =
            "<rss\(attributes)><channel><title>T</title><item>\(elements)<guid>1</guid></item></channel></rss>"
        var reader = FeedReader()
        var outcome = Outcome.refused
        do throws(FeedError) {
            try reader.read(Array(text.utf8).span) { if case .entry = $0 { outcome = .entry } }
            try reader.finish { if case .entry = $0 { outcome = .entry } }
            return outcome
        } catch { return .broken(error.code) }
    }
}
