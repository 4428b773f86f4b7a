// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

/// What every request of REST API v1 comes with.
struct V1Caller: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let device: Device

    /// - Throws: ``EndpointError`` where something is missing or malformed.
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

    /// What is known of whoever uses the device.
    enum State: Sendable {
        case authenticated(Viewer)
        case expired
        case missing
        /// The provider does not know the user any more.
        case unknown
    }

    /// Who uses the device: with the provider that the request names, or by the login that was asked for last. One that has
    /// expired is only told of where no other holds.
    ///
    /// - Throws: ``EndpointError`` where the request names another provider.
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

    /// Everybody, under a rule of degradation that lets everybody in.
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

    /// Who uses the device.
    ///
    /// - Throws: ``EndpointError`` with these statuses of HTTP where nobody is authenticated.
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
    /// The code as REST API v1 says it, which has fewer.
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
    /// Why not, in the words of REST API v1; nil where it is a yes.
    var v1Denial: Status? {
        guard case .deny(_, let code, let details) = self else { return nil }
        return .documented(code.v1, by: .v1, details: details ?? (code == code.v1 ? nil : code.explanation))
    }
}
