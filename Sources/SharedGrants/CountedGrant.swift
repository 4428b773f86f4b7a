// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import CommonAccessTokens
internal import Cryptography
package import EdgeTokens
package import Platform
package import ReplayStores

// The facts about a grant whose renewals are counted. Only a Common Access Token has a claim for the count.

extension GrantHolder {
    /// The holder of a grant; `nil` if its renewals are not counted.
    package init?(_ grant: any PlaybackGrant) {
        // A cast costs more than the question, and most grants are not counted.
        guard grant.isCounted, let grant = grant as? CATGrant else { return nil }
        self.init(grant)
    }

    /// The holder of a Common Access Token; `nil` if its renewals are not counted.
    package init?(_ grant: CATGrant) {
        guard let renewals = grant.renewals, let identifier = grant.identifier, let session = grant.sessionID,
            let end = grant.sessionEnd, let issued = grant.issued
        else { return nil }
        self.init(
            session: session,
            until: end,
            chain: renewals.chain,
            identifier: identifier,
            issued: issued,
            profile: grant.profileName ?? ""
        )
    }
}

extension GrantRenewal {
    /// The renewal of a grant; `nil` if its renewals are not counted.
    ///
    /// - Parameters:
    ///   - profile: The name of the profile.
    ///   - life: The life of its grants.
    package init?(_ grant: CATGrant, of profile: String, life: Duration, at now: Timestamp) {
        guard let renewals = grant.renewals, let identifier = grant.identifier, let session = grant.sessionID else {
            return nil
        }
        self.init(
            session: session,
            chain: Self.number(SHA256.digest(profile)) ^ UInt64(renewals.chain),
            generation: renewals.number,
            parent: Self.number(SHA256.digest(identifier)),
            expires: now.advanced(byMilliseconds: 2 * life.milliseconds)
        )
    }

    private static func number(_ digest: [UInt8]) -> UInt64 { digest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }
}
