// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The kind of a manifest, on which the lives of the grants in it depend.
enum PlaylistKind: Hashable, Sendable {
    /// A multivariant playlist: the player requests the playlists in it again and again by the same URLs.
    case index
    /// A playlist that the player requests again.
    ///
    /// - Parameter namesItself: True if it names the URL of the next request (`Location` in an MPD), which then carries a new
    ///   grant; otherwise the player uses the present one again.
    case live(namesItself: Bool)
    /// A playlist that the player requests once; with its duration, `nil` if it does not state one.
    case finished(Duration?)
}

extension PlaylistKind {
    /// Finds the kind of an HLS playlist. It need not be valid: the rewriter refuses what is not.
    ///
    /// Source: RFC 8216 §4.3.2.1, §4.3.3.4, §4.3.4.2.
    init(hls playlist: Span<UInt8>) {
        var (isFinished, isIndex) = (false, false)
        var milliseconds: Int64 = 0
        var start = 0
        while start < playlist.count {
            let end = playlist.firstIndex(of: UInt8(ascii: "\n"), from: start) ?? playlist.count
            if playlist[start] == UInt8(ascii: "#") {
                if playlist.starts(with: "#EXTINF:", at: start) {
                    let value = playlist.extracting((start + 8)..<end)
                    milliseconds = min(milliseconds + value.leadingMilliseconds, Self.longest)
                } else if playlist.starts(with: "#EXT-X-ENDLIST", at: start) {
                    isFinished = true
                } else if playlist.starts(with: "#EXT-X-STREAM-INF:", at: start) {
                    isIndex = true
                }
            }
            start = end + 1
        }
        if isIndex {
            self = .index
        } else {
            self = isFinished ? .finished(.milliseconds(milliseconds)) : .live(namesItself: false)
        }
    }

    /// The longest duration that is counted, 1,000 days.
    private static let longest: Int64 = 86_400_000_000
}

extension Span<UInt8> {
    /// The decimal number of seconds at the start, in milliseconds, rounded up; 0 if there is none.
    fileprivate var leadingMilliseconds: Int64 {
        var (value, scale, place): (Int64, Int64, Int) = (0, 0, 0)
        while place < count, value < 1_000_000_000_000 {
            let byte = self[place]
            place += 1
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
