// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateAPI
package import GateConfiguration
package import HTTPServer
package import Manifests
internal import NIOCore
internal import NIOHTTP1
internal import Platform
package import PlaybackGate
package import RequestTargets
internal import Telemetry

/// The part of an allowed request that is needed to fetch its manifest.
package struct ManifestFetch: Sendable {
    /// The URI of the request, without tokens and grants.
    package let uri: RequestURI
    /// The beginning of the path of the player's URL, which a proxy has removed.
    package let publicPath: PublicPath
    /// The grants that the request presented.
    package let grants: PresentedGrants?
    /// The target, as it was requested.
    package let target: ParsedTarget

    /// The host of the request, with its port unless that is the scheme's.
    fileprivate var authority: String {
        let port = uri.port.flatMap { uri.hasDefaultPort ? nil : ":\($0)" } ?? ""
        return "\(uri.host ?? "")\(port)"
    }

    /// The path with its query.
    private var pathAndQuery: String {
        let query = uri.query ?? ""
        return query.isEmpty ? String(uri.path) : "\(uri.path)?\(query)"
    }

    /// The player's URL. If a proxy does not report the scheme, it is `https`, so that no grant is written into
    /// references by `http`.
    fileprivate var url: String { url(of: pathAndQuery[...]) }

    /// The player's URL for a path of the origin.
    private func url(of path: Substring) -> String {
        "\(uri.scheme?.rawValue ?? "https")://\(authority)\(publicPath.text)\(path)"
    }

    /// The URL to which the references of an answer are relative: the player's, or that of a redirect.
    ///
    /// - Parameter answered: The URL of the answer.
    fileprivate func source(_ answered: String, of origin: OriginAddress) -> String {
        if answered == origin.url(path: uri.path, query: uri.query ?? "") { return url }
        return origin.path(of: answered).map { url(of: $0) } ?? answered
    }

    /// The same request with a grant, as a reference to the same host.
    package func reference(with token: String, _ mode: GateConfiguration.Manifest.Mode) -> String {
        switch mode {
        case .segment: "\(publicPath.text)/\(IssuedGrant.segmentPrefix)\(token)\(pathAndQuery)"
        case .query(let name):
            "\(publicPath.text)\(pathAndQuery)\((uri.query ?? "").isEmpty ? "?" : "&")\(name)=\(token)"
        }
    }

    /// The grants that the URL carries as references do.
    fileprivate func carried(_ mode: GateConfiguration.Manifest.Mode) -> [Substring] {
        var found: [Substring] = []
        switch mode {
        case .segment: target.forEachValue(segment: IssuedGrant.segmentPrefix) { found.append($0) }
        case .query(let name): target.forEachValue(parameter: name) { found.append($0) }
        }
        return Array(found.prefix(PresentedGrants.maximum))
    }
}

extension ManifestResponder {
    /// Fetches and rewrites the manifest of an allowed request.
    package func response(to decision: Decision, fetch: ManifestFetch, in call: Call) async -> any HTTPAnswer {
        guard let settings = call.settings, let gate = call.gate else {
            return refusal(APIRefusal(.notServed), in: call, result: .notServed)
        }
        let configuration = settings.configuration
        let playback = gate.continuedPlayback(
            after: decision,
            grants: fetch.grants,
            profile: configuration.profile,
            at: call.now
        )
        if playback == nil, decision.needsGrant { return refusal(.withoutGrant, in: call) }
        let answer: OriginClient.Answer
        switch await originAnswer(for: fetch, in: call, configuration: configuration) {
        case .failure(let fault): return refusal(fault, in: call)
        case .success(let found): answer = found
        }
        let types = answer.headers["content-type"]
        guard types.count < 2,
            let format = ManifestType(type: types.first, path: fetch.uri.path, body: answer.body.readableBytesUInt8Span)
        else {
            return refusal(.type, in: call)
        }
        let fields: [(StaticString, String)] =
            [("Content-Type", "\(format.type)")] + fields(for: decision, playback: playback, in: call)
        if call.isHead {
            counters.count(.rewritten)
            var answer = ManifestAnswer(status: .ok, fields: fields, trace: call.trace)
            answer.hasUnknownLength = true
            return answer
        }
        guard let playback else {
            // The media is not protected, or nothing refused it: its segments need no grant.
            return await pass(answer, format: format, fetch: fetch, fields: fields, in: call)
        }
        let grants = Granting(decision: decision, playback: playback, gate: gate, configuration: configuration)
        return await self.response(with: answer, format: format, grants: grants, fetch: fetch, fields: fields, in: call)
    }

    /// Passes a manifest on without a grant. Its references are written only if the player would resolve them to other
    /// URLs.
    private func pass(
        _ answer: OriginClient.Answer,
        format: ManifestType,
        fetch: ManifestFetch,
        fields: [(StaticString, String)],
        in call: Call
    ) async -> any HTTPAnswer {
        guard let configuration = call.settings?.configuration,
            !fetch.isDirect(to: answer.url, of: configuration.origin)
        else {
            counters.count(.unchanged)
            return ManifestAnswer(status: .ok, fields: fields, trace: call.trace, body: answer.body)
        }
        switch await rewrittenBody(
            of: answer,
            format: format,
            plan: nil,
            addsLocation: false,
            fetch: fetch,
            configuration: configuration
        ) {
        case .failure(let fault): return refusal(.manifest(fault.code), in: call, details: fault.description)
        case .success(let bytes):
            counters.count(.unchanged)
            return ManifestAnswer(status: .ok, fields: fields, trace: call.trace, body: ByteBuffer(bytes: bytes))
        }
    }

