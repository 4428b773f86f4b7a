// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

/// Run under the thread sanitizer too (`make sanitize`).
@Suite struct `Concurrency of verification` {
    @Test func `16 threads get the right answers at once`() async throws {
        let fixture = try Fixture.shared.get()
        let sources = [fixture.other, fixture.keys].enumerated().map {
            TrustSource.pem($1.signerCertificate, name: "k\($0)")
        }
        let trust = try TrustStore(sources, at: Fixture.now)
        let policy = try VerificationPolicy(requestor: "REF30")
        let cache = AuthenticatedTokenCache(capacity: 16, forgedCapacity: 16)
        let verifiers = [Verifier(trust: trust, policy: policy), Verifier(trust: trust, policy: policy, cache: cache)]
        let fragment = try MediaResource("<rss><channel><title>TNT</title></channel></rss>")
        let small = try Issuer(key: SigningKey(pem: fixture.small.signerKey))
        let good = try (0..<8).map { index in try fixture.token { $0.userSessionGUID = "\(index)" }.serialized }
        let rows: [(String, RefusalReason?)] =
            try good.map { ($0, nil) } + [
                ("garbage", .invalidBase64), (fixture.token(issued: Fixture.now.plus(-500_000)).serialized, .expired),
                (small.issue(Fixture.claims, at: Fixture.now).serialized, .signatureLength),
                (fixture.token().raw.replacing("TNT", with: "TBS"), .untrustedSignature),
            ]
        await withTaskGroup(of: Int.self) { group in
            for worker in 0..<16 {
                group.addTask {
                    (0..<200).count { round in
                        let (token, reason) = rows[(worker + round) % rows.count]
                        let answer = verifiers[round % 2].verify(token, for: fragment, at: Fixture.now)
                        return answer.reason != reason
                    }
                }
            }
            for await wrong in group { #expect(wrong == 0) }
        }
        #expect(cache.statistics.count <= 16)
    }
}

/// Run under the address sanitizer too, which finds what is not given back (`make sanitize`).
@Suite struct `Memory of verification` {
    @Test func `is given back over a long loop`() throws {
        let fixture = try Fixture.shared.get()
        let resource = try MediaResource("TNT")
        let tokens = try [
            fixture.token().serialized, fixture.token().raw, "garbage",
            fixture.token().raw.replacing("TNT", with: "TBS"),
            fixture.token { $0.resourceID = "<rss>" }.serialized,
        ]
        for _ in 0..<20 {
            let trust = try TrustStore([.pem(fixture.keys.signerCertificate, name: "k")], at: Fixture.now)
            let verifier = Verifier(
                trust: trust,
                policy: try VerificationPolicy(requestor: "REF30"),
                cache: AuthenticatedTokenCache(capacity: 8)
            )
            for index in 0..<500 {
                _ = verifier.verify(
                    tokens[index % tokens.count],
                    for: resource,
                    at: Fixture.now.plus(Int64(index * 1000))
                )
            }
            _ = try? TrustStore([.pem(fixture.small.signerCertificate, name: "small")], at: Fixture.now)
            _ = try? TrustStore([.pem("-----BEGIN CERTIFICATE-----", name: "cut")], at: Fixture.now)
        }
    }
}
