// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import MediaResources
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate
internal import RequestTargets

// The paths of a hosted verification service that is no more, for clients that are moved here by changing a host name; and
// their twin in JSON. A resource that a caller names is believed only if the caller's list or the catalogue has it.

extension APIResponder {
    /// `/tvs/v1/validate`: verifies a token and consumes nothing. Clients read only the status.
    package func validate(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> APIAnswer {
        _ = try hostedSettings(call)
        let parameters = try FormParameters(call.request)
        let token = try parameters.base64("mediaToken")
        let resource = try resource(try parameters.base64("resource"))
        if let listed = call.caller(caller)?.resources, !listed.contains(resource.text) {
            throw APIRefusal(DenyCode.token(.resourceMismatch))
        }
        try reserveRoom(for: 1)
        defer { inFlight.release(1) }
        switch call.gate.verifier.verify(token, for: resource, at: call.time) {
        case .valid: return APIAnswer([UInt8]("VALID_TOKEN".utf8), type: "text/plain; charset=utf-8", trace: call.trace)
        case .refused(let refusal): throw APIRefusal(DenyCode.token(refusal.reason))
        }
    }

    /// `/tvs/v1/sign`: consumes a token, and answers with only the signed URL.
    func signHosted(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let settings = try hostedSettings(call)
        let parameters = try FormParameters(call.request)
        let token = try parameters.base64("mediaToken")
        let resource = try resource(try parameters.base64("resource"))
        let profile = try profile(named: try parameters.required("cdn"), member: "cdn", in: call)
        let (path, query) = try url(try parameters.required("url"), for: profile, settings: settings)
        let entry: Catalogue.Entry
        switch call.gate.catalogue.find(.path(path), host: profile.rules.host.flatMap { HostName($0[...])?.text }) {
        case .entry(let known): entry = try known.signing(path, query: query, for: resource, by: profile)
        case .unknown:
            let listed = call.caller(caller)?.resources ?? []
            guard listed.contains(resource.text) else { throw APIRefusal(DenyCode.token(.resourceMismatch)) }
            entry = try Self.unlistedEntry(of: path, query: query, for: resource, by: profile, in: call.gate)
        case .hostMissing, .invalidPath: throw APIRefusal(.invalidRequest, details: "url: its path is ambiguous")
        }
        if !query.isEmpty {
            let scope = entry.grants?.scope ?? path
            guard call.gate.grants?.signs(query: query, of: path, scope: scope, profile, at: call.time) ?? false else {
                throw APIRefusal(
                    .invalidRequest,
                    details: "url: its query has a parameter of the token, or \(profile.name) cannot sign it"
                )
            }
        }
        let request = PlaybackRequest(.path(path), token: token, client: call.client(caller))
        let trace = call.trace
        return try sign(request, entry: entry, in: call) { grant in
            APIAnswer([UInt8]((grant.url ?? "").utf8), type: "text/plain; charset=utf-8", trace: trace)
        }
    }

    /// The entry of a path that the catalogue does not know, for a resource of the caller's list. It is the folder of
    /// the path, if it has no path of another resource.
    private static func unlistedEntry(
        of path: String,
        query: String,
        for resource: MediaResource,
        by profile: GrantProfile,
        in gate: Gate
    ) throws(APIRefusal) -> Catalogue.Entry {
        let requestors = gate.verifier.policy.requestors
        guard requestors.count == 1, let requestor = requestors.first else {
            throw APIRefusal(DenyCode.token(.resourceMismatch))
        }
        let folder = String(path[...(path.lastIndex(of: "/") ?? path.startIndex)])
        let entry = Catalogue.Entry(
            key: .media(path),
            protection: .resource(resource, requestor: requestor),
            grants: Catalogue.Entry.GrantTerms([profile], scope: folder, manifest: path, query: query)
        )
        guard folder != "/", entry.scope(profile, path: path[...]) != "/",
            gate.scopes.stranger(to: entry, by: profile) == nil
        else {
            throw APIRefusal(
                .invalidRequest,
                details: "url: a token for its folder would open other resources' media: add its path to the catalogue"
            )
        }
        return entry
    }

    /// `POST /v1/sign`: starts a playback, and answers with the URL that one profile of the entry signs.
    package func sign(_ call: RequestContext, by caller: String?) throws(APIRefusal) -> Outcome {
        let body = try read(SignBody.self, from: call)
        let profile = try profile(named: body.profile, member: "profile", in: call)
        guard case .entry(let entry) = call.gate.catalogue.find(body.target, host: body.host?[...]) else {
            throw APIRefusal(DenyCode.unknownMedia)
        }
        guard let terms = entry.grants, terms.profiles.contains(profile) else {
            throw APIRefusal(.invalidRequest, details: "profile: the entry has no profile \(body.profile)")
        }
        var signed = terms
        signed.profiles = [profile]
        let only = entry.withGrants(signed)
        let request = PlaybackRequest(
            body.target,
            host: body.host,
            token: body.token,
            playbackID: body.playbackID,
            player: body.player,
            client: call.client(caller)
        )
        let trace = call.trace
        return try sign(request, entry: only, in: call) { grant in
            let members: [JSON.Member] = [
                ("allowed", .bool(true)), ("url", .optional(grant.url)),
                ("expires", .number(grant.expires.millisecondsSince1970)), ("trace", .string("\(trace)")),
            ]
            return .json(.object(members), trace: trace)
        }
    }

    /// Decides about a playback, and answers with its one grant.
    private func sign(
        _ request: PlaybackRequest,
        entry: Catalogue.Entry,
        in call: RequestContext,
        answer: @escaping @Sendable (IssuedGrant) -> APIAnswer
    ) throws(APIRefusal) -> Outcome {
        try reserveRoom(for: 1)
        switch call.gate.begin(request, finding: .entry(entry), at: call.time) {
        case .decided(let decision):
            inFlight.release(1)
            return .now(answer(try Self.signed(decision)))
        case .pending(let use):
            return .use(use) { [self] decision throws(APIRefusal) in
                inFlight.release(1)
                return answer(try Self.signed(decision))
            }
        }
    }

    private static func signed(_ decision: Decision) throws(APIRefusal) -> IssuedGrant {
        switch decision {
        case .refuse(let refusal): throw APIRefusal(refusal.code)
        case .allow(let allowance):
            guard let grant = allowance.access?.issued.first, grant.url != nil else {
                throw APIRefusal(.urlNotSigned)
            }
            return grant
        }
    }

    private func hostedSettings(_ call: RequestContext) throws(APIRefusal) -> GateConfiguration.API.Hosted {
        guard let hosted = call.snapshot.configuration.api.hosted else { throw APIRefusal(.operationUnknown) }
        guard call.request.head.method == .POST || hosted.allowsGet else {
            throw APIRefusal(.methodNotAllowed, allow: "POST")
        }
        return hosted
    }

    private func resource(_ text: String) throws(APIRefusal) -> MediaResource {
        guard let bytes = Base64.decode([UInt8](text.utf8)), let plain = String(validating: bytes, as: UTF8.self) else {
            throw APIRefusal(.invalidRequest, details: "resource must be in Base64")
        }
        do throws(ResourceError) { return try MediaResource(plain) } catch {
            throw APIRefusal(.invalidRequest, details: "resource: \(error)")
        }
    }

    private func profile(named name: String, member: String, in call: RequestContext) throws(APIRefusal) -> GrantProfile
    {
        guard call.gate.grants != nil else { throw APIRefusal(.grantsNotConfigured) }
        let profiles = call.snapshot.configuration.grants?.profiles.map(\.value) ?? []
        guard let profile = profiles.first(where: { $0.name == name && $0.isIssued }) else {
            throw APIRefusal(.invalidRequest, details: "\(member): there is no such profile that signs")
        }
        return profile
    }

    /// Reads the URL to sign, of the profile's host, without user and fragment.
    ///
    /// - Returns: The path, in normal form, and the query as it was sent; empty if there is none.
    private func url(
        _ text: String,
        for profile: GrantProfile,
        settings: GateConfiguration.API.Hosted
    ) throws(APIRefusal) -> (path: String, query: String) {
        let schemes = settings.allowsHTTP ? ["https", "http"] : ["https"]
        guard let host = profile.rules.host else {
            throw APIRefusal(.invalidRequest, details: "cdn: the profile names no host")
        }
        let prefix = schemes.map { "\($0)://\(host)/" }.first { text.hasPrefix($0) }
        let target = text.utf8.dropFirst((prefix?.utf8.count ?? 1) - 1)
        let path = target.prefix { $0 != UInt8(ascii: "?") }
        let query = Substring(target[path.endIndex...].dropFirst())
        guard prefix != nil, let uri = RequestURI(url: text[...]), uri.path.utf8.elementsEqual(path),
            query.isEmpty == (path.endIndex == target.endIndex)
        else {
            throw APIRefusal(
                .invalidRequest,
                details: "url must be one of \(schemes.joined(separator: " or ")) at \(host), in normal form"
            )
        }
        return (String(uri.path), String(query))
    }
}

extension Catalogue.Entry {
    /// Returns the entry with the grants of one of its profiles, for a URL whose path it has. Resource, use and limit
    /// of the entry do not change.
    ///
    /// - Parameter resource: The resource that the caller names, which must be the entry's.
    fileprivate func signing(
        _ path: String,
        query: String,
        for resource: MediaResource,
        by profile: GrantProfile
    ) throws(APIRefusal) -> Self {
        guard protection.resource == resource else { throw APIRefusal(DenyCode.token(.resourceMismatch)) }
        guard var terms = grants, terms.profiles.contains(profile) else {
            throw APIRefusal(.invalidRequest, details: "cdn: the entry of the URL has no profile \(profile.name)")
        }
        // Nothing is consumed for a URL that the token would not open.
        guard let scope = scope(profile, path: path[...]), path.utf8.starts(with: scope.utf8) else {
            throw APIRefusal(.urlNotSigned)
        }
        terms.profiles = [profile]
        terms.manifest = path
        terms.query = query
        terms.scope = scope
        return withGrants(terms)
    }
}

extension APIResponder.RequestContext {
    /// The configuration of an authenticated caller; `nil` if every caller is admitted.
    fileprivate func caller(_ name: String?) -> Caller? {
        name.flatMap { name in snapshot.configuration.api.callers?.first { $0.name == name } }
    }
}

/// A request for a signed URL.
struct SignBody: StrictBody {
    static let members = ["media", "path", "host", "token", "profile", "playbackID", "client", "headers"]

    let target: PlaybackRequest.Target
    let host: String?
    let token: String?
    let profile: String
    let playbackID: String?
    let player: PlaybackRequest.Player?

    init(_ object: JSONObject) throws(JSONObjectFault) {
        profile = try object.text("profile", limit: 256)
        let playback = try PlaybackBody(object)
        target = playback.media.map { .media($0) } ?? .path(playback.path ?? "")
        (host, token, playbackID) = (playback.host, playback.token, playback.playbackID)
        player = playback.player
    }
}
