// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import Encodings
internal import URISigning

// A grant is for a resource of a requestor, not for all that lies under its paths. Every way in which a grant is accepted asks
// here: edge check, renewal, lease, exchange, redirect, manifests, and processes that check by themselves.

extension GrantService {
    /// Returns the refusal of a grant that was not issued for the resource of an entry; `nil` if it may open the entry.
    ///
    /// The entry must have a profile of the grant's issuer and format. A grant of this installation must have the tag
    /// of the entry's resource and requestor. Grants of other issuers have no tag: only their paths define their scope.
    func mismatch(of grant: AuthenticGrant, at entry: Catalogue.Entry) -> GrantRefusal? {
        guard entry.hasProfile(of: grant.base.issuerName, format: grant.format) else {
            return GrantRefusal(.issuerRefused, detail: grant.detail(claim: .issuer, member: .issuer))
        }
        // Nearly all grants have the tag.
        if let given = grant.protection, given == entry.tag(by: subjectKey) { return nil }
        return grant.isOwn
            ? GrantRefusal(.resourceMismatch, detail: grant.detail(claim: .protection, member: .protection)) : nil
    }
}

extension AuthenticGrant {
    /// The tag of the grant's resource; `nil` if it has none.
    fileprivate var protection: ProtectionTag? {
        switch self {
        case .cat(let grant): grant.protection
        case .signedURI(let grant): grant.protection
        }
    }

    /// The claim of the grant's format.
    fileprivate func detail(claim label: ClaimLabel, member: URISigningClaim) -> GrantRefusal.Detail {
        switch self {
        case .cat: .claim(label)
        case .signedURI: .member(member)
        }
    }
}

extension Collection<GrantProfile> {
    /// Returns the profile of a grant; `nil` if none of these matches.
    ///
    /// A grant of this installation names its profile, because several profiles may share issuer and key. For a grant
    /// of another issuer, it is the first profile of its issuer and format, preferably one with its key.
    func profile(of grant: AuthenticGrant) -> GrantProfile? {
        let issuer = grant.base.issuerName
        let name = grant.isOwn ? grant.base.profileName ?? "" : nil
        var found: GrantProfile?
        for profile in self where profile.issuer.utf8.span.hasSameBytes(as: issuer.utf8.span) {
            guard profile.format == grant.format else { continue }
            if let name {
                if profile.name.hasSameBytes(as: name) { return profile }
                continue
            }
            if found == nil { found = profile }
            // Of several, the one by whose key it was made: a network may have only that key.
            guard count > 1 else { break }
            if let id = grant.base.key.id, profile.keys.contains(id) { return profile }
        }
        return found
    }
}
