// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite struct `Caches of authenticated tokens` {
    private static func key(of verifier: Verifier, _ token: String, at now: Timestamp = Sample.time) throws -> String? {
        verifier.verify(token, for: try MediaResource("TNT"), at: now).key
    }

    @Test(arguments: Scenario.all)
    func `give the answers that there are without them`(scenario: Scenario) throws {
        let expected = try scenario.verify(times: 3)
        let cache = AuthenticatedTokenCache()
        let first = try scenario.verify(cache: cache, times: 3)
        #expect(first == expected)
        // Other verifiers, each with its own state.
        #expect(try scenario.verify(cache: cache, times: 2) == Array(expected.prefix(2)))
    }

    @Test func `remember a good token`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try Sample.verifier(cache: cache)
        let token = try Sample.token()
        let resource = try MediaResource("TNT")
        let answer = verifier.verify(token.raw, for: resource, at: Sample.time)
        #expect(answer.isValid)
        #expect(cache.statistics == .init(hits: 0, forgedHits: 0, misses: 1, count: 1, forgedCount: 0))
        #expect(verifier.verify(token.raw, for: resource, at: Sample.time) == answer)
        #expect(cache.statistics == .init(hits: 1, forgedHits: 0, misses: 1, count: 1, forgedCount: 0))
        // Another encoding of the token is another text.
        #expect(verifier.verify(token.serialized, for: resource, at: Sample.time) == answer)
        #expect(cache.statistics == .init(hits: 1, forgedHits: 0, misses: 2, count: 2, forgedCount: 0))
        cache.removeAll()
        #expect(cache.statistics.count == 0)
        #expect(verifier.verify(token.raw, for: resource, at: Sample.time) == answer)
        #expect(cache.statistics.hits == 1)
    }

    @Test func `judge requestor, time and resource again`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try Sample.verifier(cache: cache)
        let (token, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        func reason(
            _ wanted: String = "TNT",
            requestor: String? = nil,
            later: Int64 = 0
        ) throws -> RefusalReason? {
            let now = Sample.time.advanced(byMilliseconds: later)
            return verifier.verify(token, for: try MediaResource(wanted), requestor: requestor, at: now).reason
        }
        #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
        #expect(try reason("TBS") == .resourceMismatch)
        #expect(try reason(requestor: "OTHER") == .requestorMismatch)
        #expect(try reason(requestor: "REF30") == nil)
        #expect(try reason(later: -60_001) == .issuedInFuture)
        #expect(try reason(later: 420_000) == nil)
        #expect(cache.statistics.hits == 5)
        #expect(try reason(later: 420_001) == .expired)
        #expect(try reason() == nil)
        #expect(verifier.authenticate(token, at: Sample.time).isValid)
    }

    @Test func `judge the time of keys again`() throws {
        let cache = AuthenticatedTokenCache()
        let end = Sample.time.advanced(byMilliseconds: 10_000)
        let source = TrustSource.pem(
            try TestSigner.main.get().publicKey(),
            name: "k",
            validity: Sample.time...end
        )
        let verifier = Verifier(
            trust: try TrustStore([source], at: Sample.time),
            policy: try VerificationPolicy(requestor: "REF30"),
            cache: cache
        )
        let (token, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        #expect(verifier.verify(token, for: resource, at: end).isValid)
        #expect(cache.statistics.count == 1)
        #expect(verifier.verify(token, for: resource, at: end.advanced(byMilliseconds: 1)).reason == .noUsableKey)
        #expect(cache.statistics.hits == 1)
    }

    @Test func `do not share what another verifier found`() throws {
        let cache = AuthenticatedTokenCache()
        let (first, second) = (try Sample.verifier(cache: cache), try Sample.verifier(cache: cache))
        let stranger = Verifier(
            trust: try TestSigner.other.get().trust(),
            policy: try VerificationPolicy(requestor: "REF30"),
            cache: cache
        )
        let token = try Sample.token().raw
        for _ in 0..<2 {
            #expect(try Self.key(of: first, token) == "signer")
            #expect(try Self.key(of: second, token) == "signer")
            #expect(try Self.key(of: stranger, token) == nil)
        }
        #expect(cache.statistics.hits == 0)
        let copy = first
        _ = try Self.key(of: first, token)
        _ = try Self.key(of: copy, token)
        #expect(cache.statistics.hits > 0)
    }

    @Test func `do not remember what is not within its time or too large`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try Sample.verifier(cache: cache)
        let token = try Sample.token().raw
        for later in [-60_001, 420_001] as [Int64] {
            _ = try Self.key(of: verifier, token, at: Sample.time.advanced(byMilliseconds: later))
        }
        _ = verifier.verify("", for: try MediaResource("TNT"), at: Sample.time)
        let padded = token + String(repeating: " ", count: AuthenticatedTokenCache.maximumTokenSize)
        #expect(try Self.key(of: verifier, padded) == "signer")
        #expect(cache.statistics.count == 0 && cache.statistics.forgedCount == 0)
    }

    @Test(arguments: [0, 8, 20, 64, 1024, 2000])
    func `are bounded`(capacity: Int) throws {
        let cache = AuthenticatedTokenCache(capacity: capacity, forgedCapacity: capacity)
        let verifier = try Sample.verifier(cache: cache)
        let answer = verifier.verify(try Sample.token().raw, for: try MediaResource("TNT"), at: Sample.time)
        let token = try #require(answer.token)
        let signer = try #require(verifier.candidates.first)
        for number in 0..<5000 {
            let bytes = [UInt8]("token \(number)".utf8)
            cache.remember(bytes.span, says: token, signer: signer, generation: 1, until: .latest)
            cache.rememberForged(bytes.span, reason: .untrustedSignature, generation: 1, at: Sample.time)
        }
        let bound = max(8, capacity / 8 * 8)
        #expect(cache.statistics.count <= bound && cache.statistics.count > bound / 2)
        #expect(cache.statistics.forgedCount <= bound)
    }

    @Test func `remember a bad signature for its time and apart`() throws {
        let cache = AuthenticatedTokenCache(forgedCapacity: 8, forgedLifetime: .milliseconds(2500))
        let verifier = try Sample.verifier(cache: cache)
        let (good, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        let forged = try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).raw
        #expect(verifier.verify(good, for: resource, at: Sample.time).isValid)
        for later in [0, 1, 2500] as [Int64] {
            let answer = verifier.verify(forged, for: resource, at: Sample.time.advanced(byMilliseconds: later))
            #expect(answer == .refused(.untrustedSignature))
        }
        #expect(cache.statistics == .init(hits: 0, forgedHits: 2, misses: 2, count: 1, forgedCount: 1))
        let later = Sample.time.advanced(byMilliseconds: 2501)
        #expect(verifier.verify(forged, for: resource, at: later).reason == .untrustedSignature)
        #expect(cache.statistics.forgedHits == 2)
        for number in 0..<1000 {
            _ = verifier.verify(forged + String(repeating: " ", count: number), for: resource, at: later)
        }
        #expect(cache.statistics.forgedCount == 8 && cache.statistics.count == 1)
        #expect(verifier.verify(good, for: resource, at: Sample.time).isValid)
        #expect(cache.statistics.hits == 1)
    }

    @Test(
        arguments: [(.zero, 0), (.seconds(-1), 0), (.milliseconds(500), 1), (.seconds(Int64.max), 1)]
            as [(Duration, Int)]
    )
    func `accept any life for bad signatures`(lifetime: Duration, expected: Int) throws {
        let cache = AuthenticatedTokenCache(forgedLifetime: lifetime)
        let verifier = try Sample.verifier(cache: cache)
        let forged = try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).raw
        for _ in 0..<2 { _ = verifier.authenticate(forged, at: Sample.time) }
        #expect(cache.statistics.forgedCount == expected)
        #expect(cache.statistics.forgedHits == expected)
    }

    @Test func `forget what is over`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = Verifier(
            trust: try TestSigner.main.get().trust(),
            policy: try VerificationPolicy(requestors: ["REF30"], lateLeeway: .seconds(30)),
            cache: cache
        )
        let (token, resource) = (try Sample.token().raw, try MediaResource("TNT"))
        let forged = try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).raw
        #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
        #expect(!verifier.verify(forged, for: resource, at: Sample.time).isValid)
        cache.removeExpired(at: Sample.time.advanced(byMilliseconds: 5000))
        #expect(cache.statistics.count == 1 && cache.statistics.forgedCount == 1)
        cache.removeExpired(at: Sample.time.advanced(byMilliseconds: 450_000))
        #expect(cache.statistics.count == 1 && cache.statistics.forgedCount == 0)
        let end = Sample.time.advanced(byMilliseconds: 450_001)
        #expect(verifier.verify(token, for: resource, at: end).reason == .expired)
        #expect(cache.statistics.count == 0)
        #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
        cache.removeExpired(at: end)
        #expect(cache.statistics.count == 0)
    }

    /// Tokens of every length up to 100, each with each byte changed.
    /// The indices of a table are chosen by the upper five bits of a hash, and by its lower half.
    @Test(arguments: [0, 1, 0x0123_4567_89AB_CDEF, .max] as [UInt64])
    func `spread tokens that differ in one byte`(seed: UInt64) {
        var seen: Set<UInt64> = []
        var shards = [Int](repeating: 0, count: 32)
        var sets = [Int](repeating: 0, count: 64)
        var count = 0
        for length in 0...100 {
            let token = [UInt8](repeating: UInt8(ascii: "A"), count: length)
            for (position, byte) in [(-1, 0)]
                + token.indices.flatMap({ index in [(index, 0), (index, 66), (index, 255)] })
            {
                var changed = token
                if position >= 0 { changed[position] = UInt8(byte) }
                let hash = TokenBytes.hash(changed.span, seed: seed)
                #expect(seen.insert(hash).inserted)
                shards[Int(hash >> 59)] += 1
                sets[Int(((hash & 0xFFFF_FFFF) * 64) >> 32)] += 1
                count += 1
            }
        }
        // Fifteen thousand hashes: about 475 of a shard, and 238 of a place, with deviations of 22 and 15.
        #expect(shards.allSatisfy { abs($0 - count / 32) < 150 } && sets.allSatisfy { abs($0 - count / 64) < 100 })
    }
}
