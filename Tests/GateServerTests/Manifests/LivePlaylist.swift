// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Synchronization

/// A live playlist of segments that last a second each, and are called `segN`.
///
/// A reload shows one more segment, if the player has requested one since the last that did. So a player on a busy machine, which
/// reloads again before it gets to its next segment, does not lose the lives of grants that it would have had on a quiet one.
final class LivePlaylist: Sendable {
    private let count: Int
    private let first: Int
    private let suffix: String
    private let endsSeparately: Bool
    private let text: Text
    private let state = Mutex((steps: 0, isDue: false))

    /// Returns the playlist with the first `shown` segments of the stream, as far as it shows them, for the query of a request.
    typealias Text = @Sendable (_ listed: Int, _ query: Substring) -> String

    /// - Parameters:
    ///   - count: The segments of the whole stream.
    ///   - first: The segments that the first answer shows.
    ///   - suffix: The suffix of segments, as `ts`.
    ///   - endsSeparately: True if the end comes with no segment.
    ///   - text: Makes the playlist, without its end.
    init(of count: Int, from first: Int = 4, suffix: String, endsSeparately: Bool = false, _ text: @escaping Text) {
        (self.count, self.first, self.suffix, self.text) = (count, first, suffix, text)
        self.endsSeparately = endsSeparately
    }

    /// Records a request for a segment.
    func hear(_ path: String) {
        if path.hasSuffix(".\(suffix)"), path.hasPrefix("/film/") { state.withLock { $0.isDue = true } }
    }

    /// Returns the playlist, with its end once it shows the last segment; `nil` if the request is for another file.
    ///
    /// - Parameter advance: Called if it shows one more segment.
    func answer(_ request: String, advance: () -> Void) -> [UInt8]? {
        let parts = request.split(separator: "?", maxSplits: 1)
        guard parts.first == "/film/tnt/live.m3u8" else { return nil }
        let last = count - first + (endsSeparately ? 1 : 0)
        let (steps, isStep) = state.withLock { state in
            let isStep = state.isDue && state.steps < last
            if isStep { state = (state.steps + 1, false) }
            return (state.steps, isStep)
        }
        if isStep { advance() }
        let listed = min(steps + first, count)
        let end = steps == last ? "#EXT-X-ENDLIST\n" : ""
        return [UInt8]((text(listed, parts.count > 1 ? parts[1] : "") + end).utf8)
    }
}

// MARK: Kinds of live playlists

extension LivePlaylist {
    private static func segments(_ range: Range<Int>, suffix: String) -> String {
        range.map { "#EXTINF:1,\nseg\($0).\(suffix)\n" }.joined()
    }

    /// The six newest segments.
    ///
    /// - Parameter header: The line of a key or of an initialization section.
    static func window(of count: Int, version: Int, header: String, suffix: String) -> LivePlaylist {
        LivePlaylist(of: count, suffix: suffix) { listed, _ in
            let first = max(0, listed - 6)
            return
                "#EXTM3U\n#EXT-X-VERSION:\(version)\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(first)\n\(header)\n"
                + segments(first..<listed, suffix: suffix)
        }
    }

    /// The six newest segments, with another key for every two of them: `keyN.bin`.
    static func rotating(of count: Int, map: String, iv: String) -> LivePlaylist {
        LivePlaylist(of: count, suffix: "m4s") { listed, _ in
            let first = max(0, listed - 6)
            let list = (first..<listed).map { number in
                let isOther = number == first || number % 2 == 0
                let key = "#EXT-X-KEY:METHOD=AES-128,URI=\"key\(number / 2).bin\",IV=0x\(iv)\n"
                return (isOther ? key : "") + "#EXTINF:1,\nseg\(number).m4s\n"
            }
            return "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(first)\n\(map)\n"
                + list.joined()
        }
    }

    /// All segments so far; a delta update (`_HLS_skip`) has the last six.
    static func deltas(of count: Int, map: String) -> LivePlaylist {
        LivePlaylist(of: count, from: 9, suffix: "m4s") { listed, query in
            let skipped = query.contains("_HLS_skip=YES") ? listed - 6 : 0
            return "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:1\n#EXT-X-SERVER-CONTROL:CAN-SKIP-UNTIL=6\n"
                + "#EXT-X-MEDIA-SEQUENCE:0\n"
                + (skipped > 0 ? "#EXT-X-SKIP:SKIPPED-SEGMENTS=\(skipped)\n" : "\(map)\n")
                + segments(skipped..<listed, suffix: "m4s")
        }
    }

    /// Low latency: each second is a part, and two of them are a segment, `wholeN`.
    ///
    /// hls.js 1.6 does not load the last part of a playlist that ends with it.
    static func parts(of count: Int, map: String) -> LivePlaylist {
        LivePlaylist(of: count, from: 6, suffix: "m4s", endsSeparately: true) { listed, _ in
            let list = (0..<listed).map { number in
                let isLast = number % 2 == 1
                return "#EXT-X-PART:DURATION=1,URI=\"seg\(number).m4s\",INDEPENDENT=YES\n"
                    + (isLast ? "#EXTINF:2,\nwhole\(number / 2).m4s\n" : "")
            }
            let control = "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=3\n#EXT-X-PART-INF:PART-TARGET=1\n"
            let hint = listed < count ? "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"seg\(listed).m4s\"\n" : ""
            return "#EXTM3U\n#EXT-X-VERSION:9\n#EXT-X-TARGETDURATION:2\n\(control)#EXT-X-MEDIA-SEQUENCE:0\n\(map)\n"
                + list.joined() + hint
        }
    }
}
