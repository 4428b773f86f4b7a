// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import MediaResources
internal import Platform

/// Makes the decisions of a provider.
struct AuthorizationRules: Sendable {
    let core: SandboxCore
    let viewer: Viewer

    /// A decision about a resource.
    enum Verdict: Sendable {
        case permit(AuthorizationDecision.Source, expires: Timestamp)
        /// A denial with a code of REST API v2.
        case deny(AuthorizationDecision.Source, StatusCode, details: String?)
    }

    /// Decides if the viewer may play a resource. The decision counts as a use of temporary access.
    func authorize(_ resource: MediaResource, at now: Timestamp) async throws -> Verdict {
        if let access = viewer.provider.temporaryAccess { return try await useTemporary(access, resource, at: now) }
        return decide(resource, at: now)
    }

    /// Decides if the viewer may play a resource, without counting as a use of temporary access.
    func preauthorize(_ resource: MediaResource, at now: Timestamp) async throws -> Verdict {
        if let access = viewer.provider.temporaryAccess {
            let use = try await core.store.temporaryUse(
                viewer.temporaryIdentity,
                requestor: viewer.requestor.id,
                provider: viewer.provider.id
            )
            if let code = access.limit(use, resource: resource.digest, at: now) {
                return .deny(.tempPass, code, details: nil)
            }
            return .permit(.tempPass, expires: (use?.started ?? now).advanced(byMilliseconds: access.duration))
        }
        return decide(resource, at: now)
    }

    private func decide(_ resource: MediaResource, at now: Timestamp) -> Verdict {
        let expires = now.advanced(byMilliseconds: viewer.provider.authorizationLifetime)
        switch core.degradation(viewer.requestor, viewer.provider) {
        case .authNAll, .authZAll: return .permit(.degradation, expires: expires)
        case .authZNone: return .deny(.degradation, .authorizationDeniedByDegradationRule, details: nil)
        case nil: break
        }
        let refused = "Your package does not include \"\(resource.channel)\"."
        let isDenied = core.control.switches.denied.contains { $0 == resource.text || $0 == resource.channel }
        guard let person = viewer.person, !isDenied else {
            return .deny(.mvpd, .authorizationDeniedByMVPD, details: refused)
        }
        let isChannelOnly = viewer.provider.isChannelOnly
        guard person.household.packages.contains(where: { $0.contains(resource, byChannelOnly: isChannelOnly) }) else {
            return .deny(.mvpd, .authorizationDeniedByMVPD, details: refused)
        }
        // A provider that decides by channel alone does not see ratings.
        for limit in person.household.ratings(of: person.user) where !isChannelOnly {
            let exceeds = resource.ratings.contains { $0.sharesScale(with: limit) && !$0.isAtMost(limit) }
            if exceeds {
                return .deny(
                    .mvpd,
                    .authorizationDeniedByParentalControls,
                    details: "Parental control allows \(limit.value) at most."
                )
            }
        }
        return .permit(.mvpd, expires: expires)
    }

    private func useTemporary(
        _ access: SandboxConfiguration.TemporaryAccess,
        _ resource: MediaResource,
        at now: Timestamp
    ) async throws -> Verdict {
        let digest = resource.digest
        let started = try await core.store.useTemporaryAccess(
            viewer.temporaryIdentity,
            requestor: viewer.requestor.id,
            provider: viewer.provider.id,
            resource: digest,
            duration: access.duration,
            at: now
        ) { access.limit($0, resource: digest, at: now) == nil }
        if let started {
            return .permit(.tempPass, expires: started.advanced(byMilliseconds: access.duration))
        }
        let use = try await core.store.temporaryUse(
            viewer.temporaryIdentity,
            requestor: viewer.requestor.id,
            provider: viewer.provider.id
        )
        let code = access.limit(use, resource: digest, at: now) ?? .temporaryAccessDurationLimitExceeded
        return .deny(.tempPass, code, details: nil)
    }
}

extension SandboxConfiguration.TemporaryAccess {
    /// Returns the limit that denies the use of one more resource; `nil` if there is none.
    func limit(_ use: TemporaryUse?, resource: Data, at now: Timestamp) -> StatusCode? {
        guard let use else { return nil }
        if now >= use.started.advanced(byMilliseconds: duration) { return .temporaryAccessDurationLimitExceeded }
        if let maximumResources, !use.resources.contains(resource), use.resources.count >= maximumResources {
            return .temporaryAccessResourcesLimitExceeded
        }
        return nil
    }
}

extension MediaResource {
    /// A digest that is equal for all spellings of a resource.
    fileprivate var digest: Data { Data(digestOf: canonicalForm) }
}
