// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

/// References as a manifest at `https://cdn.example/live/tnt/index.m3u8` has them.
@Suite("References") struct ReferenceTests {
    static let url = "https://cdn.example/live/tnt/index.m3u8?quality=hd"

    static let segments: [(reference: String, written: String?)] = [
        ("seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("./seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("../hbo/seg1.ts", "/~cat=NEW/live/hbo/seg1.ts"),
        ("../../../../seg1.ts", "/~cat=NEW/seg1.ts"),
        ("a/./b/../c", "/~cat=NEW/live/tnt/a/c"),
        ("..", "/~cat=NEW/live/"),
        (".", "/~cat=NEW/live/tnt/"),
        ("%2e%2E/seg1.ts", "/~cat=NEW/live/seg1.ts"),
        (".%2e", "/~cat=NEW/live/"),
        ("...", "/~cat=NEW/live/tnt/..."),
        ("/vod/seg1.ts", "/~cat=NEW/vod/seg1.ts"),
        ("/", "/~cat=NEW/"),
        ("//cdn.example/vod/a.ts", "//cdn.example/~cat=NEW/vod/a.ts"),
        ("https://cdn.example/vod/a.ts", "https://cdn.example/~cat=NEW/vod/a.ts"),
        ("HTTPS://CDN.Example:443/vod/a.ts", "HTTPS://CDN.Example:443/~cat=NEW/vod/a.ts"),
        ("https://cdn.example./vod/a.ts", "https://cdn.example./~cat=NEW/vod/a.ts"),
        ("https://cdn.example", "https://cdn.example/~cat=NEW/"),
        ("https://cdn.example?x=1", "https://cdn.example/~cat=NEW/?x=1"),
        ("seg1.ts?x=1&y=%20#t=1", "/~cat=NEW/live/tnt/seg1.ts?x=1&y=%20#t=1"),
        ("?x=1", "/~cat=NEW/live/tnt/index.m3u8?x=1"),
        ("", "/~cat=NEW/live/tnt/index.m3u8?quality=hd"),
        ("#t=1", "/~cat=NEW/live/tnt/index.m3u8?quality=hd#t=1"),
        // An old grant is replaced, wherever it is.
        ("/~cat=OLD/live/tnt/seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("/live/~cat=OLD/tnt/seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("https://cdn.example/~cat=OLD/a.ts", "https://cdn.example/~cat=NEW/a.ts"),
        ("/~cat=OLD", "/~cat=NEW/"),
        ("/a/~cat=OLD/../b.ts", "/~cat=NEW/a/b.ts"),
        // Text that is no scheme, and characters that players encode.
        ("seg;v=1.ts", "/~cat=NEW/live/tnt/seg;v=1.ts"),
        ("1seg:2.ts", "/~cat=NEW/live/tnt/1seg:2.ts"),
        ("seg\u{E9}{1}.ts", "/~cat=NEW/live/tnt/seg\u{E9}{1}.ts"),
        // Blanks around a reference, and within a path or query.
        ("seg1.ts ", "/~cat=NEW/live/tnt/seg1.ts"),
        ("\t https://cdn.example/vod/a.ts \t", "https://cdn.example/~cat=NEW/vod/a.ts"),
        ("/my film/a b.ts?x=a b#t 1", "/~cat=NEW/my%20film/a%20b.ts?x=a%20b#t%201"),
        ("seg 1.ts", "/~cat=NEW/live/tnt/seg%201.ts"),
        // Not protected.
        (" https://ads.example/a.ts", nil),
        ("https://ads.example/a.ts", nil),
        ("https://ads.example/a b\\c.ts", nil),
        ("http://cdn.example/a.ts", nil),
        ("https://cdn.example:8443/a.ts", nil),
        ("https://sub.cdn.example/a.ts", nil),
        ("https://cdn.example.evil/a.ts", nil),
        ("//ads.example/a.ts", nil),
        ("skd://key-1", nil),
        ("data:text/plain;base64,AAAA BBB", nil),
        ("urn:uuid:1", nil),
        // Of before, by a client that encodes tildes.
        ("/%7Ecat=OLD/a.ts", "/~cat=NEW/a.ts"),
        ("/a%2Fb/c%2fd.ts", "/~cat=NEW/a%2Fb/c%2fd.ts"),
        ("seg:1.ts", nil),
    ]

    @Test("in a segment of the path", arguments: segments) func segment(reference: String, written: String?) throws {
        #expect(try rewrite(reference, mode: .segment()) == written)
    }

    /// A grant of before, by its length: a shorter value is the origin's own.
    static let old = String(repeating: "OLD", count: 22)

    static let queries: [(reference: String, written: String?)] = [
        ("seg1.ts", "seg1.ts?cat=NEW"),
        ("../seg1.ts", "../seg1.ts?cat=NEW"),
        ("/vod/seg1.ts", "/vod/seg1.ts?cat=NEW"),
        ("//cdn.example/a.ts", "//cdn.example/a.ts?cat=NEW"),
        ("https://cdn.example", "https://cdn.example/?cat=NEW"),
        ("https://cdn.example/a.ts#x", "https://cdn.example/a.ts?cat=NEW#x"),
        ("seg1.ts?", "seg1.ts?cat=NEW"),
        ("seg1.ts?x=1", "seg1.ts?x=1&cat=NEW"),
        ("seg1.ts?x=%41&&y", "seg1.ts?x=%41&&y&cat=NEW"),
        ("seg1.ts?&x", "seg1.ts?&x&cat=NEW"),
        ("seg1.ts?cat=\(old)", "seg1.ts?cat=NEW"),
        ("seg1.ts?cat=\(old)&x=1", "seg1.ts?cat=NEW&x=1"),
        ("seg1.ts?x=1&cat=\(old)&y=2&cat=\(old)ER", "seg1.ts?x=1&cat=NEW&y=2"),
        ("seg1.ts?cat=NEW", "seg1.ts?cat=NEW"),
        ("seg1.ts?c%61t=\(old)", "seg1.ts?cat=NEW"),
        ("seg1.ts?cats=1&Cat=2", "seg1.ts?cats=1&Cat=2&cat=NEW"),
        ("seg1.ts#cat=1?cat=2", "seg1.ts?cat=NEW#cat=1?cat=2"),
        ("?x=1", "?x=1&cat=NEW"),
        ("", "?quality=hd&cat=NEW"),
        ("#f", "?quality=hd&cat=NEW#f"),
        ("/a//b.ts", "/a//b.ts?cat=NEW"),
        ("https://ads.example/a.ts?cat=OTHER", nil),
    ]

    @Test("in a parameter of the query", arguments: queries) func query(reference: String, written: String?) throws {
        #expect(try rewrite(reference, mode: .query()) == written)
    }

    static let refused: [(reference: String, fault: ReferenceFault)] = [
        ("http:\\\\cdn.example\\a.ts", .ambiguousAuthority),
        ("https:/cdn.example/a.ts", .ambiguousAuthority),
        ("https:cdn.example/a.ts", .ambiguousAuthority),
        ("https:///cdn.example/a.ts", .ambiguousAuthority),
        ("https://", .ambiguousAuthority),
        ("///cdn.example/a.ts", .ambiguousAuthority),
        ("/\\cdn.example/a.ts", .backslash),
        ("\\\\cdn.example/a.ts", .backslash),
        ("https://ads.example\\@cdn.example/", .backslash),
        ("seg\\1.ts", .backslash),
        ("/a\\..\\b.ts", .backslash),
        ("/a/%5c", .backslash),
        ("ht\ttps://cdn.example/a.ts", .controlCharacter),
        ("ht tps://cdn.example/a.ts", .controlCharacter),
        ("https ://cdn.example/a.ts", .controlCharacter),
        ("a b:c.ts", .controlCharacter),
        ("https://cdn. example/a.ts", .badHost),
        ("https://cdn.example /a.ts", .badHost),
        ("https://ads.exam\nple/a.ts", .controlCharacter),
        ("/a\tb.ts", .controlCharacter),
        ("seg1.ts?x=a\u{7F}", .controlCharacter),
        ("seg1.ts#a\tb", .controlCharacter),
        ("/a%00.ts", .controlCharacter),
        ("https://user@cdn.example/a.ts", .userInformation),
        ("https://cdn.example@ads.example/a.ts", .userInformation),
        ("//cdn.example:443@ads.example/a.ts", .userInformation),
        ("https://cdn%2eexample/a.ts", .badHost),
        ("https://\u{FF43}dn.example/a.ts", .badHost),
        ("https://cdn.example:x/a.ts", .badHost),
        ("https://cdn.example:443:1/a.ts", .badHost),
        ("https://cdn.example:65536/a.ts", .badHost),
        ("https://.cdn.example/a.ts", .badHost),
        ("/a%.ts", .badEncoding),
        ("/a?x=%4", .badEncoding),
        ("/%252e%252e/a.ts", .encodedTwice),
        ("/a%2F..%2Fb.ts", .encodedSlash),
        ("/a.ts%3Fb", .encodedDelimiter),
        ("/a.ts%23b", .encodedDelimiter),
        ("/~c%61t=OLD/a.ts", .encodedGrant),
        ("/a//b.ts", .emptySegment),
    ]

    @Test("that readers take to different places", arguments: refused)
    func refusal(reference: String, fault: ReferenceFault) {
        #expect(throws: fault) { try rewrite(reference, mode: .segment()) }
    }

    static let templates: [(reference: String, written: String?)] = [
        ("$RepresentationID$/$Number%05d$.m4s", "/~cat=NEW/live/tnt/$RepresentationID$/$Number%05d$.m4s"),
        ("a$$b-$Time$.m4s?t=$Time%0d$", "/~cat=NEW/live/tnt/a$$b-$Time$.m4s?t=$Time%0d$"),
    ]

    @Test(
        "with a parameter of the origin's own by the grant's name",
        arguments: [
            "seg1.ts?cat=news", "seg1.ts?x=1&cat=5", "seg1.ts?cat", "seg1.ts?cat=", "seg1.ts?c%61t=news", "?cat=a b",
        ]
    )
    func foreign(reference: String) throws {
        #expect(throws: ReferenceFault.foreignParameter) { try rewrite(reference, mode: .query()) }
        #expect(try rewrite(reference, mode: .query(name: "grant"))?.contains("grant=NEW") ?? false)
        // In a segment, it is in nobody's way.
        #expect(try rewrite(reference, mode: .segment())?.contains("/~cat=NEW/") ?? false)
    }

    @Test("with the identifiers of templates", arguments: templates)
    func template(reference: String, written: String?) throws {
        #expect(try rewrite(reference, mode: .segment(), traits: .template) == written)
        #expect(throws: ReferenceFault.badTemplate) { try rewrite("a$Number", mode: .segment(), traits: .template) }
        #expect(throws: ReferenceFault.badTemplate) { try rewrite("a$x/../y$", mode: .segment(), traits: .template) }
    }

    @Test("with variables whose values are unknown") func unresolved() throws {
        #expect(
            try rewrite("a-{$v}.ts?b={$w}", mode: .query(), traits: .unresolved) == "/live/tnt/a-{$v}.ts?cat=NEW&b={$w}"
        )
        #expect(
            try rewrite("a.ts?b={$w}&cat=\(Self.old)", mode: .query(), traits: .unresolved) == "a.ts?cat=NEW&b={$w}"
        )
        #expect(try rewrite("a.ts?cat={$w}", mode: .query(), traits: .unresolved) == "a.ts?cat=NEW")
        #expect(throws: ReferenceFault.foreignParameter) {
            try rewrite("a.ts?cat=x{$w}", mode: .query(), traits: .unresolved)
        }
        #expect(throws: ReferenceFault.foreignParameter) {
            try rewrite("a.ts?cat={$w}{$v}", mode: .query(), traits: .unresolved)
        }
        #expect(throws: ReferenceFault.unknownVariable) { try rewrite("a.ts{$v}", mode: .query(), traits: .unresolved) }
        #expect(throws: ReferenceFault.unknownVariable) {
            try rewrite("a{$v}?x=1", mode: .query(), traits: .unresolved)
        }
        #expect(try rewrite("a.ts{$v}", mode: .segment(), traits: .unresolved) == "/~cat=NEW/live/tnt/a.ts{$v}")
        #expect(throws: ReferenceFault.emptySegment) {
            try rewrite("../../..//evil.example/{$v}.ts", mode: .query(), traits: .unresolved)
        }
    }

    static let bases: [(base: String, reference: String, written: String?)] = [
        ("video/", "seg1.ts", "/~cat=NEW/live/tnt/video/seg1.ts"),
        ("../", "seg1.ts", "/~cat=NEW/live/seg1.ts"),
        ("video", "seg1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        ("/~cat=OLD/vod/", "seg1.ts", "/~cat=NEW/vod/seg1.ts"),
        ("https://cdn.example/vod/", "../seg1.ts", "/~cat=NEW/seg1.ts"),
        ("https://cdn.example", "seg1.ts", "/~cat=NEW/seg1.ts"),
        ("https://ads.example/a/", "seg1.ts", nil),
        ("https://ads.example/a/", "/seg1.ts", nil),
        ("https://ads.example/a/", "//cdn.example/seg1.ts", "//cdn.example/~cat=NEW/seg1.ts"),
        ("http://ads.example/a/", "//cdn.example/seg1.ts", nil),
        ("urn:mpeg:a", "seg1.ts", nil),
        ("?x=1", "", "/~cat=NEW/live/tnt/index.m3u8?x=1"),
    ]

    @Test("below another base", arguments: bases)
    func base(base: String, reference: String, written: String?) throws {
        let rules = try ManifestRules(url: Self.url, grant: "NEW", mode: .segment())
        var writer = ReferenceWriter(rules)
        let inner = try writer.base(base.utf8.span, against: rules.base)
        var output: [UInt8] = []
        let outcome = try writer.write(reference.utf8.span, against: inner, to: &output)
        #expect((outcome == .written ? String(decoding: output, as: UTF8.self) : nil) == written)
    }

    @Test("of a manifest whose URL carries a grant") func oldGrantInURL() throws {
        let rules = try ManifestRules(
            url: "https://cdn.example/live/~cat=OLD/tnt/a.m3u8?cat=OLD#f",
            grant: "NEW",
            mode: .segment()
        )
        #expect(rules.url == "https://cdn.example/live/tnt/a.m3u8?cat=OLD")
        var writer = ReferenceWriter(rules)
        var output: [UInt8] = []
        // As the player resolves it: the segment of the grant is a folder.
        _ = try writer.write("../../x.ts".utf8.span, against: rules.base, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "/~cat=NEW/live/x.ts")
        let query = try ManifestRules(url: "https://cdn.example/a?x=1&cat=OLD&y=2", grant: "NEW", mode: .query())
        #expect(query.url == "https://cdn.example/a?x=1&y=2")
    }

    @Test("keep their form when they are rewritten again", arguments: [ManifestRules.Mode.segment(), .query()])
    func again(mode: ManifestRules.Mode) throws {
        for (reference, _) in Self.segments + Self.queries {
            guard let once = try? rewrite(reference, mode: mode) else { continue }
            #expect(try rewrite(once, mode: mode) == once, "\(reference)")
        }
    }

    private func rewrite(
        _ reference: String,
        mode: ManifestRules.Mode,
        traits: ReferenceWriter.Traits = []
    ) throws -> String? {
        let rules = try ManifestRules(url: Self.url, grant: "NEW", mode: mode)
        var writer = ReferenceWriter(rules)
        var output: [UInt8] = []
        let outcome = try writer.write(reference.utf8.span, against: rules.base, traits: traits, to: &output)
        #expect(outcome == .written || output.isEmpty)
        return outcome == .written ? String(decoding: output, as: UTF8.self) : nil
    }
}
