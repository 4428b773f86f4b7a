// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// How much may be in hand at once. Nobody waits for room: who finds none is told so.
final class ConcurrencyLimit: Sendable {
    private let taken = Atomic<Int>(0)
    private let limit: Int

    init(_ limit: Int) { self.limit = limit }

    /// How much is in hand.
    var inFlight: Int { taken.load(ordering: .relaxed) }

    /// Takes room for `count`; false where there is not that much. What is alone is let in whatever its size.
    func take(_ count: Int = 1) -> Bool {
        let (before, after) = taken.add(count, ordering: .relaxed)
        if after <= limit || before == 0 { return true }
        taken.subtract(count, ordering: .relaxed)
        return false
    }

    func release(_ count: Int = 1) { taken.subtract(count, ordering: .relaxed) }
}
