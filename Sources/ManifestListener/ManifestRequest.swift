// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import EdgeListener
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import Manifests
internal import NIOCore
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate
internal import RequestTargets

/// A player's request for a manifest, with its facts. They are those of its connection, or those that a trusted peer in
/// front reports in `X-Forwarded-*`.
struct ManifestRequest {
    /// The request in the form for the edge check. A range is ignored: the whole manifest is the answer.
    let check: EdgeCheckRequest
    /// Its credentials and facts.
    let report: EdgeFieldReport
    /// The URI without tokens, in normal form; `nil` if the target has none.
    let uri: RequestURI?
    /// The beginning of the path of the player's URL, which a proxy has removed.
    let publicPath: PublicPath

    /// The names of the fields that report facts.
    static let row = EdgeDialect.Row(
        host: "x-forwarded-host",
        scheme: "x-forwarded-proto",
        client: "x-forwarded-for",
        isForwardedList: true
    )

    /// Reads a request; `nil` if its host is missing, repeated or malformed, or if the target is not in origin form.
    /// Also `nil` if a trusted peer reports a malformed public path.
    ///
    /// - Parameters:
    ///   - isTrusted: True if the peer is a proxy whose facts are accepted.
    ///   - isSecure: True if the listener uses TLS.
    init?(
        _ request: HTTPRequest,
        settings: ManifestSettings,
        isTrusted: Bool,
        isSecure: Bool
    ) {
        let (head, sources) = (request.head, settings.sources)
        guard let publicPath = Self.publicPath(of: request, settings, isTrusted: isTrusted),
            let target = ParsedTarget(head.uri[...], tokens: sources.targetNames),
            let fields = Self.facts(request, isTrusted: isTrusted, isSecure: isSecure).map(HTTPFields.init)
        else { return nil }
        // The field contains only the address of the connection.
        let reader = isTrusted ? settings.trustedReader : settings.reader
        let found = EdgeFields(fields, names: reader.names)
        guard let authority = found.value(.host).flatMap({ URIAuthority($0) }) else { return nil }
        check = EdgeCheckRequest(
            target,
            method: PlaybackRequest.Method(head.method),
            authority: authority,
            form: .asIs,
            tokenParameters: sources.targetNames.parameters
        )
        report = EdgeFieldReport(fields: found, target: target, sentTarget: head.uri[...], reader: reader)
        uri = check.uri(report)
        self.publicPath = publicPath
    }

    /// Returns the public path of a request: that of a trusted peer, or the configured one; `nil` if it is malformed or repeated.
    private static func publicPath(
        of request: HTTPRequest,
        _ settings: ManifestSettings,
        isTrusted: Bool
    ) -> PublicPath? {
        let reported = isTrusted ? request.head.headers["x-forwarded-prefix"] : []
        guard let first = reported.first else { return settings.configuration.publicPath }
        return reported.count == 1 ? PublicPath(first) : nil
    }

    /// Returns the header fields of a request with the facts about it; `nil` unless it has exactly one host.
    private static func facts(_ request: HTTPRequest, isTrusted: Bool, isSecure: Bool) -> HTTPHeaders? {
        var headers = request.head.headers
        let hosts = headers["host"]
        guard hosts.count == 1 else { return nil }
        // Proxies in front of this listener do not set what those of an edge report: it would be the player's word.
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

    /// Decides about the request as far as is possible without waiting for the store.
    func check(
        by gate: Gate,
        from client: PlaybackRequest.Client,
        at now: Timestamp,
        noting context: inout EdgeCheckContext
    ) -> Gate.Step {
        EdgeChecker(gate).check(
            check,
            from: client,
            at: now,
            mediaToken: { report.mediaToken(for: $0) },
            report: { report },
            noting: &context
        )
    }
}

extension HTTPHeaders {
    /// Removes the fields with such names, which are in lower case for the condition.
    fileprivate mutating func removeAll(_ condition: (String) -> Bool) {
        for name in map(\.name) where condition(name.lowercased()) { remove(name: name) }
    }
}
