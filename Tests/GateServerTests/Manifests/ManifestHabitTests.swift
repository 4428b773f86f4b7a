// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// Players that do not run here, by the requests that they make: Shaka Player and the receivers of Chromecast.
@Suite(.needs(.nginx), .serialized) struct `Players that are known by their habits` {
    private static let media: [UInt8] = [UInt8]("media".utf8)

    /// Shaka builds its streams from the first MPD: templates and bases of later ones count for nothing (shaka-player #8978, #8531, #1795).
    @Test(arguments: ["segment", "query"])
    func `Shaka asks by the first MPD for ten lives of a grant`(mode: String) async throws {
        let mpd = """
            <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="dynamic" minimumUpdatePeriod="PT6S">
            <Period><AdaptationSet><Representation id="v1"><SegmentTemplate media="$RepresentationID$-$Number$.m4s" \
            initialization="init.mp4"/></Representation></AdaptationSet></Period></MPD>
            """
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            proxy.origin.serve { $0.hasSuffix(".mpd") ? [UInt8](mpd.utf8) : Self.media }
            let start = "/film/tnt/manifest.mpd"
            let first = try proxy.get("\(start)?token=\(gate.filmToken("one").percentEncoded)")
            try #require(first.status == 200, "\(first)")
            let text = { (pattern: Regex<(Substring, Substring)>) in
                first.body.firstMatch(of: pattern).map { String($0.output.1).replacing("&amp;", with: "&") }
            }
            let location = try #require(text(/<Location>(.*)<\/Location>/))
            let base = Self.target(text(/<BaseURL>(.*)<\/BaseURL>/) ?? start, from: start)
            let template = try #require(text(/media="(.*?)"/)).replacing("$RepresentationID$", with: "v1")
            let initialization = try #require(text(/initialization="(.*?)"/))
            for number in 1...10 {
                gate.now = gate.now.adding(seconds: 10)
                // Segments and updates come on their own, and the initialization section again after a switch of renditions.
                let segment = template.replacing("$Number$", with: "\(number)")
                for target in [location, segment, initialization].map({ Self.target($0, from: base) }) {
                    let answer = try proxy.get(target)
                    #expect(answer.status == 200, "\(number): \(target) \(answer)")
                }
            }
        }
    }

    /// A receiver reloads a playlist by the URL that it was given, or that the multivariant playlist names, and not by that of a redirect.
    @Test(arguments: ["segment", "query"])
    func `Chromecast reloads by the first URL that names a playlist`(mode: String) async throws {
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let begun = gate.now.millisecondsSince1970
            proxy.origin.serve { path in
                guard path.hasPrefix("/film/tnt/live.m3u8") else { return Self.media }
                let number = (gate.now.millisecondsSince1970 - begun) / 2000
                let segments = (number..<number + 3).map { "#EXTINF:2,\nseg\($0).ts\n" }.joined()
                let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"film.key\"\n"
                return [UInt8](
                    "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:2\n#EXT-X-MEDIA-SEQUENCE:\(number)\n\(key)\(segments)"
                        .utf8
                )
            }
            let start = "/film/tnt/live.m3u8"
            let first = try proxy.get("\(start)?token=\(gate.filmToken("one").percentEncoded)")
            #expect(first.status == 200 && first.body.contains("#EXT-X-STREAM-INF"), "\(first)")
            let playlist = Self.target(try #require(first.references.first), from: start)
            var keys: Set<String> = []
            for number in 0..<10 {
                let reload = try proxy.get(playlist)
                try #require(reload.status == 200, "\(number): \(reload)")
                let key = try #require(reload.body.firstMatch(of: /URI="(.*?)"/)).output.1
                keys.insert(String(key))
                for reference in reload.references + [String(key)] {
                    #expect(
                        try proxy.get(Self.target(reference, from: playlist)).status == 200,
                        "\(number): \(reference)"
                    )
                }
                gate.now = gate.now.adding(seconds: 10)
            }
            // A key of the same URL is not fetched again.
            #expect(keys.count == 1, "\(keys)")
        }
    }

    /// Returns the target of a reference, as Foundation resolves it.
    private static func target(_ reference: String, from base: String) -> String {
        let url = URL(string: reference, relativeTo: URL(string: "http://edge.example\(base)"))?.absoluteURL
        let query = url?.query(percentEncoded: true).map { "?\($0)" } ?? ""
        return (url?.path(percentEncoded: true) ?? "") + query
    }
}
