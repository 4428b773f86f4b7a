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

    /// True if the requests of the grant that allowed a request are counted, so that no edge may repeat the answer by itself.
    package func counts(_ decision: Decision) -> Bool {
        guard let leaks = grants?.leaks, leaks.isActive else { return false }
        return (decision.acceptedGrant as? CATGrant)?.renewals != nil
    }

    /// Counts a request for which an answer is repeated. Returns true if its holder is to get a new grant now: then the answer must
    /// not be repeated.
    ///
    /// - Parameters:
    ///   - path: The path without tokens, percent-encoded in normal form.
    ///   - isPartial: True if the request is for a range of bytes.
    package func count(_ path: Substring, isPartial: Bool, by holder: GrantHolder, at now: Timestamp) -> Bool {
        grants?.leaks?.count(path, isPartial: isPartial, by: holder, at: now) ?? false
    }
}

extension GrantService {
    /// Counts a GET request that a grant opened. Returns true if its holder is to get a new one now.
    ///
    /// - Parameters:
    ///   - path: The path without tokens, percent-encoded in normal form.
    ///   - isPartial: True if the request is for a range of bytes.
    func countUse(of grant: AuthenticGrant, path: Substring, isPartial: Bool, at now: Timestamp) -> Bool {
        guard let leaks, leaks.isActive, case .cat(let token) = grant, let holder = token.holder else { return false }
        return leaks.count(path, isPartial: isPartial, by: holder, at: now)
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
