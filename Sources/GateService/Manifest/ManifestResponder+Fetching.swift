// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import HTTPServer
internal import Manifests
internal import NIOCore
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate

/// The part of an allowed request that is needed to fetch its manifest.
struct ManifestFetch: Sendable {
    /// The URI of the request, without tokens and grants.
    let uri: RequestURI
    /// The grants that the request showed.
    let grants: ShownGrants?
    /// The target, as it was requested.
    let target: ParsedTarget

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

    /// The URL of the request. If a proxy does not state the scheme, it is `https`, so that no grant is written into
    /// references by `http`.
    fileprivate var url: String { "\(uri.scheme?.rawValue ?? "https")://\(authority)\(pathAndQuery)" }

    /// The same request with a grant, as a reference to the same host.
    fileprivate func reference(with token: String, _ mode: GateConfiguration.Manifest.Mode) -> String {
        switch mode {
        case .segment: "/\(IssuedGrant.segmentPrefix)\(token)\(pathAndQuery)"
        case .query: "\(pathAndQuery)\((uri.query ?? "").isEmpty ? "?" : "&")\(IssuedGrant.queryName)=\(token)"
        }
    }

    /// The grants that the URL carries as references do.
    fileprivate func carried(_ mode: GateConfiguration.Manifest.Mode) -> [Substring] {
        var found: [Substring] = []
        switch mode {
        case .segment: target.forEachValue(segment: IssuedGrant.segmentPrefix) { found.append($0) }
        case .query: target.forEachValue(parameter: IssuedGrant.queryName) { found.append($0) }
        }
        return Array(found.prefix(ShownGrants.maximum))
    }
}

extension ManifestResponder {
    /// Fetches and rewrites the manifest of an allowed request.
    func answer(_ decision: Decision, _ fetch: ManifestFetch, _ call: Call) async -> any HTTPAnswer {
        guard let settings = call.settings, let gate = call.gate else {
            return refusal(APIRefusal(.notServed), call, .notServed)
        }
        let configuration = settings.configuration
        let playback = gate.continued(decision, fetch.grants, profile: configuration.profile, at: call.now)
        if playback == nil, decision.needsGrant { return refusal(.withoutGrant, call) }
        let answer: OriginClient.Answer
        switch await fetched(fetch, call, configuration) {
        case .failure(let fault): return refusal(fault, call)
        case .success(let found): answer = found
        }
        let types = answer.headers["content-type"]
        guard types.count < 2, let format = ManifestType(type: types.first, path: fetch.uri.path) else {
            return refusal(.type, call)
        }
        let fields: [(StaticString, String)] = [("Content-Type", "\(format.type)")] + fields(decision, playback, call)
        if call.isHead {
            counters.count(.rewritten)
            var answer = ManifestAnswer(.ok, fields, trace: call.trace)
            answer.hasUnknownLength = true
            return answer
        }
        guard let playback else {
            // The media is not protected, or nothing refused it: its segments need no grant.
            counters.count(.unchanged)
            return ManifestAnswer(.ok, fields, trace: call.trace, body: answer.body)
        }
        let grants = Granting(decision, playback, gate, configuration)
        return await self.answer(answer.body, format, grants, fetch, fields, call)
    }

    /// The facts of the grants that a manifest gets.
    private struct Granting {
        let decision: Decision
        let playback: ContinuedPlayback
        let gate: Gate
        let configuration: GateConfiguration.Manifest

        init(
            _ decision: Decision,
            _ playback: ContinuedPlayback,
            _ gate: Gate,
            _ configuration: GateConfiguration.Manifest
        ) {
            self.decision = decision
            self.playback = playback
            self.gate = gate
            self.configuration = configuration
        }
    }

    private func fetched(
        _ fetch: ManifestFetch,
        _ call: Call,
        _ configuration: GateConfiguration.Manifest
    ) async -> Result<OriginClient.Answer, ManifestRefusal> {
        let start = ContinuousClock.now
        let url = configuration.origin.url(path: fetch.uri.path, query: fetch.uri.query ?? "")
        let answer = await origin.fetch(url, isHead: call.isHead, accept: ManifestType.accepted, configuration)
        counters.record(ContinuousClock.now - start)
        return answer
    }

