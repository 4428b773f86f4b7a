// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import PlaybackGate
import Testing

@Suite struct `Paths of streams` {
    @Test(arguments: [
        ("/live/tnt/master.m3u8", "/live/tnt/master.m3u8"), ("/a?token=x", "/a"), ("/a%20b", "/a b"),
        ("/%41%7e", "/A~"), ("//a///b", "/a/b"), ("/a/./b/../c", "/a/c"), ("/a/b/..", "/a/"), ("/a/.", "/a/"),
        ("/a/%2e%2e/b", "/b"), ("/a/", "/a/"), ("/", "/"), ("/a//", "/a/"), ("/caf%C3%A9", "/café"),
        ("/100%25", "/100%"), ("/a%2fb", "/a%2Fb"), ("/a/%2e%2e/b%2Fc", "/b%2Fc"), ("/a%2F...%2fb/", "/a%2F...%2Fb/"),
        ("/a%25%2F2F", "/a%%2F2F"), ("/...", "/..."), ("/a/..b", "/a/..b"), ("/.", "/"), ("/a/../", "/"),
    ])
    func `have one form`(requested: String, form: String) throws {
        #expect(try MediaPath(requested).text == form)
    }

    @Test(arguments: [
        ("", MediaPathError.notAbsolute), ("live/x", .notAbsolute), ("http://host/live", .notAbsolute),
        ("*", .notAbsolute),
        ("/..", .aboveRoot), ("/a/../../b", .aboveRoot), ("/%2e%2e/a", .aboveRoot), ("/a%2f", .encodedSlash),
        ("/%2Fb", .encodedSlash), ("/a%2F%2fb", .encodedSlash), ("/a%2f/b", .encodedSlash), ("/a%2F..", .encodedSlash),
        ("/..%2Fa", .encodedSlash), ("/a%2f%2e/b", .encodedSlash), ("/x%2F%2E%2e%2Fb/../c", .encodedSlash),
        ("/a\\b", .backslash), ("/a%5cb", .backslash), ("/a%00", .controlCharacter),
        ("/a%0d%0ab", .controlCharacter), ("/a\nb", .controlCharacter), ("/a%7f", .controlCharacter),
        ("/a%2541", .encodedTwice), ("/a%252e%252e/b", .encodedTwice), ("/a%252fb", .encodedTwice),
        ("/vod/film.m3u8%3f", .encodedDelimiter), ("/vod/film.m3u8%3Fx=1", .encodedDelimiter),
        ("/vod/film.m3u8%23x", .encodedDelimiter), ("/a%23/../b", .encodedDelimiter),
        ("/a%", .badEncoding), ("/a%4", .badEncoding), ("/a%zz", .badEncoding), ("/a#b", .fragment),
        ("/a;b/c", .parameters), ("/free/..;/live", .parameters), ("/a%3bb", .parameters), ("/%c0%ae", .notUTF8),
        ("/%ff", .notUTF8), ("/%ed%a0%80", .notUTF8), ("/a/%ff/../b", .notUTF8),
        ("/a/b/%c0%ae%c0%ae/../x", .notUTF8), ("/" + String(repeating: "a", count: 8192), .tooLong),
    ])
    func `that may mean several things are none`(requested: String, fault: MediaPathError) {
        #expect(throws: fault) { try MediaPath(requested) }
    }

    @Test(arguments: [
        ("/a/b", "/a/b", true), ("/a/*", "/a/b", true), ("/a/*", "/a/b/c", false), ("/a/**", "/a/b/c", true),
        ("/a/**/c", "/a/b/x/c", true), ("/a/**/c", "/a/c", false), ("/a/*.m3u8", "/a/x.m3u8", true),
        ("/a/*.m3u8", "/a/.m3u8", true), ("/a/*.m3u8", "/a/x.m3u9", false), ("/a/?", "/a/b", true),
        ("/a/?", "/a/bc", false), ("/a/?", "/a/", false), ("/a/?", "/a/é", true), ("/a/??", "/a/é", false),
        ("/a/?x", "/a/日x", true), ("/a/*b*c", "/a/xbxbxc", true), ("/*/x", "/a/x", true), ("/*/x", "/a/b/x", false),
        ("/a/***", "/a/b/c", true), ("/a/[b]", "/a/b", false), ("/a/*", "/a/", true),
    ])
    func `are covered by patterns`(pattern: String, path: String, expected: Bool) throws {
        var catalogue = Catalogue()
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern(pattern)), protection: .none))
        #expect((catalogue.entry(path: try MediaPath(path)) != nil) == expected)
    }

    /// A server that decodes a slash before it splits a path serves the file of the other reading.
    @Test(arguments: [
        ("/live/tnt/a%2Fb.ts", "/live/tnt/"), ("/live/tnt/a%2fb.ts", "/live/tnt/"),
        ("/live/tnt/a/b%2Fc%2Fd", "/live/tnt/"),
        ("/live/tnt/free%2Fa.ts", nil), ("/live/tnt%2Fa.ts", nil), ("/live%2Ftnt/a.ts", nil),
        ("/live/tnt/x%2Fy.m3u8", nil),
        ("/live/tnt/q%2Fr.mp4", "/live/tnt/q%2Fr.mp4"), ("/live/tnt/q/r.mp4", "/live/tnt/"), ("/other%2Fa.ts", ""),
    ])
    func `with an encoded slash have an entry if both readings have it`(requested: String, pattern: String?) throws {
        var catalogue = Catalogue()
        for (pattern, isProtected) in [
            ("/live/tnt/", true), ("/live/tnt/free/", false), ("/live/tnt/x/*.m3u8", false),
            ("/live/tnt/q%2Fr.mp4", true),
        ] {
            let resource = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
            let protection = isProtected ? resource : .none
            try catalogue.add(Catalogue.Entry(key: .path(try PathPattern(pattern)), protection: protection))
        }
        switch catalogue.find(requested[...]) {
        case .entry(let entry): #expect(entry.key.text == pattern)
        case .unknown: #expect(pattern == "")
        case .invalidPath(let fault): #expect(pattern == nil && fault == .encodedSlash)
        case .hostMissing: Issue.record("no entry has hosts")
        }
    }

    @Test(arguments: [
        ("", PathPatternError.notAbsolute), ("a/b", .notAbsolute), ("/a//b", .notNormal), ("/a/../b", .notNormal),
        ("/a/./b", .notNormal), ("/a;b", .notNormal), ("/a#b", .notNormal), ("/a\\b", .notNormal),
        ("/a\nb", .notNormal),
        ("/" + String(repeating: "*a", count: 17), .tooManyWildcards),
        ("/" + String(repeating: "a", count: 9000), .tooLong),
    ])
    func `have patterns that could cover something`(text: String, fault: PathPatternError) {
        #expect(throws: fault) { try PathPattern(text) }
    }

    @Test func `of the worst sort are matched in no time to speak of`() throws {
        // With backtracking, matching this pattern would never finish.
        let pattern = "/" + String(repeating: "*a", count: 15) + "*b"
        var catalogue = Catalogue()
        try catalogue.add(Catalogue.Entry(key: .path(try PathPattern(pattern)), protection: .none))
        let path = try MediaPath("/" + String(repeating: "a", count: 8000))
        #expect(catalogue.entry(path: path) == nil)
    }
}
