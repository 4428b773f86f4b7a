// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// The grants that a gate has issued in the last seconds: a challenge by another gate may reach it after it has issued one.
struct RecentGrants: Sendable {
    private var present: [UInt64: [UInt32]] = [:]
    private var previous: [UInt64: [UInt32]] = [:]
    private var start = Timestamp(millisecondsSince1970: .min)

    /// The time for which a grant is remembered at least, in milliseconds.
    private static let life: Int64 = 15_000
    /// The maximum numbers of playbacks, twice, and of grants of one.
    private static let (capacity, grantsPerPlayback) = (32_768, 64)

    /// Remembers a grant of a playback.
    mutating func insert(_ grant: UInt32, of playback: UInt64, at now: Timestamp) {
        // A clock that was set back begins again too.
        if now >= start.advanced(byMilliseconds: Self.life) || now < start || present.count >= Self.capacity {
            (previous, present, start) = (present, [:], now)
        }
        guard present[playback, default: []].count < Self.grantsPerPlayback else { return }
        present[playback, default: []].append(grant)
    }

    /// The grants of a playback.
    subscript(playback: UInt64) -> [UInt32] { (previous[playback] ?? []) + (present[playback] ?? []) }
}