    /// The facts for the grants of a manifest.
    private struct Granting {
        let decision: Decision
        let playback: ContinuedPlayback
        let gate: Gate
        let configuration: GateConfiguration.Manifest
    }

    private func originAnswer(
        for fetch: ManifestFetch,
        in call: Call,
        configuration: GateConfiguration.Manifest
    ) async -> Result<OriginClient.Answer, ManifestRefusal> {
        let start = ContinuousClock.now
        let url = configuration.origin.url(path: fetch.uri.path, query: fetch.uri.query ?? "")
        let answer = await origin.fetch(url, isHead: call.isHead, accept: ManifestType.accepted, by: configuration)
        counters.record(ContinuousClock.now - start)
        return answer
    }

    /// Rewrites a manifest with a grant for its player.
    private func response(
        with answer: OriginClient.Answer,
        format: ManifestType,
        grants: Granting,
        fetch: ManifestFetch,
        fields: [(StaticString, String)],
        in call: Call
    ) async -> any HTTPAnswer {
        let (playback, configuration) = (grants.playback, grants.configuration)
        let kind = PlaylistKind(answer.body, format: format)
        let plan = GrantPlan(for: kind, playback: playback, settings: configuration, at: call.now)
        if let code = await grants.gate.prolong(playback, of: grants.decision, at: call.now) {
            return refusal(APIRefusal(code), in: call, result: .refused)
        }
        // A player that has a URL for the session already is never sent to another one.
        let moved = plan.moved.flatMap { token in
            let carried = fetch.carried(configuration.mode)
            return carried.contains { grants.gate.lasts($0, for: playback, at: call.now) } ? nil : token
        }
        switch await rewrittenBody(
            of: answer,
            format: format,
            plan: plan,
            addsLocation: moved != nil,
            fetch: fetch,
            configuration: configuration
        ) {
        case .failure(let fault): return refusal(.manifest(fault.code), in: call, details: fault.description)
        case .success(let manifest):
            var body = ByteBuffer(bytes: manifest)
            if let moved, format.kind == .hls {
                body = ByteBuffer(string: Self.index(of: fetch.reference(with: moved, configuration.mode)))
            }
            counters.count(moved == nil ? .rewritten : .moved)
            return ManifestAnswer(status: .ok, fields: fields, trace: call.trace, body: body)
        }
    }

    /// Returns a multivariant playlist of one variant. Some players reload by their first URL, even after redirects;
    /// none reloads a multivariant playlist.
    ///
    /// - Parameter reference: The reference of the variant. Its rate is not known; with one variant, no player needs
    ///   it.
    private static func index(of reference: String) -> String {
        "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1000000\n\(reference)\n"
    }

    private func fields(for decision: Decision, playback: ContinuedPlayback?, in call: Call) -> [(StaticString, String)]
    {
        var fields: [(StaticString, String)] = [("X-Playgate-Code", decision.codeName)]
        if let session = playback?.session { fields.append(("X-Playgate-Session", session.hexadecimal)) }
        return fields + call.crossOrigin
    }

    private func refusal(_ fault: ManifestRefusal, in call: Call, details: String? = nil) -> APIAnswer {
        refusal(APIRefusal(fault, details: details), in: call, result: .fault(fault))
    }

    private func rewrittenBody(
        of answer: OriginClient.Answer,
        format: ManifestType,
        plan: GrantPlan?,
        addsLocation: Bool,
        fetch: ManifestFetch,
        configuration: GateConfiguration.Manifest
    ) async -> Result<[UInt8], ManifestFault> {
        let rules: ManifestRules
        do throws(ManifestRulesError) {
            rules = try fetch.rules(
                for: answer.url,
                plan: plan,
                addsLocation: addsLocation,
                configuration: configuration
            )
        } catch {
            return .failure(ManifestFault(.referenceInvalid, reason: error.reason))
        }
        return await ManifestWork(body: answer.body, format: format, rules: rules, limit: configuration.limits.bytes)
            .outcome()
    }
}

extension ManifestFetch {
    /// True if the player's URL is that of the manifest, and no proxy removes a part of its path.
    fileprivate func isDirect(to answered: String, of origin: OriginAddress) -> Bool {
        publicPath == .none && source(answered, of: origin) == url
    }

    /// The rules by which the manifest is rewritten.
    ///
    /// - Parameter plan: Its grants; `nil` to write its references only for the player's URL.
    fileprivate func rules(
        for answered: String,
        plan: GrantPlan?,
        addsLocation: Bool,
        configuration: GateConfiguration.Manifest
    ) throws(ManifestRulesError) -> ManifestRules {
        var limits = ManifestLimits()
        limits.size = configuration.limits.bytes
        return try ManifestRules(
            url: url,
            source: source(answered, of: configuration.origin),
            publicPath: publicPath == .none ? "/" : publicPath.text,
            grant: plan?.token ?? "none",
            lastingGrant: plan?.lasting,
            options: addsLocation ? configuration.options.union(.addingLocation) : configuration.options,
            mode: configuration.mode.rewriting,
            // Without a grant, none is protected: no host has this name (RFC 2606 §2).
            hosts: plan == nil ? ["invalid"] : [authority] + configuration.hosts.map { String($0.text) },
            limits: limits
        )
    }
}

extension PlaylistKind {
    /// Finds the kind of a manifest.
    fileprivate init(_ body: ByteBuffer, format: ManifestType) {
        switch format.kind {
        case .hls: self.init(hls: body.readableBytesUInt8Span)
        case .dash: self.init(dash: body.readableBytesUInt8Span)
        // Read once.
        case .steering, .thumbnails: self = .index
        }
    }
}
