// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform
package import PlaybackGate

/// The answer to a check in a process without a store.
package struct EmbeddedCheck: Sendable {
    /// The outcome.
    package let outcome: Outcome
    /// The number of the bundle.
    package let generation: UInt64
    /// The last time at which the answer is valid for the requests of ``scope``; `nil` for this request only.
    package let goodUntil: Timestamp?
    /// The requests for which the answer holds.
    package let scope: AnswerReuse.Scope
    /// True if the grant is due to be renewed, and is not renewed here.
    package let isRenewalDue: Bool

    init(
        _ outcome: Outcome,
        generation: UInt64,
        goodUntil: Timestamp? = nil,
        scope: AnswerReuse.Scope = .request,
        isRenewalDue: Bool = false
    ) {
        self.outcome = outcome
        self.generation = generation
        self.goodUntil = goodUntil
        self.scope = scope
        self.isRenewalDue = isRenewalDue
    }

    /// The outcome of a check.
    package enum Outcome: Sendable {
        /// The decision.
        case decided(Decision)
        /// Only the service can decide.
        case ask(Reason)
    }

    /// The reason why the service must be called.
    package enum Reason: Int, CaseIterable, Sendable {
        /// A media token is to be consumed, or it is not known whether it is revoked.
        case use
        /// A playback starts, and its grants are to be issued.
        case start
        /// A grant, or a proof of possession, that may be used once.
        case grantUse
        /// The slot of a playback whose viewer may have a limited number of them.
        case stream
        /// The bundle is too old to decide by.
        case stale
    }
}
