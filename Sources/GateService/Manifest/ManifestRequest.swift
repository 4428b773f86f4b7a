// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate

/// A player's request for a manifest, with the facts about it: those of its connection, or those that a trusted peer in
/// front states in `X-Forwarded-*`.
struct ManifestRequest {
    /// The target, method and host, as a check of an edge has them. A range is ignored: the whole manifest is the answer.
    let client: EdgeRequest
    let target: OriginalTarget
    /// The path without token segments, as it was requested.
    let path: OriginalTarget.WithoutSegments
    /// The URI without tokens, in normal form; `nil` if the target has none.
    let uri: RequestURI?
    /// The header fields, with facts that are to be believed.
    let fields: HTTPFields

    static let names = EdgeDialect.FactHeaders(
        url: nil,
        scheme: "x-forwarded-proto",
        host: "x-forwarded-host",
        client: "x-forwarded-for"
    )

    /// Reads a request; `nil` if a fact is repeated or malformed, or if the target is not in origin form.
    ///
    /// - Parameters:
    ///   - isTrusted: True if the peer is a proxy whose facts are to be believed.
    ///   - isSecure: True if the listener uses TLS.
    init?(_ request: HTTPRequest, _ sources: CredentialSources, isTrusted: Bool, isSecure: Bool) {
        let head = request.head
        guard let target = OriginalTarget(head.uri[...], cutting: sources.package),
            let fields = Self.facts(request, isTrusted: isTrusted, isSecure: isSecure).map(HTTPFields.init),
            let stated = EdgeFacts(fields, target: head.uri[...], Self.names),
            case .known(let authority) = stated.authority
        else { return nil }
        if case .malformed = stated.clientAddress { return nil }
        self.target = target
        self.fields = fields
        path = target.removingSegments(sources.segments)
        client = EdgeRequest(head.uri[...], head.method, host: authority.host)
        uri = RequestURI(stated, target, path: path.path, hiding: sources.secretParameters, .asIs)
    }

    /// Returns the header fields of a request with the facts about it; `nil` if it has not exactly one host.
    private static func facts(_ request: HTTPRequest, isTrusted: Bool, isSecure: Bool) -> HTTPHeaders? {
        var headers = request.head.headers
        let hosts = headers["host"]
        guard hosts.count == 1 else { return nil }
        // Proxies in front of this listener do not set what those of an edge state: it would be the player's word.
        headers.removeAll { $0.hasPrefix("x-original-") }
        if isTrusted {
            if !headers.contains(name: "x-forwarded-host") { headers.add(name: "x-forwarded-host", value: hosts[0]) }
            return headers
        }
        // What a client says about itself is no fact.
        headers.removeAll { $0.hasPrefix("x-forwarded-") }
        headers.add(name: "x-forwarded-host", value: hosts[0])
        headers.add(name: "x-forwarded-proto", value: isSecure ? "https" : "http")
        if let address = request.connection.channel.remoteAddress?.ipAddress {
            headers.add(name: "x-forwarded-for", value: address)
        }
        return headers
    }

    /// Finds the grants that the request shows.
    func grants(_ sources: CredentialSources) -> PresentedGrants.Finding {
        PresentedGrants.find(client, fields, target, path: path.path, sources, Self.names, .asIs)
    }

    /// Returns the facts about the player that grants are bound to; `nil` if one is malformed.
    ///
    /// - Parameter names: The names of header fields.
    func player(_ names: [String]) -> PlaybackRequest.Player? {
        PlaybackRequest.Player(fields, target: client.target, Self.names, names)
    }

    /// True if the path ends as one of the manifests that are served.
    func isManifest(_ suffixes: [String]) -> Bool {
        let path = uri?.path.lowercased() ?? ""
        return suffixes.contains { path.hasSuffix($0) }
    }
}

extension HTTPHeaders {
    /// Removes the fields with such names, which are in lower case for the condition.
    fileprivate mutating func removeAll(_ condition: (String) -> Bool) {
        for name in map(\.name) where condition(name.lowercased()) { remove(name: name) }
    }
}
