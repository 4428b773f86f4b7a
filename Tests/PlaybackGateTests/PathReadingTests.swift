// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Testing

@testable import PlaybackGate

/// Paths as browsers and many servers read them, by the URL Standard and its test data. The gate has the same reading, or refuses the path:
/// two readings of one path are how strangers get in.
@Suite struct `A path that others read too` {
    /// Paths, and what the URL Standard makes of them.
    static let readings: [(path: String, standard: String)] = [
        ("/", "/"), ("/foo", "/foo"), ("/././foo", "/foo"), ("/./.foo", "/.foo"), ("/foo/.", "/foo/"),
        ("/foo/./", "/foo/"),
        ("/foo/bar/..", "/foo/"), ("/foo/bar/../", "/foo/"), ("/foo/bar/..bar", "/foo/bar/..bar"),
        ("/foo/bar/../ton", "/foo/ton"), ("/foo/bar/../ton/../../a", "/a"), ("/foo/../../..", "/"),
        ("/foo/../../../ton", "/ton"),
        ("/foo/%2e", "/foo/"), ("/foo/%2E/bar", "/foo/bar"), ("/foo/%2e%2", "/foo/%2e%2"),
        ("/foo/%2e./%2e%2e/.%2e/%2e.bar", "/%2e.bar"), ("/foo/bar/%2e%2E/ton", "/foo/ton"), ("/...", "/..."),
        ("/foo/.../a", "/foo/.../a"),
        ("////../..", "//"), ("/foo/bar//..", "/foo/bar/"), ("/foo//bar", "/foo//bar"), ("//foo", "//foo"),
        ("/%20foo", "/%20foo"), ("/foo%", "/foo%"), ("/foo%2", "/foo%2"), ("/foo%2zbar", "/foo%2zbar"),
        ("/foo%41%7a", "/foo%41%7a"),
        ("/foo%00%51", "/foo%00%51"), ("/(%28:%3A%29)", "/(%28:%3A%29)"), ("/%3A%3a%3C%3c", "/%3A%3a%3C%3c"),
        ("/foo%09bar", "/foo%09bar"),
        ("/\\\\foo\\\\bar", "///foo//bar"), ("/foo\\..\\bar", "/bar"),
        ("/%7Ffp3%3Eju%3Dduvgw%3Dd", "/%7Ffp3%3Eju%3Dduvgw%3Dd"),
        ("/@asdf%40", "/@asdf%40"), ("/你好你好", "/%E4%BD%A0%E5%A5%BD%E4%BD%A0%E5%A5%BD"), ("/‥/foo", "/%E2%80%A5/foo"),
        ("/\u{FEFF}/foo", "/%EF%BB%BF/foo"), ("/\u{202E}/foo/\u{202D}/bar", "/%E2%80%AE/foo/%E2%80%AD/bar"),
        ("/foo/%2F../bar", "/foo/%2F../bar"), ("/foo/%5c../bar", "/foo/%5c../bar"),
        ("/foo/%252e%252e/bar", "/foo/%252e%252e/bar"),
        ("/foo;a=b/../bar", "/bar"), ("/foo/..;/bar", "/foo/..;/bar"), ("/foo%3f/bar", "/foo%3f/bar"),
        ("/foo%23bar", "/foo%23bar"),
        ("/C|/..", "/"), ("/foo/%c0%ae%c0%ae/bar", "/foo/%c0%ae%c0%ae/bar"), ("/foo/%E9", "/foo/%E9"),
    ]

    /// Where the gate reads as nginx does, which merges slashes before it resolves dots. An edge that does neither says so, and such a path is
    /// refused then.
    static let mergingFirst: Set<String> = ["/foo/bar//.."]

    @Test(arguments: readings)
    func `has one reading, or is refused`(path: String, standard: String) throws {
        guard let own = try? MediaPath(path) else { return }
        let wanted = try #require(standard[...].percentDecoded)
        if Self.mergingFirst.contains(path) {
            #expect((try? MediaPath(path[...], form: .asIs)) == nil)
        } else {
            #expect(own.text == wanted.mergingSlashes)
        }
        // What an edge forwards as it is has the standard's own reading, but for names that are spelt otherwise.
        guard let forwarded = try? MediaPath(path[...], form: .asIs) else { return }
        #expect(forwarded.text == wanted)
    }

    /// What is refused above may not be all of it.
    @Test func `is read in most cases`() {
        let read = Self.readings.count { (try? MediaPath($0.path)) != nil }
        #expect(read >= 25, "\(read)")
    }
}

extension String {
    /// The path with one slash for each run of them.
    fileprivate var mergingSlashes: String {
        reduce(into: "") { path, character in
            if character != "/" || path.last != "/" { path.append(character) }
        }
    }
}
