// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import Platform

/// The viewer of a request, with or without a login.
struct Viewer: Sendable {
    let requestor: Requestor
    let provider: Provider
    let profile: StoredProfile
    /// The user and household; `nil` if no login was required.
    let person: (user: User, household: Household)?

    /// The identity that temporary access is bound to.
    var temporaryIdentity: String { profile.kind == .temporary ? profile.session : profile.device.name }

    /// The provider's id of the viewer, in metadata of REST API v2, and in those and the authentication of v1.
    var id: String { person?.user.id ?? temporaryIdentity }

    /// The id of the viewer in media tokens: the MD5 of ``id``. As documented, it is the GUID that clients of both APIs
    /// report in tracking data, and is the same at all times and on all devices.
    var guid: String { Self.guid(id) }

    /// The id of the viewer in answers of REST API v1: hashed if the programmer's clients must not read the provider's.
    var reportedID: String { requestor.encryption?.keys.contains("userID") == true ? guid : id }

    static func guid(_ id: String) -> String { MD5.hexadecimal(id) }
}

extension Store {
    func temporaryUse(of viewer: Viewer) async throws -> TemporaryUse? {
        try await temporaryUse(viewer.temporaryIdentity, requestor: viewer.requestor.id, provider: viewer.provider.id)
    }
}

extension SandboxCore {
    /// Returns the viewer of a profile; `nil` if the provider no longer knows the user or does not work with the requestor.
    func viewer(_ profile: StoredProfile) -> Viewer? {
        guard let requestor = configuration.requestor(profile.requestor),
            let provider = configuration.provider(profile.provider, of: requestor)
        else { return nil }
        let person = configuration.user(profile.user)
        if !profile.user.isEmpty, person == nil { return nil }
        return Viewer(requestor: requestor, provider: provider, profile: profile, person: person)
    }

    /// Returns the profiles of a device, newest first, including expired ones. The time of temporary access runs from the
    /// first authorization.
    func profiles(of device: Device, requestor: Requestor, at now: Timestamp) async throws -> [StoredProfile] {
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

    /// Returns the degradation rule that is in force for a requestor and a provider.
    func degradation(of requestor: Requestor, at provider: Provider) -> DegradationRule.Kind? {
        control.switches.degradation.first { $0.requestor == requestor.id && $0.provider == provider.id }?.kind
    }
}
