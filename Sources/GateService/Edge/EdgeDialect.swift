// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import PlaybackGate

/// The form in which an edge says what its client asked for. One endpoint each: which one is asked is the edge's
/// configuration, and never guessed from what headers there are.
enum EdgeDialect: String, CaseIterable, Sendable {
    /// nginx's `auth_request`: the original target, undecoded, in headers that nginx was told to set.
    case nginx
    /// Caddy, Traefik, HAProxy and Varnish: the original target in `X-Forwarded-Uri`.
    case forward
    /// Envoy's HTTP `ext_authz`: the original target behind the endpoint, with the original method and host.
    case envoy
    /// Traffic Server's `authproxy`: the original target behind the endpoint, through a mapping of its own.
    case ats

    /// The names of the headers that a dialect reads, in lower case. A fact without a header is in the request line, or in
    /// `Host`, or not to be had.
    struct Headers {
        let target: StaticString?
        let method: StaticString?
        let host: StaticString
        let range: StaticString
    }

    var headers: Headers {
        switch self {
        case .nginx:
            // nginx takes `Range` out of checks that it may keep.
            Headers(
                target: "x-original-uri",
                method: "x-original-method",
                host: "x-original-host",
                range: "x-original-range"
            )
        case .forward:
            Headers(
                target: "x-forwarded-uri",
                method: "x-forwarded-method",
                host: "x-forwarded-host",
                range: "range"
            )
        case .envoy: Headers(target: nil, method: nil, host: "host", range: "range")
        case .ats: Headers(target: nil, method: nil, host: "x-forwarded-host", range: "range")
        }
    }

    /// The headers, beside those with tokens, that a cache of answers must look at. nginx sets the dialect's own headers
    /// itself, and its `Vary` sees those of its client: its key says the rest, see ``EdgeRequest/isKeyWhole``.
    var varying: StaticString {
        switch self {
        case .nginx: ""
        case .forward: "X-Forwarded-Uri, X-Forwarded-Method, X-Forwarded-Host"
        case .envoy: "Host"
        case .ats: "X-Forwarded-Host"
        }
    }

    /// The path of the endpoint.
    var endpoint: String {
        switch self {
        case .nginx: "/v1/check/nginx"
        case .forward: "/v1/check/forward"
        case .envoy: "/v1/check/envoy"
        case .ats: "/v1/check/ats"
        }
    }

    /// Which paths are taken. nginx resolves empty and dot segments before it chooses a location, and so does the gate.
    /// The others hand on what they do not resolve, so that gate and origin may differ: that is no path at all.
    var pathForm: MediaPath.Form { self == .nginx ? .resolved : .asIs }

    /// The dialect of a check, and what follows its endpoint; nil if there is no such endpoint.
    static func find(_ uri: String) -> (dialect: EdgeDialect, rest: Substring)? {
        let bytes = uri.utf8.span
        for dialect in allCases {
            let endpoint = dialect.endpoint.utf8.span
            let end = endpoint.count
            guard bytes.count >= end, bytes.extracting(..<end).hasSameBytes(as: endpoint) else { continue }
            let next = end < bytes.count ? bytes[end] : UInt8(ascii: "?")
            // The query of the check is the client's, where the edge has added one: it means nothing. The path behind
            // the endpoint is what is asked for, where it is the dialect's place for that.
            guard next == UInt8(ascii: "?") || next == UInt8(ascii: "/") && dialect.headers.target == nil else {
                return nil
            }
            return (dialect, uri[uri.utf8.index(uri.startIndex, offsetBy: end)...])
        }
        return nil
    }
}
