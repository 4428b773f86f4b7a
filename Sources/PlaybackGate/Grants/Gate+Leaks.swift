// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
package import Platform
package import SharedGrants

// The requests by which grants with more than one holder are found. See `LeakWatch`.

extension Gate {
    /// Returns the holder of the grant that allowed a request; `nil` if its renewals are not counted, or if the request is none
    /// for a segment.
    package func holder(of decision: Decision, method: PlaybackRequest.Method) -> GrantHolder? {
        guard method == .get, grants?.leaks != nil else { return nil }
        return (decision.acceptedGrant as? CATGrant)?.holder
    }

    /// True if a holder is to get a new grant now, so that an answer must not be repeated.
    package func demandsFreshGrant(from holder: GrantHolder, at now: Timestamp) -> Bool {
        grants?.leaks?.demandsFreshGrant(from: holder, at: now) ?? false
    }

    /// Counts a request for which an answer is repeated.
    ///
    /// - Parameter path: The path without tokens.
    package func count(_ path: Substring, by holder: GrantHolder, at now: Timestamp) {
        grants?.leaks?.count(path, by: holder, at: now)
    }
}

extension GrantService {
    /// Counts a request that a grant opened. Returns true if its holder is to get a new one now.
    ///
    /// - Parameter path: The path without tokens, percent-encoded in normal form.
    func countUse(of grant: AuthenticGrant, path: Substring, method: PlaybackRequest.Method, at now: Timestamp) -> Bool
    {
        guard let leaks, method == .get, case .cat(let token) = grant, let holder = token.holder else { return false }
        leaks.count(path, by: holder, at: now)
        return leaks.demandsFreshGrant(from: holder, at: now)
    }
}

extension CATGrant {
    /// The holder; `nil` if the renewals of the grant are not counted.
    fileprivate var holder: GrantHolder? {
        guard let renewals, let identifier, let session = sessionID, let end = sessionEnd, let issued else {
            return nil
        }
        return GrantHolder(
            session: session,
            until: end,
            chain: renewals.chain,
            identifier: identifier,
            issued: issued,
            profile: profileName ?? ""
        )
    }
}
