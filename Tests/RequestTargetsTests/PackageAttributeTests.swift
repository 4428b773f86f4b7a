// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import RequestTargets

@Suite struct `The cut of packages out of targets` {
    private static let rows: [(before: String, after: String, packages: [String])] = [
        ("/a/b.ts?URISigningPackage=J", "/a/b.ts", ["J"]),
        ("/a/b.ts?URISigningPackage=J&x=1", "/a/b.ts?x=1", ["J"]),
        ("/a/b.ts?x=1&URISigningPackage=J", "/a/b.ts?x=1", ["J"]),
        ("/a;URISigningPackage=J/b.ts", "/a/b.ts", ["J"]),
        ("/a/b.ts;URISigningPackage=J?x=1", "/a/b.ts?x=1", ["J"]),
        ("/a/b.ts;URISigningPackage=J;v=2", "/a/b.ts;v=2", ["J"]),
        ("/a/URISigningPackage=J/b.ts", "/a/b.ts", ["J"]),
        ("/a?x=1&URISigningPackage=J&y=2", "/a?x=1&y=2", ["J"]),
        ("/a?URISigningPackage=J&URISigningPackage=K", "/a", ["J", "K"]),
        ("/a?URISigningPackage=J&URISigningPackage=J", "/a", ["J"]),
        ("/a;URISigningPackage=J;URISigningPackage=K/b", "/a/b", ["J", "K"]),
        ("/a;URISigningPackage=J/b?URISigningPackage=K", "/a/b", ["J", "K"]),
        ("/a?URISigningPackage=e.y-_9.Z,c", "/a?c", ["e.y-_9.Z"]),
        ("/a?URISigningPackage=J%3D&x", "/a%3D&x", ["J"]),
        ("/a?URISigningPackage=&x=1", "/a?x=1", []),
        ("/a?URISigningPackage=", "/a", []),
        ("/URISigningPackage=J", "/", ["J"]),
        ("/URISigningPackage=J?x=1", "/?x=1", ["J"]),
        ("URISigningPackage=J", "URISigningPackage=J", []),
        ("/a?XURISigningPackage=J", "/a?XURISigningPackage=J", []),
        ("/a?urisigningpackage=J", "/a?urisigningpackage=J", []),
        ("/a?URISigningPackages=J", "/a?URISigningPackages=J", []),
        ("/a?URISigningPackage", "/a?URISigningPackage", []),
        ("/a?%55RISigningPackage=J", "/a?%55RISigningPackage=J", []),
        ("/a?x=URISigningPackage=J", "/a?x", ["J"]),
        ("/a?URIURISigningPackage=J&SigningPackage=K", "/a?URIURISigningPackage=J&SigningPackage=K", []),
        ("/a;URISigningURISigningPackage=;Package=K", "/a;URISigningURISigningPackage=;Package=K", []),
        ("/a/b.ts", "/a/b.ts", []), ("/", "/", []), ("", "", []),
    ]

    @Test func `follows the table`() {
        for row in Self.rows {
            let cut = PackageAttribute.standard.cut(row.before[...])
            #expect(cut.target == row.after, "\(row.before)")
            #expect(cut.packages.map(String.init) == row.packages, "\(row.before)")
        }
    }

    @Test func `leaves nothing to cut, whatever the target`() {
        let pieces = [
            "URISigningPackage=", "URISigningPackage", "URISigning", "Package=", "J", "/", ";", "?", "&", "=", "%",
            "a.b.c",
        ]
        var random = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let target =
                "/" + (0..<Int.random(in: 1...12)).compactMap { _ in pieces.randomElement(using: &random) }.joined()
            let cut = PackageAttribute.standard.cut(target[...])
            let again = PackageAttribute.standard.cut(cut.target)
            #expect(again.target == cut.target && again.packages.isEmpty, "\(target)")
            #expect(cut.target.hasPrefix("/"))
        }
    }

    @Test func `accepts another name`() throws {
        let attribute = try #require(PackageAttribute("tok"))
        #expect(attribute.cut("/a?tok=J&URISigningPackage=K").target == "/a?URISigningPackage=K")
        for name in ["", "a b", "a=b", "é", String(repeating: "a", count: 65)] {
            #expect(PackageAttribute(name) == nil, "\(name)")
        }
    }

    @Test func `undoes what query and path carriers add`() {
        let attribute = PackageAttribute.standard
        for target in ["/a/b.ts", "/a/b.ts?x=1", "/", "/?x"] {
            for signed in [attribute.inQuery("J.K.L", of: target[...]), attribute.inPath("J.K.L", of: target[...])] {
                let cut = attribute.cut(signed[...])
                #expect(cut.target == target && cut.packages == ["J.K.L"], "\(signed)")
            }
        }
    }
}

@Suite struct `Targets with packages, as gates cut them` {
    private static let standard = PackageAttribute.standard

    @Test(
        arguments: [
            ("/a/b.ts?URISigningPackage=J", "/a/b.ts"), ("/a/b.ts?URISigningPackage=J&x=1", "/a/b.ts?x=1"),
            ("/a/b.ts?x=1&URISigningPackage=J", "/a/b.ts?x=1"), ("/a/b.ts?x&URISigningPackage=J&y", "/a/b.ts?x&y"),
            ("/a;URISigningPackage=J/b.ts", "/a/b.ts"), ("/a/b.ts;URISigningPackage=J?x=1", "/a/b.ts?x=1"),
            ("/a/b.ts;URISigningPackage=J;v=2", "/a/b.ts;v=2"), ("/a/../b.ts?URISigningPackage=J", "/a/../b.ts"),
            ("/a/b.ts", "/a/b.ts"), ("/a//b.ts?x=URISigningPackage", "/a//b.ts?x=URISigningPackage"),
        ]
    )
    func `are what the standard's cut leaves`(target: String, rest: String) {
        #expect(Self.standard.cutPlainly(target[...])?.target == rest[...])
        #expect(Self.standard.cut(target[...]).target == rest[...])
    }

    @Test(
        arguments: [
            "/premium/film.m3u8?URISigningPackage=/../../free/x.ts", "/premium/film.mp4?URISigningPackage=/x.jpg",
            "/premium/URISigningPackage=/../vod/seg.ts", "/a/b/URISigningPackage=/URISigningPackage=/../../vod/x",
            "/x/./URISigningPackage=J%2e/y", "/a;URISigningPackage=J/../b.ts", "/a;URISigningPackage=J/%2e%2E/b.ts",
            "/a;URISigningPackage=J//b.ts", "/a;URISigningPackage=/b.ts", "/a/b.ts?URISigningPackage=",
            "/a/b.ts?URISigningPackage=J%2Fx", "/a/b.ts?URISigningPackage=J:x", "/a/b.ts?x=/URISigningPackage=J",
            "/a/b.ts?URISigningPackage=J;x=1", "/a/URISigningPackage=J/b.ts", "/a/b.ts;x=URISigningPackage=J",
        ]
    )
    func `are none if servers could read the rest differently`(target: String) {
        #expect(Self.standard.cutPlainly(target[...]) == nil)
    }
}
