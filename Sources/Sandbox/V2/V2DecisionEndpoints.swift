// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import MediaTokens

/// The decisions of REST API v2. A denial of a resource is part of its decision, in a response with status 200.
struct V2DecisionEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.post, "/api/v2/:provider/decisions/preauthorize/:mvpd", .preauthorize, .v2) { call in
                try await decide(call, isPreauthorization: true)
            },
            Endpoint(.post, "/api/v2/:provider/decisions/authorize/:mvpd", .authorize, .v2) { call in
                try await decide(call, isPreauthorization: false)
            },
        ]
    }

    private func decide(_ call: EndpointRequest, isPreauthorization: Bool) async throws -> Response {
        let caller = try await V2Caller(call, core)
        let provider = try caller.provider(call, core)
        let maximum = isPreauthorization ? caller.requestor.maximumPreauthorizedResources : 1
        let resources = try resources(call, atMost: maximum)
        let viewer = try await viewer(caller, provider, call)
        var decisions: [AuthorizationDecision] = []
        for resource in resources {
            var decision = AuthorizationDecision(
                resource: resource.text,
                serviceProvider: caller.requestor.id,
                mvpd: provider.id,
                source: viewer.source,
                isAuthorized: false
            )
            switch viewer {
            case .nobody(_, let code): decision.error = Status.documented(code, by: .v2).told(to: call)
            case .known(let viewer, _):
                try await decide(&decision, viewer, resource, call, isPreauthorization: isPreauthorization)
            }
            if isPreauthorization, !caller.requestor.explainsDenials { decision.error = nil }
            decisions.append(decision)
        }
        return try .json(AuthorizationDecisions(decisions: decisions))
    }

    /// Reads the resources of a request.
    private func resources(_ call: EndpointRequest, atMost maximum: Int) throws(EndpointError) -> [MediaResource] {
        let texts = try DecisionRequest(call).resources
        guard texts.count <= maximum else { throw .v2(.tooManyResources) }
        var resources: [MediaResource] = []
        for text in texts {
            guard let resource = try? MediaResource(text) else { throw .v2(.invalidParameterResources) }
            resources.append(resource)
        }
        return resources
    }

    private func decide(
        _ decision: inout AuthorizationDecision,
        _ viewer: Viewer,
        _ resource: MediaResource,
        _ call: EndpointRequest,
        isPreauthorization: Bool
    ) async throws {
        let decider = AuthorizationRules(core: core, viewer: viewer)
        // The token is issued before the viewer is charged for it, because issuing may fail.
        var token: AuthorizedToken?
        let verdict: AuthorizationRules.Verdict
        if isPreauthorization {
            verdict = try await decider.preauthorize(resource, at: call.now)
        } else {
            do {
                token = try MediaTokenIssuer(core: core).issue(viewer, resource: resource.text, at: call.now)
            } catch IssueError.tooLarge { throw EndpointError.v2(.invalidParameterResources) }
            verdict = try await decider.authorize(resource, at: call.now)
        }
        switch verdict {
        case .permit(let source, let expires):
            decision.source = source
            decision.isAuthorized = true
            guard let token else { return }
            decision.notBefore = call.now
            decision.notAfter = expires
            decision.token = token
            try await core.store.add(
                StoredAuthorization(viewer, resource: resource.text, source: source, from: call.now, to: expires),
                at: call.now
            )
        case .deny(let source, let code, let details):
            decision.source = source
            let told = code == .authorizationDeniedByMVPD && isPreauthorization ? .preauthorizationDeniedByMVPD : code
            decision.error = Status.documented(told, by: .v2, details: details).told(to: call)
        }
    }

    /// The viewer of a request, or the reason that there is none.
    private enum Requester {
        case known(Viewer, source: AuthorizationDecision.Source)
        case nobody(source: AuthorizationDecision.Source, StatusCode)

        var source: AuthorizationDecision.Source {
            switch self {
            case .known(_, let source), .nobody(let source, _): source
            }
        }
    }

    private func viewer(
        _ caller: V2Caller,
        _ provider: SandboxConfiguration.Provider,
        _ call: EndpointRequest
    ) async throws -> Requester {
        if let access = provider.temporaryAccess {
            guard let identity = caller.temporaryIdentity(access, call) else {
                return .nobody(source: .tempPass, .invalidHeaderIdentityForTemporaryAccess)
            }
            return known(caller, provider, .temporary, .tempPass, identity, call)
        }
        if core.degradation(caller.requestor, provider) == .authNAll {
            return known(caller, provider, .degraded, .degradation, caller.device.name, call)
        }
        let stored = try await core.store.profiles(of: caller.device, requestor: caller.requestor.id)
        guard let profile = stored.first(where: { $0.provider == provider.id }) else {
            return .nobody(source: .mvpd, .authenticatedProfileMissing)
        }
        guard !profile.isExpired(at: call.now) else { return .nobody(source: .mvpd, .authenticatedProfileExpired) }
        guard let viewer = core.viewer(profile) else { return .nobody(source: .mvpd, .identityNotRecognizedByMVPD) }
        return .known(viewer, source: .mvpd)
    }

    private func known(
        _ caller: V2Caller,
        _ provider: SandboxConfiguration.Provider,
        _ kind: Profile.Kind,
        _ source: AuthorizationDecision.Source,
        _ identity: String,
        _ call: EndpointRequest
    ) -> Requester {
        let profile = core.profileWithoutLogin(
            caller.device,
            caller.requestor,
            provider,
            kind: kind,
            from: call.now,
            lifetime: provider.authorizationLifetime,
            identity: identity
        )
        guard let viewer = core.viewer(profile, temporaryIdentity: identity) else {
            return .nobody(source: source, .authenticatedProfileMissing)
        }
        return .known(viewer, source: source)
    }
}
