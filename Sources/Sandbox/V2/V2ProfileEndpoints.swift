// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The profiles of REST API v2, and the logout that ends them.
extension SandboxCore {
    var v2ProfileEndpoints: [Endpoint] {
        [
            Endpoint(.get, path: "/api/v2/:provider/profiles", operation: .profiles, dialect: .v2, answer: list),
            Endpoint(.get, path: "/api/v2/:provider/profiles/:mvpd", operation: .profiles, dialect: .v2, answer: one),
            Endpoint(
                .get,
                path: "/api/v2/:provider/profiles/code/:code",
                operation: .profiles,
                dialect: .v2,
                answer: byCode
            ),
            Endpoint(.get, path: "/api/v2/:provider/logout/:mvpd", operation: .logout, dialect: .v2, answer: logout),
            // This is the path in the documentation's samples.
            Endpoint(.get, path: "/api/v2/logout/:provider/:mvpd", operation: .logout, dialect: .v2, answer: logout),
        ]
    }

    private func list(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        let stored = try await profiles(of: caller.device, requestor: caller.requestor, at: call.now)
        return try .json(profileBody(stored, at: call.now))
    }

    private func one(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        let (viewer, _, refusal) = try await caller.login(caller.provider(call.segment("mvpd")))
        if let refusal, refusal == .invalidHeaderIdentityForTemporaryAccess { throw EndpointError.v2(refusal) }
        if let viewer, viewer.profile.isExpired(at: call.now) {
            throw EndpointError.v2(.temporaryAccessDurationLimitExceeded)
        }
        return try .json(profileBody(viewer.map { [$0.profile] } ?? [], at: call.now))
    }

    /// Returns the profile of a finished session, to the device that began it and to the second screen.
    private func byCode(_ call: EndpointRequest) async throws -> Response {
        let requestor = try await Caller(of: call, in: self).requestor.id
        guard let session = try await store.session(call.segment("code"), of: requestor, at: call.now) else {
            throw EndpointError.v2(.invalidParameterCode)
        }
        guard session.state == .done else { return try .json(Profiles()) }
        let stored = try await store.profiles(of: session.device, requestor: requestor)
        return try .json(profileBody(stored.filter { $0.provider == session.provider }, at: call.now))
    }

    /// Returns the profiles that have not expired, as a response body.
    func profileBody(_ stored: [StoredProfile], at now: Timestamp) throws -> Profiles {
        var profiles: [String: Profile] = [:]
        for profile in stored where !profile.isExpired(at: now) {
            guard let viewer = viewer(profile) else { continue }
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
        let caller = try await Caller(of: call, in: self)
        let provider = try caller.provider(call.segment("mvpd"))
        let url = call.parameter("redirectUrl") ?? ""
        let redirect = try call.redirect(
            to: url,
            registered: caller.client.redirectURIs,
            or: .v2(.invalidParameterRedirectURL)
        )
        let removed = try await store.removeProfiles(
            of: caller.device,
            requestor: caller.requestor.id,
            provider: provider.id
        ).first.flatMap { $0.isExpired(at: call.now) ? nil : $0 }
        let isFree = provider.temporaryAccess != nil || degradation(of: caller.requestor, at: provider) == .authNAll
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
            logout.url = try await logoutURL(of: provider, for: caller.requestor.id, redirect: redirect ?? "", in: call)
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
