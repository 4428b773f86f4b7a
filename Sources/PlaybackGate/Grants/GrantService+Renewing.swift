// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import Encodings
internal import Keys
internal import Platform
internal import RequestTargets
internal import URISigning

extension GrantService {
    /// Renews a grant of an entry whose renewal is due, or returns the grant of a parallel request. `nil` if it cannot
    /// be renewed; the request is allowed nevertheless.
    ///
    /// - Parameter path: The requested path, percent-encoded in normal form; `nil` if it is not known.
    func renew(_ grant: AuthenticGrant, of entry: Catalogue.Entry, path: Substring?, at now: Timestamp) -> IssuedGrant?
    {
        guard let terms = entry.grants, let profile = terms.profiles.profile(of: grant) else { return nil }
        let cookiePath: String? = if case .cat(let token) = grant { token.cookiePath ?? grant.scope } else { nil }
        guard let scope = cookiePath ?? entry.scope(profile, path: path) else { return nil }
        return renew(grant, of: profile, scope: scope, manifest: terms.manifest, at: now)
    }

    /// Renews a grant of a profile whose renewal is due, for a scope, or returns the grant of a parallel request. `nil`
    /// if it cannot be renewed.
    func renew(
        _ grant: AuthenticGrant,
        of profile: GrantProfile,
        scope: String,
        manifest: String? = nil,
        at now: Timestamp
    ) -> IssuedGrant? {
        switch grant {
        case .cat(let grant): return renew(grant, of: profile, scope: scope, manifest: manifest, at: now)
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
        at now: Timestamp
    ) -> IssuedGrant? {
        // The scope goes into a cookie, and another installation may have written it.
        guard RequestURI(scope[...])?.path.utf8.elementsEqual(scope.utf8) ?? false,
            let signer = renewer(of: grant, profile, at: now), let session = grant.session
        else { return nil }
        return renewed.grant(for: .init(claims: grant.payload, profile: profile, scope: scope), at: now) {
            guard let token = try? signer.renew(grant, at: now), let expires = token.expires else { return nil }
            metrics?.countRenewed(profile)
            return IssuedGrant(
                profile: profile,
                token: token,
                expires: expires,
                session: session,
                scope: scope,
                manifest: manifest
            )
        }
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

extension CATGrant {
    /// The path of the cookie that the grant names for its renewal.
    fileprivate var cookiePath: String? {
        for attribute in renewal?.cookieAttributes ?? [] where attribute.utf8.starts(with: "Path=/".utf8) {
            return String(attribute.dropFirst("Path=".count))
        }
        return nil
    }
}
