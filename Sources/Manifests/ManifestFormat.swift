// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A format of manifests.
public enum ManifestFormat: String, Hashable, Sendable, CaseIterable {
    /// HTTP Live Streaming, RFC 8216.
    case hls
    /// Dynamic Adaptive Streaming over HTTP, ISO/IEC 23009-1.
    case dash
    /// The steering manifest of both, in JSON (draft-pantos-content-steering).
    case steering
    /// WebVTT whose cues name parts of images.
    case thumbnails

    /// Detects the format of a manifest by its first bytes, behind white space and a byte order mark: `#EXTM3U`, `WEBVTT`, a `<`, or a
    /// `{`; `nil` for anything else.
    ///
    /// - Parameter bytes: The beginning of a manifest, at least its first line or tag.
    public init?(detecting bytes: Span<UInt8>) {
        var position = bytes.starts(with: "\u{FEFF}", at: 0) ? 3 : 0
        if bytes.starts(with: "#EXTM3U", at: position) {
            self = .hls
            return
        }
        if bytes.starts(with: "WEBVTT", at: position) {
            self = .thumbnails
            return
        }
        while position < bytes.count, bytes[position].isXMLSpace { position += 1 }
        guard position < bytes.count else { return nil }
        switch bytes[position] {
        case UInt8(ascii: "<"): self = .dash
        case UInt8(ascii: "{"): self = .steering
        default: return nil
        }
    }

    /// Rewrites a manifest of this format that is in memory as a whole.
    public func rewrite(_ manifest: Span<UInt8>, rules: ManifestRules) throws(ManifestFault) -> [UInt8] {
        switch self {
        case .hls: try HLSRewriter.rewrite(manifest, rules: rules)
        case .dash: try MPDRewriter.rewrite(manifest, rules: rules)
        case .steering: try SteeringRewriter.rewrite(manifest, rules: rules)
        case .thumbnails: try ThumbnailRewriter.rewrite(manifest, rules: rules)
        }
    }
}
