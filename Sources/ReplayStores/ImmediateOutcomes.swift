// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The outcomes of uses that a store has without a wait, so that a decision stays on its thread.
///
/// One object for each kind of store, and no optional. Unwrapping one would count a reference of the store for each
/// decision, and all threads share it.
package protocol ImmediateOutcomes: AnyObject, Sendable {
    /// Returns the outcome of a use; `nil` if the store requires a wait.
    ///
    /// - Parameter isConsumed: True if the token is consumed; false if it is only looked up among the revocations.
    func outcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome?
}

extension ReplayStore {
    /// The outcomes that this store has without a wait.
    package var immediateOutcomes: any ImmediateOutcomes {
        if let local = self as? any LocalReplayStore { return LocalOutcomes(local) }
        if let examiner = self as? any RevocationExaminer { return ExaminedOutcomes(examiner) }
        return NoOutcomes()
    }
}

/// All outcomes, of a store in memory.
private final class LocalOutcomes: ImmediateOutcomes {
    private let store: any LocalReplayStore

    init(_ store: any LocalReplayStore) { self.store = store }

    func outcome(of use: TokenUse, isConsumed: Bool, at now: Timestamp) -> UseOutcome? {
        isConsumed ? store.recordNow(use, at: now) : store.examineNow(use, at: now)
    }
}

/// The outcomes of tokens that are not consumed, from a store that knows the revocations.
private final class ExaminedOutcomes: ImmediateOutcomes {
    private let store: any RevocationExaminer

    init(_ store: any RevocationExaminer) { self.store = store }

    func outcome(of use: TokenUse, isConsumed: Bool, at _: Timestamp) -> UseOutcome? {
        isConsumed ? nil : store.examineIfKnown(use)
    }
}

/// None.
private final class NoOutcomes: ImmediateOutcomes {
    func outcome(of _: TokenUse, isConsumed _: Bool, at _: Timestamp) -> UseOutcome? { nil }
}
