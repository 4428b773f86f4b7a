// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
internal import Keys
public import Platform

// What a backend does with a grant of its player. The restrictions to URI, method and client are those of the player's own
// requests, so they are not evaluated here: the answer is a grant with the same ones.

extension GrantService {
    /// The outcome of a backend's request for a grant.
    public enum BackendOutcome: Sendable {
        /// A new grant of the same session.
        case issued(IssuedGrant)
        /// The grant is valid, and too young to be renewed.
        case notDue(any PlaybackGrant)
        /// The grant is refused.
        case refused(GrantRefusal)
        /// The state of revocations is not known, so the grant may be revoked.
        case unknown
    }

    /// Renews a live grant of this installation in its window, for players that cannot see response headers.
    ///
    /// - Parameters:
    ///   - token: The grant as the player has it.
    ///   - playbacks: The playbacks of the catalogue, of which the grant must be one.
    ///   - allowsUnknown: True to renew also if the state of revocations is not known: see ``Gate/Rules/allowsUnknownUse``.
    ///   - now: The time of receipt.
    /// - Returns: The outcome, and the tag of the grant's resource.
    func renew(
        _ token: String,
        of playbacks: PlaybackIndex,
        allowsUnknown: Bool,
        at now: Timestamp
    ) -> (BackendOutcome, ProtectionTag?) {
        var protection: ProtectionTag?
        let outcome = withLive(token, allowsUnknown: allowsUnknown, at: now) { grant in
            protection = grant.base.protection
            guard let start = grant.base.renewalStart else {
                return .refused(GrantRefusal(.renewalInvalid, detail: .claim(.renewal)))
            }
            guard start <= now else { return .notDue(grant.base) }
            guard let playback = playbacks[grant.base.protection] else {
                return .refused(GrantRefusal(.resourceMismatch, detail: .claim(.protection)))
            }
            guard let profile = playback.profiles.profile(of: grant) else {
                return .refused(GrantRefusal(.issuerRefused, detail: .claim(.profile)))
            }
            guard let scope = grant.scope else {
                return .refused(GrantRefusal(.renewalInvalid, detail: .member(.container)))
            }
            // A backend may renew beside the player's own jar: its grants are a chain of their own.
            guard let renewed = renew(grant, of: profile, scope: scope, position: .first, at: now) else {
                return .refused(GrantRefusal(.sessionEnded, detail: .claim(.sessionEnd)))
            }
            return .issued(renewed)
        }
        return (outcome, protection)
    }

    /// Exchanges a live grant of this installation for one of another profile of the same entry, such as for a second network.
    /// The session and its end stay.
    ///
    /// - Parameters:
    ///   - token: The grant as the player has it.
    ///   - entry: The entry of the playback, from the catalogue.
    ///   - target: The media or path of the playback, for which the catalogue has the entry.
    ///   - profile: The profile of the new grant, one of the entry's.
    ///   - player: The player, if the profile binds grants to it.
    ///   - allowsUnknown: True to exchange also if the state of revocations is not known.
    ///   - now: The time of receipt.
    public func exchange(
        _ token: String,
        of entry: Catalogue.Entry,
        target: PlaybackRequest.Target,
        for profile: GrantProfile,
        player: PlaybackRequest.Player? = nil,
        allowsUnknown: Bool,
        at now: Timestamp
    ) -> BackendOutcome {
        withLive(token, allowsUnknown: allowsUnknown, at: now) { grant in
            guard let terms = entry.grants, terms.profiles.contains(profile) else {
                return .refused(GrantRefusal(.issuerRefused, detail: .claim(.issuer)))
            }
            if let refusal = mismatch(of: grant, at: entry) { return .refused(refusal) }
            // A grant for a part of the paths must not become one for all of them.
            let path = target.normalPath
            guard let opened = grant.scope, terms.profiles.contains(where: { entry.scope($0, path: path) == opened }),
                let scope = entry.scope(profile, path: path)
            else {
                return .refused(GrantRefusal(.uriMismatch, detail: .claim(.uri)))
            }
            if let refusal = profile.rules.binding.missingFact(of: player) { return .refused(refusal) }
            let order = grant.base.session.map { session in
                GrantOrder(
                    profile: profile,
                    session: session,
                    protection: grant.base.protection,
                    scope: scope,
                    manifest: terms.manifest ?? path.map { String($0) },
                    player: player,
                    now: now,
                    isCounted: profile.rules.countsRenewals
                )
            }
            guard let order, order.session.end > now, let issued = issue(order) else {
                return .refused(GrantRefusal(.sessionEnded, detail: .claim(.sessionEnd)))
            }
            return .issued(issued)
        }
    }

    /// The outcome of a check without a request.
    package enum LiveOutcome: Sendable {
        case good
        case refused(GrantRefusal)
        /// The state of revocations is not known.
        case unknown
    }

    /// Checks that a grant of this installation is authentic, within its time, not revoked, and issued for the resource
    /// of an entry.
    func check(
        _ token: String,
        of entry: Catalogue.Entry,
        allowsUnknown: Bool,
        at now: Timestamp,
        receive: (AuthenticGrant) -> Void
    ) -> LiveOutcome {
        let outcome = withLive(token, allowsUnknown: allowsUnknown, at: now) { grant in
            if let refusal = mismatch(of: grant, at: entry) { return .refused(refusal) }
            receive(grant)
            return .notDue(grant.base)
        }
        return switch outcome {
        case .refused(let refusal): .refused(refusal)
        case .unknown: .unknown
        case .issued, .notDue: .good
        }
    }

    /// Calls `body` with a grant of this installation that is authentic, within its time and not revoked.
    private func withLive(
        _ token: String,
        allowsUnknown: Bool,
        at now: Timestamp,
        body: (AuthenticGrant) -> BackendOutcome
    ) -> BackendOutcome {
        var token = token
        token.makeContiguousUTF8()
        let authentic: AuthenticGrant
        switch authenticate(token.utf8.span, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .authentic(let found): authentic = found
        }
        let grant = authentic.base
        // The identity of a signed URI is used up for each URL, which is not known here.
        guard authentic.isOwn, grant.session != nil, authentic.format == .cat || !grant.isForOneUse else {
            return .refused(GrantRefusal(.issuerRefused, detail: .claim(.issuer)))
        }
        guard grant.key.isValid(at: now) else { return .refused(GrantRefusal(.keyUnknown)) }
        if let refusal = grant.timeRefusal(at: now) { return .refused(refusal) }
        guard grant.expires != nil else { return .refused(GrantRefusal(.expired, detail: .claim(.expiration))) }
        if let refusal = revocation(of: grant) { return .refused(refusal) }
        return allowsUnknown || areRevocationsRecent ? body(authentic) : .unknown
    }
}
