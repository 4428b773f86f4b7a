// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// The players of web pages play live streams without cookies, by one URL with a media token, for eight lives of a grant and more.
@Suite(.needsFFmpeg, .needsFilmBrowser, .needs(.nginx), .serialized) struct `A live stream in the players of web pages`
{
    private static let segments = 14
    private static let hls = Result { try FilmStream(.fragmented, segments: segments, seconds: 1) }
    private static let dash = Result { try FilmStream(.dash, segments: segments, seconds: 1) }

    /// A single live playlist with a window of six segments. The first answer to it is a multivariant one.
    @Test(arguments: [("hls15", "query"), ("hls16", "segment"), ("videojs", "segment")])
    func `is seen by a playlist that was never named by a multivariant one`(name: String, mode: String) async throws {
        let player = try #require(FilmBrowser.Player(rawValue: name))
        let (chromium, stream) = (try FilmBrowser.installed(), try Self.hls.get())
        let whole = String(decoding: stream.files["/film/tnt/index.m3u8"] ?? [], as: UTF8.self)
        let map = try #require(whole.split(separator: "\n").first { $0.hasPrefix("#EXT-X-MAP") })
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let start = gate.now
            let files = chromium.files(with: stream)
            let window = SlidingWindow(of: Self.segments, version: 7, header: map, suffix: "m4s")
            let hear = { @Sendable (path: String) in
                window.hear(path)
                chromium.hear(path)
            }
            proxy.origin.serve(onRequest: hear) { path in
                guard path == "/film/tnt/live.m3u8" else { return files[path] }
                // Each step takes six seconds of the gate's time.
                return window.playlist { gate.now = gate.now.adding(seconds: 6) }
            }
            let url = "http://\(proxy.address)/film/tnt/live.m3u8?token=\(try gate.filmToken("one").percentEncoded)"
            let tab = try chromium.open(url, in: player, at: proxy, lasting: stream.seconds, hasCookies: false)
            let report = try tab.report(within: 60)
            // It has come to the end, and no request failed. On a busy machine a live player skips what it is late for.
            #expect(report.hasPrefix("part-") || report.hasPrefix("whole-"), "\(report)")
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"moved\"}") == 1)
            // The media token lives for 20 seconds, a grant for 10.
            #expect(gate.now >= start.adding(seconds: 60))
        }
    }

    /// A dynamic MPD that its player has no reason to ask for again.
    @Test(arguments: ["segment", "query"])
    func `is seen by an MPD that is read once`(mode: String) async throws {
        let (chromium, stream) = (try FilmBrowser.installed(), try Self.dash.get())
        let mpd = String(decoding: stream.files[stream.start] ?? [], as: UTF8.self)
        try #require(mpd.contains("type=\"static\""), "\(mpd)")
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let start = gate.now
            let files = chromium.files(with: stream)
            let reads = Mutex(0)
            proxy.origin.serve(onRequest: { path in
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 7) }
                chromium.hear(path)
            }) { path in
                guard path == stream.start else { return files[path] }
                reads.withLock { $0 += 1 }
                // The player's clock is that of the machine: the stream begins when it asks.
                let begun = Date(timeIntervalSinceNow: -2).formatted(.iso8601)
                let times =
                    "availabilityStartTime=\"\(begun)\" publishTime=\"\(begun)\" suggestedPresentationDelay=\"PT3S\""
                return [UInt8](mpd.replacing("type=\"static\"", with: "type=\"dynamic\" \(times)").utf8)
            }
            let url = "http://\(proxy.address)\(stream.start)?token=\(try gate.filmToken("one").percentEncoded)"
            let tab = try chromium.open(url, in: .dash, at: proxy, lasting: stream.seconds, hasCookies: false)
            let report = try tab.report(within: 60)
            // It has come to the end, and no request failed. On a busy machine a live player skips what it is late for.
            #expect(report.hasPrefix("part-") || report.hasPrefix("whole-"), "\(report)")
            #expect(reads.withLock { $0 } == 1)
            #expect(gate.now >= start.adding(seconds: 50))
        }
    }
}
