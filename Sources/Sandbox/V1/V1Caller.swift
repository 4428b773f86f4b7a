// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

/// The requestor and the device, which every request of REST API v1 names.
struct V1Caller: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let device: Device

    /// Reads the parameters of a request and checks its access token.
    ///
    /// - Throws: ``EndpointError`` if a parameter is missing or malformed, or the access token is not accepted.
    init(_ call: EndpointRequest, _ core: SandboxCore) async throws {
        guard let requestor = call.parameter("requestor", "requestor_id").flatMap(core.configuration.requestor) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        self.requestor = requestor
        _ = try await core.caller(call, for: requestor)
        guard let name = call.deviceName else {
            guard call.dialect == .v1Preauthorization, !call.namesDevice else {
                throw EndpointError.v1(.invalidDeviceID)
            }
            throw EndpointError.v1(.badRequest, message: "Missing required parameter : deviceId", details: "")
        }
        device = Device(name)
        try Self.checkDeviceInfo(call)
    }

    private static func checkDeviceInfo(_ call: EndpointRequest) throws(EndpointError) {
        if case .some(nil) = call.object(inHeader: "X-Device-Info") { throw .v1(.invalidDeviceInfo) }
        guard let text = call.parameter("device_info") else { return }
        guard let bytes = Base64.decode([UInt8](text.utf8)),
            case .object? = try? JSONReader.read(bytes.span, limits: JSONLimits(depth: 8, members: 64, elements: 64))
        else { throw .v1(.invalidDeviceInfo) }
    }

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
    func state(_ call: EndpointRequest, _ core: SandboxCore) async throws -> State {
        let profiles = try await core.profiles(of: device, requestor: requestor, at: call.now)
        let valid = profiles.filter { !$0.isExpired(at: call.now) }
        let named = call.parameter("mso_id", "mvpd")
        if let named, core.configuration.provider(named, of: requestor) == nil {
            throw EndpointError.v1(.unknownIntegration)
        }
        let profile = named.map { named in valid.first { $0.provider == named } } ?? valid.first
        if let id = named ?? profile?.provider ?? profiles.first?.provider,
            let degraded = degraded(id, call, core)
        {
            return .authenticated(degraded)
        }
        if profile == nil, !valid.isEmpty { throw EndpointError.v1(.authenticationSessionIssuerMismatch) }
        guard let profile else {
            return profiles.contains { named == nil || $0.provider == named } ? .expired : .missing
        }
        guard core.configuration.provider(profile.provider, of: requestor) != nil else {
            throw EndpointError.v1(.unknownIntegration)
        }
        return core.viewer(profile).map { .authenticated($0) } ?? .unknown
    }

    /// Returns a viewer without a login, if a degradation rule authenticates every viewer.
    private func degraded(_ id: String, _ call: EndpointRequest, _ core: SandboxCore) -> Viewer? {
        guard let provider = core.configuration.provider(id, of: requestor),
            core.degradation(requestor, provider) == .authNAll
        else { return nil }
        return core.viewer(
            core.profileWithoutLogin(
                device,
                requestor,
                provider,
                kind: .degraded,
                from: call.now,
                lifetime: provider.authorizationLifetime
            )
        )
    }

    /// Returns the authenticated viewer of the device.
    ///
    /// - Throws: ``EndpointError`` with the HTTP status `missing` or `expired` if there is no valid login.
    func viewer(_ call: EndpointRequest, _ core: SandboxCore, missing: Int, expired: Int) async throws -> Viewer {
        switch try await state(call, core) {
        case .authenticated(let viewer): return viewer
        case .expired: throw EndpointError.v1(.authenticationSessionExpired, expired)
        case .missing: throw EndpointError.v1(.authenticationSessionMissing, missing)
        case .unknown: throw EndpointError.v1(.identityNotRecognizedByMVPD)
        }
    }
}

extension StatusCode {
    /// The corresponding code of REST API v1, which has fewer codes.
    var v1: StatusCode {
        switch self {
        case .preauthorizationDeniedByMVPD, .authorizationDeniedByDegradationRule,
            .temporaryAccessDurationLimitExceeded, .temporaryAccessResourcesLimitExceeded:
            .authorizationDeniedByMVPD
        default: self
        }
    }
}

extension AuthorizationRules.Verdict {
    /// The denial with a code of REST API v1; `nil` if the verdict is a permit.
    var v1Denial: Status? {
        guard case .deny(_, let code, let details) = self else { return nil }
        return .documented(code.v1, by: .v1, details: details ?? (code == code.v1 ? nil : code.explanation))
    }
}
