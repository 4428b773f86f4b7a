// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import Platform

/// A memory of signatures that were checked, for where one token is shown again and again.
///
/// All it remembers is that these exact bytes carried a valid signature by this key of this trust store, and what they
/// said. Requestor, time, resource and the key's validity are judged anew on every call, and so is use, by the gate.
/// Tokens are compared byte for byte. It is bounded, a token leaves when its life is over, and a verifier finds only what
/// it remembered itself: after a change of trust or policy, nothing. Bad signatures are remembered too, for a short time and in a
/// table of their own, so that a storm of retries is cheap and cannot push good tokens out.
public final class AuthenticatedTokenCache: Sendable {
    private let authentic: TokenTable<Authentic>
    private let forged: TokenTable<RefusalReason>
    private let forgedMilliseconds: Int64

    /// The largest token, in bytes as transmitted, that is remembered. Real ones have about 1 KiB.
    public static let maximumTokenSize = 4 * 1024

    /// Makes an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: How many good tokens are remembered at most; at least 8. Each takes its size and about 300 bytes.
    ///   - forgedCapacity: How many tokens with bad signatures are remembered at most; at least 8.
    ///   - forgedLifetime: For how long a bad signature is remembered, to the millisecond; at most a day.
    public init(capacity: Int = 4096, forgedCapacity: Int = 1024, forgedLifetime: Duration = .seconds(5)) {
        authentic = TokenTable(capacity: capacity)
        forged = TokenTable(capacity: forgedCapacity)
        // A day is as good as forever for a bad signature, and well within the numbers.
        let life = min(max(forgedLifetime, .zero), .seconds(86_400)).components
        forgedMilliseconds = life.seconds * 1000 + life.attoseconds / 1_000_000_000_000_000
    }

    /// How the cache did since it was made.
    public var statistics: Statistics {
        let (good, bad) = (authentic.counters, forged.counters)
        return Statistics(
            hits: good.hits,
            forgedHits: bad.hits,
            misses: good.misses - min(good.misses, bad.hits),
            count: good.count,
            forgedCount: bad.count
        )
    }

    /// Counts of a cache.
    public struct Statistics: Hashable, Sendable {
        /// How many look-ups found a good token.
        public let hits: Int
        /// How many look-ups found a bad signature.
        public let forgedHits: Int
        /// How many look-ups found nothing.
        public let misses: Int
        /// How many good tokens are remembered.
        public let count: Int
        /// How many bad signatures are remembered.
        public let forgedCount: Int
    }

    /// Forgets everything.
    public func removeAll() {
        authentic.removeAll()
        forged.removeAll()
    }

    /// Forgets what is over at `now`. Needed only to give memory back; what is over is never found.
    public func removeExpired(at now: Timestamp) {
        authentic.removeExpired(at: now)
        forged.removeExpired(at: now)
    }

    struct Authentic: Sendable {
        let token: MediaToken
        let key: Int
    }

    enum Memory {
        case authentic(MediaToken, key: Int)
        case forged(RefusalReason)
    }

    func lookUp(_ token: Span<UInt8>, generation: UInt64, at now: Timestamp) -> Memory? {
        guard token.count <= Self.maximumTokenSize else { return nil }
        if let known = authentic.lookUp(token, generation: generation, at: now) {
            return .authentic(known.token, key: known.key)
        }
        return forged.lookUp(token, generation: generation, at: now).map { .forged($0) }
    }

    func remember(_ token: Span<UInt8>, says content: MediaToken, key: Int, generation: UInt64, until end: Timestamp) {
        guard token.count <= Self.maximumTokenSize else { return }
        // What was issued in the future is not remembered at all, so every time before the end will do.
        let life = Timestamp(millisecondsSince1970: .min)...end
        authentic.insert(token, Authentic(token: content, key: key), generation: generation, life: life)
    }

    func rememberForged(_ token: Span<UInt8>, _ reason: RefusalReason, generation: UInt64, at now: Timestamp) {
        guard token.count <= Self.maximumTokenSize, forgedMilliseconds > 0 else { return }
        let life = now...now.advanced(byMilliseconds: forgedMilliseconds)
        forged.insert(token, reason, generation: generation, life: life)
    }
}
