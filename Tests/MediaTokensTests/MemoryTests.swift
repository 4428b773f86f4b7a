// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

/// Long loops over all types that own memory, for the address and the leak sanitizer.
@Suite struct Memory {
    @Test func `is given back after 20 000 verifications`() throws {
        let cache = AuthenticatedTokenCache(capacity: 64, forgedCapacity: 64)
        let verifiers = [try Sample.verifier(), try Sample.verifier(cache: cache)]
        let resource = try MediaResource("TNT")
        let good = try Sample.token()
        let fragment = "<rss><channel><title>TNT</title></channel></rss>"
        let tokens = [
            good.serialized, good.raw, try Sample.token(.plain.setting("resourceID", to: "<![CDATA[\(fragment)]]>")),
            try Sample.token(.plain.setting("resourceID", to: "&#84;NT")), try Sample.token(.plain.appending("<")),
            try TestSigner.other.get().issuer.issue(Sample.claims, at: Sample.time).serialized, "junk", "",
        ]
        var valid = 0
        for round in 0..<20_000 {
            let answer = verifiers[round / tokens.count % 2].verify(
                tokens[round % tokens.count],
                for: resource,
                at: Sample.time
            )
            if answer.isValid { valid += 1 }
        }
        #expect(valid == 10_000)
    }

    @Test func `is given back by trust stores and keys`() throws {
        let signer = try TestSigner.main.get()
        let keys = signer.keys
        let token = try Sample.token().serialized
        let resource = try MediaResource("TNT")
        for round in 0..<500 {
            let trust = try TrustStore(
                [.pem(keys.signerCertificate + keys.authorityCertificate, name: "signer")],
                anchors: round % 2 == 0 ? [.pem(keys.authorityCertificate, name: "ca")] : [],
                at: Sample.time
            )
            let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
            #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
            for text in [
                "", keys.signerKey, String(keys.signerCertificate.dropLast(40)),
                try signer.publicKey() + "-----BEGIN X",
            ] {
                _ = try? TrustStore([.pem(text, name: "bad")], anchors: [.pem(text, name: "bad")], at: Sample.time)
            }
            let issuer = Issuer(key: try SigningKey(pem: keys.signerKey))
            if round % 20 == 0 { #expect(try issuer.issue(Sample.claims, at: Sample.time).serialized == token) }
        }
    }

    @Test func `is given back by development keys`() throws {
        for _ in 0..<3 {
            #expect(try DevelopmentKeys(bits: 1024, at: Sample.time).signerKey.hasPrefix("-----BEGIN PRIVATE KEY-----"))
        }
        #expect(throws: TrustError.self) { _ = try DevelopmentKeys(bits: 1024, at: .latest) }
    }
}
