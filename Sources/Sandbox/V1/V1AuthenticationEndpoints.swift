// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The endpoints of REST API v1 for login state, user metadata, logout, temporary access and the configuration of a
/// requestor.
extension SandboxCore {
    var v1AuthenticationEndpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                path: "/api/v1/config/:requestor",
                operation: .configuration,
                dialect: .v1,
                answer: showConfiguration
            ),
            Endpoint(
                .get,
                path: "/adobe-services/config/:requestor",
                operation: .configuration,
                dialect: .v1,
                answer: showConfiguration
            ),
            Endpoint(.get, path: "/api/v1/checkauthn", operation: .profiles, dialect: .v1, answer: check),
            Endpoint(.get, path: "/api/v1/checkauthn/:code", operation: .profiles, dialect: .v1, answer: checkByCode),
            Endpoint(.get, path: "/api/v1/tokens/authn", operation: .profiles, dialect: .v1, answer: authentication),
            Endpoint(
                .get,
                path: "/api/v1/tokens/usermetadata",
                operation: .userMetadata,
                dialect: .v1,
                answer: userMetadata
            ),
            Endpoint(.delete, path: "/api/v1/logout", operation: .logout, dialect: .v1, answer: logout),
            Endpoint(
                .post,
                path: "/api/v1/authenticate/freepreview",
                operation: .authenticate,
                dialect: .v1,
                answer: freePreview
            ),
        ]
    }

    private func showConfiguration(_ call: EndpointRequest) async throws -> Response {
        var id = call.segment("requestor")
        var wantsJSON = call.wantsJSON(default: false)
        for (suffix, isJSON) in [(".json", true), (".xml", false)] where id.hasSuffix(suffix) {
            id = String(id.dropLast(suffix.count))
            wantsJSON = isJSON
        }
        guard let requestor = configuration.requestor(id) else {
            throw EndpointError.v1(.invalidRequestor, httpStatus: 404)
        }
        let description = configuration.description(of: requestor, at: call.origin)
        return wantsJSON ? try .json(description) : .xml(try description.xml)
    }

    private func check(_ call: EndpointRequest) async throws -> Response {
        _ = try await Caller(of: call, in: self).viewer(missing: 403, expired: 403)
        return .empty(.ok)
    }

    /// Answers a second screen with 200 if the login of its code is finished.
    private func checkByCode(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        guard let session = try await store.session(call.segment("code"), of: requestor.id, at: call.now) else {
            throw EndpointError.v1(.authenticationSessionMissing, httpStatus: 404)
        }
        let profiles = try await profiles(of: session.device, requestor: requestor, at: call.now)
        guard session.state == .done, let profile = profiles.first(where: { $0.provider == session.provider }) else {
            throw EndpointError.v1(.authenticationSessionMissing, httpStatus: 403)
        }
        guard !profile.isExpired(at: call.now) else {
            throw EndpointError.v1(.authenticationSessionExpired, httpStatus: 403)
        }
        return .empty(.ok)
    }

    private func authentication(_ call: EndpointRequest) async throws -> Response {
        let viewer = try await Caller(of: call, in: self).viewer(missing: 404, expired: 410)
        let answer = Authentication(
            requestor: viewer.requestor.id,
            mvpd: viewer.provider.id,
            userID: viewer.reportedID,
            expires: viewer.profile.expires
        )
        return try .body(answer, xml: try answer.xml, to: call)
    }

    private func userMetadata(_ call: EndpointRequest) async throws -> Response {
        let viewer = try await Caller(of: call, in: self).viewer(missing: 412, expired: 410)
        let metadata = try ViewerMetadata(viewer)
        return try .json(
            UserMetadata(updated: viewer.profile.issued, encrypted: metadata.encrypted, data: metadata.values)
        )
    }

    /// Ends the logins of a device with the requestor in the request, or with all requestors if there is none.
    private func logout(_ call: EndpointRequest) async throws -> Response {
        let named = call.parameter("requestor", "requestor_id")
        let requestors = configuration.requestors.filter { named == nil || $0.id == named }
        guard !requestors.isEmpty else { throw EndpointError.v1(.invalidRequestor) }
        guard let device = call.deviceName else { throw EndpointError.v1(.invalidDeviceID) }
        var refusal: (any Error)?
        var isDone = false
        for requestor in requestors {
            do {
                try await client(call, for: requestor)
                try await store.removeProfiles(of: Device(device), requestor: requestor.id, provider: nil)
                isDone = true
            } catch let error as EndpointError { refusal = error }
        }
        if let refusal, !isDone { throw refusal }
        return .empty(.noContent)
    }

    /// Starts temporary access, which needs no login.
    private func freePreview(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        let provider = try caller.provider(call.parameter("mso_id", "mvpd"))
        guard let access = provider.temporaryAccess else { throw EndpointError.v1(.unknownIntegration) }
        guard let identity = caller.temporaryIdentity(provider) else {
            throw EndpointError.v1(.badRequest, message: "Missing required parameter : generic_data")
        }
        let viewer = try await caller.viewerWithoutLogin(provider, identity: identity)
        guard let viewer, !viewer.profile.isExpired(at: call.now) else {
            throw EndpointError.v1(
                .authorizationDeniedByMVPD,
                details: StatusCode.temporaryAccessDurationLimitExceeded.explanation
            )
        }
        // The profile is valid until the access is first used. From then on the duration of the access limits it.
        let lifetime = max(provider.authenticationLifetime, access.duration)
        let profile = caller.profile(
            at: provider,
            kind: .temporary,
            from: call.now,
            lifetime: lifetime,
            session: identity
        )
        try await store.add(profile, at: call.now)
        return .empty(.noContent)
    }
}

