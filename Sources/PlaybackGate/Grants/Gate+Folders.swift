// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import MediaTokens
package import Platform

extension Gate {
    /// The last time at which a decision by a grant, or by a media token within its life, is the same for all files of the folder
    /// that was requested, with the same credentials and facts; `nil` if it depends on the file, on the client, or on what may change
    /// without a revocation. See also ``stillOpens(_:since:at:_:)``.
    ///
    /// - Parameters:
    ///   - question: The request that was decided.
    ///   - host: The host that the catalogue was asked for.
    package func goodForFolder(
        _ decision: Decision,
        _ question: Question,
        host: Substring?,
        at now: Timestamp
    ) -> Timestamp? {
        guard case .allow(let allowance) = decision, case .path(let requested) = question.request.target else {
            return nil
        }
        switch allowance.reason {
        case .granted:
            guard let shown = question.grants, let grant = decision.acceptedGrant,
                grant.isUniform(around: shown.facts.uri.path)
            else { return nil }
        case .withinTTL: break
        default: return nil
        }
        guard let path = try? MediaPath(requested), isUniform(around: path, host: host) else { return nil }
        return lastReuse(of: decision, question, at: now)
    }

    /// A number that grows with each revocation that may concern a grant; 0 without grants.
    package var revision: UInt64 { grants?.mirror.revision ?? 0 }

    /// True if no revocation has changed a decision that is ``goodForFolder(_:_:host:at:)``.
    ///
    /// - Parameters:
    ///   - revision: The ``revision`` before the decision.
    ///   - instant: `now` by the clock of ages.
    package func stillOpens(
        _ decision: Decision,
        since revision: UInt64,
        at now: Timestamp,
        _ instant: ContinuousClock.Instant
    ) -> Bool {
        guard case .allow(let allowance) = decision else { return false }
        if allowance.reason == .withinTTL, let token = allowance.subject.token {
            let use = TokenUse(token, maximumUses: rules.maximumUses)
            return immediateOutcomes.outcome(of: use, isConsumed: false, at: now) == .notRevoked
        }
        guard let mirror = grants?.mirror else { return false }
        return mirror.revision == revision && mirror.isRecent(at: instant)
    }

    /// Records that a decision is given again, to a request that differs from an earlier one in nothing that it depends on.
    ///
    /// - Parameter start: The time of receipt by the clock of latencies.
    package func observe(
        _ decision: consuming Decision,
        again target: PlaybackRequest.Target,
        _ client: PlaybackRequest.Client,
        at now: Timestamp,
        since start: ContinuousClock.Instant
    ) {
        let latency = ContinuousClock.now - start
        observer.observe(
            DecisionEvent(
                target: target,
                client: client,
                decision: decision,
                time: now,
                latency: latency,
                storeLatency: nil
            )
        )
    }
}
