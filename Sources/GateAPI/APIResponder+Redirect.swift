// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import EdgeListener
internal import EdgeTokens
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import NIOCore
internal import PlaybackGate
internal import RequestTargets
internal import URISigning

// The redirection of requests with signed URIs to other content delivery networks (RFC 9246 §2.1).

extension APIResponder {
    /// `POST /v1/grants/redirect`: checks the signed URI of a request, and answers with the URL at the other network.
    package func redirect(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        let attribute = call.snapshot.configuration.edge?.sources.targetNames.package ?? .standard
        let body = try read(GrantRedirectBody.self, from: call)
        guard let grants = call.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        guard let url = SignedURL(body.url[...], attribute: attribute) else {
            throw APIRefusal(.invalidRequest, details: "url is malformed: give an http or https URL in full")
        }
        guard let token = body.grant ?? url.packages.first.map({ String($0) }) else {
            throw APIRefusal(GrantRefusal(.missing))
        }
        guard case .entry(let entry) = call.gate.catalogue.find(.path(String(url.uri.path)), host: url.uri.host) else {
            throw APIRefusal(DenyCode.unknownMedia)
        }
        let named = entry.grants?.profiles.first { $0.name == body.profile && $0.format == .uriSigning && $0.isIssued }
        guard let profile = named else {
            let reason = "profile: the entry has no profile \(body.profile) that issues signed URIs"
            throw APIRefusal(.invalidRequest, details: reason)
        }
        var facts = RequestFacts(uri: url.uri, method: body.method[...])
        facts.clientAddress = body.client
        let redirection = Gate.Redirection(token: token, facts: facts, target: url.target, of: entry, to: profile)
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        try reserveRoom(for: 1)
        return .later { [self] () async throws(APIRefusal) in
            let outcome = await gate.redirect(redirection, by: grants, at: time)
            inFlight.release(1)
            return try Self.response(to: outcome, profile: profile, trace: trace)
        }
    }

    private static func response(
        to outcome: Gate.RedirectionOutcome,
        profile: GrantProfile,
        trace: TraceID
    ) throws(APIRefusal) -> APIAnswer {
        switch outcome {
        case .redirected(let url, let token, let expires):
            let members: [JSON.Member] = [
                ("profile", .string(profile.name)), ("format", .string(profile.format.name)), ("url", .string(url)),
                ("token", .string(token)),
                ("expires", expires.map { .number($0.millisecondsSince1970) } ?? .null),
                ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), trace: trace)
        case .refused(let refusal): throw APIRefusal(refusal)
        case .unknown: throw APIRefusal(DenyCode.replayStoreUnavailable)
        case .notIssued(let error): throw APIRefusal(.urlNotSigned, details: error.rawValue)
        }
    }
}

/// A URL in normal form, without the packages of signed URIs, which were cut out of it.
private struct SignedURL {
    let uri: RequestURI
    /// The path and the query.
    let target: Substring
    let packages: [Substring]

    /// Cuts a URL; `nil` if it is none, or if servers could read the rest differently.
    init?(_ url: Substring, attribute: PackageAttribute) {
        guard let colon = url.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let authority = url.utf8[colon...].dropFirst(3)
        guard let slash = authority.firstIndex(of: UInt8(ascii: "/")),
            let cut = attribute.cutPlainly(url[slash...]), let uri = RequestURI(url: "\(url[..<slash])\(cut.target)"),
            let query = uri.query
        else { return nil }
        self.uri = uri
        target = query.isEmpty ? uri.path : "\(uri.path)?\(query)"
        packages = cut.packages
    }
}

/// A request to redirect to another network.
struct GrantRedirectBody: StrictBody {
    static let members = ["url", "profile", "grant", "method", "client"]

    let url: String
    let profile: String
    let grant: String?
    let method: String
    let client: IPAddress?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        url = try object.text("url", limit: 16 * 1024)
        profile = try object.text("profile", limit: 256)
        grant = try object.optionalText("grant", limit: URISigningVerifier.maximumSize)
        method = try object.optionalText("method", limit: 32) ?? "GET"
        client = try object.clientAddress()
    }
}