    /// Rewrites a manifest with a grant for its player.
    private func answer(
        _ body: ByteBuffer,
        _ format: ManifestType,
        _ grants: Granting,
        _ fetch: ManifestFetch,
        _ fields: [(StaticString, String)],
        _ call: Call
    ) async -> any HTTPAnswer {
        let (playback, configuration) = (grants.playback, grants.configuration)
        let kind = PlaylistKind(body, format)
        let plan = GrantPlan(kind, playback, margin: configuration.margin, at: call.now)
        if let code = await grants.gate.prolong(playback, of: grants.decision, at: call.now) {
            return refusal(APIRefusal(code), call, .refused)
        }
        // A player that has a URL for the session already is never sent to another one.
        let moved = plan.moved.flatMap { token in
            let carried = fetch.carried(configuration.mode)
            return carried.contains { grants.gate.lasts($0, for: playback, at: call.now) } ? nil : token
        }
        switch await rewritten(body, format, plan.token, fetch, configuration) {
        case .failure(let fault): return refusal(.manifest(fault.code), call, details: fault.description)
        case .success(let manifest):
            guard let token = moved else {
                counters.count(.rewritten)
                return ManifestAnswer(.ok, fields, trace: call.trace, body: ByteBuffer(bytes: manifest))
            }
            counters.count(.moved)
            let place = fetch.reference(with: token, configuration.mode)
            let moved: [(StaticString, String)] = [("Location", place)]
            return ManifestAnswer(.found, moved + fields.dropFirst(), trace: call.trace)
        }
    }

    private func fields(_ decision: Decision, _ playback: ContinuedPlayback?, _ call: Call) -> [(StaticString, String)]
    {
        var fields: [(StaticString, String)] = [("X-Playgate-Code", decision.codeName)]
        if let session = playback?.session { fields.append(("X-Playgate-Session", session.hexadecimal)) }
        return fields + call.crossOrigin
    }

    private func refusal(_ fault: ManifestRefusal, _ call: Call, details: String? = nil) -> APIAnswer {
        refusal(APIRefusal(fault, details: details), call, .fault(fault))
    }

    private func rewritten(
        _ body: ByteBuffer,
        _ format: ManifestType,
        _ token: String,
        _ fetch: ManifestFetch,
        _ configuration: GateConfiguration.Manifest
    ) async -> Result<[UInt8], ManifestFault> {
        let rules: ManifestRules
        do throws(ManifestRulesError) { rules = try fetch.rules(token, configuration) } catch {
            return .failure(ManifestFault(.referenceInvalid, error.reason))
        }
        return await ManifestWork(body: body, format: format, rules: rules, limit: configuration.manifestBytes)
            .outcome()
    }
}

extension ManifestFetch {
    /// The rules by which the manifest is rewritten.
    fileprivate func rules(
        _ token: String,
        _ configuration: GateConfiguration.Manifest
    ) throws(ManifestRulesError) -> ManifestRules {
        var limits = ManifestLimits()
        limits.size = configuration.manifestBytes
        return try ManifestRules(
            url: url,
            grant: token,
            mode: configuration.mode.rewriting,
            hosts: [authority] + configuration.hosts.map { String($0.text) },
            limits: limits
        )
    }
}

extension GateConfiguration.Manifest.Mode {
    /// The mode of the rewriter.
    var rewriting: ManifestRules.Mode {
        switch self {
        case .segment: .segment(prefix: IssuedGrant.segmentPrefix)
        case .query: .query(name: IssuedGrant.queryName)
        }
    }
}

extension PlaylistKind {
    /// Finds the kind of a manifest.
    fileprivate init(_ body: ByteBuffer, _ format: ManifestType) {
        switch format.kind {
        case .hls: self.init(hls: body.readableBytesUInt8Span)
        case .dash: self.init(dash: body.readableBytesUInt8Span)
        }
    }
}
