// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// A live stream with low latency, as its origin publishes it: parts of a second, two of them in a segment, and the last three
/// segments. A part is there as soon as it is requested, which the test may let cost time.
final class LowLatencyStream: Sendable {
    let stream: ManifestStream
    private let published = Mutex(3)
    private let onPart: @Sendable () -> Void

    /// The first path.
    static let start = "/film/tnt/master.m3u8"
    private static let parts = ManifestStream.count

    /// Makes the stream.
    ///
    /// - Parameter onPart: Called for each part that is published.
    init(onPart: @escaping @Sendable () -> Void) throws {
        stream = try ManifestStream(.renditions)
        self.onPart = onPart
    }

    /// The file at a path; `nil` if there is none.
    func file(_ uri: String) -> [UInt8]? {
        let parts = uri.split(separator: "?", maxSplits: 1).map(String.init)
        if let match = parts[0].wholeMatch(of: /\/film\/tnt\/([01])\.m3u8/) {
            let query = (parts.dropFirst().first ?? "").split(separator: "&")
            let number = { (name: String) in
                query.first { $0.hasPrefix(name) }.flatMap { Int($0.dropFirst(name.count)) }
            }
            if let segment = number("_HLS_msn="), let part = number("_HLS_part=") {
                // The answer is late: the part behind the one that was asked for is there, too.
                publish(segment * 2 + part + 2)
            }
            return playlist(String(match.output.1))
        }
        if let match = parts[0].firstMatch(of: /seg(\d+)\.m4s/), let part = Int(match.output.1) { publish(part + 1) }
        return stream.files[parts[0]]
    }

    /// Publishes parts, until there are `count`.
    private func publish(_ count: Int) {
        published.withLock { published in
            while published < min(count, Self.parts) {
                published += 1
                onPart()
            }
        }
    }

    /// A reference to a part, in each of the forms of RFC 3986 §4.2.
    private func reference(to rendition: String, part: Int) -> String {
        let name = "\(rendition)-seg\(part).m4s"
        return [name, "/film/tnt/\(name)", "../tnt/./\(name)"][part % 3]
    }

    private func playlist(_ rendition: String) -> [UInt8] {
        let count = published.withLock { $0 }
        let first = max(0, (count + 1) / 2 - 3)
        var lines = [
            "#EXTM3U", "#EXT-X-VERSION:9", "#EXT-X-TARGETDURATION:2", "#EXT-X-PART-INF:PART-TARGET=1.0",
            "#EXT-X-SERVER-CONTROL:CAN-BLOCK-RELOAD=YES,PART-HOLD-BACK=3.0", "#EXT-X-MEDIA-SEQUENCE:\(first)",
            "#EXT-X-MAP:URI=\"init_\(rendition).mp4\"",
        ]
        for part in (first * 2)..<count {
            lines.append("#EXT-X-PART:DURATION=1.0,INDEPENDENT=YES,URI=\"\(reference(to: rendition, part: part))\"")
            if part % 2 == 1 { lines += ["#EXTINF:2,", "\(rendition)-whole\(part / 2).m4s"] }
        }
        let isComplete = count == Self.parts
        let hint = "#EXT-X-PRELOAD-HINT:TYPE=PART,URI=\"\(reference(to: rendition, part: count))\""
        lines.append(isComplete ? "#EXT-X-ENDLIST" : hint)
        let last = "LAST-MSN=\((count - 1) / 2),LAST-PART=\((count - 1) % 2)"
        lines.append("#EXT-X-RENDITION-REPORT:URI=\"\(rendition == "0" ? 1 : 0).m3u8\",\(last)")
        return [UInt8](lines.joined(separator: "\n").utf8) + [10]
    }
}
