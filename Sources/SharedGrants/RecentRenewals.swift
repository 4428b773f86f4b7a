// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform
internal import ReplayStores

/// The renewals of the last seconds: a player that renews a grant many times at once is one entry of the ledger.
struct RecentRenewals {
    private struct Name: Hashable {
        let session: SessionID
        let chain: UInt64
        let generation: UInt32
        let parent: UInt64
    }

    private var present: Set<Name> = []
    private var previous: Set<Name> = []
    private var start = Timestamp(millisecondsSince1970: .min)

    /// The time for which a renewal is remembered at least, in milliseconds.
    private static let life: Int64 = 10_000
    /// The maximum number of renewals, twice.
    private static let capacity = 8192

    /// Remembers a renewal. Returns false if it is remembered already.
    mutating func insert(_ renewal: GrantRenewal, at now: Timestamp) -> Bool {
        // A clock that was set back begins again too.
        if now >= start.advanced(byMilliseconds: Self.life) || now < start || present.count >= Self.capacity {
            (previous, present, start) = (present, [], now)
        }
        let name = Name(
            session: renewal.session,
            chain: renewal.chain,
            generation: renewal.generation,
            parent: renewal.parent
        )
        return !previous.contains(name) && present.insert(name).inserted
    }
}
