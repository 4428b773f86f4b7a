// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Manifests
import Testing

/// Variables of playlists, in segment mode unless the grant's own parameter matters.
@Suite("HLS variables") struct HLSVariableTests {
    static let replaced: [(definitions: [String], reference: String, written: String)] = [
        (["NAME=\"a\",VALUE=\"seg\""], "{$a}1.ts", "/~cat=NEW/live/tnt/seg1.ts"),
        (["NAME=\"a\",VALUE=\"..\""], "{$a}/x.ts", "/~cat=NEW/live/x.ts"),
        (["NAME=\"a\",VALUE=\"\""], "x{$a}.ts", "/~cat=NEW/live/tnt/x.ts"),
        (["NAME=\"a\",VALUE=\"x\"", "NAME=\"b\",VALUE=\"{$a}y\""], "{$b}{$a}", "/~cat=NEW/live/tnt/xyx"),
        (["NAME=\"base\",VALUE=\"https://cdn.example/vod\""], "{$base}/x.ts", "https://cdn.example/~cat=NEW/vod/x.ts"),
        (["NAME=\"base\",VALUE=\"https://ads.example/vod\""], "{$base}/x.ts", "{$base}/x.ts"),
        (["NAME=\"h\",VALUE=\"ads.example\""], "https://{$h}/x.ts", "https://{$h}/x.ts"),
        (["NAME=\"h\",VALUE=\"cdn.example\""], "https://{$h}/x.ts", "https://cdn.example/~cat=NEW/x.ts"),
        // From the URL of the playlist: ?user=a%2Fb&host=cdn.example&line=%0A&quote=%22&var=%7B$a%7D
        (["QUERYPARAM=\"user\""], "x?u={$user}", "/~cat=NEW/live/tnt/x?u=a/b"),
        (["QUERYPARAM=\"host\""], "https://{$host}/x", "https://cdn.example/~cat=NEW/x"),
        // Known to the player alone.
        (["IMPORT=\"i\""], "x-{$i}.ts", "/~cat=NEW/live/tnt/x-{$i}.ts"),
        (["IMPORT=\"i\""], "x.ts?i={$i}", "/~cat=NEW/live/tnt/x.ts?i={$i}"),
        (["IMPORT=\"i\""], "https://cdn.example/{$i}", "https://cdn.example/~cat=NEW/{$i}"),
        (["IMPORT=\"i\"", "NAME=\"b\",VALUE=\"{$i}\""], "x-{$b}.ts", "/~cat=NEW/live/tnt/x-{$b}.ts"),
        (["QUERYPARAM=\"none\""], "x-{$none}.ts", "/~cat=NEW/live/tnt/x-{$none}.ts"),
        (["IMPORT=\"i\""], "https://ads.example/{$i}?{$i}", "https://ads.example/{$i}?{$i}"),
        (["IMPORT=\"i\""], "skd://{$i}", "skd://{$i}"),
    ]

    static let url = "?user=a%2Fb&host=cdn.example&line=%0A&quote=%22&var=%7B$a%7D&part=%7B"

    @Test("in references", arguments: replaced) func values(
        definitions: [String],
        reference: String,
        written: String
    ) throws {
        let tags = definitions.map { "#EXT-X-DEFINE:\($0)\n" }.joined()
        let playlist = "#EXTM3U\n\(tags)\(reference)\n#EXT-X-MAP:URI=\"\(reference)\"\n"
        let expected = "#EXTM3U\n\(tags)\(written)\n#EXT-X-MAP:URI=\"\(written)\"\n"
        #expect(try rewrite(playlist, mode: .segment()) == expected)
    }

