// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
package import Platform
internal import ReplayStores

extension Gate {
    /// A number that grows with each revocation that may concern a grant; 0 without grants.
    package var revision: UInt64 { grants?.revocationCache.revision ?? 0 }

    /// True if no revocation has changed a decision by a grant, or by a media token within its life.
    ///
    /// - Parameters:
    ///   - revision: The ``revision`` before the decision.
    ///   - instant: `now` by the clock of ages.
    package func stillOpens(
        _ decision: Decision,
        since revision: UInt64,
        at now: Timestamp,
        instant: ContinuousClock.Instant
    ) -> Bool {
        guard case .allow(let allowance) = decision else { return false }
        if allowance.reason == .withinTTL, let token = allowance.subject.token {
            let use = TokenUse(token, maximumUses: rules.maximumUses)
            return store.immediateOutcome(of: use, isConsumed: false, at: now) == .notRevoked
        }
        guard let revocationCache = grants?.revocationCache else { return false }
        return revocationCache.revision == revision && revocationCache.isRecent(at: instant)
    }

    /// Records that a decision is repeated for a request with all the facts of an earlier one that it depends on.
    ///
    /// - Parameter start: The time of receipt by the clock of latencies.
    package func observe(
        _ decision: consuming Decision,
        again target: PlaybackRequest.Target,
        client: PlaybackRequest.Client,
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
