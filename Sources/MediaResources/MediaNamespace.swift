// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import XML

/// A spelling of the Media RSS namespace.
///
/// Feeds have it with `http` and `https`, with and without the last slash and `www.`, in any case. Some have the name
/// of the RSS Advisory Board, which maintains the specification now. A namespace is only compared.
enum MediaNamespace {
    /// `http://search.yahoo.com/mrss/`, and the names of the RSS Advisory Board.
    case search
    /// `http://video.search.yahoo.com/mrss/`.
    case video

    static let canonical: StaticString = "http://search.yahoo.com/mrss/"

    init?(_ uri: XMLEvent.Bytes, in events: XMLEvents) {
        guard !uri.isEmpty else { return nil }
        // Nearly all fragments and feeds have this one.
        if events.equals(uri, literal: Self.canonical) {
            self = .search
            return
        }
        guard let spelling = Self.spellings[Self.normal(events.string(uri))] else { return nil }
        self = spelling
    }

    private static let spellings: [Substring: MediaNamespace] = [
        "search.yahoo.com/mrss": .search, "rssboard.org/media-rss": .search, "video.search.yahoo.com/mrss": .video,
    ]

    /// Returns a namespace without the differences of its spellings.
    private static func normal(_ name: String) -> Substring {
        var rest = name.trimmed.lowercased()[...]
        for scheme in ["http://", "https://"] where rest.utf8.starts(with: scheme.utf8) {
            rest = rest.dropFirst(scheme.utf8.count)
            break
        }
        if rest.utf8.starts(with: "www.".utf8) { rest = rest.dropFirst(4) }
        if rest.utf8.last == UInt8(ascii: "/") { rest = rest.dropLast() }
        return rest
    }

    /// True for a namespace that is meant to be that of Media RSS, and has no known spelling.
    static func resembles(_ uri: XMLEvent.Bytes, in events: XMLEvents) -> Bool {
        let name = events.string(uri).lowercased()
        return ["mrss", "media-rss", "mediarss", "rssboard", "search.yahoo"].contains { name.hasBytes(of: $0) }
    }
}
