// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The kinds of tags, by the targets of their attributes.
///
/// Source: RFC 8216 §4.3 and its second edition (draft-pantos-hls-rfc8216bis) §4.4.
enum PlaylistTag {
    /// A tag without references.
    case plain
    /// A tag whose attribute `URI` is a reference.
    case uri
    /// `EXT-X-KEY` and `EXT-X-SESSION-KEY`, with a key's `URI`.
    case key
    /// `EXT-X-PART` and `EXT-X-PRELOAD-HINT`, whose `URI` is requested within moments, as a segment's.
    case part
    /// `EXT-X-DATERANGE`, with `X-ASSET-URI` and `X-ASSET-LIST`.
    case dateRange
    /// `EXT-X-STREAM-INF`, with a variant in the next line. A `URI` in it is in no standard, and treated as that of an unknown tag.
    case variant
    /// `EXT-X-CONTENT-STEERING`, with `SERVER-URI`.
    case steering
    /// `EXT-X-DEFINE`.
    case definition
    /// `EXT-X-VERSION`.
    case version
    /// A tag that is in no standard. If it has a list of attributes, a quoted `URI` is a reference, as in all other tags.
    case unknown

    /// Returns the kind of a line that begins with `#EXT`.
    ///
    /// - Parameter end: The position behind the name of the tag.
    init(_ line: Span<UInt8>, nameEnd end: Int) {
        switch end {
        case 7 where line.starts(with: "#EXTINF", at: 0): self = .plain
        case 10 where line.starts(with: "#EXT-X-MAP", at: 0): self = .uri
        case 10 where line.starts(with: "#EXT-X-KEY", at: 0): self = .key
        case 11 where line.starts(with: "#EXT-X-PART", at: 0): self = .part
        case 12 where line.starts(with: "#EXT-X-MEDIA", at: 0): self = .uri
        case 13 where line.starts(with: "#EXT-X-DEFINE", at: 0): self = .definition
        case 14 where line.starts(with: "#EXT-X-VERSION", at: 0): self = .version
        case 16 where line.starts(with: "#EXT-X-DATERANGE", at: 0): self = .dateRange
        case 17 where line.starts(with: "#EXT-X-STREAM-INF", at: 0): self = .variant
        case 18 where line.starts(with: "#EXT-X-SESSION-KEY", at: 0): self = .key
        case 19 where line.starts(with: "#EXT-X-SESSION-DATA", at: 0): self = .uri
        case 19 where line.starts(with: "#EXT-X-PRELOAD-HINT", at: 0): self = .part
        case 23 where line.starts(with: "#EXT-X-RENDITION-REPORT", at: 0): self = .uri
        case 23 where line.starts(with: "#EXT-X-CONTENT-STEERING", at: 0): self = .steering
        case 23 where line.starts(with: "#EXT-X-IMAGE-STREAM-INF", at: 0): self = .uri
        case 25 where line.starts(with: "#EXT-X-I-FRAME-STREAM-INF", at: 0): self = .uri
        default: self = .unknown
        }
    }

    /// True if the references of the tag are in no standard: attributes that cannot be read stay as they are.
    var isLenient: Bool { self == .unknown || self == .variant }

    /// True if an attribute is a reference.
    func hasReference(in name: Span<UInt8>) -> Bool {
        switch self {
        case .plain, .definition, .version: false
        case .uri, .key, .part, .variant, .unknown: name.isText("URI")
        case .dateRange: name.isText("X-ASSET-URI") || name.isText("X-ASSET-LIST")
        case .steering: name.isText("SERVER-URI")
        }
    }

    /// True if the name of an attribute that is a reference is somewhere in a line.
    func mayHaveReference(in line: Span<UInt8>) -> Bool {
        switch self {
        case .plain, .definition, .version: false
        case .uri, .key, .part, .variant, .unknown, .steering: line.contains("URI")
        case .dateRange: line.contains("X-ASSET-")
        }
    }

    /// True if players retain the reference over reloads of a live playlist, or compare it with that of another one.
    ///
    /// | reference | why |
    /// | --- | --- |
    /// | `EXT-X-KEY`, `EXT-X-MAP` | a player that has the key or section of the same URL does not fetch it again |
    /// | `EXT-X-RENDITION-REPORT` | hls.js finds a variant by its URL in the multivariant playlist, byte by byte |
    /// | `EXT-X-DATERANGE` | the attributes of the first reload count, and an interstitial may be hours away |
    /// | `EXT-X-CONTENT-STEERING`, `EXT-X-SESSION-…`, `EXT-X-MEDIA` and other renditions | read once |
    /// | segments, `EXT-X-PART`, `EXT-X-PRELOAD-HINT` | not kept: the next reload names them again |
    /// | tags of no standard | not kept, as far as is known |
    var isKept: Bool {
        switch self {
        case .uri, .key, .dateRange, .steering: true
        case .plain, .part, .variant, .definition, .version, .unknown: false
        }
    }
}

extension Span<UInt8> {
    /// True if the bytes are those of `text`.
    func isText(_ text: StaticString) -> Bool { count == text.utf8CodeUnitCount && starts(with: text, at: 0) }
}
