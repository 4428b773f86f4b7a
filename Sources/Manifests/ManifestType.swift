// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The format of a manifest, with the content type of its answers.
package struct ManifestType: Sendable {
    package let kind: ManifestFormat
    package let type: StaticString

    /// The value of `Accept` for requests to the origin.
    package static let accepted =
        "application/vnd.apple.mpegurl, application/x-mpegurl, audio/mpegurl, application/dash+xml, */*;q=0.1"

    /// Finds the format of an origin's answer; `nil` if it is no manifest.
    ///
    /// - Parameters:
    ///   - type: The value of `Content-Type`; `nil` for none. For a general type, the path decides, and then the first
    ///     bytes.
    ///   - path: The path of the request.
    ///   - body: The manifest; empty if it is not there.
    package init?(type: String?, path: Substring, body: Span<UInt8> = Span()) {
        let end = type?.utf8.firstIndex(of: UInt8(ascii: ";")) ?? type?.endIndex
        let essence = end.flatMap { type?[..<$0] }.map { $0.trimmingBlanks.lowercased() } ?? ""
        switch essence {
        case "application/vnd.apple.mpegurl": self.init(kind: .hls, type: "application/vnd.apple.mpegurl")
        case "application/x-mpegurl": self.init(kind: .hls, type: "application/x-mpegurl")
        case "audio/mpegurl": self.init(kind: .hls, type: "audio/mpegurl")
        case "audio/x-mpegurl": self.init(kind: .hls, type: "audio/x-mpegurl")
        // Old or mistyped ones of origins. Players get the registered type.
        case "application/mpegurl", "application/m3u8", "application/vnd.apple.mpegurl.audio", "audio/m3u8",
            "audio/vnd.apple.mpegurl", "audio/x-m3u8", "video/mpegurl", "video/x-mpegurl", "video/vnd.apple.mpegurl",
            "vnd.apple.mpegurl":
            self.init(kind: .hls, type: "application/vnd.apple.mpegurl")
        case "application/dash+xml", "application/dash", "video/vnd.mpeg.dash.mpd", "application/vnd.mpeg.dash.mpd",
            "video/dash+xml":
            self.init(kind: .dash, type: "application/dash+xml")
        case "application/vnd.apple.steering-list":
            self.init(kind: .steering, type: "application/vnd.apple.steering-list")
        case "application/json": self.init(kind: .steering, type: "application/json")
        case "text/vtt": self.init(kind: .thumbnails, type: "text/vtt")
        case "", "text/plain", "application/octet-stream", "binary/octet-stream", "text/xml", "application/xml":
            let path = path.lowercased()
            if path.hasSuffix(".m3u8"), !essence.hasSuffix("xml") {
                self.init(kind: .hls, type: "application/vnd.apple.mpegurl")
            } else if path.hasSuffix(".mpd") || body.beginsAsMPD {
                self.init(kind: .dash, type: "application/dash+xml")
            } else if body.starts(with: "#EXTM3U", at: body.starts(with: "\u{FEFF}", at: 0) ? 3 : 0) {
                self.init(kind: .hls, type: "application/vnd.apple.mpegurl")
            } else {
                return nil
            }
        default: return nil
        }
    }

    private init(kind: ManifestFormat, type: StaticString) {
        self.kind = kind
        self.type = type
    }

}

extension Span<UInt8> {
    /// True for the declaration of XML, or the root of an MPD without a prefix.
    fileprivate var beginsAsMPD: Bool {
        var position = starts(with: "\u{FEFF}", at: 0) ? 3 : 0
        while position < count, self[position].isXMLSpace { position += 1 }
        return starts(with: "<?xml ", at: position) || starts(with: "<MPD", at: position)
    }
}
