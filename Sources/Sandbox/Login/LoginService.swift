// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import Platform

/// Logs viewers in. Passwords are checked here only.
struct LoginService: Sendable {
    let core: SandboxCore

    /// Returns the user with the name and password of the form.
    func user(_ call: EndpointRequest) -> SandboxConfiguration.User? {
        guard let name = call.form.first("username"), let password = call.form.first("password"),
            let user = core.configuration.user(name)?.user, user.password == password
        else { return nil }
        return user
    }

    /// Finishes a session: the device that began it gets a profile.
    ///
    /// - Returns: False if the session is no longer open.
    func finish(
        _ session: LoginSession,
        _ user: SandboxConfiguration.User,
        provider: SandboxConfiguration.Provider,
        at now: Timestamp
    ) async throws -> Bool {
        var session = session
        session.provider = provider.id
        session.state = .done
        guard try await core.store.update(session) else { return false }
        try await authenticate(
            user,
            on: session.device,
            requestor: session.requestor,
            provider: provider,
            kind: .regular,
            at: now
        )
        return true
    }

    /// Creates and stores a profile.
    @discardableResult
    func authenticate(
        _ user: SandboxConfiguration.User,
        on device: Device,
        requestor: String,
        provider: SandboxConfiguration.Provider,
        kind: Profile.Kind,
        at now: Timestamp
    ) async throws -> StoredProfile {
        let profile = StoredProfile(
            device: device,
            requestor: requestor,
            provider: provider.id,
            user: user.name,
            kind: kind,
            issued: now,
            expires: now.advanced(byMilliseconds: provider.authenticationLifetime),
            session: RandomText.uuid
        )
        try await core.store.add(profile, at: now)
        return profile
    }
}
