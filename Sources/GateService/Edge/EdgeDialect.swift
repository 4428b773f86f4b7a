// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import PlaybackGate

/// The protocol in which an edge describes a client's request. Each dialect has its own endpoint. The edge's configuration
/// chooses the endpoint; the dialect is never guessed from the header fields.
enum EdgeDialect: String, CaseIterable, Sendable {
    /// nginx's `auth_request`: the original target, undecoded, in header fields that the nginx configuration sets.
    case nginx
    /// Caddy, Traefik and Varnish: the original target in `X-Forwarded-Uri`.
    case forward
    /// Envoy's HTTP `ext_authz`: the original target after the endpoint, with the original method and host.
    case envoy
    /// Traffic Server's `authproxy`: the original target after the endpoint, by a remap rule of its own.
    case ats
    /// HAProxy's stream processing offload: the facts are arguments of a message on a listener of its own. ``SPOEQuestion``
    /// states them in fields whose names begin with a colon, which no field of a client can have.
    case spoe
    /// Envoy's gRPC `ext_authz`: the facts of the client's request in a message, on a listener of its own.
    case grpc

    /// The names of the header fields that a dialect reads, in lower case. A fact without a field is in the request line.
    struct Headers {
        let target: StaticString?
        let method: StaticString?
        let host: StaticString
        let range: StaticString
    }

    var headers: Headers {
        switch self {
        case .nginx:
            // nginx removes `Range` from checks that it may cache.
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
        case .envoy, .grpc: Headers(target: nil, method: nil, host: "host", range: "range")
        case .ats: Headers(target: nil, method: nil, host: "x-forwarded-host", range: "range")
        case .spoe: Headers(target: ":path", method: ":method", host: ":authority", range: "range")
        }
    }

    /// The header fields, besides those with tokens, that a cache of answers must include in its key. For nginx there are
    /// none: nginx sets the dialect's fields itself, but evaluates `Vary` on those of its client. Its cache key covers the
    /// rest, see ``EdgeRequest/isKeyWhole``.
    var varying: StaticString {
        switch self {
        case .nginx, .spoe, .grpc: ""
        case .forward: "X-Forwarded-Uri, X-Forwarded-Method, X-Forwarded-Host"
        case .envoy: "Host"
        case .ats: "X-Forwarded-Host"
        }
    }

    /// The dialects of edges that can pass an answer of the gate with 302 on to the client. nginx answers 500 in its place, and
    /// Traffic Server 403.
    static let redirecting: [EdgeDialect] = [.forward, .envoy]

    /// The path of the endpoint; `nil` if the dialect has none.
    var endpoint: String? {
        switch self {
        case .nginx: "/v1/check/nginx"
        case .forward: "/v1/check/forward"
        case .envoy: "/v1/check/envoy"
        case .ats: "/v1/check/ats"
        case .spoe, .grpc: nil
        }
    }

    /// The accepted form of paths. nginx resolves empty and dot segments before it chooses a location, and so does the
    /// gate. The other edges forward such segments unresolved, so gate and origin could differ; these paths are refused.
    var pathForm: MediaPath.Form { self == .nginx ? .resolved : .asIs }

    /// Finds the dialect of a check and the rest after its endpoint; `nil` if there is no such endpoint.
    static func find(_ target: Substring) -> (dialect: EdgeDialect, rest: Substring)? {
        let bytes = target.utf8.span
        for dialect in allCases {
            guard let path = dialect.endpoint else { continue }
            let endpoint = path.utf8.span
            let end = endpoint.count
            guard bytes.count >= end, bytes.extracting(..<end).hasSameBytes(as: endpoint) else { continue }
            let next = end < bytes.count ? bytes[end] : UInt8(ascii: "?")
            // If the dialect has a header field for the target, the query of the check is ignored: some edges append the
            // client's. Otherwise the original target follows the endpoint.
            guard next == UInt8(ascii: "?") || next == UInt8(ascii: "/") && dialect.headers.target == nil else {
                return nil
            }
            return (dialect, target[target.utf8.index(target.startIndex, offsetBy: end)...])
        }
        return nil
    }
}
