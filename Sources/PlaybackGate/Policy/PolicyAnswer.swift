// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import MediaTokens
package import Platform

/// The answer of a gate without a store.
package struct PolicyAnswer: Sendable {
    /// The outcome.
    package var outcome: Outcome
    /// The last time at which the answer is good for the requests of ``scope``; `nil` for this one alone.
    package var goodUntil: Timestamp?
    /// The requests for which the answer is good.
    package var scope = Scope.request
    /// True if the grant is due to be renewed, and is not renewed here.
    package var isRenewalDue = false
    /// The number of the policy.
    package var generation: UInt64

    /// The outcome of a check.
    package enum Outcome: Sendable {
        /// The decision.
        case decided(Decision)
        /// Only the service can tell.
        case ask(Reason)
    }

    /// The reason why the service must be asked.
    package enum Reason: Int, CaseIterable, Sendable {
        /// A media token is to be consumed, or it is not known whether it is revoked.
        case use
        /// A playback starts, and its grants are to be issued.
        case start
        /// A grant, or a proof of possession, that may be used once.
        case grantUse
        /// The slot of a playback whose viewer may have a limited number of them.
        case stream
        /// The policy is too old to decide by.
        case stale
    }

    /// The requests for which an answer is good, all with the same tokens, method, scheme and host.
    package enum Scope: Sendable {
        /// This request.
        case request
        /// The same target.
        case target
        /// Any file that is directly in the same folder.
        case folder
    }
}

extension Gate {
    /// Returns the time up to which the answer to a request is good for others with the same credentials; `nil` for no other.
    func lastReuse(of decision: Decision, _ question: Question, at now: Timestamp) -> Timestamp? {
        guard case .allow(let allowance) = decision else { return nil }
        return lastReuse(of: allowance, question, at: now).map { end in
            allowance.slotEnd.map { min($0.advanced(byMilliseconds: -1), end) } ?? end
        }
    }

    private func lastReuse(of allowance: Decision.Allowance, _ question: Question, at now: Timestamp) -> Timestamp? {
        switch allowance.reason {
        case .unprotected: return Timestamp(millisecondsSince1970: .max)
        // Leeway may lengthen the life of a token; an answer is not kept for it. Grants beside a token are examined first, and path and
        // time decide about them.
        case .withinTTL:
            guard question.grants == nil, allowance.access == nil else { return nil }
            return allowance.expires.map { min($0, keyEnd(after: now)) }
        case .granted:
            guard case .accepted(let accepted)? = allowance.access,
                let end = allowance.access?.reusable(at: now)?.advanced(byMilliseconds: -1)
            else { return nil }
            return min(end, accepted.grant.key.validity?.upperBound ?? end)
        case .verified, .repeated, .probe, .renewed, .useUnknown, .shadow: return nil
        }
    }
}

extension Decision {
    /// The grant that allowed the request.
    var acceptedGrant: (any PlaybackGrant)? {
        guard case .allow(let allowance) = self, case .accepted(let accepted)? = allowance.access else { return nil }
        return accepted.grant
    }
}

extension PlaybackGrant {
    /// True if the grant opens all files in the folder of a path, or none of them.
    ///
    /// - Parameter path: The path, percent-encoded in normal form.
    func isUniform(around path: Substring) -> Bool { (self as? CATGrant)?.isUniform(around: path) ?? false }
}
