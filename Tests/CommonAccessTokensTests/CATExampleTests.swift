// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import RequestTargets

/// The examples of the specification, byte for byte.
@Suite struct `Common Access Token examples` {
    @Test func `E1 is issued byte for byte`() throws {
        let issued = try CATIssuer(key: CATSample.key()).issue(CATSample.claims)
        #expect(issued.token == CATSample.e1)
        #expect(issued.renewalStart == CATSample.time(180))
    }

    @Test func `E1 is renewed byte for byte in its window`() throws {
        var issuer = AcceptedIssuer("playgate")
        issuer.isOwn = false
        issuer.maximumSession = .seconds(100_000)
        let verifier = try CATSample.verifier(issuer: issuer)
        guard case .authentic(let grant) = verifier.authenticate(CATSample.e1.utf8.span, at: CATSample.time(230)) else {
            Issue.record("E1 is refused")
            return
        }
        let identifier = CATSample.bytes("0a1b2c3d4e5f60718293a4b5c6d7e8f9")
        let renewed = try CATIssuer(key: CATSample.key()).renew(grant, at: CATSample.time(230), identifier: identifier)
        #expect(renewed.expires == CATSample.time(530))
        // The example has no session, and a token of another installation gets one with its first renewal.
        let expected = try #require(COSEText.decoded(CATSample.e1Renewed))
        let own = try #require(COSEText.decoded(renewed.token))
        #expect(own.payload?.filterClaims(without: -65538) == expected.payload)
    }

    @Test func `E2 is verified with its key, and its high s`() throws {
        let reading = try KeySetReading(
            coseKeySet: CATSample.bytes(CATSample.coseKeySet),
            source: .published,
            binding: CATSample.binding
        )
        let set = try KeySet(reading.keys)
        var policy = CATPolicy()
        policy.audience = ["edge-2"]
        let verifier = CATVerifier(keys: set, issuers: [AcceptedIssuer("playgate")], policy: policy)
        var facts = RequestFacts(
            uri: try #require(RequestURI("/vod/1234/a/b.m4s", scheme: .https, authority: "other.example")),
            method: "GET",
            clientAddress: IPAddress("203.0.113.9")
        )
        #expect(verifier.check(CATSample.e2, for: facts, at: CATSample.time(0)).isAllowed)
        // Its canonical padding.
        #expect(verifier.check(CATSample.e2 + "==", for: facts, at: CATSample.time(0)).isAllowed)
        #expect(verifier.check(CATSample.e2 + "=", for: facts, at: CATSample.time(0)).refusal?.code == .malformed)
        #expect(
            verifier.check(CATSample.e2.dropLast() + "X", for: facts, at: CATSample.time(0)).refusal?.code == .malformed
        )
        facts.clientAddress = IPAddress("2001:db8:1::77")
        #expect(verifier.check(CATSample.e2, for: facts, at: CATSample.time(0)).isAllowed)
        facts.clientAddress = IPAddress("192.0.2.1")
        #expect(
            verifier.check(CATSample.e2, for: facts, at: CATSample.time(0)).refusal?.detail?.description == "client_asn"
        )
        facts.clientASN = 1
        #expect(verifier.check(CATSample.e2, for: facts, at: CATSample.time(0)).refusal?.code == .addressMismatch)
        facts.clientASN = 64500
        #expect(verifier.check(CATSample.e2, for: facts, at: CATSample.time(0)).isAllowed)
    }

    @Test func `E3 carries the session and what its revocation needs`() throws {
        let key = try SubjectKey([UInt8](0x20...0x3F))
        let fingerprint = try #require(
            SHA256Digest(hexadecimal: SHA256.digest("playgate example media token").hexadecimal)
        )
        let session = try #require(key.sessionID(fingerprint: fingerprint, playbackID: "7f1c"))
        #expect(session.hexadecimal == "e688045c604d5ecc272cf7d83b00ec16")
        let names = [
            [UInt8]("token:".utf8) + fingerprint.bytes, [UInt8]("session:00112233445566778899aabbccddeeff".utf8),
            [UInt8]("mvpd:SandboxMVPD".utf8),
        ]
        let tags = names.compactMap { key.tag(storeKey: SHA256.digest($0)) }
        #expect(
            tags.map(\.hexadecimal) == [
                "9cdc1ad605d9dc40aa0413577634fc43", "826692e98d7df618df42bf33eaaba2bf",
                "123467d4e4c5c953fa5bcdfcf5b96919",
            ]
        )
        var claims = CATSample.claims
        claims.renewal?.cookieAttributes = []
        let issued = Timestamp(millisecondsSince1970: 1_925_000_110_000)
        claims.session = PlaybackSession(
            id: session,
            end: Timestamp(secondsSince1970: 1_925_043_310),
            revocation: PlaybackSession.Revocability(issued: issued, tags: tags)
        )
        #expect(try CATIssuer(key: CATSample.key()).issue(claims).token == CATSample.e3)

        let verifier = try CATSample.verifier()
        guard case .authentic(let grant) = verifier.authenticate(CATSample.e3.utf8.span, at: CATSample.time(0)) else {
            Issue.record("E3 is refused")
            return
        }
        #expect(grant.session == claims.session)
        #expect(grant.mediaTokenIssued == issued)
        #expect((0..<4).map { grant.tag($0) } == tags + [nil])
    }

    @Test(arguments: [
        ("/a.m3u8", "a1190138a103a1205820a47ee269802183c79e47536c55b240364462bdbc1b4b44f2a24c2004bb5c3998"),
        ("/a.m3u8", "a1190138a103a1215820473cc28d63ac9570855a792af3f0899d783ad7f5046955de0508407d43b15573"),
        ("/live/a/12.ts", "a1190138a103a1048178185e2f6c6976652f28617c62292f5b302d395d2b5c2e747324"),
        ("/x/seg9.m4s", "a1190138a207a1016373656708a100636d3473"),
    ])
    func `the fragments of catu match only their paths`(path: String, fragment: String) throws {
        let verifier = try CATSample.verifier()
        var claims = CATSample.claimsWithIssuer
        claims.uri = []
        var payload = try #require(claims.payload())
        payload[0] += 1
        let token = try CATSample.token(payload: payload + CATSample.bytes(fragment).dropFirst())
        #expect(verifier.check(token, for: try CATSample.facts(path), at: CATSample.time(0)).isAllowed)
        let refusal = verifier.check(token, for: try CATSample.facts("/x/tnt/seg1.m3u8"), at: CATSample.time(0)).refusal
        #expect(refusal == GrantRefusal(.uriMismatch, detail: .claim(.uri)))
    }
}

extension COSEText {
    /// The bytes of a token, and its payload.
    static func decoded(_ text: String) -> (bytes: [UInt8], payload: [UInt8]?)? {
        var output = [UInt8](repeating: 0, count: bufferSize)
        var span = output.mutableSpan
        guard case .success(let count) = decode(text.utf8.span, into: &span) else { return nil }
        output.removeLast(output.count - count)
        guard case .success(let message) = COSEMessage.parse(output.span) else { return (output, nil) }
        return (output, Array(output[message.payload]))
    }
}

extension [UInt8] {
    /// The payload without one of its claims.
    func filterClaims(without label: Int64) -> [UInt8] {
        var reader = CBORReader(span)
        var kept: [UInt8] = []
        do {
            let count = try reader.readMap()
            for _ in 0..<count {
                let start = reader.position
                let key = try reader.next()
                try reader.skip()
                if key.integer != label { kept += self[start..<reader.position] }
            }
            return [0xA0 + UInt8(count - 1)] + kept
        } catch {
            return []
        }
    }
}