    static let refused: [(definition: String, reference: String, code: ManifestCode)] = [
        ("NAME=\"a\",VALUE=\"x\"", "{$b}", .malformed),
        ("NAME=\"a\",VALUE=\"x\"", "{$A}", .malformed),
        ("NAME=\"a\",VALUE=\"x\"", "{$a", .malformed),
        ("NAME=\"a\",VALUE=\"x\",NAME=\"b\"", "x", .malformed),
        ("NAME=\"a\",VALUE=x", "x", .malformed),
        ("NAME=\"a\"", "x", .malformed),
        ("NAME=\"a\",VALUE=\"x\",IMPORT=\"b\"", "x", .malformed),
        ("NAME=\"a b\",VALUE=\"x\"", "x", .malformed),
        ("NAME=\"\",VALUE=\"x\"", "x", .malformed),
        ("VALUE=\"x\"", "x", .malformed),
        ("NAME=\"a\",VALUE=\"{$b}\"", "x", .malformed),
        ("NAME=\"a\",VALUE=\"x\"\n#EXT-X-DEFINE:NAME=\"a\",VALUE=\"y\"", "x", .malformed),
        // A value that could be, or complete, a scheme or a host.
        ("IMPORT=\"i\"", "{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "ht{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "HTTPS{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "/{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "//{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "https://{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "https://cdn.example{$i}/x.ts", .referenceInvalid),
        ("IMPORT=\"i\"", "x{$i}/../y.ts", .referenceInvalid),
        ("QUERYPARAM=\"none\"", "https://{$none}/x", .referenceInvalid),
        // A value from the URL that would begin a line, end the attribute, or be replaced again.
        ("QUERYPARAM=\"line\"", "x{$line}y", .referenceInvalid),
        ("QUERYPARAM=\"quote\"", "#EXT-X-MAP:URI=\"x{$quote}\"", .referenceInvalid),
        ("QUERYPARAM=\"var\"", "x{$var}", .referenceInvalid),
        ("QUERYPARAM=\"part\"", "x{$part}$a}", .referenceInvalid),
    ]

    @Test("that are refused", arguments: refused) func refusal(
        definition: String,
        reference: String,
        code: ManifestCode
    ) {
        let fault = #expect(throws: ManifestFault.self) {
            try rewrite("#EXTM3U\n#EXT-X-DEFINE:\(definition)\n\(reference)\n", mode: .segment())
        }
        #expect(fault?.code == code)
    }

    static let grants: [(definition: String, reference: String, written: String?)] = [
        ("QUERYPARAM=\"cat\"", "x.ts?cat={$cat}", "x.ts?cat=NEW"),
        ("QUERYPARAM=\"cat\"", "x.ts?a=1&cat={$cat}&b=2", "x.ts?a=1&cat=NEW&b=2"),
        ("IMPORT=\"cat\"", "x.ts?cat={$cat}", "x.ts?cat=NEW"),
        ("QUERYPARAM=\"cat\"", "x.ts?token={$cat}", "x.ts?cat=NEW&token={$cat}"),
        ("QUERYPARAM=\"cat\"", "x-{$cat}.ts", "/live/tnt/x-{$cat}.ts?cat=NEW"),
        ("NAME=\"cat\",VALUE=\"v\"", "https://ads.example/{$cat}", "https://ads.example/{$cat}"),
        ("QUERYPARAM=\"cat\"", "https://ads.example/?{$cat}", nil),
        ("IMPORT=\"cat\"", "https://ads.example/?{$cat}", nil),
        ("QUERYPARAM=\"cat\"", "skd://{$cat}", nil),
        ("QUERYPARAM=\"cat\"\n#EXT-X-DEFINE:NAME=\"x\",VALUE=\"{$cat}\"", "x.ts", nil),
    ]

    @Test("that carry the player's grant", arguments: grants)
    func grant(definition: String, reference: String, written: String?) throws {
        let head = "#EXTM3U\n#EXT-X-DEFINE:\(definition)\n"
        guard let written else {
            let fault = #expect(throws: ManifestFault.self) { try rewrite("\(head)\(reference)\n", mode: .query()) }
            #expect(fault?.reason == ReferenceFault.grantToOtherHost.rawValue)
            // A player may have come with a grant in the query, whatever the mode.
            let segment = #expect(throws: ManifestFault.self) { try rewrite("\(head)\(reference)\n", mode: .segment()) }
            #expect(segment?.reason == ReferenceFault.grantToOtherHost.rawValue)
            return
        }
        #expect(try rewrite("\(head)\(reference)\n", mode: .query()) == "\(head)\(written)\n")
    }

    static let growing: [(name: String, playlist: String)] = [
        (
            "values of values",
            define("a", size: 60_000) + define("b", repeating: "a", count: 13_000)
                + define("c", repeating: "b", count: 13_000) + "{$c}\n"
        ),
        ("a reference", define("a", size: 30_000) + "{$a}{$a}{$a}\n"),
        (
            "values together",
            define("a", size: 30_000) + define("b", size: 30_000) + define("c", size: 30_000) + "x.ts\n"
        ),
        ("references together", define("a", size: 60_000) + String(repeating: "{$a}\n", count: 1_200)),
    ]

    @Test("that grow without a bound", arguments: growing) func growth(name: String, playlist: String) throws {
        let fault = #expect(throws: ManifestFault.self) { try rewrite("#EXTM3U\n\(playlist)", mode: .segment()) }
        #expect(fault?.code == .tooLarge)
    }

    @Test("up to the length of a line") func longest() throws {
        let playlist = "#EXTM3U\n\(Self.define("a", size: 32_768))"
        let output = try rewrite("\(playlist){$a}{$a}\n", mode: .segment())
        #expect(output == "\(playlist)/~cat=NEW/live/tnt/\(String(repeating: "v", count: 65_536))\n")
        let fault = #expect(throws: ManifestFault.self) { try rewrite("\(playlist){$a}{$a}v\n", mode: .segment()) }
        #expect(fault?.code == .tooLarge)
    }

    private static func define(_ name: String, size: Int) -> String {
        "#EXT-X-DEFINE:NAME=\"\(name)\",VALUE=\"\(String(repeating: "v", count: size))\"\n"
    }

    private static func define(_ name: String, repeating other: String, count: Int) -> String {
        "#EXT-X-DEFINE:NAME=\"\(name)\",VALUE=\"\(String(repeating: "{$\(other)}", count: count))\"\n"
    }

    private func rewrite(_ playlist: String, mode: ManifestRules.Mode) throws -> String {
        let rules = try rules(mode, query: mode == .query() ? "?cat=OLD" : Self.url)
        return String(decoding: try HLSRewriter.rewrite(playlist.utf8.span, rules: rules), as: UTF8.self)
    }
}
