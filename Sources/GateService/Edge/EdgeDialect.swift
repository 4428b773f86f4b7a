// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate

/// How an edge says what its client asked for. One endpoint each: which one is asked is the edge's configuration, and
/// never guessed from what headers there are.
enum EdgeDialect: String, CaseIterable, Sendable {
    /// nginx's `auth_request`: the original target, undecoded, in headers that nginx was told to set.
    case nginx
    /// Caddy, Traefik, HAProxy and Varnish: the original target in `X-Forwarded-Uri`.
    case forward
    /// Envoy's HTTP `ext_authz`: the original target behind the endpoint, with the original method.
    case envoy
    /// Traffic Server's `authproxy`: as Envoy, through a mapping of its own.
    case ats

    /// The headers that this dialect has the target and the method in; nil where they are in the request line.
    private var headers: (target: StaticString, method: StaticString)? {
        switch self {
        case .nginx: ("x-original-uri", "x-original-method")
        case .forward: ("x-forwarded-uri", "x-forwarded-method")
        case .envoy, .ats: nil
        }
    }

    /// Whether a cache that keeps answers by the check's own URL must look at headers too, and at which beside those with
    /// tokens; nil where it need not. nginx keeps them by the key that its configuration names, and by `Vary` only after
    /// its client's headers, which say less.
    var varying: StaticString? {
        switch self {
        case .nginx: nil
        case .forward: "X-Forwarded-Uri, X-Forwarded-Method"
        case .envoy, .ats: ""
        }
    }

    /// Where this dialect asks.
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

    /// The dialect of a check, and what follows its endpoint; nil where there is no such endpoint.
    static func find(_ uri: String) -> (dialect: EdgeDialect, rest: Substring)? {
        let bytes = uri.utf8.span
        for dialect in allCases {
            let endpoint = dialect.endpoint.utf8.span
            let end = endpoint.count
            guard bytes.count >= end, bytes.extracting(..<end).hasSameBytes(as: endpoint) else { continue }
            let next = end < bytes.count ? bytes[end] : UInt8(ascii: "?")
            // The query of the check is the client's, where the edge has added one: it means nothing. The path behind
            // the endpoint is what is asked for, where it is the dialect's place for that.
            guard next == UInt8(ascii: "?") || next == UInt8(ascii: "/") && dialect.headers == nil else { return nil }
            return (dialect, uri[uri.utf8.index(uri.startIndex, offsetBy: end)...])
        }
        return nil
    }

    /// The target that the client asked the edge for, undecoded, query and all; nil where the edge does not say, or says
    /// it twice.
    func target(_ request: HTTPRequestHead, rest: Substring) -> Substring? {
        guard let headers else { return rest }
        var target: String?
        var method: String?
        for (name, value) in request.headers {
            if name.isSameField(headers.target) {
                guard target == nil else { return nil }
                target = value
            } else if name.isSameField(headers.method) {
                guard method == nil else { return nil }
                method = value
            }
        }
        guard let target, let method, method.isMethod else { return nil }
        return target[...]
    }
}

extension String {
    /// Whether this can be the name of a method.
    fileprivate var isMethod: Bool {
        1...32 ~= utf8.count
            && utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "-") }
    }
}
