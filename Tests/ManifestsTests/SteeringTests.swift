// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Manifests
import Testing

/// Steering manifests at `https://cdn.example/live/tnt/steer`, and thumbnails at the same location.
@Suite("Steering manifests and thumbnails") struct SteeringTests {
    private static func rewrite(_ text: String, mode: ManifestRules.Mode) throws -> String {
        let rules = try DASH.rules(mode, url: "https://cdn.example/live/tnt/steer")
        let format = ManifestFormat(detecting: text.utf8.span)
        return String(decoding: try (try #require(format)).rewrite(text.utf8.span, rules: rules), as: UTF8.self)
    }

    private static func clone(_ replacement: String) -> String {
        "{ \"VERSION\": 1,\n \"PATHWAY-CLONES\": [\n{\"BASE-ID\":\"A\",\"ID\":\"B\",\"URI-REPLACEMENT\":{\(replacement)}}] }"
    }

    static let written: [(text: String, segment: String, query: String)] = [
        (
            "{\"VERSION\":1, \"TTL\":300.5, \"RELOAD-URI\": \"steer?id=1\" ,\"PATHWAY-PRIORITY\":[\"A\",\"B\"]}\n",
            "/~cat=G/live/tnt/steer?id=1",
            "steer?id=1&cat=G"
        ),
        (
            "{\"VERSION\":1,\"RELOAD-URI\":\"https:\\/\\/two.example\\/st\\u0065er\"}",
            "https://two.example/~cat=G/steer",
            "https://two.example/steer?cat=G"
        ),
        (
            clone(
                "\"HOST\":\"two.example\",\"PER-VARIANT-URIS\":{\"v1\":\"https://two.example/v1.m3u8\",\"v2\":\"https://ads.example/v2\"}"
            ),
            "https://two.example/~cat=G/v1.m3u8", "https://two.example/v1.m3u8?cat=G"
        ),
        (clone("\"PER-RENDITION-URIS\":{\"a1\":\"/a1.m3u8\"}"), "/~cat=G/a1.m3u8", "/a1.m3u8?cat=G"),
    ]

    @Test("have the grant in their URIs, and all else as it was", arguments: written)
    func steering(text: String, segment: String, query: String) throws {
        for (mode, reference) in [(ManifestRules.Mode.segment(), segment), (.query(), query)] {
            let output = try Self.rewrite(text, mode: mode)
            let reference = reference.replacing("=G", with: "=\(DASH.grant)")
            #expect(output.contains("\"\(reference)\""), "\(output)")
            #expect(output.ranges(of: DASH.grant).count == 1 && output.count(of: "\n") == text.count(of: "\n"))
            #expect(try Self.rewrite(output, mode: mode) == output)
        }
    }

    static let same: [String] = [
        "{\"VERSION\":1,\"TTL\":10}", "{\"VERSION\":1,\"RELOAD-URI\":\"https://ads.example/steer\"}",
        clone("\"HOST\":\"two.example\",\"PARAMS\":{\"x\":\"1\"}"), clone("\"HOST\":\"cdn.example:443\""),
    ]

    @Test("stay as they are without a reference to a protected host", arguments: same, DASH.both)
    func unchanged(text: String, mode: ManifestRules.Mode) throws {
        #expect(try Self.rewrite(text, mode: mode) == text)
    }

    static let refused: [(text: String, code: ManifestCode, line: Int)] = [
        ("{\"TTL\":1}", .malformed, 1), ("{\"VERSION\":1", .malformed, 1), ("{\"VERSION\":1}x", .malformed, 1),
        ("{\"VERSION\":1,\"RELOAD-URI\":1}", .malformed, 1),
        ("{\"VERSION\":1,\n\"RELOAD-URI\":\"a\\\\b\"}", .referenceInvalid, 2),
        ("{\"VERSION\":1,\"PATHWAY-CLONES\":{}}", .malformed, 1),
        ("{\"VERSION\":1,\"PATHWAY-CLONES\":[1]}", .malformed, 1),
        ("{\"VERSION\":1,\"VERSION\":2}", .malformed, 1),
        // A player would put the foreign host into a URI that has a grant.
        (clone("\"HOST\":\"ads.example\""), .unsupported, 3), (clone("\"HOST\":\"two.example:8443\""), .unsupported, 3),
        (clone("\"HOST\":\"two.example/x\""), .unsupported, 3),
        (clone("\"HOST\":\"cdn.example@ads.example\""), .unsupported, 3),
        (clone("\"HOST\":1"), .malformed, 3), (clone("\"PARAMS\":\"x\""), .malformed, 3),
        (clone("\"PER-VARIANT-URIS\":{\"v\":1}"), .malformed, 3),
    ]

    @Test("are refused if a clone could carry a grant elsewhere", arguments: refused)
    func refusal(text: String, code: ManifestCode, line: Int) throws {
        for mode in DASH.both {
            let fault = #expect(throws: ManifestFault.self) { try Self.rewrite(text, mode: mode) }
            #expect(
                fault?.code == code && (fault?.line == line || text.contains("/x") && fault?.line != nil),
                "\(fault.map { "\($0)" } ?? "")"
            )
        }
        let own = Self.clone("\"PARAMS\":{\"cat\":\"1\"}")
        #expect(throws: ManifestFault.self) { try Self.rewrite(own, mode: .query()) }
        #expect(try Self.rewrite(own, mode: .segment()) == own)
    }

    /// 1,024 clones with 64 URIs each took hours when each URI looked for its index from the beginning.
    @Test("are read once, however many URIs they have") func large() throws {
        let uris = (0..<64).map { "\"v\($0)\":\"a\"" }.joined(separator: ",")
        let clone = "{\"ID\":\"a\",\"URI-REPLACEMENT\":{\"PER-VARIANT-URIS\":{\(uris)}}}"
        let text = "{\"VERSION\":1,\"PATHWAY-CLONES\":[\(Array(repeating: clone, count: 1024).joined(separator: ","))]}"
        #expect(try Self.rewrite(text, mode: .segment()).ranges(of: DASH.grant).count == 64 * 1024)
    }

    // MARK: Thumbnails

    @Test("have the grant in each sprite, and in no subtitle") func thumbnails() throws {
        let text = """
            WEBVTT

            NOTE a subtitle may say sprite.jpg#xywh=0,0,1,1
            sprite.jpg#xywh=0,0,1,1

            00:00.000 --> 00:05.000
            sprite.jpg#xywh=0,0,160,90

            00:05.000 --> 00:10.000\r
            /img/s.jpg?x=1#xywh=160,0,160,90\r

            00:10.000 --> 00:15.000
            https://ads.example/s.jpg#xywh=0,0,1,1

            00:15.000 --> 00:20.000
            Look at #xywh= and seg1.ts, or a.jpg#xywh=1
            """
        let segment = try Self.rewrite(text, mode: .segment()), query = try Self.rewrite(text, mode: .query())
        #expect(
            segment
                == text.replacing(
                    "\nsprite.jpg#xywh=0,0,160",
                    with: "\n/\(DASH.segment)/live/tnt/sprite.jpg#xywh=0,0,160"
                )
                .replacing("/img/", with: "/\(DASH.segment)/img/")
        )
        #expect(
            query
                == text.replacing("\nsprite.jpg#xywh=0,0,160", with: "\nsprite.jpg?\(DASH.query)#xywh=0,0,160")
                .replacing("s.jpg?x=1#", with: "s.jpg?x=1&\(DASH.query)#")
        )
        for (mode, output) in [(ManifestRules.Mode.segment(), segment), (.query(), query)] {
            #expect(try Self.rewrite(output, mode: mode) == output)
        }
        #expect(throws: ManifestFault.self) {
            try Self.rewrite("WEBVTT\n\n0 --> 1\n\\\\h\\s.jpg#xywh=0", mode: .segment())
        }
        #expect(throws: ManifestFault.self) { try Self.rewrite("WEBVTT\n\n0 --> 1\na\rs.jpg#xywh=0", mode: .query()) }
    }
}

extension String {
    fileprivate func count(of character: Character) -> Int { reduce(0) { $0 + ($1 == character ? 1 : 0) } }
}
