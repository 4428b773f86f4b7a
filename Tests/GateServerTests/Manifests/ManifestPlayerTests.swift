// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// The players of web pages play live streams without cookies, by one URL with a media token, for ten lives of a grant.
@Suite(.needsFFmpeg, .needsFilmBrowser, .needs(.nginx), .serialized) struct `A live stream in the players of web pages`
{
    private static let segments = 22
    private static let hls = Result { try FilmStream(.fragmented, segments: segments, seconds: 1) }
    private static let dash = Result { try FilmStream(.dash, segments: segments, seconds: 1) }

    /// The line of the initialization section.
    private static func map() throws -> String {
        let whole = String(decoding: try hls.get().files["/film/tnt/index.m3u8"] ?? [], as: UTF8.self)
        return String(try #require(whole.split(separator: "\n").first { $0.hasPrefix("#EXT-X-MAP") }))
    }

    /// A single live playlist with a window of six segments. The first answer to it is a multivariant one.
    @Test(arguments: [
        ("hls15", "query"), ("hls16", "segment"), ("videojs", "segment"), ("webkit", "query"), ("webkit", "segment"),
    ])
    func `is seen by a playlist that was never named by a multivariant one`(name: String, mode: String) async throws {
        let player = try #require(FilmBrowser.Player(rawValue: name))
        let (chromium, stream) = (try FilmBrowser.installed(), try Self.hls.get())
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let start = gate.now
            let files = chromium.files(with: stream)
            let live = LivePlaylist.window(of: Self.segments, version: 7, header: try Self.map(), suffix: "m4s")
            let hear = { @Sendable (path: String) in
                live.hear(path)
                chromium.hear(path)
            }
            proxy.origin.serve(onRequest: hear) { path in
                // Each step takes six seconds of the gate's time.
                live.answer(path) { gate.now = gate.now.adding(seconds: 6) } ?? files[path]
            }
            let url = "http://\(proxy.address)/film/tnt/live.m3u8?token=\(try gate.filmToken("one").percentEncoded)"
            let tab = try chromium.open(url, in: player, at: proxy, lasting: stream.seconds, hasCookies: false)
            let report = try tab.report(within: 150)
            // It has come to the end, and no request failed. On a busy machine a live player skips what it is late for.
            #expect(report.hasPrefix("part-") || report.hasPrefix("whole-"), "\(report)")
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"moved\"}") == 1)
            // The media token lives for 20 seconds, a grant for 10.
            #expect(gate.now >= start.adding(seconds: 100))
        }
    }

    /// What a live playlist does besides growing.
    enum Habit: String, CaseIterable, CustomTestStringConvertible, Sendable {
        /// Another key for every two segments.
        case rotation
        /// Delta updates of a window in which the viewer goes back.
        case deltas
        /// Parts of segments, and reloads that wait for them.
        case parts

        var testDescription: String { rawValue }
        private var count: Int { `A live stream in the players of web pages`.segments }

        func playlist(_ map: String) -> LivePlaylist {
            switch self {
            case .rotation: .rotating(of: count, map: map, iv: Cipher.iv)
            case .deltas: .deltas(of: count, map: map)
            case .parts: .parts(of: count, map: map)
            }
        }

        /// Returns the files of a stream as this playlist names them.
        func files(of stream: FilmStream) throws -> [String: [UInt8]] {
            var files = stream.files
            for number in 0..<count {
                let path = "/film/tnt/seg\(number).m4s"
                let segment = try #require(files[path])
                switch self {
                case .rotation:
                    let cipher = Cipher(number: number / 2)
                    files["/film/tnt/key\(number / 2).bin"] = cipher.key
                    files[path] = try cipher.encrypt(segment)
                case .parts: files["/film/tnt/whole\(number / 2).m4s", default: []] += segment
                case .deltas: break
                }
            }
            return files
        }
    }

    /// AES-128 of HLS, by OpenSSL.
    private struct Cipher {
        static let iv = String(repeating: "0b", count: 16)
        let key: [UInt8]

        init(number: Int) { key = Array(repeating: UInt8(number + 1), count: 16) }

        func encrypt(_ bytes: [UInt8]) throws -> [UInt8] {
            let folder = try TemporaryFolder()
            try Data(bytes).write(to: URL(fileURLWithPath: folder.file("clear")))
            let digits = key.map { String(format: "%02x", $0) }.joined()
            let files = ["-in", folder.file("clear"), "-out", folder.file("encrypted")]
            let openssl = try #require(Program.installed("openssl"), "openssl is not installed: run scripts/setup test")
            let run = try CommandRun(openssl, arguments: ["enc", "-aes-128-cbc", "-K", digits, "-iv", Self.iv] + files)
            try #require(run.status == 0, "\(run.error)")
            return try folder.bytes("encrypted")
        }
    }

    /// A live playlist whose keys change, whose updates leave out what the player has, or with parts of segments.
    @Test(arguments: Habit.allCases, ["segment", "query"])
    func `is seen, whatever its playlist does`(habit: Habit, mode: String) async throws {
        let (chromium, stream) = (try FilmBrowser.installed(), try Self.hls.get())
        let files = chromium.files(with: try habit.files(of: stream))
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let start = gate.now
            let live = habit.playlist(try Self.map())
            let requested = Mutex<[String]>([])
            let hear = { @Sendable (path: String) in
                live.hear(path)
                chromium.hear(path)
                if path.hasPrefix("/film/") {
                    requested.withLock { $0.append(String(path.dropFirst("/film/tnt/".count))) }
                }
            }
            proxy.origin.serve(onRequest: hear) { path in
                live.answer(path) { gate.now = gate.now.adding(seconds: 6) } ?? files[path]
            }
            let url = "http://\(proxy.address)/film/tnt/live.m3u8?token=\(try gate.filmToken("one").percentEncoded)"
            let tab = try chromium.open(
                url,
                in: .hls16,
                at: proxy,
                lasting: stream.seconds,
                turningAt: habit == .deltas ? stream.seconds - 3 : 0,
                hasCookies: false
            )
            let report = try tab.report(within: 150)
            let requests = requested.withLock { $0 }
            #expect(report.hasPrefix("part-") || report.hasPrefix("whole-"), "\(report) \(requests)")
            #expect(gate.now >= start.adding(seconds: 70))
            switch habit {
            case .rotation: #expect(Set(requests.filter { $0.hasPrefix("key") }).count >= 5, "\(requests)")
            case .deltas:
                #expect(requests.contains("live.m3u8?_HLS_skip=YES"), "\(requests)")
                // It has gone back to what only its first playlist had.
                #expect(requests.contains("seg0.m4s") && requests.contains("seg1.m4s"), "\(requests)")
            case .parts:
                #expect(requests.contains { $0.contains("_HLS_msn=") && $0.contains("_HLS_part=") }, "\(requests)")
                let last = ["seg\(Self.segments - 1).m4s", "seg\(Self.segments - 2).m4s"]
                #expect(!last.allSatisfy { !requests.contains($0) }, "\(requests)")
            }
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
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 4) }
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
            let report = try tab.report(within: 150)
            // It has come to the end, and no request failed. On a busy machine a live player skips what it is late for.
            #expect(report.hasPrefix("part-") || report.hasPrefix("whole-"), "\(report)")
            #expect(reads.withLock { $0 } == 1)
            #expect(gate.now >= start.adding(seconds: 70))
        }
    }
}
