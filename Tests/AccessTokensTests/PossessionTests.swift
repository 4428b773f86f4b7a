// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Platform
import RequestTargets
import Testing

@testable import AccessTokens

/// Two independent libraries sign the tokens, and a third one the proofs of possession.
@Suite(.enabled(if: Requirement.hasOracles, "PyJWT, joserfc and jwcrypto are not installed: run scripts/setup test"))
struct `Tokens and proofs of other libraries` {
    static func ask(_ requests: [[String: Any]]) throws -> [[String: String]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let run = try CommandRun(
            repository + "/.build-oracles/bin/python",
            arguments: [repository + "/Tests/AccessTokensTests/Oracles/providers.py"],
            input: [UInt8](lines.joined(separator: "\n").utf8)
        )
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String])
        }
    }

    static func object(_ text: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any])
    }

    private static let algorithms: [KeyAlgorithm] = [.rs256, .ps256, .es256, .es384, .edDSA]

    @Test func `each algorithm of two libraries is verified, with and without a key identifier`() throws {
        var (requests, verifiers): ([[String: Any]], [AccessTokenVerifier]) = ([], [])
        for algorithm in Self.algorithms {
            let provider = try Provider(algorithm, id: "key-1")
            let anonymous = try Provider(algorithm, id: nil)
            for (made, header) in [
                (provider, ["kid": "key-1", "typ": "at+jwt"]), (anonymous, ["typ": "application/AT+JWT"]),
            ] {
                for library in ["pyjwt", "joserfc"] {
                    requests.append([
                        "with": library, "alg": algorithm.rawValue, "header": header,
                        "claims": try Self.object(Provider.claims([])),
                        "key": try Self.object(try #require(made.made.jwk?.line)),
                    ])
                    verifiers.append(try made.verifier())
                }
            }
        }
        let answers = try Self.ask(requests)
        #expect(answers.count == 20)
        for (answer, (request, verifier)) in zip(answers, zip(requests, verifiers)) {
            let outcome = try verifier.check(try #require(answer["token"]))
            #expect(outcome.token?.viewer == "viewer-1", "\(request["with"] ?? "") \(request["alg"] ?? ""): \(outcome)")
        }
    }

    @Test(arguments: [KeyAlgorithm.es256, .ps256, .edDSA])
    func `a proof is for its token, its request and its time`(algorithm: KeyAlgorithm) throws {
        let provider = try Provider.shared.get()
        let client = try TokenKey.generate(algorithm, id: nil, binding: KeyBinding(issuer: "", format: .uriSigning))
        let jwk = try Self.object(try #require(client.jwk?.line))
        func proof(of token: String, _ changes: [String: Any] = [:]) throws -> [String: String] {
            let claims: [String: Any] = [
                "htm": "GET", "htu": "https://cdn.example/live/tnt/master.m3u8", "iat": Provider.second, "jti": "p-1",
            ]
            let all = claims.merging(changes) { $1 }
            let request: [String: Any] = [
                "with": "jwcrypto", "proof": all, "key": jwk, "alg": algorithm.rawValue, "token": token,
            ]
            return try #require(try Self.ask([request]).first)
        }
        let jkt = try #require(try proof(of: "")["jkt"])
        let token = try provider.token(Provider.claims([("cnf", "{\"jkt\":\"\(jkt)\"}")]))
        let uri = try #require(RequestURI(absolute: "https://CDN.example:443/live/tnt/master.m3u8?token=x"))
        func check(
            _ proofs: [String],
            method: String = "GET",
            uri: RequestURI? = uri,
            at now: Timestamp = Provider.now,
            isReusable: Bool = false
        ) throws -> AccessTokenVerification {
            let presented = PresentedProof(proofs: proofs.map { $0[...] }, method: method[...], uri: uri)
            return try provider.verifier { $0.isReusable = isReusable }.check(token, presenting: presented, at: now)
        }
        let good = try #require(try proof(of: token)["proof"])
        let accepted = try check([good])
        #expect(accepted.token != nil && accepted.token?.proofUse == nil, "\(accepted)")
        let use = try #require(try check([good], isReusable: true).token?.proofUse)
        #expect(use.until == Provider.now.adding(seconds: 60))
        #expect(try check([good], at: Provider.now.adding(seconds: 60)).token != nil)
        #expect(try check([good], at: Provider.now.adding(seconds: 61)).refusal == .proofInvalid)
        #expect(try check([]).refusal == .proofMissing && check([good], uri: nil).refusal == .proofMissing)
        #expect(try check([good, good]).refusal == .proofInvalid)
        #expect(try check([good], method: "POST").refusal == .proofInvalid)
        #expect(
            try check([good], uri: RequestURI(absolute: "https://cdn.example/live/tnt/other.m3u8")).refusal
                == .proofInvalid
        )
        #expect(
            try check([good], uri: RequestURI(absolute: "http://cdn.example/live/tnt/master.m3u8")).refusal
                == .proofInvalid
        )
        let forAnother = try #require(try proof(of: token + "x")["proof"])
        #expect(try check([forAnother]).refusal == .proofInvalid)
        let stranger = try TokenKey.generate(algorithm, id: nil, binding: KeyBinding(issuer: "", format: .uriSigning))
        let request: [String: Any] = [
            "with": "jwcrypto", "alg": algorithm.rawValue, "token": token,
            "key": try Self.object(try #require(stranger.jwk?.line)),
            "proof": [
                "htm": "GET", "htu": "https://cdn.example/live/tnt/master.m3u8", "iat": Provider.second, "jti": "p-2",
            ],
        ]
        let foreign = try #require(try Self.ask([request]).first?["proof"])
        #expect(try check([foreign]).refusal == .proofInvalid)
    }
}

@Suite struct `Tokens that are bound to a certificate` {
    @Test func `only the certificate that a backend vouches for opens them`() throws {
        let provider = try Provider.shared.get()
        let digest = SHA256.digest("the DER of a certificate")
        let claims = Provider.claims([("cnf", "{\"x5t#S256\":\"\(Base64.encodeURLSafe(digest))\"}")])
        let (token, verifier) = (try provider.token(claims), try provider.verifier())
        func check(_ certificate: [UInt8]?) throws -> AccessTokenRefusal? {
            let proof = PresentedProof(proofs: [], method: "", uri: nil, certificate: certificate)
            return try verifier.check(token, presenting: proof).refusal
        }
        #expect(try check(digest) == nil)
        #expect(try check(SHA256.digest("another")) == .proofInvalid)
        #expect(try check([]) == .proofInvalid && check(nil) == .proofMissing)
    }
}
