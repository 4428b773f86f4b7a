// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// Preauthorization, authorization and media tokens of REST API v1.
extension SandboxCore {
    var v1AuthorizationEndpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                path: "/api/v1/preauthorize",
                operation: .preauthorize,
                dialect: .v1Preauthorization,
                answer: preauthorize
            ),
            Endpoint(
                .post,
                path: "/api/v1/preauthorize",
                operation: .preauthorize,
                dialect: .v1Preauthorization,
                answer: preauthorize
            ),
            Endpoint(.get, path: "/api/v1/authorize", operation: .authorize, dialect: .v1, answer: authorize),
            Endpoint(.get, path: "/api/v1/tokens/authz", operation: .authorize, dialect: .v1, answer: authorization),
            Endpoint(.get, path: "/api/v1/tokens/media", operation: .mediaToken, dialect: .v1, answer: mediaToken),
            Endpoint(.get, path: "/api/v1/mediatoken", operation: .mediaToken, dialect: .v1, answer: mediaToken),
        ]
    }

    private func preauthorize(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        let texts = call.resourceList
        guard !texts.isEmpty else { throw EndpointError.v1(.missingResource) }
        guard texts.count <= caller.requestor.maximumPreauthorizedResources else {
            throw EndpointError.v1(.tooManyResources)
        }
        let viewer: Viewer
        switch try await caller.state() {
        case .authenticated(let known): viewer = known
        case .expired: throw EndpointError.v1(.preauthorizationAuthenticationSessionExpired)
        case .missing: throw EndpointError.v1(.preauthorizationAuthenticationSessionMissing)
        case .unknown: throw EndpointError.v1(.identityNotRecognizedByMVPD)
        }
        let verdicts = try await AuthorizationRules(core: self, viewer: viewer, call: call).preauthorize(texts)
        let decisions = zip(texts, verdicts).map { text, verdict in
            let denial = verdict.v1Denial?.reported(to: call)
            let error = caller.requestor.explainsDenials ? denial : nil
            return PreauthorizeResponse.Decision(id: text, isAuthorized: denial == nil, error: error)
        }
        return try .json(
            PreauthorizeResponse(decisions: decisions),
            headers: [.adobeRequestID: call.trace, .adobeResponseConfidence: "full"]
        )
    }

    private func authorize(_ call: EndpointRequest) async throws -> Response {
        let viewer = try await Caller(of: call, in: self).viewer(missing: 412, expired: 412)
        guard let text = call.parameter("resource", "resource_id") else { throw EndpointError.v1(.missingResource) }
        let rules = AuthorizationRules(core: self, viewer: viewer, call: call)
        let (verdict, authorization, _) = try await rules.authorize(text)
        guard let authorization else {
            var refusal = EndpointError.v1(.authorizationDeniedByMVPD)
            refusal.status = verdict.v1Denial ?? refusal.status
            throw refusal
        }
        return try reply(with: authorization, for: viewer, to: call)
    }

    private func authorization(_ call: EndpointRequest) async throws -> Response {
        let (viewer, authorization) = try await stored(call, missing: 404, expired: 410)
        return try reply(with: authorization, for: viewer, to: call)
    }

    private func mediaToken(_ call: EndpointRequest) async throws -> Response {
        let (viewer, authorization) = try await stored(call, missing: 403, expired: 403)
        let token = try issuer.issue(in: self, for: viewer, resource: authorization.resource, at: call.now)
        return try .body(token, xml: try token.xml, to: call)
    }

    /// Returns an authorization that was given before.
    ///
    /// - Throws: ``EndpointError`` with the HTTP status `missing` or `expired` if there is none.
    private func stored(
        _ call: EndpointRequest,
        missing: Int,
        expired: Int
    ) async throws -> (Viewer, StoredAuthorization) {
        let viewer = try await Caller(of: call, in: self).viewer(missing: 412, expired: 412)
        guard let text = call.parameter("resource", "resource_id") else {
            throw EndpointError.v1(.missingResource, httpStatus: 412)
        }
        guard let authorization = try await store.authorization(of: viewer.profile, resource: text) else {
            throw EndpointError.v1(.authorizationNotFound, httpStatus: missing)
        }
        guard authorization.expires > call.now else {
            var refusal = EndpointError.v1(.authorizationExpired)
            refusal.httpStatus = expired
            throw refusal
        }
        return (viewer, authorization)
    }

    private func reply(
        with authorization: StoredAuthorization,
        for viewer: Viewer,
        to call: EndpointRequest
    ) throws -> Response {
        let answer = Authorization(
            requestor: viewer.requestor.id,
            mvpd: viewer.provider.id,
            proxyMVPD: viewer.provider.proxy,
            resource: authorization.resource,
            expires: authorization.expires
        )
        return try .body(answer, xml: try answer.xml, to: call)
    }
}
