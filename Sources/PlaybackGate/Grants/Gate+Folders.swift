// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import MediaTokens
package import Platform

extension Gate {
    /// The last time at which a decision by a grant is the same for all files of the folder that was requested, with the same
    /// credentials and facts; `nil` if it depends on the file, on the client, or on what may change without a revocation.
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
        guard case .allow(let allowance) = decision, allowance.reason == .granted, let shown = question.grants,
            let grant = decision.acceptedGrant, grant.isUniform(around: shown.facts.uri.path),
            case .path(let requested) = question.request.target, let path = try? MediaPath(requested),
            isUniform(around: path, host: host)
        else { return nil }
        return decision.reusable(at: now, keyEnd: now)
    }

    /// Records that a decision is given again, to a request that differs from an earlier one in nothing that it depends on.
    ///
    /// - Parameter start: The time of receipt by the clock of latencies.
    package func observe(
        _ decision: Decision,
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
