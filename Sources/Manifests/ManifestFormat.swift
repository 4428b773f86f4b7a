// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A format of manifests.
public enum ManifestFormat: String, Hashable, Sendable, CaseIterable {
    /// HTTP Live Streaming, RFC 8216.
    case hls
    /// Dynamic Adaptive Streaming over HTTP, ISO/IEC 23009-1.
    case dash

    /// Detects the format of a manifest by its first bytes: `#EXTM3U`, or a `<` behind white space and a byte order mark;
    /// `nil` for anything else.
    ///
    /// - Parameter bytes: The beginning of a manifest, at least its first line or tag.
    public init?(detecting bytes: Span<UInt8>) {
        if bytes.starts(with: "#EXTM3U", at: 0) {
            self = .hls
            return
        }
        var place = bytes.starts(with: "\u{FEFF}", at: 0) ? 3 : 0
        while place < bytes.count, bytes[place].isXMLSpace { place += 1 }
        guard place < bytes.count, bytes[place] == UInt8(ascii: "<") else { return nil }
        self = .dash
    }
}
