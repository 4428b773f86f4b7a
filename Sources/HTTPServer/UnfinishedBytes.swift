// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The bytes of a request that is not answered yet, and the part of them that was reserved from the budget.
///
/// A value that is replaced, not mutated: the budget is called in between, and a property that is changed during a call
/// costs a check of exclusive access.
package struct UnfinishedBytes {
    private var count = 0
    private var borrowed = 0

    /// Creates no bytes.
    package init() {}

    /// The bytes of an incomplete request that need no budget.
    private static let allowance = 4096

    /// Returns these bytes and `more`; `nil` if the budget has no room for them.
    package func adding(_ more: Int, from budget: ByteBudget) -> UnfinishedBytes? {
        var sum = self
        sum.count += more
        let missing = sum.count - borrowed - Self.allowance
        guard missing > 0 else { return sum }
        guard budget.acquire(missing) else { return nil }
        sum.borrowed += missing
        return sum
    }

    /// Returns no bytes, after the bytes reserved from the budget are given back.
    package func settled(with budget: ByteBudget) -> UnfinishedBytes {
        if borrowed > 0 { budget.release(borrowed) }
        return UnfinishedBytes()
    }
}
