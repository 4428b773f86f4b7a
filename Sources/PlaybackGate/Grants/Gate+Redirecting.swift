// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Keys
internal import Platform
internal import RequestTargets
public import URISigning

// The redirection of a request to another content delivery network (RFC 9246 §2.1): the signed URI of the request is checked as
// at an edge, and becomes one for the other network.

extension Gate {
    /// A request that is redirected to another network.
    public struct Redirection: Sendable {
        /// The signed URI's token.
        public let token: String
        /// The facts of the request, with the URI without the token.
        public let facts: RequestFacts
        /// The path and the query of the request as they were requested, without the token.
        public let target: Substring
        /// The entry of the request, from the catalogue.
        public let entry: Catalogue.Entry
        /// The profile of the other network, one of the entry's. Its key signs the token, and the URL has its host.
        public let profile: GrantProfile

        /// Creates a request.
        public init(
            token: String,
            facts: RequestFacts,
            target: Substring,
            of entry: Catalogue.Entry,
            to profile: GrantProfile
        ) {
            (self.token, self.facts, self.target, self.entry, self.profile) = (token, facts, target, entry, profile)
        }
    }

    /// The outcome of a redirection.
    public enum RedirectionOutcome: Sendable {
        /// The URL at the other network, with the new token in its query, and the token's expiry.
        case redirected(url: String, token: String, expires: Timestamp?)
        /// The signed URI of the request is refused.
        case refused(GrantRefusal)
        /// The state of revocations is not known.
        case unknown
        /// The other network's token cannot be issued. Its profile has no host or no key that signs now, or the
        /// redirect would lead from https to http.
        case notIssued(URISigningIssueError)
    }

    /// Redirects a request: checks its signed URI, and issues a signed URI for the other network. A signed URI for one
    /// use is consumed.
    ///
    /// Subject, times, identity, address and renewal of the token are copied. The new URI opens the same scope at the
    /// other host: the same folder, or only the requested URL.
    public func redirect(
        _ redirection: Redirection,
        by grants: GrantService,
        at now: Timestamp
    ) async -> RedirectionOutcome {
        let grant: URISigningGrant
        let obligations: GrantObligations
        switch grants.examine(redirection, allowsUnknown: rules.allowsUnknownUse, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .unknown: return .unknown
        case .accepted(let found, let demanded): (grant, obligations) = (found, demanded)
        }
        // A grant that cannot be issued consumes nothing.
        let outcome = grants.issue(redirection, for: grant, at: now)
        guard case .redirected = outcome else { return outcome }
        let demand = slot(of: redirection.entry, .signedURI(grant), isProlonged: true, at: now)
        switch await hold(demand, at: now) {
        case .good: break
        case .refused(let refusal): return .refused(refusal)
        case .unknown: return .unknown
        }
        guard let use = obligations.use else { return outcome }
        // If the store is down, nobody can tell whether it was used: no setting allows it then.
        guard await insert(use, at: now) else { return .refused(GrantRefusal(.replayed, detail: .member(.identifier))) }
        return outcome
    }
}

extension GrantService {
    fileprivate enum RedirectionFinding {
        case accepted(URISigningGrant, GrantObligations)
        case refused(GrantRefusal)
        case unknown
    }

    fileprivate func examine(
        _ redirection: Gate.Redirection,
        allowsUnknown: Bool,
        at now: Timestamp
    ) -> RedirectionFinding {
        var token = redirection.token
        token.makeContiguousUTF8()
        let grant: URISigningGrant
        switch authenticate(token.utf8.span, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .authentic(.cat): return .refused(GrantRefusal(.malformed))
        case .authentic(.signedURI(let found)): grant = found
        }
        guard let terms = redirection.entry.grants, terms.profiles.contains(redirection.profile) else {
            return .refused(GrantRefusal(.issuerRefused, detail: .member(.issuer)))
        }
        if let refusal = mismatch(of: .signedURI(grant), at: redirection.entry) { return .refused(refusal) }
        switch signedURIs?.judge(grant, for: redirection.facts, at: now) {
        case .refused(let refusal): return .refused(refusal)
        case .allowed(let obligations):
            if let refusal = revocation(of: grant) { return .refused(refusal) }
            guard allowsUnknown || areRevocationsRecent || grant.sessionID == nil else { return .unknown }
            return .accepted(grant, obligations)
        case nil: return .refused(GrantRefusal(.keyUnknown))
        }
    }

    fileprivate func issue(
        _ redirection: Gate.Redirection,
        for grant: URISigningGrant,
        at now: Timestamp
    ) -> Gate.RedirectionOutcome {
        let profile = redirection.profile
        let scheme: RequestURI.Scheme = profile.rules.isSecure ? .https : .http
        guard let issuer = formats[profile.name]?.signedURIs(at: now), let host = profile.rules.host else {
            return .notIssued(.key)
        }
        guard let uri = RequestURI(redirection.target, scheme: scheme, authority: host[...]) else {
            return .notIssued(.scope)
        }
        do throws(URISigningIssueError) {
            let token = try issuer.redirect(
                grant,
                from: redirection.facts.uri,
                to: uri,
                within: redirection.entry.scope(profile, path: uri.path) ?? redirection.facts.uri.path.description,
                audience: profile.rules.audience,
                protection: redirection.entry.tag(by: subjectKey),
                profile: profile.name,
                at: now
            )
            metrics?.countIssued(profile)
            let target = PackageAttribute.standard.inQuery(token, of: redirection.target)
            return .redirected(url: "\(scheme.rawValue)://\(host)\(target)", token: token, expires: grant.expires)
        } catch {
            metrics?.countNotIssued(profile)
            return .notIssued(error)
        }
    }
}
