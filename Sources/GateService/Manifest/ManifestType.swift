// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The format of a manifest, with the content type of its answers.
struct ManifestType: Sendable {
    enum Kind: Sendable { case hls, dash }

    let kind: Kind
    let type: StaticString

    /// The value of `Accept` for requests to the origin.
    static let accepted =
        "application/vnd.apple.mpegurl, application/x-mpegurl, audio/mpegurl, application/dash+xml, */*;q=0.1"

    /// Finds the format of an origin's answer; `nil` if it is no manifest.
    ///
    /// - Parameters:
    ///   - type: The value of `Content-Type`, if there is one. A general type leaves it to the path.
    ///   - path: The path of the request.
    init?(type: String?, path: Substring) {
        let end = type?.utf8.firstIndex(of: UInt8(ascii: ";")) ?? type?.endIndex
        let essence = end.flatMap { type?[..<$0] }.map { $0.trimmingBlanks.lowercased() } ?? ""
        switch essence {
        case "application/vnd.apple.mpegurl": self.init(.hls, "application/vnd.apple.mpegurl")
        case "application/x-mpegurl": self.init(.hls, "application/x-mpegurl")
        case "audio/mpegurl": self.init(.hls, "audio/mpegurl")
        case "audio/x-mpegurl": self.init(.hls, "audio/x-mpegurl")
        case "application/dash+xml": self.init(.dash, "application/dash+xml")
        case "", "text/plain", "application/octet-stream", "binary/octet-stream", "text/xml", "application/xml":
            let path = path.lowercased()
            if path.hasSuffix(".m3u8"), !essence.hasSuffix("xml") {
                self.init(.hls, "application/vnd.apple.mpegurl")
            } else if path.hasSuffix(".mpd") {
                self.init(.dash, "application/dash+xml")
            } else {
                return nil
            }
        default: return nil
        }
    }

    private init(_ kind: Kind, _ type: StaticString) {
        self.kind = kind
        self.type = type
    }

}
