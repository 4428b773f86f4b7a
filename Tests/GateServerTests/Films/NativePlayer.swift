// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

/// A player that is no page: programs of set-top boxes, desktops and archives, which store no cookies.
enum NativePlayer: String, CaseIterable, CustomTestStringConvertible {
    case mpv
    case gstreamer
    case ytdlp = "yt-dlp"

    var testDescription: String { rawValue }

    private var program: String? {
        switch self {
        case .mpv: Program.installed("mpv")
        case .gstreamer: Program.installed("gst-launch-1.0")
        case .ytdlp: Requirement.hasFile(".build-ytdlp/bin/yt-dlp") ? repository + "/.build-ytdlp/bin/yt-dlp" : nil
        }
    }

    /// True if all are installed. Otherwise tests are skipped; in continuous integration they fail.
    static var areInstalled: Bool { Requirement.isMet(allCases.allSatisfy { $0.program != nil }) }

    /// What an entry that accepts the media token needs, as `docs/how-to/players-without-cookies.md` says.
    var use: String {
        switch self {
        case .mpv, .ytdlp: "ttl"
        case .gstreamer: "once"
        }
    }

    /// Plays a URL to its end, without a window and without sound.
    ///
    /// - Parameter folder: For what yt-dlp saves.
    func play(_ url: String, in folder: TemporaryFolder) throws -> CommandRun {
        let program = try #require(program, "\(self) is not installed: run scripts/setup test")
        let arguments =
            switch self {
            case .mpv: ["--no-config", "--vo=null", "--ao=null", "--msg-level=all=warn", url]
            case .gstreamer:
                ["playbin3", "uri=\(url)", "flags=video", "video-sink=fakesink sync=true", "audio-sink=fakesink"]
            case .ytdlp: ["--ignore-config", "--no-part", "--no-progress", "-o", folder.file("film.mp4"), url]
            }
        return try CommandRun(program, arguments: arguments, within: 240)
    }
}
