// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Tells when files that changed may be read: once two looks in a row find them the same, so that a file is not read while
/// it is being written. Half of a configuration can be a valid one, which protects less.
package struct FileWatch<Stamps: Equatable> {
    private var last: Stamps?
    private var refused: (seen: Stamps, inForce: UInt64, again: ContinuousClock.Instant)?

    package init() {}

    /// Takes notice of a look at the files.
    ///
    /// - Parameters:
    ///   - seen: The files as they are.
    ///   - active: The files as they were when the active configuration was read.
    ///   - inForce: The number of the active configuration.
    /// - Returns: Whether they are to be read now.
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

    /// Takes notice that the files were read, and refused. They are read again when they change, and now and then: the
    /// mistake may be with a file that only the new configuration names, or with the time.
    package mutating func refuse(_ seen: Stamps, inForce: UInt64, until again: ContinuousClock.Instant) {
        refused = (seen, inForce, again)
    }
}
