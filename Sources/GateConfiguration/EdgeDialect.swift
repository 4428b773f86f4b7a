// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
internal import Encodings
package import PlaybackGate

/// The protocol in which an edge describes a client's request. Each dialect has its own endpoint. The edge's configuration
/// chooses the endpoint; the dialect is never guessed from the header fields.
package enum EdgeDialect: String, CaseIterable, Sendable {
    /// nginx's `auth_request`: the original target, undecoded, in header fields that the nginx configuration sets.
    case nginx
    /// Caddy, Traefik and Varnish: the original target in `X-Forwarded-Uri`.
    case forward
    /// Envoy's HTTP `ext_authz`: the original target after the endpoint, with the original method and host.
    case envoy
    /// Traffic Server's `authproxy`: the original target after the endpoint, by a remap rule of its own.
    case ats
    /// HAProxy's stream processing offload: the facts are arguments of a message on a listener of its own. ``SPOERequest``
    /// states them in fields whose names begin with a colon, which no field of a client can have.
    case spoe
    /// Envoy's gRPC `ext_authz`: the facts of the client's request in a message, on a listener of its own.
    case grpc

    /// The row of a dialect: a new edge needs only a row. The names are in lower case.
    package struct Row: Sendable {
        /// The path of the endpoint; `nil` if the dialect has none.
        package var endpoint: StaticString?
        /// The field of the target; `nil` if it is the rest of the request line.
        package var target: StaticString?
        /// The field of the method; `nil` if it is that of the check.
        package var method: StaticString?
        /// The field of the host.
        package let host: StaticString
        /// The field of the range.
        package var range: StaticString
        /// The field of the scheme.
        package let scheme: StaticString
        /// The field of the client's address.
        package let client: StaticString
        /// The field of the absolute URL; `nil` if the dialect has none.
        package var url: StaticString?
        /// The field of the key under which the edge caches answers; `nil` if it caches by `Vary`.
        package var cacheKey: StaticString?
        /// The fields, besides those with tokens, that a cache of answers must include in its key.
        package var varying: StaticString
        /// The accepted spellings of paths. A path with empty or dot segments is refused unless the edge resolves them.
        package var form: MediaPath.Form
        /// True if the client's address is in a list, to which proxies add.
        package var isForwardedList: Bool
        /// True if a client's own fields could be read as answers of the gate.
        package var refusesAnswerFields: Bool
        /// True if the edge can pass an answer with 302 on to the client.
        package var passesRedirects: Bool
        /// The fields from which edges of the dialect read a new grant, in its pages and modules.
        package var grantFields: DeliveredGrant.Fields

        /// Creates a row of its members.
        package init(
            endpoint: StaticString? = nil,
            target: StaticString? = nil,
            method: StaticString? = nil,
            host: StaticString,
            range: StaticString = "range",
            scheme: StaticString,
            client: StaticString,
            url: StaticString? = nil,
            cacheKey: StaticString? = nil,
            varying: StaticString = "",
            form: MediaPath.Form = .asIs,
            isForwardedList: Bool = false,
            refusesAnswerFields: Bool = false,
            passesRedirects: Bool = false,
            grantFields: DeliveredGrant.Fields = .all
        ) {
            self.endpoint = endpoint
            self.target = target
            self.method = method
            self.host = host
            self.range = range
            self.scheme = scheme
            self.client = client
            self.url = url
            self.cacheKey = cacheKey
            self.varying = varying
            self.form = form
            self.isForwardedList = isForwardedList
            self.refusesAnswerFields = refusesAnswerFields
            self.passesRedirects = passesRedirects
            self.grantFields = grantFields
        }
    }

    package var row: Row { Self.rows[number] }

    /// The rows of the dialects, in their order.
    private static let rows = [
        // nginx removes `Range` from checks that it may cache. It sets the dialect's fields itself, but evaluates `Vary` on those of
        // its client: its cache key covers the rest. It resolves empty and dot segments before it chooses a location.
        Row(
            endpoint: "/v1/check/nginx",
            target: "x-original-uri",
            method: "x-original-method",
            host: "x-original-host",
            range: "x-original-range",
            scheme: "x-original-scheme",
            client: "x-original-client",
            url: "x-original-url",
            cacheKey: "x-playgate-cache-key",
            form: .resolved,
            grantFields: [.namedCookie, .token, .standardHeader]
        ),
        Row(
            endpoint: "/v1/check/forward",
            target: "x-forwarded-uri",
            method: "x-forwarded-method",
            host: "x-forwarded-host",
            scheme: "x-forwarded-proto",
            client: "x-forwarded-for",
            varying: "X-Forwarded-Uri, X-Forwarded-Method, X-Forwarded-Host",
            isForwardedList: true,
            refusesAnswerFields: true,
            passesRedirects: true
        ),
        Row(
            endpoint: "/v1/check/envoy",
            host: "host",
            scheme: "x-forwarded-proto",
            client: "x-envoy-external-address",
            varying: "Host",
            passesRedirects: true
        ),
        // Fields that `playgate.lua` sets, after it has removed those of the client.
        Row(
            endpoint: "/v1/check/ats",
            host: "x-forwarded-host",
            scheme: "x-playgate-scheme",
            client: "x-playgate-client",
            varying: "X-Forwarded-Host",
            // `authproxy` passes nothing on.
            grantFields: []
        ),
        Row(target: ":path", method: ":method", host: ":authority", scheme: ":scheme", client: ":client"),
        Row(host: "host", scheme: "x-forwarded-proto", client: "x-envoy-external-address"),
    ]

    /// The index among all dialects.
    package var number: Int {
        switch self {
        case .nginx: 0
        case .forward: 1
        case .envoy: 2
        case .ats: 3
        case .spoe: 4
        case .grpc: 5
        }
    }

    /// The path of the endpoint; `nil` if the dialect has none.
    package var endpoint: String? { row.endpoint.map { "\($0)" } }

    /// Finds the dialect of a check and the rest after its endpoint; `nil` if there is no such endpoint.
    package static func find(_ target: Substring) -> (dialect: EdgeDialect, rest: Substring)? {
        let bytes = target.utf8.span
        for (dialect, endpoint, hasTarget) in endpoints {
            let end = endpoint.utf8CodeUnitCount
            guard bytes.count >= end, bytes.starts(with: endpoint, at: 0) else { continue }
            let next = end < bytes.count ? bytes[end] : UInt8(ascii: "?")
            // If the dialect has a header field for the target, the query of the check is ignored: some edges append the
            // client's. Otherwise the original target follows the endpoint.
            guard next == UInt8(ascii: "?") || next == UInt8(ascii: "/") && !hasTarget else { return nil }
            return (dialect, target[target.utf8.index(target.startIndex, offsetBy: end)...])
        }
        return nil
    }

    private static let endpoints: [(EdgeDialect, StaticString, hasTarget: Bool)] = allCases.compactMap { dialect in
        dialect.row.endpoint.map { (dialect, $0, dialect.row.target != nil) }
    }
}
