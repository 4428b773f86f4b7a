// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The kinds of tags, by what their attributes refer to.
///
/// Source: RFC 8216 §4.3 and its second edition (draft-pantos-hls-rfc8216bis) §4.4.
enum PlaylistTag {
    /// A tag without references.
    case plain
    /// A tag whose attribute `URI` is a reference.
    case uri
    /// `EXT-X-DATERANGE`, with `X-ASSET-URI` and `X-ASSET-LIST`.
    case dateRange
    /// `EXT-X-CONTENT-STEERING`, with `SERVER-URI`.
    case steering
    /// `EXT-X-DEFINE`.
    case definition
    /// A tag that is in no standard. If it has a list of attributes, a quoted `URI` is a reference, as in all other tags.
    case unknown

    /// Returns the kind of a line that begins with `#EXT`.
    ///
    /// - Parameter end: The position behind the name of the tag.
    init(_ line: Span<UInt8>, nameEnd end: Int) {
        switch end {
        case 7 where line.starts(with: "#EXTINF", at: 0): self = .plain
        case 10 where line.starts(with: "#EXT-X-KEY", at: 0) || line.starts(with: "#EXT-X-MAP", at: 0): self = .uri
        case 11 where line.starts(with: "#EXT-X-PART", at: 0): self = .uri
        case 12 where line.starts(with: "#EXT-X-MEDIA", at: 0): self = .uri
        case 13 where line.starts(with: "#EXT-X-DEFINE", at: 0): self = .definition
        case 16 where line.starts(with: "#EXT-X-DATERANGE", at: 0): self = .dateRange
        case 17 where line.starts(with: "#EXT-X-STREAM-INF", at: 0): self = .plain
        case 18 where line.starts(with: "#EXT-X-SESSION-KEY", at: 0): self = .uri
        case 19 where line.starts(with: "#EXT-X-SESSION-DATA", at: 0): self = .uri
        case 19 where line.starts(with: "#EXT-X-PRELOAD-HINT", at: 0): self = .uri
        case 23 where line.starts(with: "#EXT-X-RENDITION-REPORT", at: 0): self = .uri
        case 23 where line.starts(with: "#EXT-X-CONTENT-STEERING", at: 0): self = .steering
        case 23 where line.starts(with: "#EXT-X-IMAGE-STREAM-INF", at: 0): self = .uri
        case 25 where line.starts(with: "#EXT-X-I-FRAME-STREAM-INF", at: 0): self = .uri
        default: self = .unknown
        }
    }

    /// True if an attribute is a reference.
    func hasReference(in name: Span<UInt8>) -> Bool {
        switch self {
        case .plain, .definition: false
        case .uri, .unknown: name.isText("URI")
        case .dateRange: name.isText("X-ASSET-URI") || name.isText("X-ASSET-LIST")
        case .steering: name.isText("SERVER-URI")
        }
    }
}

extension Span<UInt8> {
    /// True if the bytes are those of `text`.
    func isText(_ text: StaticString) -> Bool { count == text.utf8CodeUnitCount && starts(with: text, at: 0) }
}
