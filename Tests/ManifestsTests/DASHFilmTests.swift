// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Manifests
import Testing

/// ffmpeg, which knows nothing but the URL of an MPD, plays a film of which every file but the MPD needs the grant.
@Suite(
    "MPDs in a real player",
    .enabled(
        if: Requirement.areInstalled("ffmpeg", "python3"),
        "ffmpeg or python3 is not installed: run scripts/setup test"
    ),
    .serialized
)
struct DASHFilmTests {
    enum Kind: String, CaseIterable {
        case templates, timelines, lists
        /// One file for each Representation, of which the parts are in a list.
        case files
        /// Audio from another host.
        case twoHosts

        fileprivate var options: [String] {
            switch self {
            case .templates, .twoHosts: ["-use_template", "1", "-use_timeline", "0"]
            case .timelines: ["-use_template", "1", "-use_timeline", "1"]
            case .lists: ["-use_template", "0", "-use_timeline", "0"]
            case .files: ["-single_file", "1"]
            }
        }
    }

    private static func make(_ kind: Kind, in folder: TemporaryFolder) throws -> String {
        let ffmpeg = try #require(Program.installed("ffmpeg"), "ffmpeg is not installed: run scripts/setup test")
        let picture = ["-f", "lavfi", "-i", "testsrc=size=64x36:rate=25", "-f", "lavfi", "-i", "sine=frequency=440"]
        let coding = ["-t", "4", "-threads", "1", "-c:v", "mpeg4", "-g", "25", "-c:a", "aac", "-b:a", "32k"]
        let output = ["-f", "dash", "-seg_duration", "1"] + kind.options + [folder.file("manifest.mpd")]
        let run = try CommandRun(
            ffmpeg,
            arguments: ["-nostdin", "-v", "error"] + picture + coding + output,
            within: 300
        )
        try #require(run.status == 0, "\(run.error)")
        let mpd = try folder.text("manifest.mpd")
        guard kind == .twoHosts else { return mpd }
        let (start, end) = ("contentType=\"audio\"", "<SegmentTemplate")
        let audio = try #require(mpd.range(of: start)?.upperBound)
        let index = try #require(mpd.range(of: end, range: audio..<mpd.endIndex)?.lowerBound)
        return mpd[..<index] + "<BaseURL>http://ads.test/film/</BaseURL>" + mpd[index...]
    }

    private static func play(
        in folder: TemporaryFolder,
        location carrier: String
    ) throws -> (
        frames: [Int], requests: [(url: String, code: Int)], error: String
    ) {
        let ffmpeg = try #require(Program.installed("ffmpeg"))
        let python = try #require(Program.installed("python3"))
        let script = repository + "/Tests/ManifestsTests/Oracles/film.py"
        let run = try CommandRun(python, arguments: [script, ffmpeg, folder.path, DASH.grant, carrier], within: 300)
        try #require(run.status == 0, "\(run.error)")
        let answer = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        let requests = try #require(answer["requests"] as? [[Any]]).map { item in
            (try #require(item[0] as? String), try #require(item[1] as? Int))
        }
        return (try #require(answer["frames"] as? [Int]), requests, answer["error"] as? String ?? "")
    }

    @Test("are seen as a whole", arguments: Kind.allCases, DASH.both)
    func film(kind: Kind, mode: ManifestRules.Mode) throws {
        let folder = try TemporaryFolder()
        let mpd = try Self.make(kind, in: folder)
        let carrier = mode == .query() ? "query" : "segment"
        // ffmpeg leaves the first segment of a list out, so as many frames are to be seen as without a gate.
        let open = try Self.play(in: folder, location: "open")
        #expect(open.frames[0] > 70 && open.frames[1] > 120, "\(open)")
        let rules = try DASH.rules(mode, url: "http://media.test/film/manifest.mpd", hosts: nil)
        _ = try folder.write("manifest.mpd", contents: try DASH.rewrite(mpd, rules: rules))
        let seen = try Self.play(in: folder, location: carrier)
        #expect(seen.frames == open.frames, "\(seen)")
        #expect(!seen.requests.contains { $0.code == 403 }, "\(seen)")
        let others = seen.requests.filter { $0.url.hasPrefix("http://ads.test:80/") }
        #expect(others.isEmpty != (kind == .twoHosts), "\(seen)")
        // As it came, nothing of it is seen but what needs no grant.
        _ = try folder.write("manifest.mpd", contents: mpd)
        let unchanged = try Self.play(in: folder, location: carrier)
        #expect(unchanged.frames[0] == 0 && unchanged.requests.contains { $0.code == 403 })
    }
}
