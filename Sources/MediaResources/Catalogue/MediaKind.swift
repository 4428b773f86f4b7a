// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The attributes of a `media:content` or `enclosure` that describe the content at its URL.
///
/// Source: Media RSS 1.5.1, `<media:content>`; RFC 6838 for types.
struct MediaKind: Equatable, Sendable {
    /// The URL as written; empty if there is none.
    var url = ""
    /// The kind of media: `image`, `audio`, `video`, `document` or `executable`; empty if the feed has none.
    var medium = ""
    /// The media type, such as `video/mp4`; empty if the feed has none.
    var type = ""

    /// True if a player plays the content at the URL: no image, document, subtitle or program.
    ///
    /// The medium and the type decide; without both the end of the path does.
    var isStream: Bool {
        let (medium, type) = (medium.trimmed.lowercased(), type.trimmed.lowercased())
        if Self.otherMedia.contains(medium) { return false }
        if !type.isEmpty { return !Self.isOther(type: type) }
        return !medium.isEmpty || !Self.otherExtensions.contains(pathExtension)
    }

    private static let otherMedia: Set<String> = ["image", "document", "executable"]

    private static func isOther(type: String) -> Bool {
        let essence = String(type.prefix { $0 != ";" }).trimmed
        // Old packagers call playlists texts.
        if essence.hasSuffix("mpegurl") { return false }
        return ["image/", "text/", "font/", "model/", "message/"].contains { essence.hasPrefix($0) }
            || otherTypes.contains(essence) || essence.hasPrefix("application/vnd.openxmlformats")
    }

    private static let otherTypes: Set<String> = [
        "application/pdf", "application/msword", "application/rtf", "application/epub+zip", "application/zip",
        "application/json", "application/xml", "application/xhtml+xml", "application/rss+xml", "application/atom+xml",
        "application/javascript", "application/ttml+xml", "application/x-subrip", "application/x-shockwave-flash",
        "application/gzip", "application/postscript", "application/vnd.ms-excel", "application/vnd.ms-powerpoint",
    ]

    private static let otherExtensions: Set<String> = [
        "jpg", "jpeg", "jpe", "png", "gif", "webp", "avif", "heic", "svg", "bmp", "tif", "tiff", "ico", "pdf", "txt",
        "htm", "html", "xml", "json", "doc", "docx", "xls", "xlsx", "ppt", "pptx", "rtf", "epub", "zip", "vtt", "srt",
        "ttml", "dfxp", "scc", "swf", "exe", "js", "css",
    ]

    /// The end of the path's last segment after its last dot, in lower case.
    private var pathExtension: String {
        let path = url.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let name = path.split(separator: UInt8(ascii: "/")).last ?? path
        guard let dot = name.lastIndex(of: UInt8(ascii: ".")) else { return "" }
        return String(Substring(name[name.index(after: dot)...])).lowercased()
    }
}
