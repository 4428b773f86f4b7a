// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Synchronization

/// A live playlist with the six newest segments of a stream, which last a second each; `segN` is their name.
///
/// A reload shows one more segment, if the player has requested one since the last that did. So a player on a busy machine, which
/// reloads again before it gets to its next segment, does not lose the lives of grants that it would have had on a quiet one.
final class SlidingWindow: Sendable {
    private let count: Int
    private let head: String
    private let header: String
    private let suffix: String
    private let state = Mutex((steps: 0, isDue: false))

    /// - Parameters:
    ///   - count: The segments of the whole stream.
    ///   - header: The line of a key or of an initialization section.
    init(of count: Int, version: Int, header: Substring, suffix: String) {
        self.count = count
        head = "#EXTM3U\n#EXT-X-VERSION:\(version)\n#EXT-X-TARGETDURATION:1\n"
        self.header = String(header)
        self.suffix = suffix
    }

    /// Takes note of a request for a segment.
    func hear(_ path: String) {
        if path.hasSuffix(".\(suffix)"), path.contains("/seg") { state.withLock { $0.isDue = true } }
    }

    /// Returns the playlist, with its end once it shows the last segment.
    ///
    /// - Parameter advance: Called if it shows one more segment.
    func playlist(advance: () -> Void) -> [UInt8] {
        let (steps, isStep) = state.withLock { state in
            let isStep = state.isDue
            if isStep { state = (state.steps + 1, false) }
            return (state.steps, isStep)
        }
        if isStep { advance() }
        let last = min(steps + 4, count)
        let first = max(0, last - 6)
        let list = (first..<last).map { "#EXTINF:1,\nseg\($0).\(suffix)\n" }.joined()
        let end = last == count ? "#EXT-X-ENDLIST\n" : ""
        return [UInt8]("\(head)#EXT-X-MEDIA-SEQUENCE:\(first)\n\(header)\n\(list)\(end)".utf8)
    }
}
