// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import Manifests
internal import NIOCore
internal import NIOHTTP1
internal import PlaybackGate
internal import RequestTargets

extension APIResponder {
    /// `POST /v1/manifests/rewrite`: writes a live grant into the references of a manifest, for a backend or an edge that
    /// transforms manifests itself.
    package func rewrite(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        let request = call.request
        let format = ManifestType(type: request.first("content-type"), path: "")
        guard let format else { throw APIRefusal(.manifestTypeUnsupported) }
        let limit = min(bodyLimit, APIOperation.largestManifest)
        let body = request.body ?? ByteBuffer()
        guard !request.isTooLarge, body.readableBytes <= limit else {
            throw APIRefusal(.bodyTooLarge, details: "at most \(limit) bytes")
        }
        guard let grants = call.gate.grants else { throw APIRefusal(.grantsNotConfigured) }
        let grant = try Self.field("X-Playgate-Grant", of: request)
        let manifest = call.snapshot.configuration.manifest
        let rules = try Self.rules(
            grant: grant,
            mode: try Self.mode(request, default: manifest?.mode),
            for: request,
            manifest: manifest,
            limit: limit
        )
        let entry = try Self.entry(of: try Self.field("X-Playgate-Manifest-URL", of: request), in: call.gate)
        try reserveRoom(for: 1)
        let (gate, time, trace) = (call.gate, call.time, call.trace)
        return .later { [self] () async throws(APIRefusal) in
            defer { inFlight.release(1) }
            switch await gate.check(grant, ofManifest: entry, by: grants, at: time) {
            case .good: break
            case .refused(let refusal): throw APIRefusal(refusal)
            case .unknown: throw APIRefusal(DenyCode.replayStoreUnavailable)
            }
            let rewriting = ManifestWork(body: body, format: format, rules: rules, limit: limit)
            switch await rewriting.outcome() {
            case .success(let bytes):
                var answer = APIAnswer(bytes, type: format.type, trace: trace)
                answer.caching = "private, no-store"
                return answer
            case .failure(let fault):
                var refusal = APIRefusal(ManifestRefusal.manifest(fault.code), details: fault.description)
                refusal.status = .unprocessableEntity
                throw refusal
            }
        }
    }

    /// Returns the entry of a manifest. A manifest that the catalogue does not know gets no grant.
    private static func entry(of url: String, in gate: Gate) throws(APIRefusal) -> Catalogue.Entry {
        guard let uri = RequestURI(url: url[...]), let host = uri.host,
            case .entry(let entry) = gate.catalogue.find(uri.path, host: "\(host)")
        else { throw APIRefusal(DenyCode.unknownMedia) }
        return entry
    }

    private static func rules(
        grant: String,
        mode: GateConfiguration.Manifest.Mode,
        for request: HTTPRequest,
        manifest: GateConfiguration.Manifest?,
        limit: Int
    ) throws(APIRefusal) -> ManifestRules {
        let url = try field("X-Playgate-Manifest-URL", of: request)
        let hosts = manifest?.hosts.map { String($0.text) } ?? []
        guard let own = RequestURI(url: url[...]), let host = own.host else {
            throw APIRefusal(.invalidRequest, details: "X-Playgate-Manifest-URL: must be an http or https URL")
        }
        let port = own.port.flatMap { own.hasDefaultPort ? nil : ":\($0)" } ?? ""
        var limits = ManifestLimits()
        limits.size = limit
        do throws(ManifestRulesError) {
            return try ManifestRules(
                url: url,
                grant: grant,
                mode: mode.rewriting,
                hosts: ["\(host)\(port)"] + hosts,
                limits: limits
            )
        } catch { throw APIRefusal(.invalidRequest, details: error.reason) }
    }

    private static func mode(
        _ request: HTTPRequest,
        default fallback: GateConfiguration.Manifest.Mode?
    ) throws(APIRefusal) -> GateConfiguration.Manifest.Mode {
        guard request.first("x-playgate-manifest-mode") != nil else { return fallback ?? .segment }
        let name = try field("X-Playgate-Manifest-Mode", of: request)
        guard let mode = GateConfiguration.Manifest.Mode.Name(rawValue: name) else {
            throw APIRefusal(.invalidRequest, details: "X-Playgate-Manifest-Mode: must be segment or query")
        }
        var parameter = IssuedGrant.queryName
        if case .query(let name) = fallback { parameter = name }
        return GateConfiguration.Manifest.Mode(mode, parameter: parameter)
    }

    /// Returns the value of a header field that a request must have once.
    private static func field(_ name: String, of request: HTTPRequest) throws(APIRefusal) -> String {
        let values = request.head.headers[name]
        guard values.count == 1, var value = values.first, !value.isEmpty else {
            throw APIRefusal(.invalidRequest, details: "\(name): exactly one is required")
        }
        value.makeContiguousUTF8()
        return value
    }
}
