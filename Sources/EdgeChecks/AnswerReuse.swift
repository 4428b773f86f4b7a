// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CommonAccessTokens
internal import MediaTokens
package import Platform
package import PlaybackGate
internal import RequestTargets

/// For how long and for which other requests the answer to a check holds.
///
/// `Cache-Control` of edges, the answer cache of the listener, and `good_until` and `scope` of the C interface come from it. Other
/// requests have the same credentials, facts, method, scheme and host.
package struct AnswerReuse: Sendable {
    /// The first time at which the answer may not hold any more.
    package let end: Timestamp

    /// The requests for which an answer holds.
    package enum Scope: Sendable {
        /// This request.
        case request
        /// The same target.
        case target
        /// Any file that is directly in the same folder.
        case folder
    }

    /// Determines how long the answer to a request is valid for the same target. `nil` if it is valid for this request
    /// only: it consumed a token, issued a grant, refused, or depends on the client.
    ///
    /// - Parameters:
    ///   - decision: The decision.
    ///   - hasGrants: True if the request presented grants.
    ///   - gate: The gate that decided.
    ///   - now: The time of the decision.
    package static func of(_ decision: Decision, hasGrants: Bool, by gate: Gate, at now: Timestamp) -> Self? {
        // Each licence needs a decision of its own.
        guard case .allow(let allowance) = decision, allowance.subject.entry?.licence == nil,
            let end = end(of: allowance, hasGrants: hasGrants, by: gate, at: now)
        else {
            return nil
        }
        // The next request of a playback with a slot prolongs it.
        let last = allowance.slotEnd.map { min($0, end) } ?? end
        return now < last ? Self(end: last) : nil
    }

    private static func end(
        of allowance: Decision.Allowance,
        hasGrants: Bool,
        by gate: Gate,
        at now: Timestamp
    ) -> Timestamp? {
        switch allowance.reason {
        case .unprotected: return Timestamp(millisecondsSince1970: .max)
        // Leeway may lengthen the life of a token; an answer is not kept for it. Grants beside a token are examined first, and path and
        // time decide about them. An answer that hands over a grant is for one player.
        case .withinTTL:
            // A token of an identity provider may need a proof with each request.
            guard !hasGrants, allowance.access == nil, allowance.subject.token?.terms == nil,
                let expires = allowance.expires
            else { return nil }
            return min(expires, gate.keyEnd(after: now)).next
        case .granted:
            guard case .accepted(let accepted)? = allowance.access else { return nil }
            let grant = accepted.grant
            guard let expires = grant.expires, !grant.isBoundToClient else { return nil }
            // An answer must not outlive the grant by the second that an edge may round up.
            var end = expires.advanced(byMilliseconds: -1000)
            if let renewal = grant.renewalStart { end = min(end, renewal) }
            return grant.key.validity.map { min(end, $0.upperBound.next) } ?? end
        case .verified, .repeated, .probe, .renewed, .useUnknown, .shadow: return nil
        }
    }

    /// Returns the whole seconds from `now` for which the answer holds, at most `ceiling`.
    package func seconds(from now: Timestamp, atMost ceiling: Int64) -> Int64 {
        let (left, isMore) = end.millisecondsSince1970.subtractingReportingOverflow(now.millisecondsSince1970)
        return isMore ? ceiling : min(left / 1000, ceiling)
    }

    /// The last time at which the answer holds.
    package var last: Timestamp { Timestamp(millisecondsSince1970: end.millisecondsSince1970 - 1) }

    /// Returns the requests for which the answer holds until ``end``.
    ///
    /// - Parameters:
    ///   - decision: The decision.
    ///   - request: The request that was decided.
    ///   - context: The facts that are known about it.
    ///   - isOneEntry: True if the edge names one entry for all paths.
    ///   - gate: The gate that decided.
    package static func scope(
        of decision: Decision,
        request: borrowing EdgeCheckRequest,
        in context: EdgeCheckContext,
        isOneEntry: Bool = false,
        by gate: Gate
    ) -> Scope {
        if !isOneEntry {
            guard let path = context.path, gate.isUniform(around: path, host: request.authority?.host) else {
                return .target
            }
        }
        guard let grant = decision.acceptedGrant else { return .folder }
        guard let uri = context.grants?.facts.uri else { return .target }
        return (grant as? CATGrant)?.isUniform(around: uri.path) ?? false ? .folder : .target
    }
}

extension Timestamp {
    /// The next millisecond; this one if there is no later one.
    fileprivate var next: Timestamp {
        millisecondsSince1970 < .max ? Timestamp(millisecondsSince1970: millisecondsSince1970 + 1) : self
    }
}
