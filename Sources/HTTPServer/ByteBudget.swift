// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A byte budget that all connections share, for large incomplete requests. It bounds the memory that many clients can
/// occupy with requests that they begin and never finish.
package final class ByteBudget: Sendable {
    /// The size of the budget, in bytes.
    package let limit: Int
    private let taken = Atomic<Int>(0)

    package init(_ limit: Int) { self.limit = limit }

    /// Reserves `count` bytes, and returns false if fewer are left.
    package func acquire(_ count: Int) -> Bool {
        let after = taken.add(count, ordering: .relaxed).newValue
        if after <= limit { return true }
        release(count)
        return false
    }

    package func release(_ count: Int) { taken.subtract(count, ordering: .relaxed) }
}