// MARK: Login state

extension Caller {
    /// The login state of a device.
    enum State: Sendable {
        case authenticated(Viewer)
        case expired
        case missing
        /// The provider no longer knows the user.
        case unknown
    }

    /// Returns the login state with the provider in the request, or of the latest login if there is none. An expired login
    /// is reported only if no other is valid.
    ///
    /// - Throws: ``EndpointError`` if the request names a provider that does not work with the requestor, or another than that of
    ///   the valid login.
    func state() async throws -> State {
        let profiles = try await core.profiles(of: device, requestor: requestor, at: call.now)
        let valid = profiles.filter { !$0.isExpired(at: call.now) }
        let named = call.parameter("mso_id", "mvpd")
        if let named { _ = try provider(named) }
        let profile = named.map { named in valid.first { $0.provider == named } } ?? valid.first
        if let id = named ?? profile?.provider ?? profiles.first?.provider,
            let provider = core.configuration.provider(id, of: requestor),
            let viewer = try await viewerWithoutLogin(provider)
        {
            return .authenticated(viewer)
        }
        if profile == nil, !valid.isEmpty { throw EndpointError.v1(.authenticationSessionIssuerMismatch) }
        guard let profile else {
            return profiles.contains { named == nil || $0.provider == named } ? .expired : .missing
        }
        _ = try provider(profile.provider)
        return core.viewer(profile).map { .authenticated($0) } ?? .unknown
    }

    /// Returns the authenticated viewer of the device.
    ///
    /// - Throws: ``EndpointError`` with the HTTP status `missing` or `expired` if there is no valid login.
    func viewer(missing: Int, expired: Int) async throws -> Viewer {
        switch try await state() {
        case .authenticated(let viewer): return viewer
        case .expired: throw EndpointError.v1(.authenticationSessionExpired, httpStatus: expired)
        case .missing: throw EndpointError.v1(.authenticationSessionMissing, httpStatus: missing)
        case .unknown: throw EndpointError.v1(.identityNotRecognizedByMVPD)
        }
    }
}
