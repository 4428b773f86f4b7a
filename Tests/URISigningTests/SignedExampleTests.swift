// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Testing

@testable import EdgeTokens
@testable import RequestTargets
@testable import URISigning

@Suite struct `Examples of signed URIs` {
    @Test func `Appendix A1 of RFC 9246 verifies as printed`() throws {
        let binding = KeyBinding(issuer: "uCDN Inc", format: .uriSigning)
        let keys = try KeySetReading(
            jwkSet: [UInt8](SignedSample.appendixKeys.utf8),
            source: .published,
            binding: binding
        )
        let verifier = try SignedSample.verifier(
            keys.keys,
            signer: AcceptedSigner("uCDN Inc"),
            policy: URISigningPolicy()
        )
        let uri = try #require(RequestURI(url: "http://cdni.example/foo/bar"))
        let now = Timestamp(secondsSince1970: 1_646_867_368)
        #expect(verifier.check(SignedSample.appendixA1, for: RequestFacts(uri: uri, method: "GET"), at: now).isAllowed)

        let end = Timestamp(secondsSince1970: 1_646_867_369)
        let late = verifier.check(SignedSample.appendixA1, for: RequestFacts(uri: uri, method: "GET"), at: end)
        #expect(late.refusal == GrantRefusal(.expired, detail: .member(.expiration)))
        for url in ["https://cdni.example/foo/bar", "http://cdni.example/foo/bar?", "http://cdni.example/foo/bar2"] {
            let other = RequestFacts(uri: try #require(RequestURI(url: url[...])), method: "GET")
            let isSame = url.hasSuffix("?")
            #expect(verifier.check(SignedSample.appendixA1, for: other, at: now).isAllowed == isSame, "\(url)")
        }
    }

    @Test func `the own example is issued byte for byte`() throws {
        let issued = try URISigningIssuer(key: SignedSample.key()).issue(SignedSample.claims)
        #expect(issued.token == SignedSample.token)
        #expect(issued.token.utf8.count == 338)
        #expect(issued.expires == SignedSample.time(300))
        #expect(issued.renewalStart == SignedSample.time(150))
    }

    @Test func `the own example verifies below its folder until it expires`() throws {
        let verifier = try SignedSample.verifier()
        let rows: [(String, Double, GrantCode?)] = [
            ("/live/tnt/seg1.m4s", 0, nil), ("/live/tnt/a/b.ts?x=1", 299.999, nil), ("/live/tnt/", 1, nil),
            ("/live/tnt", 1, .uriMismatch), ("/live/tntx/a", 1, .uriMismatch), ("/Live/tnt/a", 1, .uriMismatch),
            ("/live/tnt/seg1.m4s", -0.001, .notYetValid), ("/live/tnt/seg1.m4s", 300, .expired),
            ("/live/%74nt/a", 1, nil), ("/x/../live/tnt/a", 1, nil), ("/live/tnt/../x", 1, .uriMismatch),
        ]
        for (target, seconds, code) in rows {
            let facts = try SignedSample.facts(target)
            let verdict = verifier.check(SignedSample.token, for: facts, at: SignedSample.time(seconds))
            #expect(verdict.refusal?.code == code, "\(target) at \(seconds)")
        }
    }

    @Test func `the hash of the specification is that of its URL`() throws {
        let container = URISigningClaims.Container.hash(try SignedSample.uri("/live/tnt/a.m3u8"))
        #expect(container.text == "hash:sha-256;nUaz9VLWrOJcMK_osP4n50Aix7rRf1aQXhbiGiYqpQA")
    }

    @Test func `an unknown scheme or host is named`() throws {
        let verifier = try SignedSample.verifier()
        let now = SignedSample.time(1)
        let noScheme = RequestFacts(
            uri: try #require(RequestURI("/live/tnt/a", authority: "cdn.example")),
            method: "GET"
        )
        let noHost = RequestFacts(uri: try #require(RequestURI("/live/tnt/a", scheme: .https)), method: "GET")
        #expect(
            verifier.check(SignedSample.token, for: noScheme, at: now).refusal
                == GrantRefusal(.contextMissing, detail: .memberFact(.scheme, for: .container))
        )
        #expect(verifier.check(SignedSample.token, for: noHost, at: now).refusal?.fact == .host)
        #expect(verifier.check(SignedSample.token, for: noHost, at: now).refusal?.claimName == "cdniuc")
    }

    @Test func `the fields of CDNI logs follow the verdict`() {
        #expect(SigningLogFields(.allowed(GrantObligations())).status == "200")
        #expect(SigningLogFields(.allowed(GrantObligations())).denyReason == "-")
        #expect(SigningLogFields(.missing).status == "000")
        let refused = SigningLogFields(.refused(GrantRefusal(.uriMismatch, detail: .member(.container))))
        #expect(refused == SigningLogFields(.uriMismatch))
        #expect((refused.status, refused.denyReason) == ("411", "\"grant_uri_mismatch\""))
        #expect(SigningLogFields(.revoked).status == "-")
        #expect(SigningLogFields(.revoked).denyReason == "\"grant_revoked\"")
    }
}
