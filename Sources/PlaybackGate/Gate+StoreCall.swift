// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import ReplayStores

extension Gate {
    /// An answer of the store about a pending use.
    package struct StoreAnswer: Sendable {
        /// The outcome; `nil` if it is unknown.
        fileprivate let outcome: UseOutcome?
        fileprivate let requestedAt: ContinuousClock.Instant
    }

    /// Returns the call of the store that is all that a pending use needs; `nil` if ``complete(_:)`` is required. It is
    /// required if the store cannot call back or does not end its waits by itself. It is also required if more is
    /// needed than the use of a media token.
    package func storeCall(for pending: PendingUse) -> StoreCall? {
        guard let callbackStore, pending.needsUseOnly, storeEndsWaits else { return nil }
        return StoreCall(gate: self, store: callbackStore, pending: pending)
    }

    /// The use of a media token that a store is requestedAt about without a task.
    package struct StoreCall: Sendable {
        fileprivate let gate: Gate
        fileprivate let store: any CallbackReplayStore
        fileprivate let pending: PendingUse

        /// Asks the store. Call it once.
        ///
        /// - Parameter receive: Called once, on any thread, possibly before this function returns.
        package func ask(_ receive: @escaping @Sendable (StoreAnswer) -> Void) {
            guard let examined = pending.mediaToken else { preconditionFailure("a grant is used in no such call") }
            let requestedAt = ContinuousClock.now
            store.ask(examined.use, isConsumed: examined.isConsumed) { outcome in
                receive(StoreAnswer(outcome: outcome, requestedAt: requestedAt))
            }
        }

        /// Decides by the answer of the store. Call it once.
        package func decide(_ answer: StoreAnswer) -> Decision {
            let subject = pending.mediaToken?.subject ?? .nothing
            let decision = gate.decision(
                for: answer.outcome,
                subject: subject,
                request: pending.request,
                playbackID: pending.mediaToken?.start.playbackID,
                at: pending.now
            )
            return gate.finish(decision, of: pending, requestedAt: answer.requestedAt)
        }
    }
}
