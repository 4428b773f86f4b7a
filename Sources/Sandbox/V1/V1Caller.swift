// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import MediaTokens
internal import StrictJSON

/// What every request of REST API v1 comes with.
struct V1Caller: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let device: Device

    /// - Throws: ``Refusal`` where something is missing or malformed.
    init(_ call: Call, _ core: SandboxCore) async throws {
        guard let requestor = call.parameter("requestor", "requestor_id").flatMap(core.configuration.requestor) else {
            throw Refusal.v1(.invalidRequestor)
        }
        self.requestor = requestor
        _ = try await core.caller(call, for: requestor)
        guard let name = call.deviceName else {
            guard call.dialect == .v1Preauthorization else { throw Refusal.v1(.invalidDeviceID) }
            throw Refusal.v1(.badRequest, message: "Missing required parameter : deviceId", details: "")
        }
        device = Device(name)
        try Self.checkDeviceInfo(call)
    }

    private static func checkDeviceInfo(_ call: Call) throws(Refusal) {
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

    /// Who uses the device: the latest who has logged in there.
    ///
    /// - Throws: ``Refusal`` where the request names another provider.
    func state(_ call: Call, _ core: SandboxCore) async throws -> State {
        let profile = try await core.store.profiles(of: device, requestor: requestor.id).first
        let named = call.parameter("mso_id", "mvpd")
        if let named, let profile, profile.provider != named, !profile.isExpired(at: call.now) {
            throw Refusal.v1(.authenticationSessionIssuerMismatch)
        }
        if let provider = (named ?? profile?.provider).flatMap(core.configuration.provider),
            core.degradation(requestor, provider) == .authNAll
        {
            let degraded = core.profileWithoutLogin(
                device,
                requestor,
                provider,
                kind: .degraded,
                from: call.now,
                lifetime: provider.authorizationLifetime
            )
            return core.viewer(degraded).map { .authenticated($0) } ?? .missing
        }
        guard let profile else { return .missing }
        guard !profile.isExpired(at: call.now) else { return .expired }
        return core.viewer(profile).map { .authenticated($0) } ?? .unknown
    }

    /// Who uses the device.
    ///
    /// - Throws: ``Refusal`` with these statuses of HTTP where nobody is authenticated.
    func viewer(_ call: Call, _ core: SandboxCore, missing: Int, expired: Int) async throws -> Viewer {
        switch try await state(call, core) {
        case .authenticated(let viewer): return viewer
        case .expired: throw Refusal.v1(.authenticationSessionExpired, expired)
        case .missing: throw Refusal.v1(.authenticationSessionMissing, missing)
        case .unknown: throw Refusal.v1(.identityNotRecognizedByMVPD)
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

extension Decider.Verdict {
    /// Why not, in the words of REST API v1; nil where it is a yes.
    var v1Denial: Status? {
        guard case .deny(_, let code, let details) = self else { return nil }
        return .documented(code.v1, by: .v1, details: details ?? (code == code.v1 ? nil : code.explanation))
    }
}
