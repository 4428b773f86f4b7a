// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The profiles of REST API v2, and the logout that ends them.
struct V2ProfileEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v2/:provider/profiles", .profiles, .v2, list),
            Endpoint(.get, "/api/v2/:provider/profiles/:mvpd", .profiles, .v2, one),
            Endpoint(.get, "/api/v2/:provider/profiles/code/:code", .profiles, .v2, byCode),
            Endpoint(.get, "/api/v2/:provider/logout/:mvpd", .logout, .v2, logout),
            // This is the path in the documentation's samples.
            Endpoint(.get, "/api/v2/logout/:provider/:mvpd", .logout, .v2, logout),
        ]
    }

    private func list(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(call, core)
        let stored = try await core.profiles(of: caller.device, requestor: caller.requestor, at: call.now)
        return try .json(profiles(stored, at: call.now))
    }

    private func one(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(call, core)
        let provider = try caller.provider(call.segment("mvpd"))
        let identity = caller.temporaryIdentity(provider)
        if provider.temporaryAccess != nil, identity == nil {
            throw EndpointError.v2(.invalidHeaderIdentityForTemporaryAccess)
        }
        if let viewer = try await caller.viewerWithoutLogin(provider, identity: identity) {
            guard !viewer.profile.isExpired(at: call.now) else {
                throw EndpointError.v2(.temporaryAccessDurationLimitExceeded)
            }
            return try .json(profiles([viewer.profile], at: call.now))
        }
        return try await .json(profiles(of: caller.device, with: provider.id, caller))
    }

    /// Returns the profile of a finished session, to the device that began it and to the second screen.
    private func byCode(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(call, core)
        let requestor = caller.requestor.id
        guard let session = try await core.store.session(call.segment("code"), of: requestor, at: call.now) else {
            throw EndpointError.v2(.invalidParameterCode)
        }
        guard session.state == .done, let provider = session.provider else { return try .json(Profiles()) }
        return try await .json(profiles(of: session.device, with: provider, caller))
    }

    private func profiles(of device: Device, with provider: String, _ caller: Caller) async throws -> Profiles {
        let stored = try await core.store.profiles(of: device, requestor: caller.requestor.id)
        return try profiles(stored.filter { $0.provider == provider }, at: caller.call.now)
    }

    /// Returns the profiles that have not expired, as a response body.
    func profiles(_ stored: [StoredProfile], at now: Timestamp) throws -> Profiles {
        var profiles: [String: Profile] = [:]
        for profile in stored where !profile.isExpired(at: now) {
            guard let viewer = core.viewer(profile) else { continue }
            profiles[profile.provider] = Profile(
                notBefore: profile.issued,
                notAfter: profile.expires,
                issuer: profile.issuer,
                kind: profile.kind,
                attributes: try ViewerMetadata(viewer).attributes
            )
        }
        return Profiles(profiles: profiles)
    }

    private func logout(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(call, core)
        let provider = try caller.provider(call.segment("mvpd"))
        let url = call.parameter("redirectUrl") ?? ""
        let redirect = try call.redirect(url, caller.client.redirectURIs, or: .v2(.invalidParameterRedirectURL))
        let removed = try await core.store.removeProfiles(
            of: caller.device,
            requestor: caller.requestor.id,
            provider: provider.id
        ).first.flatMap { $0.isExpired(at: call.now) ? nil : $0 }
        let isFree = provider.temporaryAccess != nil || core.degradation(caller.requestor, provider) == .authNAll
        var logout = Logouts.Logout(actionName: "complete", actionType: "none", mvpd: provider.id)
        if isFree {
            // There is no login to end.
        } else if removed == nil {
            logout.actionName = "invalid"
        } else if removed?.kind == .appleSSO {
            // The platform would log the viewer in again, so the login must be ended there.
            (logout.actionName, logout.actionType) = ("partner_logout", "partner_interactive")
        } else if provider.logsOutInBrowser {
            (logout.actionName, logout.actionType) = ("logout", "interactive")
            let pages = LogoutEndpoints(core: core)
            logout.url = try await pages.url(provider, caller.requestor.id, redirect: redirect ?? "", call)
        }
        return try .json(Logouts(logouts: [provider.id: logout]))
    }
}

extension StoredProfile {
    fileprivate var issuer: String {
        switch kind {
        case .degraded, .temporary: "Adobe"
        case .appleSSO: "Apple"
        default: provider
        }
    }
}
