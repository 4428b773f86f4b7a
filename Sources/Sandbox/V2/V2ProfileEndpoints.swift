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
        let caller = try await V2Caller(call, core)
        let stored = try await core.profiles(of: caller.device, requestor: caller.requestor, at: call.now)
        return try .json(profiles(stored, at: call.now))
    }

    private func one(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V2Caller(call, core)
        let provider = try caller.provider(call, core)
        if let profile = try await withoutLogin(caller, provider, call) {
            return try .json(profiles([profile.stored], at: call.now, temporaryIdentity: profile.identity))
        }
        let stored = try await core.store.profiles(of: caller.device, requestor: caller.requestor.id)
        return try .json(profiles(stored.filter { $0.provider == provider.id }, at: call.now))
    }

    /// Returns the profile of a finished session, to the device that began it and to the second screen.
    private func byCode(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V2Caller(call, core)
        guard let session = try await core.store.session(call.segment("code"), at: call.now),
            session.requestor == caller.requestor.id
        else { throw EndpointError.v2(.invalidParameterCode) }
        guard session.state == .done, let provider = session.provider else { return try .json(Profiles()) }
        let stored = try await core.store.profiles(of: session.device, requestor: session.requestor)
        return try .json(profiles(stored.filter { $0.provider == provider }, at: call.now))
    }

    /// Returns the profiles that have not expired, as a response body.
    func profiles(
        _ stored: [StoredProfile],
        at now: Timestamp,
        temporaryIdentity: String? = nil
    ) throws -> Profiles {
        var profiles: [String: Profile] = [:]
        for profile in stored where !profile.isExpired(at: now) {
            guard let viewer = core.viewer(profile, temporaryIdentity: temporaryIdentity) else { continue }
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

    /// Returns the profile of a viewer who needs no login; `nil` if the provider requires one.
    private func withoutLogin(
        _ caller: V2Caller,
        _ provider: SandboxConfiguration.Provider,
        _ call: EndpointRequest
    ) async throws -> (stored: StoredProfile, identity: String)? {
        if let access = provider.temporaryAccess {
            guard let identity = caller.temporaryIdentity(access, call) else {
                throw EndpointError.v2(.invalidHeaderIdentityForTemporaryAccess)
            }
            let use = try await core.store.temporaryUse(
                identity,
                requestor: caller.requestor.id,
                provider: provider.id
            )
            let start = use?.started ?? call.now
            guard call.now < start.advanced(byMilliseconds: access.duration) else {
                throw EndpointError.v2(.temporaryAccessDurationLimitExceeded)
            }
            let profile = core.profileWithoutLogin(
                caller.device,
                caller.requestor,
                provider,
                kind: .temporary,
                from: start,
                lifetime: access.duration
            )
            return (profile, identity)
        }
        guard core.degradation(caller.requestor, provider) == .authNAll else { return nil }
        let profile = core.profileWithoutLogin(
            caller.device,
            caller.requestor,
            provider,
            kind: .degraded,
            from: call.now,
            lifetime: provider.authorizationLifetime
        )
        return (profile, caller.device.name)
    }

    private func logout(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V2Caller(call, core)
        let provider = try caller.provider(call, core)
        let registered = caller.client.redirectURIs
        guard
            let redirect = call.parameter("redirectUrl").flatMap({
                RedirectTarget.allowed($0, registered: registered, host: call.host)
            })
        else { throw EndpointError.v2(.invalidParameterRedirectURL) }
        let removed = try await core.store.removeProfiles(
            of: caller.device,
            requestor: caller.requestor.id,
            provider: provider.id
        )
        let isFree = provider.temporaryAccess != nil || core.degradation(caller.requestor, provider) == .authNAll
        var logout = Logouts.Logout(actionName: "complete", actionType: "none", mvpd: provider.id)
        if !isFree {
            if let profile = removed.first, !profile.isExpired(at: call.now) {
                if profile.kind == .appleSSO {
                    // The platform would log the viewer in again, so the login must be ended there.
                    logout.actionName = "partner_logout"
                    logout.actionType = "partner_interactive"
                } else if provider.logsOutInBrowser {
                    logout.actionName = "logout"
                    logout.actionType = "interactive"
                    logout.url = try await LogoutEndpoints(core: core).url(
                        provider,
                        requestor: caller.requestor.id,
                        redirect: redirect,
                        call
                    )
                }
            } else {
                logout.actionName = "invalid"
            }
        }
        return try .json(Logouts(logouts: [provider.id: logout]))
    }
}

extension StoredProfile {
    /// The issuer of the profile.
    var issuer: String {
        switch kind {
        case .degraded, .temporary: "Adobe"
        case .appleSSO: "Apple"
        default: provider
        }
    }
}
