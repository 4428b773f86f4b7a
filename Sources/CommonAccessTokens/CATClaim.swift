// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens

/// A claim that is read from the payload of a Common Access Token.
package enum CATClaim: Int, CaseIterable {
    case issuer, subject, audience, expiration, notBefore, issuedAt, identifier, confirmation
    case geohash, replay, rejection, version, networks, uri, methods, alpn, headers, countries, coordinates, altitude
    case clientKey, answerData, possession, answers, renewal
    case session, sessionEnd, revocation, protection, profile, generation
    case or, nor, and, critical

    /// The number of claims.
    package static let count = 35

    /// The claim with a label of the registry, or a private label of this package.
    init?(_ label: Int64) {
        switch label {
        case 1...8: self.init(rawValue: Int(label) - 1)
        case 308...323: self.init(rawValue: Int(label) - 308 + CATClaim.replay.rawValue)
        case 282: self = .geohash
        case ClaimLabel.session.rawValue: self = .session
        case ClaimLabel.sessionEnd.rawValue: self = .sessionEnd
        case ClaimLabel.revocation.rawValue: self = .revocation
        case ClaimLabel.protection.rawValue: self = .protection
        case ClaimLabel.profile.rawValue: self = .profile
        case ClaimLabel.generation.rawValue: self = .generation
        default: return nil
        }
    }

    /// The label in the registry; that of the composite claims is in the profile of the issuer.
    package var label: ClaimLabel? {
        switch self {
        case .geohash: .geohash
        case .session: .session
        case .sessionEnd: .sessionEnd
        case .revocation: .revocation
        case .protection: .protection
        case .profile: .profile
        case .generation: .generation
        case .or, .nor, .and, .critical: nil
        default:
            rawValue < CATClaim.geohash.rawValue
                ? ClaimLabel(Int64(rawValue) + 1) : ClaimLabel(Int64(rawValue - CATClaim.replay.rawValue) + 308)
        }
    }

    /// True if the claim may stand in a set of claims that a composite holds.
    var isComposable: Bool {
        switch self {
        case .replay, .rejection, .renewal, .confirmation, .possession, .session, .sessionEnd, .revocation, .protection,
            .profile, .generation:
            false
        default: true
        }
    }
}
