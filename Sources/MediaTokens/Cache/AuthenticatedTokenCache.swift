// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import Platform

/// A cache of verified signatures, for clients that present the same token repeatedly.
///
/// An entry records that these exact bytes carried a valid signature by this key of this trust store, and the token's
/// content. The requestor, the time, the resource and the key's validity are checked again on every call, and the gate
/// still consumes the token. Tokens are compared byte for byte. The cache is bounded, and an entry expires with its
/// token. Each thread finds what it has verified itself, so that threads do not wait for each other. A verifier finds
/// only its own entries, so none survive a change of trust or policy. Bad signatures are cached too, for a short time
/// and in a separate table, so that a burst of retries is cheap and cannot evict valid tokens.
public final class AuthenticatedTokenCache: Sendable {
    private let authentic: TokenTable
    private let forged: TokenTable
    private let forgedMilliseconds: Int64

    /// The largest token that is cached, in bytes as transmitted: 4 KiB. Real tokens have about 1 KiB.
    public static let maximumTokenSize = 4 * 1024

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - capacity: The largest number of authentic tokens of each thread that verifies; at least 8. Each uses its
    ///     size and about 300 bytes. Of more than four threads, or more than the machine has processors, several share
    ///     this number.
    ///   - forgedCapacity: The largest number of tokens with bad signatures of each such thread; at least 8.
    ///   - forgedLifetime: The time for which a bad signature is cached, in whole milliseconds; at most a day.
    public init(capacity: Int = 4096, forgedCapacity: Int = 1024, forgedLifetime: Duration = .seconds(5)) {
        authentic = TokenTable(capacity: capacity)
        forged = TokenTable(capacity: forgedCapacity)
        // A day is long enough for a bad signature, and cannot overflow.
        forgedMilliseconds = min(max(forgedLifetime, .zero), .seconds(86_400)).milliseconds
    }

    /// The number of threads that have entries of their own.
    var threads: Int { authentic.threads }

    /// The cache of a verifier without one.
    static let unused = AuthenticatedTokenCache(capacity: 0, forgedCapacity: 0)

    /// The counts since the cache was created.
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

    /// The counts of a cache.
    public struct Statistics: Hashable, Sendable {
        /// The number of look-ups that found an authentic token.
        public let hits: Int
        /// The number of look-ups that found a bad signature.
        public let forgedHits: Int
        /// The number of look-ups that found no entry.
        public let misses: Int
        /// The number of authentic tokens in the cache.
        public let count: Int
        /// The number of bad signatures in the cache.
        public let forgedCount: Int
    }

    /// Removes all entries.
    public func removeAll() {
        authentic.removeAll()
        forged.removeAll()
    }

    /// Removes the entries that have expired at `now`. Only frees memory: expired entries are never returned.
    public func removeExpired(at now: Timestamp) {
        authentic.removeExpired(at: now)
        forged.removeExpired(at: now)
    }

    /// An authentic token, and the key that made its signature.
    final class Authentic: Sendable {
        let token: MediaToken
        let signer: Verifier.Candidate

        init(token: MediaToken, signer: Verifier.Candidate) {
            self.token = token
            self.signer = signer
        }
    }

    /// The reason for the refusal of a token with a bad signature.
    private final class Forged: Sendable {
        let reason: RefusalReason

        init(_ reason: RefusalReason) { self.reason = reason }
    }

    enum Memory {
        case authentic(Authentic)
        case forged(RefusalReason)
    }

    func lookUp(_ token: Span<UInt8>, generation: UInt64, at now: Timestamp) -> Memory? {
        guard token.count <= Self.maximumTokenSize else { return nil }
        if let known = authentic.lookUp(token, generation: generation, at: now) as? Authentic {
            return .authentic(known)
        }
        return (forged.lookUp(token, generation: generation, at: now) as? Forged).map { .forged($0.reason) }
    }

    func remember(
        _ token: Span<UInt8>,
        says content: MediaToken,
        signer: Verifier.Candidate,
        generation: UInt64,
        until end: Timestamp
    ) {
        guard token.count <= Self.maximumTokenSize else { return }
        // No lower bound is needed: the issue time is checked again on every call.
        let life = Timestamp(millisecondsSince1970: .min)...end
        authentic.insert(token, value: Authentic(token: content, signer: signer), generation: generation, life: life)
    }

    func rememberForged(_ token: Span<UInt8>, reason: RefusalReason, generation: UInt64, at now: Timestamp) {
        guard token.count <= Self.maximumTokenSize, forgedMilliseconds > 0 else { return }
        let life = now...now.advanced(byMilliseconds: forgedMilliseconds)
        forged.insert(token, value: Forged(reason), generation: generation, life: life)
    }
}
