// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import MediaTokens
internal import XML

/// The endpoints of the native SDKs and of clients that imitate them. These clients store long-lived tokens.
extension SandboxCore {
    var legacyEndpoints: [Endpoint] {
        [
            Endpoint(.post, path: "/indiv/devices", operation: .register, dialect: .legacy) { _ in
                let pass: HTTPFields = [.devicePass: RandomText.secret]
                return .json(["deviceId": .string(RandomText.secret)], headers: pass)
            },
            Endpoint(.post, path: "/adobe-services/session", operation: .profiles, dialect: .legacy, answer: session),
            Endpoint(
                .post,
                path: "/adobe-services/authorize",
                operation: .authorize,
                dialect: .legacy,
                answer: authorize
            ),
            Endpoint(
                .post,
                path: "/adobe-services/shortAuthorize",
                operation: .mediaToken,
                dialect: .legacy,
                answer: shortAuthorize
            ),
            Endpoint(
                .post,
                path: "/adobe-services/preauthorize",
                operation: .preauthorize,
                dialect: .legacy,
                answer: preauthorize
            ),
        ]
    }

    /// Returns the authentication token of a finished login.
    private func session(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        guard
            let session = try await store.session(call.parameter("reg_code") ?? "", of: requestor.id, at: call.now),
            session.state == .done, let device = call.deviceName, Device(device) == session.device
        else { throw EndpointError.v1(.authenticationSessionMissing, httpStatus: 403) }
        let profiles = try await store.profiles(of: session.device, requestor: requestor.id)
        guard let profile = profiles.first(where: { $0.provider == session.provider }),
            !profile.isExpired(at: call.now)
        else { throw EndpointError.v1(.authenticationSessionExpired, httpStatus: 403) }
        guard let viewer = viewer(profile) else { throw EndpointError.v1(.identityNotRecognizedByMVPD) }
        let token = LongLivedToken(.authentication, subject: viewer.guid, profile: profile, expires: profile.expires)
        return try reply(root: "session", children: [XMLElement("authnToken", text: token.signed(by: signer))])
    }

    /// Returns the authorization token for a resource. A denial has status 200, because these clients give up at any other
    /// status.
    private func authorize(_ call: EndpointRequest) async throws -> Response {
        guard let viewer = try await viewer(call) else { return try pendingLogout("authorization") }
        guard let text = call.parameter("resource_id") else { throw EndpointError.v1(.missingResource) }
        let rules = AuthorizationRules(core: self, viewer: viewer, call: call)
        let (verdict, authorization, _) = try await rules.authorize(text)
        guard let authorization else {
            var refusal = EndpointError.v1(.authorizationDeniedByMVPD)
            refusal.httpStatus = 200
            refusal.status = verdict.v1Denial ?? refusal.status
            refusal.status.details = refusal.status.details ?? refusal.status.message
            throw refusal
        }
        let token = LongLivedToken(
            .authorization,
            subject: text,
            profile: viewer.profile,
            expires: authorization.expires
        )
        return try reply(root: "authorization", children: [XMLElement("authzToken", text: token.signed(by: signer))])
    }

    /// Returns a media token for an authorization token. A client with stored tokens sends no other credential.
    private func shortAuthorize(_ call: EndpointRequest) async throws -> Response {
        let requestor = try requestor(call)
        guard let token = token(.authorization, raw: call.parameter("authz_token"), of: requestor, in: call) else {
            throw EndpointError.v1(.authorizationNotFound, httpStatus: 403)
        }
        // An authorization is not valid for the next viewer of the device, nor after the login ends.
        guard let viewer = try await viewer(of: token, call),
            let authorization = try await store.authorization(of: viewer.profile, resource: token.subject),
            authorization.expires > call.now
        else { return try pendingLogout("shortAuthorization") }
        if let guid = call.parameter("session_guid"), guid != viewer.guid {
            throw EndpointError.v1(.authorizationDeniedBySessionInvalidated)
        }
        return .text(try issuer.issue(in: self, for: viewer, resource: token.subject, at: call.now).raw ?? "")
    }

    private func preauthorize(_ call: EndpointRequest) async throws -> Response {
        guard let viewer = try await viewer(call) else { return try pendingLogout("resources") }
        let texts = call.resourceList
        let verdicts = try await AuthorizationRules(core: self, viewer: viewer, call: call).preauthorize(texts)
        let resources = zip(texts, verdicts).map { text, verdict in
            XMLElement(
                "resource",
                children: [XMLElement("id", text: text), XMLElement("authorized", text: "\(verdict.v1Denial == nil)")]
            )
        }
        return try reply(root: "resources", children: resources)
    }

    // MARK: Callers

    private func token(
        _ kind: LongLivedToken.Kind,
        raw: String?,
        of requestor: Requestor,
        in call: EndpointRequest
    ) -> LongLivedToken? {
        let token = raw.flatMap { LongLivedToken(kind, raw: $0, trustedBy: keys.trust, at: call.now) }
        return token?.requestor == requestor.id ? token : nil
    }

    /// Returns the viewer of an authentication token; `nil` if the login has ended.
    private func viewer(_ call: EndpointRequest) async throws -> Viewer? {
        let requestor = try requestor(call)
        // A client with kept tokens no longer has an access token. An access token that is sent must be valid.
        if call.bearer != nil { try await client(call, for: requestor) }
        guard let token = token(.authentication, raw: call.parameter("authentication_token"), of: requestor, in: call)
        else {
            throw EndpointError.v1(.authenticationSessionMissing, httpStatus: 403)
        }
        if let provider = call.parameter("mso_id"), provider != token.provider {
            throw EndpointError.v1(.authenticationSessionIssuerMismatch)
        }
        if let device = call.deviceName, Device(device).fingerprint != token.fingerprint {
            throw EndpointError.v1(.invalidDeviceID)
        }
        return try await viewer(of: token, call)
    }

    /// Returns the viewer of the stored profile: the other parameters of the client are not signed. `nil` if the login of the
    /// token has ended.
    private func viewer(of token: LongLivedToken, _ call: EndpointRequest) async throws -> Viewer? {
        guard let profile = try await store.profile(of: token), profile.session == token.session,
            !profile.isExpired(at: call.now)
        else { return nil }
        return viewer(profile)
    }

    // MARK: Answers

    private var signer: Issuer { Issuer(key: keys.signer) }

    /// Returns elements without attributes on one line, because clients search for them with regular expressions.
    private func reply(root: String, children: [XMLElement]) throws -> Response {
        .xml(try XMLElement(root, children: children).document())
    }

    /// Returns an answer that makes a client discard its stored tokens and begin again.
    private func pendingLogout(_ root: String) throws -> Response {
        try reply(root: root, children: [XMLElement("pendingLogout", text: "true")])
    }
}
