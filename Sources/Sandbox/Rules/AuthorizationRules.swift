// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import FoundationEssentials
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import Synchronization

/// The decisions about the resources of a request, which each API renders in its own form.
struct AuthorizationRules: Sendable {
    let core: SandboxCore
    let viewer: Viewer
    let call: EndpointRequest

    /// A decision about a resource.
    enum Verdict: Sendable {
        case permit(AuthorizationDecision.Source, expires: Timestamp)
        /// A denial with a code of REST API v2.
        case deny(AuthorizationDecision.Source, StatusCode, details: String?)
    }

    /// Decides if the viewer may play a resource, and stores a permit. Counts as a use of temporary access.
    ///
    /// - Returns: The verdict, and the authorization and a media token if it is a permit.
    /// - Throws: ``EndpointError`` if the resource is malformed or too long for a media token.
    func authorize(_ text: String) async throws -> (Verdict, StoredAuthorization?, AuthorizedToken) {
        let resource = try resource(text)
        // The token is issued before the viewer is charged for it, because issuing may fail.
        let token: AuthorizedToken
        do { token = try core.issuer.issue(in: core, for: viewer, resource: text, at: call.now) } catch IssueError
            .tooLarge
        {
            throw EndpointError.of(call, v1: .malformedAuthorizationRequest, v2: .invalidParameterResources)
        }
        let verdict: Verdict
        if let access = viewer.provider.temporaryAccess {
            verdict = try await useTemporary(access, for: resource)
        } else {
            verdict = decide(resource, usesCache: false)
        }
        guard case .permit(let source, let expires) = verdict else { return (verdict, nil, token) }
        let authorization = StoredAuthorization(
            profile: viewer.profile,
            resource: text,
            source: source,
            issued: call.now,
            expires: expires
        )
        try await core.store.add(authorization, at: call.now)
        return (verdict, authorization, token)
    }

    /// Decides if the viewer may play each resource, without counting as a use of temporary access.
    ///
    /// - Throws: ``EndpointError`` if there are too many resources, or if one is malformed.
    func preauthorize(_ texts: [String]) async throws -> [Verdict] {
        guard texts.count <= viewer.requestor.maximumPreauthorizedResources else {
            throw EndpointError.of(call, v1: .tooManyResources, v2: .tooManyResources)
        }
        let resources = try texts.map(resource)
        // This is the parameter of the documented `REMOTE_CACHE` feature in requests of clients.
        let usesCache = call.parameter("remoteCache")?.lowercased() != "false"
        guard let access = viewer.provider.temporaryAccess else {
            return resources.map { decide($0, usesCache: usesCache) }
        }
        let use = try await core.store.temporaryUse(of: viewer)
        return resources.map { resource in
            if let code = access.limit(use, resource: resource.digest, at: call.now) {
                return .deny(.tempPass, code, details: nil)
            }
            return .permit(.tempPass, expires: (use?.started ?? call.now).advanced(byMilliseconds: access.duration))
        }
    }

    private func resource(_ text: String) throws(EndpointError) -> MediaResource {
        guard let resource = try? MediaResource(text) else {
            throw .of(call, v1: .malformedAuthorizationRequest, v2: .invalidParameterResources)
        }
        return resource
    }

    private func decide(_ resource: MediaResource, usesCache: Bool) -> Verdict {
        let expires = call.now.advanced(byMilliseconds: viewer.provider.authorizationLifetime)
        switch core.degradation(of: viewer.requestor, at: viewer.provider) {
        case .authNAll, .authZAll: return .permit(.degradation, expires: expires)
        case .authZNone: return .deny(.degradation, .authorizationDeniedByDegradationRule, details: nil)
        case nil: break
        }
        if core.control.switches.denied.contains(where: { $0 == resource.text || $0 == resource.channel }) {
            return .deny(.mvpd, .authorizationDeniedByMVPD, details: resource.refusal)
        }
        let key = [viewer.profile.session, viewer.requestor.id, viewer.provider.id, resource.canonicalForm]
        if usesCache, let known = core.decisions.verdict(key, at: call.now) { return known }
        if case .code(let code, let details)? = core.control.nextFault(on: .mvpd)?.effect {
            return .deny(.mvpd, code, details: details)
        }
        let verdict = ask(resource, expires: expires)
        let life = viewer.provider.preauthorizationLifetime
        core.decisions.remember(verdict, for: key, until: call.now.advanced(byMilliseconds: life), at: call.now)
        return verdict
    }

    /// Returns the provider's own decision.
    private func ask(_ resource: MediaResource, expires: Timestamp) -> Verdict {
        let isChannelOnly = viewer.provider.isChannelOnly
        guard let (user, household) = viewer.person,
            household.packages.contains(where: { $0.contains(resource, byChannelOnly: isChannelOnly) })
        else { return .deny(.mvpd, .authorizationDeniedByMVPD, details: resource.refusal) }
        // A provider that decides only by channel does not see ratings.
        let limits = isChannelOnly ? [] : household.ratings(of: user)
        guard
            let limit = limits.first(where: { limit in
                resource.ratings.contains { $0.sharesScale(with: limit) && !$0.isAtMost(limit) }
            })
        else { return .permit(.mvpd, expires: expires) }
        let details = "Parental control allows \(limit.value) at most."
        return .deny(.mvpd, .authorizationDeniedByParentalControls, details: details)
    }

    private func useTemporary(_ access: TemporaryAccess, for resource: MediaResource) async throws -> Verdict {
        let (digest, now) = (resource.digest, call.now)
        let started = try await core.store.useTemporaryAccess(
            viewer,
            resource: digest,
            duration: access.duration,
            at: now
        ) { access.limit($0, resource: digest, at: now) == nil }
        if let started { return .permit(.tempPass, expires: started.advanced(byMilliseconds: access.duration)) }
        let code = access.limit(try await core.store.temporaryUse(of: viewer), resource: digest, at: now)
        return .deny(.tempPass, code ?? .temporaryAccessDurationLimitExceeded, details: nil)
    }
}

extension TemporaryAccess {
    /// Returns the limit that denies the use of one more resource; `nil` if there is none.
    fileprivate func limit(_ use: TemporaryUse?, resource: Data, at now: Timestamp) -> StatusCode? {
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

    fileprivate var refusal: String { "Your package does not include \"\(channel)\"." }
}

// MARK: Renderings of a denial

extension StatusCode {
    /// The corresponding code of REST API v1, which has fewer codes.
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
    /// The denial with a code of REST API v1; `nil` if the verdict is a permit.
    var v1Denial: Status? {
        guard case .deny(_, let code, let details) = self else { return nil }
        return .documented(code.v1, by: .v1, details: details ?? (code == code.v1 ? nil : code.explanation))
    }
}

/// The service's cache of providers' decisions, which preauthorizations use unless a client disables it.
final class DecisionCache: Sendable {
    private let entries = Mutex<[[String]: (verdict: AuthorizationRules.Verdict, expires: Timestamp)]>([:])

    /// The maximum number of decisions. At the limit, all are discarded.
    private static let limit = 10_000

    func verdict(_ key: [String], at now: Timestamp) -> AuthorizationRules.Verdict? {
        entries.withLock { $0[key] }.flatMap { $0.expires > now ? $0.verdict : nil }
    }

    func remember(_ verdict: AuthorizationRules.Verdict, for key: [String], until end: Timestamp, at now: Timestamp) {
        guard end > now else { return }
        entries.withLock { entries in
            if entries.count >= Self.limit { entries = [:] }
            entries[key] = (verdict, end)
        }
    }
}
