// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import MediaTokens
package import Platform
package import PlaybackGate
package import ReplayStores

/// A random history of what grants need of a store, deterministic for a seed: leases, uses of grants, revocations, refreshes
/// of caches, and reopening. Its times are those of `HistoryClock`.
package struct GrantStoreHistory {
    /// A step of a history.
    package struct Step {
        /// The time of receipt, for stores that use it.
        package let time: Timestamp
        /// The index of the handle to use on the store.
        package let handle: Int
        package let action: Action
    }

    package enum Action {
        /// A lease that ends `life` after the step.
        case acquire(LeaseKey, SessionID, limit: Int, life: Int64)
        case free(SessionID)
        case insert(GrantIdentity)
        case revoke(Revocation.Subject, life: Int64)
        case refresh
        case reopen
    }

    /// A grant that may be used once.
    package struct GrantIdentity {
        package let digest: SHA256Digest
        package let expires: Timestamp
    }

    private let start: Timestamp
    /// The unit of the lives of leases, in milliseconds.
    private let unit: Int64
    private let grants: [GrantIdentity]
    private var random: SplitMix64
    private var clock: HistoryClock

    package static let sessions = (0..<12).map {
        SessionID(high: UInt64($0) &* 0x9E37_79B9_7F4A_7C15, low: ~UInt64($0))
    }
    package static let viewers = (0..<3).map {
        LeaseKey(
            requestor: "REF30",
            mvpd: SubjectTag(high: 2, low: UInt64($0)),
            viewer: SubjectTag(high: 1, low: UInt64($0))
        )
    }
    /// The times of issue of the media tokens that revocations may cover.
    package let issueTimes: [Timestamp]

    /// Creates a history.
    ///
    /// - Parameters:
    ///   - start: The time of the first step.
    ///   - unit: The unit of the lives of leases, in milliseconds: a lease lives from 1 to 40 units.
    package init(from start: Timestamp, unit: Int64, seed: UInt64) {
        (self.start, self.unit) = (start, unit)
        random = SplitMix64(seed: seed)
        clock = HistoryClock(start)
        var random = SplitMix64(seed: seed)
        grants = (0..<16).map { _ in
            GrantIdentity(
                digest: Self.digest(&random),
                expires: start.advanced(byMilliseconds: Int64.random(in: -300_000...900_000, using: &random))
            )
        }
        issueTimes = (0..<5).map { start.adding(seconds: Int64($0) * 40 - 80) }
        self.random = random
    }

    private static func digest(_ random: inout SplitMix64) -> SHA256Digest {
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &random) }
        guard let digest = SHA256Digest(bytes: bytes) else { preconditionFailure("32 bytes are a digest") }
        return digest
    }

    package mutating func next() -> Step {
        let time = clock.next(using: &random)
        return Step(time: time, handle: Int.random(in: 0..<2, using: &random), action: action())
    }

    private mutating func action() -> Action {
        let session = Int.random(in: 0..<Self.sessions.count, using: &random)
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: return .reopen
        case 3..<10: return .refresh
        case 10..<20: return revocation()
        case 20..<45: return .insert(random.pick(grants))
        case 45..<55: return .free(Self.sessions[session])
        default:
            // Seldom for another viewer than otherwise.
            let viewer = (session + (random.once(in: 20) ? 1 : 0)) % Self.viewers.count
            return .acquire(
                Self.viewers[viewer],
                Self.sessions[session],
                limit: Int.random(in: 1...3, using: &random),
                life: unit * Int64.random(in: 1...40, using: &random)
            )
        }
    }

    private mutating func revocation() -> Action {
        let before = random.pick(issueTimes).advanced(byMilliseconds: Int64.random(in: -1...1, using: &random))
        let subject: Revocation.Subject =
            switch Int.random(in: 0..<4, using: &random) {
            case 0: .token(random.pick(grants).digest)
            case 1: .session(guid: "session \(Int.random(in: 0..<4, using: &random))", issuedBefore: before)
            case 2: .mvpd(id: "MVPD \(Int.random(in: 0..<3, using: &random))", issuedBefore: before)
            default: .playback(random.pick(Self.sessions))
            }
        return .revoke(subject, life: 1000 * Int64.random(in: 1...600, using: &random))
    }

    /// The subjects that revocations may name.
    package var subjects: [Revocation.Subject] {
        grants.map { .token($0.digest) } + Self.sessions.map { .playback($0) }
            + (0..<4).map { .session(guid: "session \($0)", issuedBefore: start) }
            + (0..<3).map { .mvpd(id: "MVPD \($0)", issuedBefore: start) }
    }
}
