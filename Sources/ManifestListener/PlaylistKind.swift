// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The kind of a manifest, on which the lives of the grants in it depend.
enum PlaylistKind: Hashable, Sendable {
    /// A multivariant playlist: the player requests the playlists in it again and again by the same URLs.
    case index
    /// An HLS playlist that the player requests again, by the URL that it has.
    ///
    /// - Parameters:
    ///   - reload: The longest time until the next request, three target durations; `nil` if it has none.
    ///   - isDelta: True if it may be, or is, an update without segments that were named before.
    case live(reload: Duration?, isDelta: Bool)
    /// A dynamic MPD. Players request it again after its own period, which may be hours, and store its content.
    ///
    /// - Parameter namesItself: True if it names the URL of the next request, by `Location`.
    case dynamic(namesItself: Bool)
    /// A playlist that does not change any more.
    ///
    /// - Parameters:
    ///   - duration: Its duration; `nil` if it has none.
    ///   - mayHaveBeenLive: True if a player may have requested it while it was live.
    case finished(_ duration: Duration?, mayHaveBeenLive: Bool)
}

extension PlaylistKind {
    /// Finds the kind of an HLS playlist. It need not be valid: the rewriter refuses an invalid one.
    ///
    /// Source: RFC 8216 §4.3.2.1, §4.3.3.4, §4.3.4.2, and its second edition §4.4.3.8 and §4.4.5.2.
    init(hls playlist: Span<UInt8>) {
        var facts = HLSFacts()
        var start = 0
        while start < playlist.count {
            let end = playlist.firstIndex(of: UInt8(ascii: "\n"), from: start) ?? playlist.count
            if playlist[start] == UInt8(ascii: "#") { facts.read(playlist.extracting(start..<end)) }
            start = end + 1
        }
        if facts.isIndex {
            self = .index
        } else if facts.isFinished {
            self = .finished(.milliseconds(facts.duration), mayHaveBeenLive: !facts.isRecorded)
        } else {
            let reload = facts.target > 0 ? Duration.milliseconds(3 * facts.target) : nil
            self = .live(reload: reload, isDelta: facts.isDelta)
        }
    }

    /// The facts in the tags of an HLS playlist; times are in milliseconds.
    private struct HLSFacts {
        var (isFinished, isRecorded, isIndex, isDelta) = (false, false, false, false)
        var (target, duration): (Int64, Int64) = (0, 0)

        mutating func read(_ line: Span<UInt8>) {
            if line.starts(with: "#EXTINF:", at: 0) {
                duration = min(duration + line.extracting(8...).leadingMilliseconds, PlaylistKind.longest)
            } else if line.starts(with: "#EXT-X-TARGETDURATION:", at: 0) {
                target = min(line.extracting(22...).leadingMilliseconds, PlaylistKind.longest)
            } else if line.starts(with: "#EXT-X-SERVER-CONTROL:", at: 0) {
                isDelta = isDelta || line.firstPosition(of: "CAN-SKIP-UNTIL".utf8.span) != nil
            } else if line.starts(with: "#EXT-X-SKIP:", at: 0) {
                isDelta = true
            } else if line.starts(with: "#EXT-X-PLAYLIST-TYPE:VOD", at: 0) {
                isRecorded = true
            } else if line.starts(with: "#EXT-X-ENDLIST", at: 0) {
                isFinished = true
            } else if line.starts(with: "#EXT-X-STREAM-INF:", at: 0) {
                isIndex = true
            }
        }
    }

    /// The longest duration that is counted, 1,000 days.
    fileprivate static let longest: Int64 = 86_400_000_000
}

extension Span<UInt8> {
    /// The decimal number of seconds at the start, in milliseconds, rounded up; 0 if there is none.
    fileprivate var leadingMilliseconds: Int64 {
        var (value, scale, position): (Int64, Int64, Int) = (0, 0, 0)
        while position < count, value < 1_000_000_000_000 {
            let byte = self[position]
            position += 1
            if byte == UInt8(ascii: "."), scale == 0 {
                scale = 1
            } else if byte.isASCIIDigit {
                if scale == 1000 { return value + 1 }
                value = value * 10 + Int64(byte - UInt8(ascii: "0"))
                if scale > 0 { scale *= 10 }
            } else {
                break
            }
        }
        return value * (1000 / Swift.max(scale, 1))
    }
}
