// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import Synchronization

/// The maximum wait for an answer of a store, which the gate sets; a reload may change it.
package final class StoreDeadline: Sendable {
    private let nanoseconds = Atomic<Int64>(.max)

    /// The longest limit. A longer one could overflow.
    private static let longest = Duration.seconds(3600)

    /// Creates a deadline without a limit.
    package init() {}

    /// The limit; `nil` until one is set.
    package var limit: Duration? {
        get {
            let nanoseconds = nanoseconds.load(ordering: .relaxed)
            return nanoseconds == .max ? nil : .nanoseconds(nanoseconds)
        }
        set { nanoseconds.store(newValue.map { min($0, Self.longest).nanoseconds } ?? .max, ordering: .relaxed) }
    }

    /// Returns the limit of a request that was sent when the limit was `sent`. A change shortens its wait, and never prolongs it.
    package func limit(since sent: Duration) -> Duration { min(sent, limit ?? sent) }
}
