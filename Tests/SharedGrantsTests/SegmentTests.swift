// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import SharedGrants
import Testing

@Suite struct `A segment` {
    @Test(arguments: [
        ("/live/tnt/v720/seg_000123.m4s", 123), ("/live/tnt/00042.ts", 42), ("/vod/film/chunk-stream0-00017.m4s", 17),
        ("/live/tnt/segment-7.mp4?x=8", 7), ("/live/tnt/audio.0009", 9), ("/live/1080p/4294967295.ts", 4_294_967_295),
        ("/live/tnt/seg1234567890.ts", 1_234_567_890), ("42", 42), ("/a/seg7_v2x.ts", 2),
    ])
    func `has the last number of its file`(path: String, index: UInt32) {
        #expect(Segment(path: path[...])?.index == index)
    }

    @Test(arguments: [
        "/live/tnt/master.m3u8", "/live/tnt/v720/index_3.M3U8", "/vod/film/stream.mpd", "/keys/17.key",
        "/live/tnt/init-3.mp4",
        "/live/tnt/Init_v1.m4s", "/live/720/movie.mp4", "/live/tnt/", "/", "", "/thumbs/12.jpg",
        "/live/tnt/9999999999.ts",
        "/subs/4.vtt", "?1", "/live/tnt/.m4s", "/live/7/.ts",
    ])
    func `is none of the other files`(path: String) { #expect(Segment(path: path[...]) == nil) }

    @Test(arguments: [
        ("/a/v1/seg_1.m4s", "/a/v1/seg_2.m4s", true), ("/a/v1/seg_9.m4s", "/a/v1/seg_10.m4s", true),
        ("/a/v1/seg_1.m4s", "/a/v2/seg_1.m4s", false), ("/a/v1/seg_1.m4s", "/a/v1/seg_1.ts", false),
        ("/a/video_1.ts", "/a/audio_1.ts", false), ("/a/v1/seg_1.m4s?x=1", "/a/v1/seg_2.m4s", true),
    ])
    func `is of a track by the rest of its path`(one: String, other: String, isSame: Bool) throws {
        let (first, second) = try (#require(Segment(path: one[...])), #require(Segment(path: other[...])))
        #expect((first.track == second.track) == isSame)
        #expect(first.track != 0)
    }

    @Test(arguments: [
        ("/live/tnt/v720/seg_7.ts", "/live/tnt/v1080/seg_7.ts", true),
        ("/live/v720/seg_7.ts", "/live/audio/seg_7.ts", false),
        ("/v1/a/v2/seg_7.ts", "/v9/a/v2/seg_7.ts", true), ("/live/tnt_720p_7.ts", "/live/tnt_480p_7.ts", true),
        ("/live/v720-x/seg_7.ts", "/live/v480/seg_7.ts", true), ("/live/v7/b/seg_7.ts", "/live/w7/b/seg_7.ts", false),
    ])
    func `counts renditions as one track`(one: String, other: String, isSame: Bool) throws {
        let patterns = try ["/v*/", "_*p_"].map { try #require(RenditionPattern($0)) }
        let segments = try [one, other].map { try #require(Segment(path: $0[...], renditions: patterns)) }
        #expect((segments[0].track == segments[1].track) == isSame && segments[0].index == 7 && segments[1].index == 7)
    }

    @Test(arguments: ["", "*", "/v*", "*/", "/v/", "/*/*/"]) func `has no rendition by a bad pattern`(text: String) {
        #expect(RenditionPattern(text) == nil)
    }

    /// Every path is read, whatever its bytes.
    @Test func `is read from any bytes`() {
        var random = SplitMix64(seed: 7)
        let characters = Array("/.?_-09aZm4s%\u{0}é")
        for _ in 0..<20_000 {
            let path = String(
                (0..<Int.random(in: 0...24, using: &random)).map { _ in characters.randomElement(using: &random)! }
            )
            guard let segment = Segment(path: path[...]) else { continue }
            #expect(segment.track != 0)
        }
    }
}
