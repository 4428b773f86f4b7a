// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
internal import Keys
public import Platform

// What a backend does with a grant of its player. The restrictions to URI, method and client are those of the player's own
// requests, so they are not evaluated here: the answer is a grant with the same ones.

extension GrantAuthority {
    /// The outcome of a backend's request for a grant.
    public enum BackendOutcome: Sendable {
        /// A new grant of the same session.
        case issued(IssuedGrant)
        /// The grant is good, and too young to be renewed.
        case notDue(any PlaybackGrant)
        /// The grant is refused.
        case refused(GrantRefusal)
        /// The state of revocations is not known, so nobody can tell whether the grant is revoked.
        case unknown
    }

    /// Renews a live grant of this installation in its window, for players that cannot see response headers.
    ///
    /// - Parameters:
    ///   - token: The grant as the player has it.
    ///   - profiles: The profiles of the catalogue.
    ///   - allowsUnknown: True to renew also if the state of revocations is not known: see ``Gate/Rules/allowsUnknownUse``.
    ///   - now: The time of receipt.
    public func renew(
        _ token: String,
        _ profiles: [GrantProfile],
        allowsUnknown: Bool,
        at now: Timestamp
    ) -> BackendOutcome {
        withLive(token, allowsUnknown: allowsUnknown, at: now) { grant in
            guard let start = grant.base.renewalStart else {
                return .refused(GrantRefusal(.renewalInvalid, .claim(.renewal)))
            }
            guard start <= now else { return .notDue(grant.base) }
            let fitting = profiles.filter { profile in
                profile.issuer == grant.base.issuerName && profile.format == grant.format && profile.rules.scopes(grant)
            }
            // Of several, the one by whose key it was made: a network may have that key alone.
            let own = fitting.first { profile in grant.base.key.id.map { profile.keys.contains($0) } ?? false }
            guard let scope = grant.scope else { return .refused(GrantRefusal(.renewalInvalid, .member(.container))) }
            guard let profile = own ?? fitting.first,
                let renewed = renew(grant, profile, scope: scope, at: now)
            else { return .refused(GrantRefusal(.sessionEnded, .claim(.sessionEnd))) }
            return .issued(renewed)
        }
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
        _ target: PlaybackRequest.Target,
        for profile: GrantProfile,
        player: PlaybackRequest.Player? = nil,
        allowsUnknown: Bool,
        at now: Timestamp
    ) -> BackendOutcome {
        withLive(token, allowsUnknown: allowsUnknown, at: now) { grant in
            guard let terms = entry.grants, terms.profiles.contains(profile), terms.profile(of: grant) != nil
            else {
                return .refused(GrantRefusal(.issuerRefused, .claim(.issuer)))
            }
            // A grant for another entry must not open this one.
            let path = target.normalPath
            guard let scope = grant.scope, terms.profiles.contains(where: { entry.scope($0, path: path) == scope })
            else {
                return .refused(GrantRefusal(.uriMismatch, .claim(.uri)))
            }
            if let refusal = profile.rules.binding.missingFact(of: player) { return .refused(refusal) }
            let order = grant.base.session.map { session in
                GrantOrder(
                    profile: profile,
                    session: session,
                    scope: scope,
                    manifest: terms.manifest ?? path.map { String($0) },
                    player: player,
                    now: now
                )
            }
            guard let order, order.session.end > now, let issued = issue(order) else {
                return .refused(GrantRefusal(.sessionEnded, .claim(.sessionEnd)))
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

    /// Checks that a grant of this installation is authentic, within its time and not revoked.
    package func check(_ token: String, allowsUnknown: Bool, at now: Timestamp) -> LiveOutcome {
        switch withLive(token, allowsUnknown: allowsUnknown, at: now, { .notDue($0.base) }) {
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
        _ body: (AuthenticGrant) -> BackendOutcome
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
            return .refused(GrantRefusal(.issuerRefused, .claim(.issuer)))
        }
        guard grant.key.isValid(at: now) else { return .refused(GrantRefusal(.keyUnknown)) }
        if let refusal = grant.timeRefusal(at: now) { return .refused(refusal) }
        guard grant.expires != nil else { return .refused(GrantRefusal(.expired, .claim(.expiration))) }
        if let refusal = revocation(of: grant) { return .refused(refusal) }
        return allowsUnknown || isMirrorRecent ? body(authentic) : .unknown
    }
}

extension GrantProfile.Rules {
    /// True if a grant with these rules may have the scope and host of `grant`.
    fileprivate func scopes(_ grant: AuthenticGrant) -> Bool {
        guard case .prefix(let prefix) = scope else { return true }
        return prefix == grant.scope
    }
}
