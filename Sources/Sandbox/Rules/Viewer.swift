// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// The viewer of a request, with or without a login.
struct Viewer: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let provider: SandboxConfiguration.Provider
    let profile: StoredProfile
    /// The user and household; `nil` if no login was required.
    let person: (user: SandboxConfiguration.User, household: SandboxConfiguration.Household)?
    /// The identity that temporary access is bound to.
    let temporaryIdentity: String

    /// The id of the viewer for programmers: always the same for one user, provider and requestor. Like the provider's own
    /// ids it is not secret, and like the ids in real tokens it has 32 hexadecimal digits.
    var guid: String {
        Self.guid(
            user: person?.user.id ?? temporaryIdentity,
            provider: provider.id,
            requestor: requestor.id
        )
    }

    static func guid(user: String, provider: String, requestor: String) -> String {
        SHA256.digest([user, provider, requestor].joined(separator: "\n")).prefix(16).hexadecimal
    }
}

extension SandboxCore {
    /// Returns the viewer of a profile; `nil` if the provider no longer knows the user or does not work with the requestor.
    func viewer(_ profile: StoredProfile, temporaryIdentity: String? = nil) -> Viewer? {
        guard let requestor = configuration.requestor(profile.requestor),
            let provider = configuration.provider(profile.provider, of: requestor)
        else { return nil }
        let person = configuration.user(profile.user)
        if !profile.user.isEmpty, person == nil { return nil }
        return Viewer(
            requestor: requestor,
            provider: provider,
            profile: profile,
            person: person,
            temporaryIdentity: temporaryIdentity ?? (profile.kind == .temporary ? profile.session : profile.device.name)
        )
    }

    /// Returns the profiles of a device, newest first, including expired ones. The time of temporary access runs from the
    /// first authorization.
    func profiles(
        of device: Device,
        requestor: SandboxConfiguration.Requestor,
        at now: Timestamp
    ) async throws -> [StoredProfile] {
        var profiles = try await store.profiles(of: device, requestor: requestor.id)
        for index in profiles.indices where profiles[index].kind == .temporary {
            let profile = profiles[index]
            guard let access = configuration.provider(profile.provider)?.temporaryAccess else { continue }
            let use = try await store.temporaryUse(
                profile.session,
                requestor: profile.requestor,
                provider: profile.provider
            )
            let start = use?.started ?? now
            profiles[index].issued = start
            profiles[index].expires = min(profile.expires, start.advanced(byMilliseconds: access.duration))
        }
        return profiles
    }

    /// Returns a profile for a viewer who needs no login: under a degradation rule, or with temporary access.
    func profileWithoutLogin(
        _ device: Device,
        _ requestor: SandboxConfiguration.Requestor,
        _ provider: SandboxConfiguration.Provider,
        kind: Profile.Kind,
        from start: Timestamp,
        lifetime: Int64,
        identity: String? = nil
    ) -> StoredProfile {
        StoredProfile(
            device: device,
            requestor: requestor.id,
            provider: provider.id,
            user: "",
            kind: kind,
            issued: start,
            expires: start.advanced(byMilliseconds: lifetime),
            session: identity ?? device.name
        )
    }

    /// Returns the degradation rule that is in force for a requestor and a provider.
    func degradation(
        _ requestor: SandboxConfiguration.Requestor,
        _ provider: SandboxConfiguration.Provider
    ) -> SandboxConfiguration.DegradationRule.Kind? {
        control.switches.degradation.first { $0.requestor == requestor.id && $0.provider == provider.id }?.kind
    }
}
