// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateTestSupport
import MediaResources
import Platform
import Synchronization
import Testing

@testable import MediaTokens

@Suite struct Concurrency {
    /// Runs `body` on 16 threads concurrently, and returns the sum of the failures.
    private static func failures(_ body: @escaping @Sendable (_ thread: Int) -> Int) -> Int {
        // Not a mutex: the thread sanitizer does not recognise its ordering.
        let failures = Atomic(0)
        let group = DispatchGroup()
        for thread in 0..<16 {
            group.enter()
            Thread.detachNewThread {
                let count = body(thread)
                failures.add(count, ordering: .relaxed)
                group.leave()
            }
        }
        group.wait()
        return failures.load(ordering: .relaxed)
    }

    /// Creates a trust store with three keys, and tokens with their expected results.
    private static func workload() throws -> (TrustStore, [(token: String, reason: RefusalReason?)]) {
        let (main, other, small) = (try TestSigner.main.get(), try TestSigner.other.get(), try TestSigner.small.get())
        let third = try RSAPrivateKey(generatingBits: 2048)
        let trust = try TrustStore(
            [
                .pem(main.keys.signerCertificate, name: "a"), .pem(other.keys.signerCertificate, name: "b"),
                .pem(try third.publicPEM(), name: "c"),
            ],
            at: Sample.time
        )
        var tokens: [(token: String, reason: RefusalReason?)] = []
        for (index, issuer) in [main.issuer, other.issuer, Issuer(key: SigningKey(third))].enumerated() {
            var claims = Sample.claims
            claims.userSessionGUID = "session \(index)"
            tokens.append((try issuer.issue(claims, at: Sample.time).serialized, nil))
            tokens.append((try issuer.issue(claims, at: Sample.time).raw, nil))
            let past = Sample.time.advanced(byMilliseconds: -500_000)
            tokens.append((try issuer.issue(claims, at: past).serialized, .expired))
            claims.resourceID = "<a>&</a>"
            tokens.append((try issuer.issue(claims, at: Sample.time).serialized, .resourceMismatch))
        }
        tokens.append(
            (
                try Issuer(key: SigningKey(RSAPrivateKey(generatingBits: 2048)))
                    .issue(Sample.claims, at: Sample.time).serialized, .untrustedSignature
            )
        )
        tokens.append((try small.issuer.issue(Sample.claims, at: Sample.time).serialized, .signatureLength))
        tokens.append(("PHNpZ25hdHVyZUluZm8+", .invalidEnvelope))
        return (trust, tokens)
    }

    @Test(arguments: [false, true])
    func `16 threads get the answers that one gets`(isCached: Bool) throws {
        let (trust, tokens) = try Self.workload()
        let cache = isCached ? AuthenticatedTokenCache(capacity: 16, forgedCapacity: 8) : nil
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"), cache: cache)
        let resource = try MediaResource("TNT")
        let failures = Self.failures { thread in
            var random = SplitMix64(seed: UInt64(thread))
            var failures = 0
            for round in 0..<300 {
                let (token, reason) = random.pick(tokens)
                let answer = verifier.verify(token, for: resource, at: Sample.time)
                if answer.reason != reason { failures += 1 }
                if answer.isValid, answer.token?.requestorID != "REF30" { failures += 1 }
                if let cache, round % 100 == thread { cache.removeExpired(at: Sample.time) }
                if let cache, round == 150, thread == 0 { cache.removeAll() }
                if let cache, cache.statistics.count > 16 * cache.threads { failures += 1 }
            }
            return failures
        }
        #expect(failures == 0)
    }

    @Test func `a group of tasks gets the answers that one gets`() async throws {
        let (trust, tokens) = try Self.workload()
        let cache = AuthenticatedTokenCache()
        let policy = try VerificationPolicy(requestor: "REF30")
        let resource = try MediaResource("TNT")
        let failures = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    // Each task has its own verifier; the contexts and the cache are shared.
                    let verifier = Verifier(trust: trust, policy: policy, cache: cache)
                    var failures = 0
                    for _ in 0..<5 {
                        for (token, reason) in tokens
                        where verifier.verify(token, for: resource, at: Sample.time).reason != reason {
                            failures += 1
                        }
                        await Task.yield()
                    }
                    return failures
                }
            }
            return await group.reduce(0, +)
        }
        #expect(failures == 0)
    }

    @Test func `16 threads sign what one signs`() throws {
        let issuer = try TestSigner.main.get().issuer
        let expected = try Sample.token()
        let failures = Self.failures { _ in
            (0..<10).count { _ in (try? issuer.issue(Sample.claims, at: Sample.time)) != expected }
        }
        #expect(failures == 0)
    }
}
