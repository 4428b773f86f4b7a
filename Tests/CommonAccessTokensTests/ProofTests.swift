// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens

/// Proofs of possession (RFC 9449), by keys that are made for the test.
@Suite struct `Proofs of possession` {
    /// A client with a key, and a token that is bound to it.
    struct Client {
        let key: PrivateKey
        let maker: SignatureMaker
        let token: String
        let jwk: String

        init(isOnce: Bool = false, isCOSE: Bool = false) throws {
            key = try PrivateKey(generating: .ellipticCurve(.p256))
            maker = try #require(SignatureMaker(key, scheme: .es256))
            guard case .ellipticCurve(_, let x, let y) = key.publicKey.parameters else { fatalError() }
            let (xText, yText) = (Base64.encodeURLSafe(x), Base64.encodeURLSafe(y))
            jwk = #"{"crv":"P-256","kty":"EC","x":"\#(xText)","y":"\#(yText)"}"#
            var claims = CATSample.claims
            claims.confirmation = SHA256.digest(jwk)
            claims.possession = (window: 60, isOnce: isOnce)
            token = try CATIssuer(key: CATSample.key()).issue(claims).token
        }

        func proof(_ change: (inout [String: String]) -> Void = { _ in }) throws -> String {
            var members = [
                "header": #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#, "jti": #""a""#, "htm": #""GET""#,
                "htu": #""https://CDN.example:443/live/tnt/%73eg1.m4s?x=1""#, "iat": "\(CATSample.issued + 10)",
                "ath": "\"\(Base64.encodeURLSafe(SHA256.digest(token)))\"",
            ]
            change(&members)
            let header = members.removeValue(forKey: "header") ?? ""
            let claims = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
            let text = Base64.encodeURLSafe([UInt8](header.utf8)) + "." + Base64.encodeURLSafe([UInt8](claims.utf8))
            let signature = try maker.sign(MessagePieces([UInt8](text.utf8).span))
            return text + "." + Base64.encodeURLSafe(signature)
        }

        func check(_ proofs: [String]?, now: Double = 10, policy: CATPolicy = CATPolicy()) throws -> GrantVerdict {
            var facts = try CATSample.facts()
            facts.headers = proofs.map { proofs in HeaderList(proofs.map { ("dpop", $0) }) }
            return try CATSample.verifier(policy: policy).check(token, for: facts, at: CATSample.time(now))
        }
    }

    @Test func `a proof for the request, the token and the key is accepted`() throws {
        let client = try Client()
        #expect(try client.check([client.proof()]).isAllowed)
        #expect(try client.check([client.proof()], now: 70).isAllowed)
        #expect(try client.check([client.proof()], now: 71).refusal?.code == .proofInvalid)
        #expect(try client.check([]).refusal?.code == .proofMissing)
        #expect(try client.check(nil).refusal?.code == .contextMissing)
        #expect(try client.check([client.proof(), client.proof()]).refusal?.code == .proofInvalid)
    }

    @Test(arguments: [
        ("htm", #""POST""#), ("htu", #""https://cdn.example/live/tnt/seg2.m4s""#),
        ("htu", #""http://cdn.example/live/tnt/seg1.m4s""#), ("htu", #""seg1.m4s""#), ("iat", "1924999000"),
        ("iat", "1925000130.5"), ("iat", #""1925000130""#), ("jti", #""""#), ("jti", "1"), ("ath", #""""#),
        ("ath", #""47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU""#), ("header", #"{"alg":"ES256"}"#),
        ("header", #"{"typ":"jwt","alg":"ES256"}"#),
    ])
    func `a proof with another member is refused`(name: String, value: String) throws {
        let client = try Client()
        #expect(try client.check([client.proof { $0[name] = value }]).refusal?.code == .proofInvalid)
    }

    @Test func `a proof by another key, with a private key, or changed is refused`() throws {
        let (client, other) = (try Client(), try Client())
        let proof = try client.proof()
        let stranger = try other.proof { $0["ath"] = "\"\(Base64.encodeURLSafe(SHA256.digest(client.token)))\"" }
        #expect(try client.check([stranger]).refusal?.code == .proofInvalid)
        #expect(try client.check([proof.dropLast(4) + "AAAA"]).refusal?.code == .proofInvalid)
        let secret = try client.proof { header in
            header["header"] = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(client.jwk.dropLast()),"d":"AA"}}"#
        }
        #expect(try client.check([secret]).refusal?.code == .proofInvalid)
    }

    @Test func `a tracked proof is an obligation, and refused without a store`() throws {
        let client = try Client(isOnce: true)
        let proof = try client.proof()
        #expect(try client.check([proof]).refusal == GrantRefusal(.replayed, detail: .claim(.possession)))
        var policy = CATPolicy()
        policy.hasReplayStore = true
        guard case .allowed(let obligations) = try client.check([proof], policy: policy) else {
            Issue.record("refused")
            return
        }
        #expect(obligations.proofUse?.until == CATSample.time(70))
    }

    @Test func `thumbprints are those of the example's key`() throws {
        let jwk = Base64.encodeURLSafe(
            SHA256.digest(
                #"{"crv":"P-256","kty":"EC","x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw","y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"}"#
            )
        )
        #expect(jwk == "_W-NS-Yh5o4auJ-RvCDsXTTHrbPLliylsU11EtikcU0")
        // The private key of E2 is a digest, so that it needs no file.
        let key = try PrivateKey(
            .ellipticCurve(
                .p256,
                x: Base64.decodeURLSafe("sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw") ?? [],
                y: Base64.decodeURLSafe("r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU") ?? [],
                d: SHA256.digest("playgate example ES256 key")
            )
        )
        let header =
            #"{"typ":"dpop+jwt","alg":"ES256","jwk":{"kty":"EC","crv":"P-256","x":"sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw","y":"r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"}}"#
        let claims = #"{"htm":"GET","htu":"https://a/","iat":1,"jti":"a","ath":"AA"}"#
        let text = Base64.encodeURLSafe([UInt8](header.utf8)) + "." + Base64.encodeURLSafe([UInt8](claims.utf8))
        let signature = try #require(SignatureMaker(key, scheme: .es256)).sign(MessagePieces([UInt8](text.utf8).span))
        let proof = try #require(
            PossessionProof((text + "." + Base64.encodeURLSafe(signature))[...], algorithms: [.es256])
        )
        #expect(Base64.encodeURLSafe(proof.jwkThumbprint) == "_W-NS-Yh5o4auJ-RvCDsXTTHrbPLliylsU11EtikcU0")
        #expect(proof.coseThumbprint.hexadecimal == "893f9d1e811b244a7abc88e92b741d73183f544a0002a0c0137332e1beced564")
    }
}
