// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Detects changed files that are safe to read. A change is reported once two consecutive checks find the same state, so
/// that no file is read while it is being written. Half of a configuration may be valid, and protect less.
package struct FileWatch<Stamps: Equatable> {
    private var last: Stamps?
    private var refused: (seen: Stamps, inForce: UInt64, again: ContinuousClock.Instant)?

    /// Creates a watch before its first check.
    package init() {}

    /// Records a check of the files.
    ///
    /// - Parameters:
    ///   - seen: The current state of the files.
    ///   - active: The state of the files before the active configuration was read.
    ///   - inForce: The number of the active configuration.
    ///   - now: The time of the check.
    /// - Returns: True if the files must be read now.
    package mutating func look(
        _ seen: Stamps,
        active: Stamps,
        inForce: UInt64,
        at now: ContinuousClock.Instant
    ) -> Bool {
        defer { last = seen }
        guard seen != active, seen == last else { return false }
        guard let refused, refused.seen == seen, refused.inForce == inForce else { return true }
        return refused.again <= now
    }

    /// Records that the files were read and refused. They are read again when they change, or from the time `again` on.
    /// The fault may be in a file that only the new configuration names, or depend on the time.
    package mutating func refuse(_ seen: Stamps, inForce: UInt64, until again: ContinuousClock.Instant) {
        refused = (seen, inForce, again)
    }
}
