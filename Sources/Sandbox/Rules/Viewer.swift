// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// Who asks for a resource: somebody who has logged in, or somebody who need not.
struct Viewer: Sendable {
    let requestor: SandboxConfiguration.Requestor
    let provider: SandboxConfiguration.Provider
    let profile: StoredProfile
    /// Nil where nobody had to log in.
    let person: (user: SandboxConfiguration.User, household: SandboxConfiguration.Household)?
    /// What temporary access goes by.
    let temporaryIdentity: String

    /// Names the viewer to programmers: always the same for one user, provider and requestor, and nothing else. As the
    /// provider's own ids it is no secret, and as 32 hexadecimal digits it looks as in real tokens.
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
    /// The viewer that a profile speaks of; nil where the provider does not know the user any more, or does not work with the
    /// requestor.
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

    /// The profiles of a device, what was asked for last first, those that have expired too. The time of temporary access
    /// runs from the first authorization on.
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

    /// A profile for those who need not log in: under a rule of degradation, or by temporary access.
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

    /// The rule of degradation that is in force for a provider.
    func degradation(
        _ requestor: SandboxConfiguration.Requestor,
        _ provider: SandboxConfiguration.Provider
    ) -> SandboxConfiguration.DegradationRule.Kind? {
        control.switches.degradation.first { $0.requestor == requestor.id && $0.provider == provider.id }?.kind
    }
}
