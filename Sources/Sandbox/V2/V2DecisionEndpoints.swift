// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources

/// The decisions of REST API v2. A denial of a resource is part of its decision, in a response with status 200.
extension SandboxCore {
    var v2DecisionEndpoints: [Endpoint] {
        [
            Endpoint(
                .post,
                path: "/api/v2/:provider/decisions/preauthorize/:mvpd",
                operation: .preauthorize,
                dialect: .v2,
                answer: preauthorize
            ),
            Endpoint(
                .post,
                path: "/api/v2/:provider/decisions/authorize/:mvpd",
                operation: .authorize,
                dialect: .v2,
                answer: authorize
            ),
        ]
    }

    private func preauthorize(_ call: EndpointRequest) async throws -> Response {
        let (caller, texts, login) = try await read(call, atMost: \.maximumPreauthorizedResources)
        var decisions = texts.map { AuthorizationDecision(resource: $0, login: login, call: call) }
        if let viewer = login.viewer {
            let verdicts = try await AuthorizationRules(core: self, viewer: viewer, call: call).preauthorize(texts)
            for (index, verdict) in verdicts.enumerated() {
                decisions[index].apply(verdict, for: call, denied: .preauthorizationDeniedByMVPD)
            }
        }
        if !caller.requestor.explainsDenials {
            for index in decisions.indices { decisions[index].error = nil }
        }
        return try .json(AuthorizationDecisions(decisions: decisions))
    }

    private func authorize(_ call: EndpointRequest) async throws -> Response {
        let (_, texts, login) = try await read(call) { _ in 1 }
        var decision = AuthorizationDecision(resource: texts[0], login: login, call: call)
        if let viewer = login.viewer {
            let rules = AuthorizationRules(core: self, viewer: viewer, call: call)
            let (verdict, authorization, token) = try await rules.authorize(texts[0])
            decision.apply(verdict, for: call, denied: .authorizationDeniedByMVPD)
            if let authorization {
                (decision.notBefore, decision.notAfter) = (authorization.issued, authorization.expires)
                decision.token = token
            }
        }
        return try .json(AuthorizationDecisions(decisions: [decision]))
    }

    /// Reads the caller, the well-formed resources and the login of a request.
    private func read(
        _ call: EndpointRequest,
        atMost maximum: (Requestor) -> Int
    ) async throws -> (Caller, [String], Caller.Login) {
        let caller = try await Caller(of: call, in: self)
        let provider = try caller.provider(call.segment("mvpd"))
        let texts = try call.resourcesOfBody()
        guard texts.count <= maximum(caller.requestor) else { throw EndpointError.v2(.tooManyResources) }
        guard texts.allSatisfy({ (try? MediaResource($0)) != nil }) else {
            throw EndpointError.v2(.invalidParameterResources)
        }
        return (caller, texts, try await caller.login(provider))
    }
}

extension Caller {
    /// The viewer of a request, or the reason that there is none.
    typealias Login = (viewer: Viewer?, source: AuthorizationDecision.Source, refusal: StatusCode?)

    /// Returns the viewer of a device at a provider, with or without a login.
    func login(_ provider: Provider) async throws -> Login {
        let identity = temporaryIdentity(provider)
        if provider.temporaryAccess != nil, identity == nil {
            return (nil, .tempPass, .invalidHeaderIdentityForTemporaryAccess)
        }
        if let viewer = try await viewerWithoutLogin(provider, identity: identity) {
            return (viewer, viewer.profile.kind == .temporary ? .tempPass : .degradation, nil)
        }
        let stored = try await core.store.profiles(of: device, requestor: requestor.id)
        guard let profile = stored.first(where: { $0.provider == provider.id }) else {
            return (nil, .mvpd, .authenticatedProfileMissing)
        }
        guard !profile.isExpired(at: call.now) else { return (nil, .mvpd, .authenticatedProfileExpired) }
        let viewer = core.viewer(profile)
        return (viewer, .mvpd, viewer == nil ? .identityNotRecognizedByMVPD : nil)
    }
}

extension AuthorizationDecision {
    /// Creates a denial, with the reason if there is no viewer.
    fileprivate init(resource: String, login: Caller.Login, call: EndpointRequest) {
        self.init(
            resource: resource,
            serviceProvider: call.segment("provider"),
            mvpd: call.segment("mvpd"),
            source: login.source,
            isAuthorized: false,
            error: login.refusal.map { Status.documented($0, by: .v2).reported(to: call) }
        )
    }

    /// Sets the result of this decision.
    ///
    /// - Parameter denied: The code of a denial by the provider.
    fileprivate mutating func apply(
        _ verdict: AuthorizationRules.Verdict,
        for call: EndpointRequest,
        denied: StatusCode
    ) {
        switch verdict {
        case .permit(let source, _): (self.source, isAuthorized) = (source, true)
        case .deny(let source, let code, let details):
            self.source = source
            let reported = code == .authorizationDeniedByMVPD ? denied : code
            error = Status.documented(reported, by: .v2, details: details).reported(to: call)
        }
    }
}
