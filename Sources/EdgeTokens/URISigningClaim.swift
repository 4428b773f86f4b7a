// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A claim of a signed URI that has a meaning here. Its raw value is its name in the JWT.
public enum URISigningClaim: String, Hashable, Sendable, CaseIterable {
    /// The issuer (RFC 9246 §2.1.1).
    case issuer = "iss"
    /// The subject, encrypted.
    case subject = "sub"
    /// The recipients.
    case audience = "aud"
    /// The time from which on the token is expired.
    case expiration = "exp"
    /// The first time at which the token is valid.
    case notBefore = "nbf"
    /// The time of issue.
    case issuedAt = "iat"
    /// The identity of a token that is valid for one use of each URI.
    case identifier = "jti"
    /// The version of the claims.
    case version = "cdniv"
    /// The names of claims that must be understood.
    case critical = "cdnicrit"
    /// The network of the client, encrypted.
    case address = "cdniip"
    /// The URIs that the token opens: a digest or a pattern.
    case container = "cdniuc"
    /// The life that a renewal gives.
    case life = "cdniets"
    /// The way in which a renewed token reaches the client.
    case transport = "cdnistt"
    /// The number of path segments of a renewed token's cookie.
    case depth = "cdnistd"
    /// The id of the playback session; private to Playgate.
    case session = "pgs"
    /// The end of the playback session; private to Playgate.
    case sessionEnd = "pge"
    /// The issue time and the subject tags of the media token, for revocation; private to Playgate.
    case revocation = "pgr"
    /// The tag of the resource and the requestor of the token; private to Playgate.
    case protection = "pgt"
    /// The name of the profile by which the token was issued; private to Playgate.
    case profile = "pgf"

    /// True for the private claims of Playgate.
    package var isPrivate: Bool {
        switch self {
        case .session, .sessionEnd, .revocation, .protection, .profile: true
        default: false
        }
    }
}
