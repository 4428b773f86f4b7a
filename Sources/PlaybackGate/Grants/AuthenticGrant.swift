// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import EdgeTokens
internal import URISigning

/// A grant with a valid signature, in a format that the gate checks.
enum AuthenticGrant: Sendable {
    case cat(CATGrant)
    case signedURI(URISigningGrant)

    /// Creates a grant from a cached object; `nil` if the object is not a grant.
    init?(_ object: AnyObject?) {
        if let grant = object as? CATGrant {
            self = .cat(grant)
        } else if let grant = object as? URISigningGrant {
            self = .signedURI(grant)
        } else {
            return nil
        }
    }

    /// The grant, for all that formats have in common.
    var base: any PlaybackGrant {
        switch self {
        case .cat(let grant): grant
        case .signedURI(let grant): grant
        }
    }

    var format: GrantFormat {
        switch self {
        case .cat: .cat
        case .signedURI: .uriSigning
        }
    }

    /// The paths that the grant opens, percent-encoded: a folder that ends in `/`, or a file; `nil` for other scopes.
    var scope: String? {
        switch self {
        case .cat(let grant): grant.pathPrefix ?? grant.exactPath
        case .signedURI(let grant): grant.scope?.path
        }
    }

    /// True if the issuer is this installation.
    var isOwn: Bool {
        switch self {
        case .cat(let grant): grant.issuer.isOwn
        case .signedURI(let grant): grant.issuer.isOwn
        }
    }
}
