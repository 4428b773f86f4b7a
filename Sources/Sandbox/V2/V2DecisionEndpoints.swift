// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources

/// The decisions of REST API v2. A denial of a resource is part of its decision, in a response with status 200.
struct V2DecisionEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.post, "/api/v2/:provider/decisions/preauthorize/:mvpd", .preauthorize, .v2, preauthorize),
            Endpoint(.post, "/api/v2/:provider/decisions/authorize/:mvpd", .authorize, .v2, authorize),
        ]
    }

    private func preauthorize(_ call: EndpointRequest) async throws -> Response {
        let (caller, texts, requester) = try await read(call, atMost: \.maximumPreauthorizedResources)
        var decisions = texts.map { requester.refusal(of: $0, call) }
        if case .known(let viewer, _) = requester {
            let verdicts = try await AuthorizationRules(core: core, viewer: viewer, call: call).preauthorize(texts)
            for (index, verdict) in verdicts.enumerated() {
                decisions[index].apply(verdict, call, denied: .preauthorizationDeniedByMVPD)
            }
        }
        if !caller.requestor.explainsDenials {
            for index in decisions.indices { decisions[index].error = nil }
        }
        return try .json(AuthorizationDecisions(decisions: decisions))
    }

    private func authorize(_ call: EndpointRequest) async throws -> Response {
        let (_, texts, requester) = try await read(call) { _ in 1 }
        var decision = requester.refusal(of: texts[0], call)
        if case .known(let viewer, _) = requester {
            let rules = AuthorizationRules(core: core, viewer: viewer, call: call)
            let (verdict, authorization, token) = try await rules.authorize(texts[0])
            decision.apply(verdict, call, denied: .authorizationDeniedByMVPD)
            if let authorization {
                decision.notBefore = authorization.issued
                decision.notAfter = authorization.expires
                decision.token = token
            }
        }
        return try .json(AuthorizationDecisions(decisions: [decision]))
    }

    /// The viewer of a request, or the reason that there is none.
    private enum Requester {
        case known(Viewer, source: AuthorizationDecision.Source)
        case nobody(source: AuthorizationDecision.Source, StatusCode)

        /// Returns a decision that denies a resource, with the reason that there is no viewer.
        func refusal(of resource: String, _ call: EndpointRequest) -> AuthorizationDecision {
            var decision = AuthorizationDecision(
                resource: resource,
                serviceProvider: call.segment("provider"),
                mvpd: call.segment("mvpd"),
                source: .mvpd,
                isAuthorized: false
            )
            switch self {
            case .known(_, let source): decision.source = source
            case .nobody(let source, let code):
                decision.source = source
                decision.error = Status.documented(code, by: .v2).told(to: call)
            }
            return decision
        }
    }

    /// Reads the caller, the well-formed resources and the viewer of a request.
    private func read(
        _ call: EndpointRequest,
        atMost maximum: (Requestor) -> Int
    ) async throws -> (Caller, [String], Requester) {
        let caller = try await Caller(call, core)
        let provider = try caller.provider(call.segment("mvpd"))
        let texts = try call.resourcesOfBody()
        guard texts.count <= maximum(caller.requestor) else { throw EndpointError.v2(.tooManyResources) }
        guard texts.allSatisfy({ (try? MediaResource($0)) != nil }) else {
            throw EndpointError.v2(.invalidParameterResources)
        }
        return (caller, texts, try await requester(caller, provider))
    }

    private func requester(_ caller: Caller, _ provider: Provider) async throws -> Requester {
        let identity = caller.temporaryIdentity(provider)
        if provider.temporaryAccess != nil, identity == nil {
            return .nobody(source: .tempPass, .invalidHeaderIdentityForTemporaryAccess)
        }
        if let viewer = try await caller.viewerWithoutLogin(provider, identity: identity) {
            return .known(viewer, source: viewer.profile.kind == .temporary ? .tempPass : .degradation)
        }
        let stored = try await core.store.profiles(of: caller.device, requestor: caller.requestor.id)
        guard let profile = stored.first(where: { $0.provider == provider.id }) else {
            return .nobody(source: .mvpd, .authenticatedProfileMissing)
        }
        guard !profile.isExpired(at: caller.call.now) else {
            return .nobody(source: .mvpd, .authenticatedProfileExpired)
        }
        guard let viewer = core.viewer(profile) else { return .nobody(source: .mvpd, .identityNotRecognizedByMVPD) }
        return .known(viewer, source: .mvpd)
    }
}

extension AuthorizationDecision {
    /// Sets the result of this decision.
    ///
    /// - Parameter denied: The code of a denial by the provider.
    fileprivate mutating func apply(
        _ verdict: AuthorizationRules.Verdict,
        _ call: EndpointRequest,
        denied: StatusCode
    ) {
        switch verdict {
        case .permit(let source, _): (self.source, isAuthorized) = (source, true)
        case .deny(let source, let code, let details):
            self.source = source
            let told = code == .authorizationDeniedByMVPD ? denied : code
            error = Status.documented(told, by: .v2, details: details).told(to: call)
        }
    }
}
