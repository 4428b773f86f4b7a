// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The endpoints of REST API v1 for login state, user metadata, logout, temporary access and the configuration of a
/// requestor.
struct V1AuthenticationEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v1/config/:requestor", .configuration, .v1, configuration),
            Endpoint(.get, "/adobe-services/config/:requestor", .configuration, .v1, configuration),
            Endpoint(.get, "/api/v1/checkauthn", .profiles, .v1, check),
            Endpoint(.get, "/api/v1/checkauthn/:code", .profiles, .v1, checkByCode),
            Endpoint(.get, "/api/v1/tokens/authn", .profiles, .v1, authentication),
            Endpoint(.get, "/api/v1/tokens/usermetadata", .userMetadata, .v1, userMetadata),
            Endpoint(.delete, "/api/v1/logout", .logout, .v1, logout),
            Endpoint(.post, "/api/v1/authenticate/freepreview", .authenticate, .v1, freePreview),
        ]
    }

    private func configuration(_ call: EndpointRequest) async throws -> Response {
        var id = call.segment("requestor")
        var wantsJSON = call.wantsJSON(default: false)
        for (suffix, isJSON) in [(".json", true), (".xml", false)] where id.hasSuffix(suffix) {
            id = String(id.dropLast(suffix.count))
            wantsJSON = isJSON
        }
        guard let requestor = core.configuration.requestor(id) else { throw EndpointError.v1(.invalidRequestor, 404) }
        let description = core.configuration.description(of: requestor)
        return wantsJSON ? try .json(description) : .xml(try description.xml)
    }

    private func check(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V1Caller(call, core)
        _ = try await caller.viewer(call, core, missing: 403, expired: 403)
        return .empty(.ok)
    }

    /// Answers a second screen with 200 if the login of its code is finished.
    private func checkByCode(_ call: EndpointRequest) async throws -> Response {
        guard let requestor = call.parameter("requestor", "requestor_id").flatMap(core.configuration.requestor) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        _ = try await core.caller(call, for: requestor)
        guard let session = try await core.store.session(call.segment("code"), at: call.now),
            session.requestor == requestor.id
        else { throw EndpointError.v1(.authenticationSessionMissing, 404) }
        guard session.state == .done,
            let profile = try await core.profiles(of: session.device, requestor: requestor, at: call.now)
                .first(where: { $0.provider == session.provider })
        else { throw EndpointError.v1(.authenticationSessionMissing, 403) }
        guard !profile.isExpired(at: call.now) else { throw EndpointError.v1(.authenticationSessionExpired, 403) }
        return .empty(.ok)
    }

    private func authentication(_ call: EndpointRequest) async throws -> Response {
        let viewer = try await V1Caller(call, core).viewer(call, core, missing: 404, expired: 410)
        let answer = Authentication(
            requestor: viewer.requestor.id,
            mvpd: viewer.provider.id,
            userID: viewer.guid,
            expires: viewer.profile.expires
        )
        return call.wantsJSON(default: true) ? try .json(answer) : .xml(try answer.xml)
    }

    private func userMetadata(_ call: EndpointRequest) async throws -> Response {
        let viewer = try await V1Caller(call, core).viewer(call, core, missing: 412, expired: 410)
        let metadata = try ViewerMetadata(viewer)
        return try .json(
            UserMetadata(updated: viewer.profile.issued, encrypted: metadata.encrypted, data: metadata.values)
        )
    }

    /// Ends the logins of a device with the requestor in the request, or with all requestors if there is none.
    private func logout(_ call: EndpointRequest) async throws -> Response {
        let named = call.parameter("requestor", "requestor_id")
        let requestors = core.configuration.requestors.filter { named == nil || $0.id == named }
        guard !requestors.isEmpty else { throw EndpointError.v1(.invalidRequestor) }
        guard let device = call.deviceName else { throw EndpointError.v1(.invalidDeviceID) }
        var refusal: (any Error)?
        var isDone = false
        for requestor in requestors {
            do { _ = try await core.caller(call, for: requestor) } catch {
                refusal = error
                continue
            }
            _ = try await core.store.removeProfiles(of: Device(device), requestor: requestor.id, provider: nil)
            isDone = true
        }
        if let refusal, !isDone { throw refusal }
        return .empty(.noContent)
    }

    /// Starts temporary access, which needs no login.
    private func freePreview(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V1Caller(call, core)
        let named = call.parameter("mso_id", "mvpd")
        guard let provider = named.flatMap({ core.configuration.provider($0, of: caller.requestor) }),
            let access = provider.temporaryAccess
        else { throw EndpointError.v1(.unknownIntegration) }
        guard let identity = caller.temporaryIdentity(access, call) else {
            throw EndpointError.v1(.badRequest, message: "Missing required parameter : generic_data")
        }
        let use = try await core.store.temporaryUse(identity, requestor: caller.requestor.id, provider: provider.id)
        let start = use?.started ?? call.now
        guard call.now < start.advanced(byMilliseconds: access.duration) else {
            throw EndpointError.v1(
                .authorizationDeniedByMVPD,
                details: StatusCode.temporaryAccessDurationLimitExceeded.explanation
            )
        }
        // The profile is valid until the access is first used. From then on the duration of the access limits it.
        let profile = core.profileWithoutLogin(
            caller.device,
            caller.requestor,
            provider,
            kind: .temporary,
            from: call.now,
            lifetime: max(provider.authenticationLifetime, access.duration),
            identity: identity
        )
        try await core.store.add(profile, at: call.now)
        return .empty(.noContent)
    }
}

extension V1Caller {
    /// Returns the identity that temporary access is bound to: the device, or the application's `generic_data`, plain or in
    /// Base64.
    fileprivate func temporaryIdentity(
        _ access: SandboxConfiguration.TemporaryAccess,
        _ call: EndpointRequest
    ) -> String? {
        guard access.isPromotional else { return device.name }
        guard let data = call.parameter("generic_data") else { return nil }
        return SHA256.digest(Base64.decode([UInt8](data.utf8)) ?? [UInt8](data.utf8)).hexadecimal
    }
}
