// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Encodings
internal import Keys
internal import Platform
internal import ReplayStores
internal import RequestTargets
internal import SharedGrants
internal import URISigning

extension GrantService {
    /// Renews a grant of an entry whose renewal is due, or returns the grant of a parallel request. `nil` if it cannot
    /// be renewed; the request is allowed nevertheless.
    ///
    /// - Parameters:
    ///   - path: The requested path, percent-encoded in normal form; `nil` if it is not known.
    ///   - isChallenge: True if no renewal is due, and the new grant tells its holder apart from others.
    func renew(
        _ grant: AuthenticGrant,
        of entry: Catalogue.Entry,
        path: Substring?,
        isChallenge: Bool = false,
        at now: Timestamp
    ) -> IssuedGrant? {
        guard let terms = entry.grants, let profile = terms.profiles.profile(of: grant) else { return nil }
        let cookiePath: String? = if case .cat(let token) = grant { token.cookiePath ?? grant.scope } else { nil }
        guard let scope = cookiePath ?? entry.scope(profile, path: path) else { return nil }
        let position: ChainPosition = isChallenge ? .unrecorded : .next
        return renew(grant, of: profile, scope: scope, manifest: terms.manifest, position: position, at: now)
    }

    /// The position of a new grant whose renewals are counted.
    enum ChainPosition {
        /// The successor that the player's jar goes on with.
        case next
        /// The same, but not in the ledger: a jar in which answers cross may renew two grants of a generation within seconds.
        case unrecorded
        /// The first one of a chain of its own.
        case first
    }

    /// Renews a grant of a profile whose renewal is due, for a scope, or returns the grant of a parallel request. `nil`
    /// if it cannot be renewed.
    ///
    func renew(
        _ grant: AuthenticGrant,
        of profile: GrantProfile,
        scope: String,
        manifest: String? = nil,
        position: ChainPosition = .next,
        at now: Timestamp
    ) -> IssuedGrant? {
        switch grant {
        case .cat(let grant):
            return renew(grant, of: profile, scope: scope, manifest: manifest, position: position, at: now)
        case .signedURI(let grant):
            guard let issuer = formats[profile.name]?.signedURIs(at: now), let session = grant.session else {
                return nil
            }
            let order = GrantOrder(
                profile: profile,
                session: session,
                protection: grant.protection,
                scope: scope,
                manifest: manifest,
                player: nil,
                now: now
            )
            return renewed.grant(for: .init(claims: grant.payload, profile: profile, scope: scope), at: now) {
                (try? issuer.renew(grant, at: now)).map { token in
                    metrics?.countRenewed(profile)
                    return IssuedGrant(order, signedURI: token, isByRedirect: grant.renewal?.transport == .query)
                }
            }
        }
    }

    private func renew(
        _ grant: CATGrant,
        of profile: GrantProfile,
        scope: String,
        manifest: String?,
        position: ChainPosition,
        at now: Timestamp
    ) -> IssuedGrant? {
        // The scope goes into a cookie, and another installation may have written it.
        guard RequestURI(scope[...])?.path.utf8.elementsEqual(scope.utf8) ?? false,
            let signer = renewer(of: grant, profile, at: now), let session = grant.session
        else { return nil }
        func make() -> IssuedGrant? {
            let count: RenewalCount? = position == .first ? .first() : nil
            guard let token = try? signer.renew(grant, at: now, renewals: count), let expires = token.expires else {
                return nil
            }
            metrics?.countRenewed(profile)
            leaks?.noteIssued(token.identifier, to: GrantHolder(grant), at: now)
            return IssuedGrant(
                profile: profile,
                token: token,
                expires: expires,
                session: session,
                scope: scope,
                manifest: manifest
            )
        }
        guard profile.rules.countsRenewals, position != .first, let leaks,
            let renewal = GrantRenewal(grant, of: profile.name, life: profile.rules.life, at: now)
        else {
            return renewed.grant(
                for: .init(claims: grant.payload, profile: profile, scope: scope),
                at: now,
                renew: make
            )
        }
        // Each request gets a grant of its own: of two holders, each goes on with another.
        guard let issued = make() else { return nil }
        if position == .next { leaks.note(renewal, of: profile.name, until: session.end, at: now) }
        return issued
    }

    /// Returns the signer with the grant's own key, or that of the profile if the key no longer signs.
    func renewer(of grant: CATGrant, _ profile: GrantProfile, at now: Timestamp) -> CATIssuer? {
        let own = signers.first { signer in
            signer.issuer.key.issuer == grant.issuer.name && signer.issuer.key.id == grant.key.id
                && signer.isUsable(at: now)
        }
        return own?.issuer ?? signer(profile, at: now)
    }
}
