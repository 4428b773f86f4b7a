// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import ManifestListener

@Suite struct `The kind of a manifest` {
    static let playlists: [(String, PlaylistKind)] = [
        ("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nlow.m3u8\n", .index),
        ("#EXTM3U\r\n#EXT-X-STREAM-INF:BANDWIDTH=1\r\nlow.m3u8", .index),
        ("#EXTM3U\n#EXTINF:2,\na.ts\n", .live(reload: nil, isDelta: false)),
        ("#EXTM3U\n#EXT-X-PLAYLIST-TYPE:EVENT\n#EXTINF:2,\na.ts\n", .live(reload: nil, isDelta: false)),
        ("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:2,\na.ts\n", .live(reload: .seconds(18), isDelta: false)),
        (
            "#EXTM3U\n#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,CAN-SKIP-UNTIL=12\n#EXT-X-TARGETDURATION:2\n",
            .live(reload: .seconds(6), isDelta: true)
        ),
        ("#EXTM3U\n#EXT-X-SKIP:SKIPPED-SEGMENTS=3\n#EXTINF:2,\na.ts\n", .live(reload: nil, isDelta: true)),
        ("", .live(reload: nil, isDelta: false)),
        (
            "#EXTM3U\n#EXTINF:2,\na.ts\n#EXTINF:2.5,b\nb.ts\n#EXT-X-ENDLIST\n",
            .finished(.milliseconds(4500), mayHaveBeenLive: true)
        ),
        (
            "#EXTM3U\n#EXT-X-PLAYLIST-TYPE:VOD\n#EXTINF:2,\na.ts\n#EXT-X-ENDLIST\n",
            .finished(.seconds(2), mayHaveBeenLive: false)
        ),
        ("#EXTM3U\n#EXT-X-ENDLIST\n#EXTINF:1.0001,\na.ts", .finished(.milliseconds(1001), mayHaveBeenLive: true)),
        (
            "#EXTM3U\n#EXTINF:\n#EXTINF:-1,\n#EXTINF:.5,\n#EXT-X-ENDLIST",
            .finished(.milliseconds(500), mayHaveBeenLive: true)
        ),
        (
            "#EXTINF:99999999999999999999,\n#EXTINF:99999999999,\n#EXT-X-ENDLIST",
            .finished(.milliseconds(86_400_000_000), mayHaveBeenLive: true)
        ),
        ("#EXTM3U\n# EXT-X-STREAM-INF:\nx#EXT-X-ENDLIST\n#EXTINF:1,\n", .live(reload: nil, isDelta: false)),
    ]

    @Test(arguments: playlists.indices) func `of HLS is found by its tags`(number: Int) {
        let (text, kind) = Self.playlists[number]
        #expect(PlaylistKind(hls: Array(text.utf8).span) == kind, "\(text)")
    }

    static let manifests: [(String, PlaylistKind)] = [
        (
            #"<MPD type="static" mediaPresentationDuration="PT1M30.5S"><Period/></MPD>"#,
            .finished(.seconds(91), mayHaveBeenLive: false)
        ),
        (
            #"<MPD mediaPresentationDuration="P1DT2H"><Period/></MPD>"#,
            .finished(.seconds(93_600), mayHaveBeenLive: false)
        ),
        (#"<MPD><Period duration="PT9S"/></MPD>"#, .finished(nil, mayHaveBeenLive: false)),
        (#"<MPD mediaPresentationDuration="soon"><Period/></MPD>"#, .finished(nil, mayHaveBeenLive: false)),
        (#"<MPD type="dynamic"><Period/></MPD>"#, .dynamic(namesItself: false)),
        (
            #"<MPD type="dynamic"><BaseURL>a/</BaseURL><Location>b.mpd</Location><Period/></MPD>"#,
            .dynamic(namesItself: true)
        ),
        (#"<MPD type="dynamic"><Period/><Location>b.mpd</Location></MPD>"#, .dynamic(namesItself: false)),
        (#"<MPD type="dynamic"><BaseURL type="static">a/</BaseURL><Period/></MPD>"#, .dynamic(namesItself: false)),
    ]

    @Test(arguments: manifests.indices) func `of DASH is found by its first attributes`(number: Int) {
        let (text, kind) = Self.manifests[number]
        #expect(PlaylistKind(dash: Array(text.utf8).span) == kind, "\(text)")
        let long = text.replacing("<Period", with: "<!--\(String(repeating: "-  ", count: 30_000))--><Period")
        #expect(PlaylistKind(dash: Array(long.replacing("- -", with: "a ").utf8).span) == kind)
    }

    @Test(
        arguments: [
            ("PT0S", 0), ("P1Y", 31_622_400), ("P1M", 2_678_400), ("PT1M", 60), ("P1DT1H1M1.001S", 90_062), ("PT", 0),
            ("P", nil), ("PT1", nil), ("PT1.5M", nil), ("1S", nil), ("PTS", nil), ("-PT1S", nil), ("P1S", nil),
            ("PT9999999999S", nil), ("P9999Y", nil), ("PT1S ", nil), ("PT1S€", nil), ("", nil),
        ] as [(String, Int64?)]
    )
    func `has a duration`(text: String, seconds: Int64?) {
        #expect(Duration(xml: text) == seconds.map { .seconds($0) })
    }
}
