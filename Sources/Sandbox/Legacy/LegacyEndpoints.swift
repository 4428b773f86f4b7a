// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import MediaTokens
internal import XML

/// The endpoints of the native SDKs and of clients that imitate them. These clients keep long-lived tokens.
struct LegacyEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.post, "/indiv/devices", .register, .legacy, device),
            Endpoint(.post, "/adobe-services/session", .profiles, .legacy, session),
            Endpoint(.post, "/adobe-services/authorize", .authorize, .legacy, authorize),
            Endpoint(.post, "/adobe-services/shortAuthorize", .mediaToken, .legacy, shortAuthorize),
            Endpoint(.post, "/adobe-services/preauthorize", .preauthorize, .legacy, preauthorize),
            // These are the paths of the SDKs for devices.
            Endpoint(.post, "/adobe-services/1.0/sessionDevice", .profiles, .legacy, session),
            Endpoint(.post, "/adobe-services/1.0/authorizeDevice", .authorize, .legacy, authorize),
            Endpoint(.post, "/adobe-services/1.0/deviceShortAuthorize", .mediaToken, .legacy, shortAuthorize),
        ]
    }

    private func device(_ call: EndpointRequest) async throws -> Response {
        .json(
            .object([("deviceId", .string(RandomText.secret))]),
            headers: [.devicePass: RandomText.secret]
        )
    }

    /// Returns the authentication token of a finished login.
    private func session(_ call: EndpointRequest) async throws -> Response {
        let requestor = try requestor(call)
        _ = try await core.caller(call, for: requestor)
        guard let session = try await core.store.session(call.parameter("reg_code") ?? "", at: call.now),
            session.requestor == requestor.id, session.state == .done,
            let device = call.deviceName, Device(device) == session.device
        else { throw EndpointError.v1(.authenticationSessionMissing, 403) }
        let profiles = try await core.store.profiles(of: session.device, requestor: requestor.id)
        guard let profile = profiles.first(where: { $0.provider == session.provider }),
            !profile.isExpired(at: call.now)
        else { throw EndpointError.v1(.authenticationSessionExpired, 403) }
        guard let viewer = core.viewer(profile) else { throw EndpointError.v1(.identityNotRecognizedByMVPD) }
        let token = LongLivedToken.Authentication(
            guid: viewer.guid,
            session: profile.session,
            requestor: profile.requestor,
            provider: profile.provider,
            fingerprint: profile.device.fingerprint,
            expires: profile.expires
        )
        return try answer("session", [XMLElement("authnToken", text: token.signed(by: issuer))])
    }

    /// Returns the authorization token for a resource. A denial has status 200, because these clients give up at any other
    /// status.
    private func authorize(_ call: EndpointRequest) async throws -> Response {
        guard let viewer = try await viewer(call) else { return try pendingLogout("authorization") }
        guard let text = call.parameter("resource_id") else { throw EndpointError.v1(.missingResource) }
        guard let resource = try? MediaResource(text) else { throw EndpointError.v1(.malformedAuthorizationRequest) }
        try MediaTokenIssuer(core: core).check(viewer, resource: text, at: call.now)
        let verdict = try await AuthorizationRules(core: core, viewer: viewer).authorize(resource, at: call.now)
        guard case .permit(let source, let expires) = verdict else {
            var refusal = EndpointError.v1(.authorizationDeniedByMVPD)
            refusal.httpStatus = 200
            refusal.status = verdict.v1Denial ?? refusal.status
            refusal.status.details = refusal.status.details ?? refusal.status.message
            throw refusal
        }
        let authorization = StoredAuthorization(viewer, resource: text, source: source, from: call.now, to: expires)
        try await core.store.add(authorization, at: call.now)
        let token = LongLivedToken.Authorization(
            requestor: viewer.requestor.id,
            provider: viewer.provider.id,
            session: viewer.profile.session,
            resource: text,
            fingerprint: viewer.profile.device.fingerprint,
            expires: expires
        )
        return try answer("authorization", [XMLElement("authzToken", text: token.signed(by: issuer))])
    }

    /// Returns a media token for an authorization token. A client with kept tokens sends no other credential.
    private func shortAuthorize(_ call: EndpointRequest) async throws -> Response {
        let requestor = try requestor(call)
        guard let raw = call.parameter("authz_token"),
            let token = LongLivedToken.Authorization(raw, trustedBy: core.keys.trust, at: call.now),
            token.requestor == requestor.id
        else { throw EndpointError.v1(.authorizationNotFound, 403) }
        // The viewer comes from the stored profile. The other parameters of the client are not signed.
        let profile = try await core.store.profile(
            fingerprint: token.fingerprint,
            requestor: token.requestor,
            provider: token.provider
        )
        // An authorization is not valid for the next viewer of the device, nor after the login ends.
        guard let profile, profile.session == token.session, !profile.isExpired(at: call.now),
            let viewer = core.viewer(profile),
            let authorization = try await core.store.authorization(of: profile, resource: token.resource),
            authorization.expires > call.now
        else { return try pendingLogout("shortAuthorization") }
        if let guid = call.parameter("session_guid"), guid != viewer.guid {
            throw EndpointError.v1(.authorizationDeniedBySessionInvalidated)
        }
        return .text(try MediaTokenIssuer(core: core).issue(viewer, resource: token.resource, at: call.now).raw ?? "")
    }

    private func preauthorize(_ call: EndpointRequest) async throws -> Response {
        guard let viewer = try await viewer(call) else { return try pendingLogout("resources") }
        let texts = call.resourceList
        guard texts.count <= viewer.requestor.maximumPreauthorizedResources else {
            throw EndpointError.v1(.tooManyResources)
        }
        let decider = AuthorizationRules(core: core, viewer: viewer)
        var resources: [XMLElement] = []
        for text in texts {
            guard let resource = try? MediaResource(text) else {
                throw EndpointError.v1(.malformedAuthorizationRequest)
            }
            let isAuthorized = try await decider.preauthorize(resource, at: call.now).v1Denial == nil
            resources.append(
                XMLElement(
                    "resource",
                    children: [XMLElement("id", text: text), XMLElement("authorized", text: "\(isAuthorized)")]
                )
            )
        }
        return try answer("resources", resources)
    }

    // MARK: Callers

    private func requestor(_ call: EndpointRequest) throws -> SandboxConfiguration.Requestor {
        guard let requestor = call.parameter("requestor_id").flatMap(core.configuration.requestor) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        return requestor
    }

    /// Returns the viewer of an authentication token; `nil` if the login has ended.
    private func viewer(_ call: EndpointRequest) async throws -> Viewer? {
        let requestor = try requestor(call)
        // A client with kept tokens no longer has an access token. An access token that is sent must be valid.
        if call.bearer != nil { _ = try await core.caller(call, for: requestor) }
        guard let raw = call.parameter("authentication_token"),
            let token = LongLivedToken.Authentication(raw, trustedBy: core.keys.trust, at: call.now),
            token.requestor == requestor.id
        else { throw EndpointError.v1(.authenticationSessionMissing, 403) }
        if let provider = call.parameter("mso_id"), provider != token.provider {
            throw EndpointError.v1(.authenticationSessionIssuerMismatch)
        }
        if let device = call.deviceName, Device(device).fingerprint != token.fingerprint {
            throw EndpointError.v1(.invalidDeviceID)
        }
        let profile = try await core.store.profile(
            fingerprint: token.fingerprint,
            requestor: token.requestor,
            provider: token.provider
        )
        guard let profile, profile.session == token.session, !profile.isExpired(at: call.now) else { return nil }
        return core.viewer(profile)
    }

    // MARK: Answers

    private var issuer: Issuer { Issuer(key: core.keys.signer) }

    /// Returns elements without attributes on one line, because clients search for them with regular expressions.
    private func answer(_ root: String, _ children: [XMLElement]) throws -> Response {
        .xml(try XMLElement(root, children: children).document())
    }

    /// Returns an answer that makes a client discard its kept tokens and begin again.
    private func pendingLogout(_ root: String) throws -> Response {
        try answer(root, [XMLElement("pendingLogout", text: "true")])
    }
}
