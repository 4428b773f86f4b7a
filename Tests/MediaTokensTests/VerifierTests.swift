// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `The verifier` {
    private let fixture: Fixture
    private let resource: MediaResource

    init() throws {
        fixture = try Fixture.shared.get()
        resource = try MediaResource("TNT")
    }

    @Test func `says what a valid token says`() throws {
        let answer = try fixture.verify(fixture.token { $0.proxyMVPDID = "Proxied" }.serialized)
        let token = try #require(answer.token)
        #expect(answer.isValid && answer.status == .validToken && answer.reason == nil && answer.key == "signer")
        #expect(token.requestorID == "REF30")
        #expect(token.resourceID == "TNT")
        #expect(token.timeIssued == Fixture.now)
        #expect(token.timeToLive == .seconds(420))
        #expect(token.userSessionGUID == "00112233445566778899aabbccddeeff")
        #expect(token.mvpdID == "SandboxMVPD")
        #expect(token.proxyMVPDID == "Proxied")
        #expect(token.expires == Fixture.now.plus(420_000))
    }

    /// Every reason that a token can be refused for, with a token that is.
    @Test func `has every reason`() throws {
        let good = try fixture.token()
        let foreign = try Issuer(key: try SigningKey(pem: fixture.other.signerKey)).issue(
            Fixture.claims,
            at: Fixture.now
        )
        let small = try Issuer(key: try SigningKey(pem: fixture.small.signerKey)).issue(Fixture.claims, at: Fixture.now)
        func body(_ name: String, _ element: String) throws -> String {
            try fixture.token(body: Body().replacing(name, with: element)).serialized
        }
        let rows: [(RefusalReason, String)] = try [
            (.tokenEmpty, ""), (.tokenTooLarge, String(repeating: "A", count: 16_385)), (.invalidBase64, "*"),
            (.invalidEnvelope, "AAAA"), (.invalidEnvelope, "<signatureInfo>AAAA"),
            (.invalidSignatureEncoding, "<signatureInfo>A<signatureInfo><authToken></authToken>"),
            (.invalidSignatureEncoding, "<signatureInfo><signatureInfo><authToken></authToken>"),
            (.unsupportedRoot, fixture.token(body: "<simpleAuthorizationToken></simpleAuthorizationToken>").raw),
            (.malformedBody, fixture.token(body: "<authToken>x</authToken>").raw),
            (.missingField, body("mvpdId", "")), (.repeatedField, body("", "<ttl>1</ttl>")),
            (.emptyField, body("mvpdId", "<mvpdId> \n</mvpdId>")), (.invalidTTL, body("ttl", "<ttl>1.5</ttl>")),
            (.invalidIssueTime, body("issueTime", "<issueTime>now</issueTime>")), (.signatureLength, small.serialized),
            (.untrustedSignature, foreign.serialized),
            (.requestorMismatch, fixture.token { $0.requestorID = "OTHER" }.serialized),
            (.ttlNotPositive, fixture.token { $0.timeToLiveMilliseconds = 0 }.serialized),
            (.ttlNotPositive, fixture.token { $0.timeToLiveMilliseconds = -1 }.serialized),
            (.ttlTooLong, fixture.token { $0.timeToLiveMilliseconds = 900_001 }.serialized),
            (.issuedInFuture, fixture.token(issued: Fixture.now.plus(61_000)).serialized),
            (.expired, fixture.token(issued: Fixture.now.plus(-421_000)).serialized),
            (.resourceMismatch, fixture.token { $0.resourceID = "TBS" }.serialized),
        ]
        for (reason, token) in rows {
            let answer = try fixture.verify(token)
            #expect(answer.reason == reason)
            #expect(answer.status == reason.status)
            let isSigned = [.requestor, .time, .resource].contains(reason.step)
            #expect((answer.token != nil) == isSigned, "a token is shown where it is authentic: \(reason)")
        }
        let later = Fixture.now.plus(399 * 86_400_000)
        #expect(try fixture.verify(good.serialized, at: later).reason == .noUsableKey)
        let scoped = try TrustStore(
            [.pem(fixture.keys.signerCertificate, name: "k", requestors: .only(["REF30"]))],
            at: Fixture.now
        )
        let both = Verifier(trust: scoped, policy: try VerificationPolicy(requestors: ["REF30", "OTHER"]))
        let other = try fixture.token { $0.requestorID = "OTHER" }.serialized
        #expect(both.verify(other, for: resource, at: Fixture.now).reason == .keyOutOfScope)
        #expect(both.verify(other, for: resource, at: Fixture.now).token == nil)
        #expect(both.verify(good.serialized, for: resource, at: Fixture.now).isValid)
        let covered = Set(rows.map(\.0)).union([.noUsableKey, .keyOutOfScope, .internalFailure])
        #expect(covered == Set(RefusalReason.allCases))
        #expect(Set(RefusalReason.allCases.map(\.status)).union([.validToken]) == Set(VerificationStatus.allCases))
    }

    @Test func `gives the first failure as the answer`() throws {
        let all = try fixture.token(issued: Fixture.now.plus(-500_000)).serialized
        let verifier = try fixture.verifier()
        let wrong = try MediaResource("TBS")
        #expect(verifier.verify(all, for: wrong, at: Fixture.now).reason == .expired)
        let foreign = try fixture.token({ $0.requestorID = "X" }, issued: Fixture.now.plus(-500_000)).serialized
        #expect(verifier.verify(foreign, for: wrong, at: Fixture.now).reason == .requestorMismatch)
        let broken = try fixture.token(body: "<authToken><requestorID>X</requestorID></authToken>").serialized
        #expect(verifier.verify(broken, for: wrong, at: Fixture.now).reason == .missingField)
    }

    /// Milliseconds after issue, and whether a token of 420 s may start a playback then.
    @Test(
        arguments: [
            (-60_001, .issuedInFuture), (-60_000, nil), (0, nil), (420_000, nil), (420_001, .expired),
            (.max, .noUsableKey), (.min, .noUsableKey),
        ] as [(Int64, RefusalReason?)]
    )
    func `judges the time to the millisecond`(offset: Int64, reason: RefusalReason?) throws {
        #expect(try fixture.verify(fixture.token().serialized, at: Fixture.now.plus(offset)).reason == reason)
    }

    @Test func `obeys the leeways and the cap of its policy`() throws {
        let policy = try VerificationPolicy(
            requestors: ["REF30"],
            earlyLeeway: .zero,
            lateLeeway: .seconds(120),
            maximumTimeToLive: .seconds(420)
        )
        let verifier = try fixture.verifier(policy)
        let token = try fixture.token().serialized
        for (offset, reason) in [(-1, .issuedInFuture), (540_000, nil), (540_001, .expired)]
            as [(Int64, RefusalReason?)]
        {
            #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(offset)).reason == reason)
        }
        let longer = try fixture.token { $0.timeToLiveMilliseconds = 420_001 }.serialized
        #expect(verifier.verify(longer, for: resource, at: Fixture.now).reason == .ttlTooLong)
    }

    @Test func `survives clocks and times at their ends`() throws {
        let key = try fixture.trustWithoutValidity()
        let verifier = Verifier(trust: key, policy: try VerificationPolicy(requestor: "REF30"))
        for time in ["0", "999999999999999"] {
            let token = try fixture.token(
                body: Body().replacing("issueTime", with: "<issueTime>\(time)</issueTime>")
            ).serialized
            for now in [Int64.min, -1, 0, .max] {
                _ = verifier.verify(token, for: resource, at: Timestamp(millisecondsSince1970: now))
            }
        }
        let huge = try fixture.token(
            body: Body().replacing("ttl", with: "<ttl>999999999999999999</ttl>")
        ).serialized
        #expect(verifier.verify(huge, for: resource, at: Fixture.now).reason == .ttlTooLong)
    }

    @Test func `takes one of several requestors, or just the one that is named`() throws {
        let policy = try VerificationPolicy(requestors: ["REF30", "OTHER"])
        let verifier = try fixture.verifier(policy)
        let token = try fixture.token { $0.requestorID = "OTHER" }.serialized
        #expect(verifier.verify(token, for: resource, at: Fixture.now).isValid)
        #expect(verifier.verify(token, for: resource, requestor: "OTHER", at: Fixture.now).isValid)
        for name in ["REF30", "", "other", "NOBODY"] {
            let answer = verifier.verify(token, for: resource, requestor: name, at: Fixture.now)
            #expect(answer.reason == .requestorMismatch)
        }
        let foreign = try fixture.token { $0.requestorID = "NOBODY" }.serialized
        #expect(
            verifier.verify(foreign, for: resource, requestor: "NOBODY", at: Fixture.now).reason == .requestorMismatch
        )
    }

    @Test func `compares requestors by their bytes`() throws {
        let composed = "caf\u{E9}"
        let verifier = try fixture.verifier(VerificationPolicy(requestor: composed))
        let token = try fixture.token { $0.requestorID = "cafe\u{301}" }.serialized
        #expect(verifier.verify(token, for: resource, at: Fixture.now).reason == .requestorMismatch)
        let same = try fixture.token { $0.requestorID = composed }.serialized
        #expect(verifier.verify(same, for: resource, at: Fixture.now).isValid)
    }

    @Test func `checks no resource in authenticate and nowhere else`() throws {
        let token = try fixture.token { $0.resourceID = "TBS" }.serialized
        #expect(try fixture.verifier().authenticate(token, at: Fixture.now).isValid)
        #expect(try fixture.verify(token).reason == .resourceMismatch)
        #expect(try fixture.verifier().authenticate(token, at: Fixture.now.plus(500_000)).reason == .expired)
    }

    /// Token's resource, wanted resource; whether they match without options.
    @Test(
        arguments: [
            ("TNT", "<rss><channel><title>TNT</title></channel></rss>", true),
            ("<rss><channel><title>TNT</title></channel></rss>", "TNT", true), (" TNT", "TNT", true),
            ("TNT", "<rss><channel><title>TNT</title><item><guid>1</guid></item></channel></rss>", false),
            ("<rss><channel><title>TNT</title><item><guid>1</guid></item></channel></rss>", "TNT", false),
            ("<rss><channel><title>TNT", "TNT", false), ("tnt", "TNT", false),
        ])
    func `matches resources`(granted: String, wanted: String, matches: Bool) throws {
        let answer = try fixture.verify(fixture.token { $0.resourceID = granted }.serialized, for: wanted)
        #expect(answer.isValid == matches)
        #expect(answer.token?.resourceID == granted)
    }

    @Test func `takes the bytes of a malformed resource for what they are`() throws {
        let text = "<rss><channel><title>TNT"
        let token = try fixture.token { $0.resourceID = text }.serialized
        let answer = try fixture.verifier().verify(token, for: try MediaResource(opaque: text), at: Fixture.now)
        #expect(answer.isValid)
    }

    @Test func `has one fingerprint for all encodings of a token`() throws {
        let token = try fixture.token()
        let texts = [token.raw, token.serialized, token.raw + "\n", String(token.serialized.prefix { $0 != "=" })]
        let prints = try texts.map { try fixture.verify($0).token?.fingerprint }
        #expect(Set(prints).count == 1 && prints[0] != nil)
        let body = try UnverifiedToken(reading: token.raw).signedBytes
        #expect(prints[0]?.bytes == SHA256Context()?.hash(body.span)?.bytes)
        #expect(prints[0]?.hexadecimal.count == 64)
    }
}

extension Fixture {
    /// The signing key as a bare public key, which is valid at all times.
    func trustWithoutValidity() throws -> TrustStore {
        let key = try SigningKey(pem: keys.signerKey)
        return try TrustStore([.pem(try key.key.publicPEM(), name: "bare")], at: Self.now)
    }
}
