// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A number of bytes that all connections share: for requests that are large and not whole yet, so that many clients that
/// begin much and finish nothing cannot take all memory.
package final class ByteBudget: Sendable {
    /// How many bytes there are in all.
    package let limit: Int
    private let taken = Atomic<Int>(0)

    package init(_ limit: Int) { self.limit = limit }

    /// Takes `count` bytes; false if there are not that many left.
    package func take(_ count: Int) -> Bool {
        let after = taken.add(count, ordering: .relaxed).newValue
        if after <= limit { return true }
        release(count)
        return false
    }

    package func release(_ count: Int) { taken.subtract(count, ordering: .relaxed) }
}
