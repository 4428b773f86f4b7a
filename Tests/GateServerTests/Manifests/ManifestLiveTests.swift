// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// Players that store no cookies play live streams by one URL with a media token.
@Suite(.needsFFmpeg, .serialized) struct `A live stream for players without cookies` {
    fileprivate struct Way: CustomTestStringConvertible {
        let edge: EdgeProxy
        let mode: String
        var testDescription: String { "\(edge), \(mode)" }
    }

    private static let all = [
        Way(edge: .nginx, mode: "segment"), Way(edge: .nginx, mode: "query"), Way(edge: .varnish, mode: "segment"),
    ]
    fileprivate static let ways = all.filter { $0.edge.isInstalled }

    @Test(arguments: Self.ways)
    fileprivate func `is seen with a sliding window for many lives of a grant`(way: Way) async throws {
        let stream = try ManifestStream(.encrypted)
        let lines = String(decoding: stream.files["/film/tnt/index.m3u8"] ?? [], as: UTF8.self).split(separator: "\n")
        let key = try #require(lines.first { $0.hasPrefix("#EXT-X-KEY") })
        try await way.edge.withManifests(mode: way.mode) { (gate, proxy) throws in
            let start = gate.now
            let reloads = Mutex(0)
            proxy.origin.serve { path in
                guard path == "/film/tnt/live.m3u8" else { return stream.files[path] }
                // Each reload shows two more segments, and takes eight seconds of the gate's time.
                let number = reloads.withLock { count in
                    count += 1
                    return count
                }
                gate.now = gate.now.adding(seconds: 8)
                let last = min(number * 2, ManifestStream.count)
                let segments = (max(0, last - 4)..<last).map { "#EXTINF:1,\nseg\($0).ts\n" }.joined()
                let head =
                    "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(max(0, last - 4))\n"
                let end = last == ManifestStream.count ? "#EXT-X-ENDLIST\n" : ""
                return [UInt8]((head + key + "\n" + segments + end).utf8)
            }
            let token = try gate.filmToken("one").percentEncoded
            let seen = try ManifestStream.frames("http://\(proxy.address)/film/tnt/live.m3u8?token=\(token)")
            // The first answer is a multivariant playlist, whose variant is reloaded by its own URL.
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"moved\"}") == 1)
            #expect(seen.count > 25 * (ManifestStream.count - 4), "\(seen)")
            #expect(gate.now >= start.adding(seconds: 50))
        }
    }

    /// The player is one of these tests: it fetches each part, by its hint if there was one, and reloads with `_HLS_msn`.
    @Test(arguments: Self.ways)
    fileprivate func `is seen by its parts, with low latency`(way: Way) async throws {
        let python = try #require(Program.installed("python3"))
        let folder = try TemporaryFolder()
        try await way.edge.withManifests(mode: way.mode) { (gate, proxy) throws in
            let start = gate.now
            let stream = try LowLatencyStream { gate.now = gate.now.adding(seconds: 3) }
            let requested = Mutex<[String]>([])
            proxy.origin.serve { uri in
                requested.withLock { $0.append(uri) }
                return stream.file(uri)
            }
            let token = try gate.filmToken("one").percentEncoded
            let url = "http://\(proxy.address)\(LowLatencyStream.start)?token=\(token)"
            let player = "\(repository)/Tests/GateServerTests/Players/low_latency.py"
            let run = try CommandRun(python, arguments: [player, url, folder.file("seen.mp4")])
            try #require(run.status == 0, "\(run.error)")
            let counts = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Int])
            // The first three parts and each second one after them have no hint.
            #expect(counts == ["maps": 1, "parts": 8, "hints": 6, "reloads": 7, "reports": 7], "\(counts)")
            let seen = try ManifestStream.frames(folder.file("seen.mp4"))
            #expect(seen.count == 25 * ManifestStream.count, "\(seen)")
            #expect(gate.now >= start.adding(seconds: 33))
            let requests = requested.withLock { $0 }
            #expect(requests.contains("/film/tnt/0.m3u8?_HLS_msn=1&_HLS_part=1"), "\(requests)")
            #expect(requests.filter { $0.hasSuffix(".m4s") }.count == ManifestStream.count, "\(requests)")
            #expect(requests.allSatisfy { !$0.contains("cat=") && !$0.contains("token=") }, "\(requests)")
        }
    }
}
