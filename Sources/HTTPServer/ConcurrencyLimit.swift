// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A limit on the requests in flight. A request that finds no room is refused at once and never waits.
package final class ConcurrencyLimit: Sendable {
    private let taken = Atomic<Int>(0)
    private let limit: Int

    package init(_ limit: Int) { self.limit = limit }

    /// The number of requests in flight.
    package var inFlight: Int { taken.load(ordering: .relaxed) }

    /// Reserves room for `count` requests, and returns false if there is not enough. If nothing else is in flight, any
    /// count is accepted.
    package func acquire(_ count: Int = 1) -> Bool {
        let (before, after) = taken.add(count, ordering: .relaxed)
        if after <= limit || before == 0 { return true }
        taken.subtract(count, ordering: .relaxed)
        return false
    }

    package func release(_ count: Int = 1) { taken.subtract(count, ordering: .relaxed) }
}
