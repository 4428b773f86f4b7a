// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// A real stream for the paths of ``Film``, made and played by ffmpeg.
struct FilmStream {
    enum Format {
        /// HLS with MPEG transport streams.
        case hls
        /// HLS with fragmented MP4, H.264, as browsers play it.
        case fragmented
        /// DASH with a template of segments, H.264.
        case dash
    }

    let files: [String: [UInt8]]
    /// The path of the manifest.
    let start: String
    /// The duration in seconds.
    let seconds: Int
    private let frames: Int
    private let framesOfSegment: Int

    /// True if ffmpeg is installed. Otherwise tests are skipped; in continuous integration they fail.
    static var isPlayable: Bool { Requirement.areInstalled("ffmpeg") }

    /// Makes a stream.
    ///
    /// - Parameters:
    ///   - count: The number of segments.
    ///   - seconds: The duration of a segment.
    ///   - parent: The folder of its paths.
    init(_ format: Format, segments count: Int, seconds: Int, in parent: String = "/film/tnt") throws {
        let folder = try TemporaryFolder()
        let picture = ["-f", "lavfi", "-i", "testsrc=size=64x36:rate=25", "-t", "\(count * seconds)", "-threads", "1"]
        let coding =
            switch format {
            case .hls: ["-c:v", "mpeg2video"]
            case .fragmented, .dash:
                ["-c:v", "libx264", "-profile:v", "baseline", "-level", "3.0", "-pix_fmt", "yuv420p"]
            }
        let segments = folder.file(format == .hls ? "seg%d.ts" : "seg%d.m4s")
        let hls = [
            "-f", "hls", "-hls_time", "\(seconds)", "-hls_playlist_type", "vod", "-hls_segment_filename", segments,
            "-hls_segment_type", format == .hls ? "mpegts" : "fmp4", "-master_pl_name", "master.m3u8",
            folder.file("index.m3u8"),
        ]
        let dash = ["-f", "dash", "-seg_duration", "\(seconds)", "-use_timeline", "0", folder.file("manifest.mpd")]
        // A master playlist names the bit rate, so there must be one.
        let output = coding + ["-b:v", "200k", "-g", "\(25 * seconds)"] + (format == .dash ? dash : hls)
        let arguments = ["-nostdin", "-v", "error"] + picture + output
        let run = try CommandRun(Self.ffmpeg(), arguments: arguments)
        try #require(run.status == 0, "\(run.error)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        files = try Dictionary(uniqueKeysWithValues: names.map { ("\(parent)/\($0)", try folder.bytes($0)) })
        start = "\(parent)/\(format == .dash ? "manifest.mpd" : "master.m3u8")"
        self.seconds = count * seconds
        frames = 25 * seconds * count
        framesOfSegment = 25 * seconds
    }

    private static func ffmpeg() throws -> String {
        try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
    }

    /// What a player has seen of a URL.
    struct Showing {
        /// True if it was the whole film, and no request was refused.
        let isWhole: Bool
        let frames: Int
        let messages: String
    }

    /// Plays a URL as fast as it can, or in real time.
    func play(_ url: String, inRealTime: Bool = false) throws -> Showing {
        let pace = inRealTime ? ["-re"] : []
        let arguments = ["-nostdin", "-v", "verbose"] + pace + ["-i", url, "-map", "0:v:0", "-f", "framecrc", "-"]
        let run = try CommandRun(Self.ffmpeg(), arguments: arguments, within: 600)
        let seen = run.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        // A segment that was refused is passed over, and ffmpeg ends as if nothing was. It asks for one too many in DASH: 404.
        let isRefused = ["401", "403", "500", "502", "503", "504"].contains { run.error.contains("HTTP error \($0)") }
        let isWhole = run.status == 0 && seen > frames - framesOfSegment && !isRefused
        return Showing(isWhole: isWhole, frames: seen, messages: String(run.error.suffix(4000)))
    }
}
