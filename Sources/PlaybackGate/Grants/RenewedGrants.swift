// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import Synchronization

/// The renewed grants of the last seconds, so that the parallel requests of a player get one renewed token.
///
/// A bounded table: a grant that found no room is renewed once more, which is harmless.
final class RenewedGrants: Sendable {
    private let shards: [Shard]

    /// The time for which a renewed grant is cached, in milliseconds.
    private static let life: Int64 = 10_000
    /// The maximum number of renewed grants in a shard.
    private static let capacity = 4096

    private final class Shard: Sendable {
        let entries = Mutex<[Wish: Entry]>([:])
    }

    /// The key of a renewed grant. Another profile, or another path of its cookie, gives another grant.
    struct Wish: Hashable {
        /// The claims of the old token, which include its identity.
        let claims: [UInt8]
        let profile: String
        let scope: String

        init(claims: [UInt8], profile: GrantProfile, scope: String) {
            (self.claims, self.profile, self.scope) = (claims, profile.name, scope)
        }
    }

    private struct Entry {
        let grant: IssuedGrant
        let kept: Timestamp
    }

    init() { shards = (0..<16).map { _ in Shard() } }

    /// Returns the renewed grant of a token, and makes it by `renew` if there is none yet.
    ///
    /// - Parameters:
    ///   - wish: The old token, and the facts of its replacement.
    ///   - renew: Makes a renewed grant, under the lock of the shard, so that two requests never make one each.
    func grant(for wish: Wish, at now: Timestamp, renew: () -> IssuedGrant?) -> IssuedGrant? {
        var hasher = Hasher()
        hasher.combine(wish)
        let shard = shards[hasher.finalize() & (shards.count - 1)]
        return shard.entries.withLock { entries in
            if let known = entries[wish], known.kept >= now { return known.grant }
            guard let grant = renew() else { return nil }
            if entries.count >= Self.capacity { entries = entries.filter { $0.value.kept >= now } }
            if entries.count < Self.capacity {
                entries[wish] = Entry(grant: grant, kept: now.advanced(byMilliseconds: Self.life))
            }
            return grant
        }
    }
}
