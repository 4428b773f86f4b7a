// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// ffmpeg, which knows nothing but one URL, plays a real stream through nginx: past the lives of media token and grants.
@Suite(.serialized) struct `A film in a real player` {
    /// The number of segments, of a second and ten frames each.
    private static let count = 14

    /// Makes a stream: `hls` or `dash`. The result is by its paths at the edge.
    private static func stream(_ format: String) throws -> [String: [UInt8]] {
        let folder = try TemporaryFolder()
        let hls = [
            "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_filename", folder.file("seg%d.ts"),
            "-master_pl_name", "master.m3u8", folder.file("index.m3u8"),
        ]
        let dash = ["-seg_duration", "1", "-use_timeline", "0", folder.file("manifest.mpd")]
        let run = try CommandRun(
            ffmpeg(),
            [
                "-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x36:rate=10", "-t", "\(count)",
                "-c:v", format == "hls" ? "mpeg2video" : "mpeg4", "-g", "10", "-r", "25", "-threads", "1", "-f", format,
            ] + (format == "hls" ? hls : dash)
        )
        try #require(run.status == 0, "\(run.error)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        return try Dictionary(uniqueKeysWithValues: names.map { ("/film/tnt/\($0)", try folder.bytes($0)) })
    }

    private static func ffmpeg() throws -> String {
        try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
    }

    /// Plays a URL, and returns the number of frames that were seen, with what ffmpeg has said.
    private static func play(_ url: String) throws -> (frames: Int, run: CommandRun) {
        let run = try CommandRun(
            ffmpeg(),
            ["-nostdin", "-v", "verbose", "-i", url, "-map", "0:v:0", "-f", "framecrc", "-"],
            within: 120
        )
        let frames = run.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        return (frames, run)
    }

    private enum Way: String, CaseIterable { case cookie, segment, dash }

    @Test(arguments: Way.allCases)
    private func `is seen as a whole`(way: Way) async throws {
        guard Program.installed("ffmpeg") != nil || ProcessInfo.processInfo.environment["CI"] != nil else { return }
        let files = try Self.stream(way == .dash ? "dash" : "hls")
        try await EdgeProxy.nginx.withFilm(files: files) { (gate, proxy) throws in
            let (start, token) = (gate.now, try gate.filmToken("one"))
            // Each segment that the origin delivers takes two seconds of the gate's time.
            proxy.origin.serve(files) { path in
                if path.hasSuffix(".ts") || path.contains("chunk") { gate.now = gate.now.adding(seconds: 2) }
            }
            var url = "http://\(proxy.address)/film/tnt/\(way == .dash ? "manifest.mpd" : "master.m3u8")"
            switch way {
            case .cookie, .dash: url += "?token=\(token.percentEncoded)"
            case .segment:
                let playback = try gate.play("film", token: token)
                let grants = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
                url = try #require(grants.compactMap { $0["url"] as? String }.first)
            }
            let (frames, run) = try Self.play(url)
            #expect(frames >= Self.count * 10, "\(frames) frames: \(run.error.suffix(4000))")
            #expect(
                run.status == 0 && !run.error.contains("403") && !run.error.contains("401"),
                "\(run.error.suffix(4000))"
            )
            #expect(gate.now >= start.adding(seconds: 2 * Int64(Self.count)))
            let codes = try proxy.codes()
            #expect(
                codes.count > Self.count && codes.allSatisfy { ["verified", "granted", "renewed"].contains($0) },
                "\(codes)"
            )
            #expect(codes.contains("renewed") == (way != .segment), "\(codes)")
            // The token and the grants are in no log.
            #expect(!(try proxy.logs().contains(token.prefix(30))))
            // The same URL is nobody else's, nor this one's again.
            if way != .segment { #expect(try Self.play(url).frames == 0) }
        }
    }
}

extension RunningEdge {
    /// The gate's codes in nginx's access log, in the order of the requests.
    fileprivate func codes() throws -> [String] {
        try logs().split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
            return parts.count == 5 && line.contains(" /film/") || line.contains("/~cat=") ? String(parts[3]) : nil
        }
    }
}
