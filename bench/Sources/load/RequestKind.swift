// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The kinds of requests in the load, and the correct answer to each.
enum RequestKind: CaseIterable {
    /// A viewer's first segment, checked by an edge.
    case firstSegment
    /// A viewer's first playback, requested by a backend.
    case playback
    /// A further segment of a viewer, checked by an edge.
    case segment
    /// A playback with a consumed token, requested by a backend.
    case playbackAgain
    case withoutToken
    case damagedToken
    case unprotected

    /// Chooses a kind that may repeat.
    ///
    /// - Parameter chance: A random number from 0 to 99.
    init(chance: Int) {
        switch chance {
        case 0..<86: self = .segment
        case 86..<90: self = .playbackAgain
        case 90..<94: self = .withoutToken
        case 94..<97: self = .damagedToken
        default: self = .unprotected
        }
    }

    /// True if a backend sends the request; otherwise an edge does.
    var isPlayback: Bool { self == .playback || self == .playbackAgain }

    var status: Int {
        switch self {
        case .firstSegment, .playback, .segment, .unprotected: 200
        case .playbackAgain, .damagedToken: 403
        case .withoutToken: 401
        }
    }

    /// A text that the correct answer contains.
    var mark: String {
        switch self {
        case .firstSegment, .segment, .unprotected: "X-Playgate-Decision: allow"
        case .playback: #""allowed":true"#
        case .playbackAgain: #""code":"token_already_used""#
        case .withoutToken: "X-Playgate-Code: media_token_missing"
        case .damagedToken: "X-Playgate-Code: untrusted_signature"
        }
    }

    /// Returns the request with a viewer's token.
    func request(_ token: String) -> String {
        switch self {
        case .playback, .playbackAgain:
            let body = #"{"media":"tnt","token":"\#(token)"}"#
            return "POST /v1/playback HTTP/1.1\r\nHost: gate\r\nContent-Type: application/json\r\n"
                + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        case .firstSegment, .segment: return check(of: "/live/tnt/seg1.ts", token: token)
        case .withoutToken: return check(of: "/live/tnt/seg1.ts", token: nil)
        case .unprotected: return check(of: "/free/seg1.ts", token: nil)
        case .damagedToken:
            var bytes = Array(token.utf8)
            let index = bytes.count - 60
            bytes[index] = bytes[index] == UInt8(ascii: "B") ? UInt8(ascii: "C") : UInt8(ascii: "B")
            return check(of: "/live/tnt/seg1.ts", token: String(decoding: bytes, as: UTF8.self))
        }
    }

    private func check(of target: String, token: String?) -> String {
        "GET /v1/check/forward HTTP/1.1\r\nHost: gate\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: \(target)\r\n"
            + (token.map { "Cookie: token=\($0)\r\n" } ?? "") + "\r\n"
    }
}
