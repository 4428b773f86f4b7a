// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import MediaTokens
package import Platform
internal import PlaybackGate
package import ReplayStores

/// A random history of a replay store, deterministic for a seed: uses, examinations, revocations, and reopening.
///
/// Time advances from step to step. A step may be up to five seconds before the previous one, as with concurrent requests.
/// Occasionally the clock is wrong for a few steps, by up to an hour ahead or ten minutes behind.
package struct StoreHistory {
    /// A step of a history.
    package struct Step {
        /// The time of receipt.
        package let time: Timestamp
        /// The index of the handle to use on the store.
        package let handle: Int
        package let action: Action
    }

    package enum Action {
        case record(TokenUse)
        case examine(TokenUse)
        case revoke(Revocation)
        case reopen
    }

    private let tokens: [MediaToken]
    private var random: SplitMix64
    private var clock: HistoryClock

    /// Creates a history with at most twelve tokens of `pool`.
    package init(_ pool: StorePool, seed: UInt64) {
        random = SplitMix64(seed: seed)
        tokens = Array(pool.tokens.shuffled(using: &random).prefix(12))
        clock = HistoryClock(pool.start)
    }

    package mutating func next() -> Step {
        let time = clock.next(using: &random)
        return Step(time: time, handle: Int.random(in: 0..<2, using: &random), action: action(at: time))
    }

    private mutating func action(at time: Timestamp) -> Action {
        let use = use()
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<3: return .reopen
        case 3..<10: return .revoke(revocation(of: use.token, at: time))
        case 10..<25: return .examine(use)
        default: return .record(use)
        }
    }

    private mutating func use() -> TokenUse {
        let token = tokens[Int.random(in: 0..<tokens.count, using: &random)]
        let playback = Int.random(in: 0..<6, using: &random)
        return TokenUse(
            token,
            maximumUses: Int.random(in: 1...3, using: &random),
            playbackID: playback < 3 ? "playback \(playback)" : nil,
            media: "m"
        )
    }

    /// Returns a revocation of the token, its session or its MVPD. Its times are before and after those of the tokens.
    private mutating func revocation(of token: MediaToken, at time: Timestamp) -> Revocation {
        let before = token.timeIssued.adding(seconds: Int64.random(in: -100...100, using: &random))
        let subject: Revocation.Subject =
            switch Int.random(in: 0..<3, using: &random) {
            case 0: .token(token.fingerprint)
            case 1: .session(guid: token.userSessionGUID, issuedBefore: before)
            default: .mvpd(id: token.proxyMVPDID ?? token.mvpdID, issuedBefore: before)
            }
        return Revocation(subject, expires: time.adding(seconds: Int64.random(in: 1...120, using: &random)))
    }
}

/// The times of a history. They advance by up to nine seconds; a step may be up to five seconds before the previous one.
/// Occasionally the clock is wrong for a few steps.
struct HistoryClock {
    private var clock: Timestamp
    private var error: (seconds: Int64, steps: Int) = (0, 0)

    init(_ start: Timestamp) { clock = start }

    mutating func next(using random: inout SplitMix64) -> Timestamp {
        clock = clock.advanced(byMilliseconds: Int64.random(in: 0...9000, using: &random))
        if error.steps > 0 { error.steps -= 1 }
        if Int.random(in: 0..<60, using: &random) == 0 {
            error = (Int64.random(in: -600...3600, using: &random), Int.random(in: 1...6, using: &random))
        }
        let late = Int64.random(in: -5000...0, using: &random)
        let wrong = error.steps > 0 ? error.seconds * 1000 : 0
        return clock.advanced(byMilliseconds: late + wrong)
    }
}

/// Tokens that are issued around one time, for histories; created once, because signing is slow.
package struct StorePool: Sendable {
    package let tokens: [MediaToken]
    /// The earliest possible issue time of the tokens.
    package let start: Timestamp

    package init(from start: Timestamp, count: Int = 60) throws {
        self.start = start
        var random = SplitMix64(seed: 1)
        tokens = try (0..<count).map { number in
            let claims = GateSample.claims(
                mvpd: "MVPD \(number % 4)",
                proxy: number % 5 == 0 ? "Proxy" : nil,
                session: "session \(number % 30)",
                ttl: Int64.random(in: 1...300_000, using: &random)
            )
            let issued = start.adding(seconds: Int64.random(in: 0...300, using: &random))
            return try GateSample.content(claims, at: issued)
        }
    }
}
