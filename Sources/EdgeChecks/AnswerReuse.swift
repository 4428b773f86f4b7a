// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import MediaTokens
package import Platform
package import PlaybackGate

/// For how long and for which other requests the answer to a check holds.
///
/// `Cache-Control` of edges, the answer cache of the listener, and `good_until` and `scope` of the C interface come from it. Other
/// requests have the same credentials, facts, method, scheme and host.
package struct AnswerReuse: Sendable {
    /// The first time at which the answer may not hold any more.
    package private(set) var end: Timestamp

    /// The requests for which an answer holds.
    package enum Scope: Sendable {
        /// This request.
        case request
        /// The same target.
        case target
        /// Any file that is directly in the same folder.
        case folder
    }

    /// Works out how long the answer to a request holds for the same target; `nil` if it holds for this request only: it consumed
    /// a token, issued a grant, refused, or depends on the client.
    ///
    /// - Parameters:
    ///   - decision: The decision.
    ///   - question: The request that was decided.
    ///   - gate: The gate that decided.
    ///   - now: The time of the decision.
    package init?(of decision: Decision, _ question: Gate.Question, by gate: Gate, at now: Timestamp) {
        guard case .allow(let allowance) = decision, let end = Self.end(of: allowance, question, gate, at: now) else {
            return nil
        }
        // The next request of a playback with a slot prolongs it.
        self.end = allowance.slotEnd.map { min($0, end) } ?? end
        guard now < self.end else { return nil }
    }

    private static func end(
        of allowance: Decision.Allowance,
        _ question: Gate.Question,
        _ gate: Gate,
        at now: Timestamp
    ) -> Timestamp? {
        switch allowance.reason {
        case .unprotected: return Timestamp(millisecondsSince1970: .max)
        // Leeway may lengthen the life of a token; an answer is not kept for it. Grants beside a token are examined first, and path and
        // time decide about them. An answer that hands over a grant is for one player.
        case .withinTTL:
            guard question.grants == nil, allowance.access == nil, let expires = allowance.expires else { return nil }
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

    /// Ends the reuse at a time, if it lasts longer. Returns `nil` if nothing is left of it.
    func ending(at limit: Timestamp, from now: Timestamp) -> Self? {
        var reuse = self
        reuse.end = min(end, limit)
        return now < reuse.end ? reuse : nil
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
    ///   - subject: The request that was decided.
    ///   - isOneEntry: True if the edge names one entry for all paths.
    ///   - gate: The gate that decided.
    package static func scope(
        of decision: Decision,
        _ subject: borrowing EdgeCheckSubject,
        isOneEntry: Bool = false,
        by gate: Gate
    ) -> Scope {
        if !isOneEntry {
            guard let path = subject.path, gate.isUniform(around: path, host: subject.host) else { return .target }
        }
        guard let grant = decision.acceptedGrant else { return .folder }
        guard let uri = subject.question.grants?.facts.uri else { return .target }
        return (grant as? CATGrant)?.isUniform(around: uri.path) ?? false ? .folder : .target
    }
}

extension Timestamp {
    /// The next millisecond; this one if there is none.
    fileprivate var next: Timestamp {
        millisecondsSince1970 < .max ? Timestamp(millisecondsSince1970: millisecondsSince1970 + 1) : self
    }
}
