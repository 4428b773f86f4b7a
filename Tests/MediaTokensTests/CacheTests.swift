// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `The cache of authenticated tokens` {
    private let fixture: Fixture
    private let resource: MediaResource

    init() throws {
        fixture = try Fixture.shared.get()
        resource = try MediaResource("TNT")
    }

    @Test func `changes no answer`() throws {
        let cached = try fixture.verifier(cache: AuthenticatedTokenCache())
        let plain = try fixture.verifier()
        let tokens = try [
            fixture.token().serialized, fixture.token().raw, fixture.token { $0.requestorID = "X" }.serialized,
            fixture.token { $0.timeToLiveMilliseconds = 0 }.serialized, "garbage", "",
            fixture.token(issued: Fixture.now.plus(100_000)).serialized,
            fixture.token { $0.resourceID = "TBS" }.serialized,
            Issuer(key: try SigningKey(pem: fixture.other.signerKey)).issue(Fixture.claims, at: Fixture.now).serialized,
        ]
        for offset in [0, 100_000, 430_000, 0] as [Int64] {
            for token in tokens + tokens {
                let now = Fixture.now.plus(offset)
                #expect(cached.verify(token, for: resource, at: now) == plain.verify(token, for: resource, at: now))
            }
        }
    }

    @Test func `judges requestor, time and resource anew on a hit`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try fixture.verifier(VerificationPolicy(requestors: ["REF30", "OTHER"]), cache: cache)
        let token = try fixture.token().serialized
        #expect(verifier.verify(token, for: resource, at: Fixture.now).isValid)
        #expect(verifier.verify(token, for: try MediaResource("TBS"), at: Fixture.now).reason == .resourceMismatch)
        #expect(verifier.verify(token, for: resource, requestor: "OTHER", at: Fixture.now).reason == .requestorMismatch)
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(-60_001)).reason == .issuedInFuture)
        #expect(verifier.authenticate(token, at: Fixture.now).isValid)
        #expect(cache.statistics.hits == 4)
        #expect(cache.statistics.count == 1)
    }

    @Test func `lets a token go when its life is over`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try fixture.verifier(cache: cache)
        let token = try fixture.token().serialized
        #expect(verifier.verify(token, for: resource, at: Fixture.now).isValid)
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(420_001)).reason == .expired)
        #expect(cache.statistics.count == 0)
        #expect(verifier.verify(token, for: resource, at: Fixture.now).isValid)
        cache.removeExpired(at: Fixture.now.plus(420_000))
        #expect(cache.statistics.count == 1)
        cache.removeExpired(at: Fixture.now.plus(420_001))
        #expect(cache.statistics.count == 0)
    }

    @Test func `does not outlive the validity of the key`() throws {
        let limited = TrustSource.pem(
            fixture.keys.signerCertificate,
            name: "k",
            validity: Fixture.now...Fixture.now.plus(1000)
        )
        let verifier = Verifier(
            trust: try TrustStore([limited], at: Fixture.now),
            policy: try VerificationPolicy(requestor: "REF30"),
            cache: AuthenticatedTokenCache()
        )
        let token = try fixture.token().serialized
        #expect(verifier.verify(token, for: resource, at: Fixture.now).isValid)
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(1001)).reason == .noUsableKey)
    }

    @Test func `shows nothing to a verifier with other trust or policy`() throws {
        let cache = AuthenticatedTokenCache()
        let token = try fixture.token().serialized
        #expect(try fixture.verifier(cache: cache).verify(token, for: resource, at: Fixture.now).isValid)
        let trust = try TrustStore([.pem(fixture.other.signerCertificate, name: "other")], at: Fixture.now)
        let other = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"), cache: cache)
        #expect(other.verify(token, for: resource, at: Fixture.now).reason == .untrustedSignature)
        #expect(try fixture.verifier(cache: cache).verify(token, for: resource, at: Fixture.now).isValid)
        #expect(cache.statistics.hits == 0)
    }

    @Test func `remembers bad signatures for a while, and apart`() throws {
        let cache = AuthenticatedTokenCache(capacity: 8, forgedCapacity: 8, forgedLifetime: .seconds(5))
        let verifier = try fixture.verifier(cache: cache)
        let good = try fixture.token().serialized
        #expect(verifier.verify(good, for: resource, at: Fixture.now).isValid)
        let issuer = Issuer(key: try SigningKey(pem: fixture.other.signerKey))
        let forged = try (0..<40).map { index in
            var claims = Fixture.claims
            claims.userSessionGUID = "\(index)"
            return try issuer.issue(claims, at: Fixture.now).serialized
        }
        for token in forged { _ = verifier.verify(token, for: resource, at: Fixture.now) }
        #expect(cache.statistics.forgedCount == 8)
        #expect(cache.statistics.count == 1, "no storm pushes good tokens out")
        #expect(verifier.verify(forged[39], for: resource, at: Fixture.now.plus(5000)).reason == .untrustedSignature)
        #expect(cache.statistics.forgedHits == 1)
        #expect(verifier.verify(forged[39], for: resource, at: Fixture.now.plus(5001)).reason == .untrustedSignature)
        #expect(verifier.verify(forged[38], for: resource, at: Fixture.now.plus(-1)).reason == .untrustedSignature)
        #expect(cache.statistics.forgedHits == 1, "the time has passed, or the clock went back")
    }

    @Test(arguments: [1, 8, 100, 5000])
    func `never holds more than its capacity`(capacity: Int) {
        let table = TokenTable<Int>(capacity: capacity)
        let life = Fixture.now...Fixture.now
        for index in 0..<3 * capacity + 100 {
            let token = Array("token \(index)".utf8)
            table.insert(token.span, index, generation: 1, life: life)
            let found = table.lookUp(token.span, generation: 1, at: Fixture.now)
            #expect(found == index)
        }
        #expect(table.counters.count <= max(8, capacity))
        #expect(table.counters.count >= max(8, capacity) / 2)
    }

    @Test func `keeps what is used and compares every byte`() {
        let table = TokenTable<Int>(capacity: 8)
        let life = Fixture.now...Fixture.now
        let tokens = (0..<9).map { Array("token \($0)".utf8) }
        func find(_ token: [UInt8]) -> Int? { table.lookUp(token.span, generation: 1, at: Fixture.now) }
        func insert(_ token: [UInt8], _ value: Int) { table.insert(token.span, value, generation: 1, life: life) }
        for index in 0..<8 { insert(tokens[index], index) }
        #expect(find(tokens[0]) == 0)
        insert(tokens[8], 8)
        #expect(find(tokens[0]) == 0)
        #expect(find(tokens[1]) == nil, "used longest ago")
        insert(tokens[0], 100)
        #expect(find(tokens[0]) == 100)
        #expect(table.counters.count == 8)
        #expect(find(Array("token 0 ".utf8)) == nil)
        #expect(find([]) == nil)
    }
}
