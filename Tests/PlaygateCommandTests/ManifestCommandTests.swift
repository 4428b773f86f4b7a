// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `The manifest command` {
    private static let url = ["--url", "https://cdn.example/live/tnt/index.m3u8"]
    private static let rules = url + ["--grant", "NEW"]
    private static let playlist = "#EXTM3U\nseg1.ts\nhttps://keys.example/k\n"
    private static let mpd = """
        <?xml version="1.0"?>
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011"><BaseURL>https://cdn.example/vod/</BaseURL></MPD>
        """

    private func rewrite(with arguments: [String], input: String = playlist) throws -> CommandRun {
        try CommandRun(["manifest", "rewrite", "-"] + arguments, input: input)
    }

    @Test func `rewrites playlists and MPDs by their first bytes`() throws {
        let playlist = try rewrite(with: Self.rules)
        #expect(playlist.status == 0, "\(playlist.error)")
        #expect(playlist.output == "#EXTM3U\n/~cat=NEW/live/tnt/seg1.ts\nhttps://keys.example/k\n")
        let mpd = try rewrite(with: Self.rules, input: Self.mpd)
        #expect(mpd.status == 0, "\(mpd.error)")
        #expect(mpd.output == Self.mpd.replacing("/vod/", with: "/~cat=NEW/vod/"))
    }

    @Test func `accepts the carrier of the grant, its name and the hosts`() throws {
        let hosts = ["--host", "keys.example", "--host", "cdn.example:8443"]
        #expect(try rewrite(with: Self.rules + hosts).output == "#EXTM3U\nseg1.ts\nhttps://keys.example/~cat=NEW/k\n")
        #expect(
            try rewrite(with: Self.rules + ["--mode", "query", "--name", "token"]).output
                == "#EXTM3U\nseg1.ts?token=NEW\nhttps://keys.example/k\n"
        )
        #expect(
            try rewrite(with: Self.rules + ["--name", "t="]).output
                == "#EXTM3U\n/t=NEW/live/tnt/seg1.ts\nhttps://keys.example/k\n"
        )
    }

    @Test func `reads the manifest and the grant from files`() throws {
        let folder = try TemporaryFolder()
        try Self.playlist.write(toFile: folder.file("index.m3u8"), atomically: true, encoding: .utf8)
        try "NEW\n".write(toFile: folder.file("grant.txt"), atomically: true, encoding: .utf8)
        let run = try CommandRun(
            ["manifest", "rewrite", folder.file("index.m3u8"), "--grant-file", folder.file("grant.txt")] + Self.url
        )
        #expect(run.status == 0, "\(run.error)")
        #expect(run.output.hasPrefix("#EXTM3U\n/~cat=NEW/live/tnt/seg1.ts\n"))
    }

    @Test func `prints nothing of a refused manifest but the reason`() throws {
        let input = "#EXTM3U\n" + String(repeating: "#EXTINF:6,\nseg1.ts\n", count: 50_000) + "a\\b\n"
        let run = try rewrite(with: Self.rules, input: input)
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.error.contains("line 100002: ") && run.error.contains("[manifest_reference_invalid]"))
        #expect(!run.error.contains("NEW"))
        let json = try rewrite(with: Self.rules + ["--json"], input: "#EXTM3U\na\\b\n")
        #expect(json.status == 1)
        #expect(json.output.hasPrefix("{\"error\":\"manifest_reference_invalid\",\"line\":2,\"message\":"))
    }

    static let refused: [(options: [String], input: String, code: String)] = [
        ([], "", "manifest_malformed"), ([], "seg1.ts\n", "manifest_malformed"),
        (["--format", "dash"], playlist, "manifest_malformed"), (["--format", "hls"], mpd, "manifest_malformed"),
        (["--max-size", "10"], playlist, "manifest_too_large"),
        (["--max-references", "1"], playlist, "manifest_too_large"),
    ]

    @Test(arguments: refused) func `refuses with a code`(options: [String], input: String, code: String) throws {
        let run = try rewrite(with: Self.rules + options, input: input)
        #expect(run.status == 1)
        #expect(run.error.contains("[\(code)]"), "\(run.error)")
    }

    static let failures: [(options: [String], status: Int32, text: String)] = [
        (["--url", "/index.m3u8", "--grant", "NEW"], 2, "manifest_url_invalid"),
        (url + ["--grant", "a/b"], 2, "manifest_grant_invalid"),
        (rules + ["--host", "https://cdn.example"], 2, "manifest_host_invalid"),
        (rules + ["--name", "/"], 2, "manifest_mode_invalid"),
        (url + ["--grant-file", "/nonexistent"], 2, "input_unreadable"),
        (url, 64, "--grant"), (rules + ["--grant-file", "x"], 64, "--grant"),
        (url + ["--grant-file", "-"], 64, "standard input"),
        (rules + ["--max-size", "0"], 64, "--max-size"), (["--grant", "NEW"], 64, "--url"),
    ]

    @Test(arguments: failures) func `says why it cannot run`(options: [String], status: Int32, text: String) throws {
        let run = try rewrite(with: options + ["--json"])
        #expect(run.status == status)
        #expect((run.output + run.error).contains(text), "\(run.output)\(run.error)")
    }
}
