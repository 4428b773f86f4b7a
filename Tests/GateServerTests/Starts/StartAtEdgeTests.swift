// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Platform
import Testing

/// A maker of proofs of possession (RFC 9449), with a key of its own.
struct ProofMaker {
    private let maker: SignatureMaker
    private let jwk: String

    init() throws {
        let key = try PrivateKey(generating: .ellipticCurve(.p256))
        maker = try #require(SignatureMaker(key, scheme: .es256))
        guard case .ellipticCurve(_, let x, let y) = key.publicKey.parameters else { throw CancellationError() }
        jwk = #"{"crv":"P-256","kty":"EC","x":"\#(Base64.encodeURLSafe(x))","y":"\#(Base64.encodeURLSafe(y))"}"#
    }

    /// The thumbprint of the key, for the `cnf` of a token.
    var thumbprint: String { Base64.encodeURLSafe(SHA256.digest(jwk)) }

    func proof(
        of token: String,
        for url: String,
        method: String = "GET",
        id: String = "p",
        at now: Timestamp
    ) throws -> String {
        let claims =
            "{\"htm\":\"\(method)\",\"htu\":\"\(url)\",\"iat\":\(now.millisecondsSince1970 / 1000),\"jti\":\"\(id)\","
            + "\"ath\":\"\(Base64.encodeURLSafe(SHA256.digest(token)))\"}"
        let header = #"{"typ":"dpop+jwt","alg":"ES256","jwk":\#(jwk)}"#
        let text = [header, claims].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        return text + "." + Base64.encodeURLSafe(try maker.sign(MessagePieces([UInt8](text.utf8).span)))
    }
}

/// Access tokens at every installed edge, those that decide inside among them.
@Suite struct `Access tokens at an edge` {
    private static func sections(_ folder: TemporaryFolder, start: String = "") -> String {
        """
        keys: { pg-2026-11: { secret: "\(Film.secret)", algorithm: HS256 } }
        grants:
          subjectKey: "\(Film.secret)"
          profiles: { live: { issuer: playgate, key: pg-2026-11, scheme: http, cookie: { sameSite: Lax } } }
        starts:
          - issuer: https://id.example/realms/tv
            source: \(folder.file("keys.json"))
            audience: playgate
            allow: [{ claim: entitlements }]
            \(start)
        """
    }

    private static let catalogue = """
            - { path: /film/master.m3u8, resource: TNT, grant: live }
            - { path: /film/, resource: TNT, admits: grant, grant: live }
        """

    @Test(arguments: EdgeProxy.deciding) func `start a playback once, and only with the proof that they need`(
        edge: EdgeProxy
    ) async throws {
        let (folder, maker, prover) = (try TemporaryFolder(), try TokenMaker(), try ProofMaker())
        try folder.write("keys.json", contents: try maker.keySet)
        try await edge.withGate(catalogue: Self.catalogue, more: Self.sections(folder), isOnPort: true) {
            (gate, proxy) throws in
            func start(_ token: String, headers: [String: String] = [:]) throws -> (code: String?, cookie: String?) {
                let answer = try proxy.get("/film/master.m3u8?token=\(token)", headers: headers)
                return (
                    answer.status == 200 ? "200" : answer.gateCode,
                    answer.headers["set-cookie"].map { String($0.prefix { $0 != ";" }) }
                )
            }
            let token = try maker.token("a", at: gate.now)
            let started = try start(token)
            #expect(started.code == "200", "\(edge)")
            if edge.deliversGrants {
                let cookie = try #require(started.cookie, "\(edge)")
                #expect(try proxy.get("/film/v1/1.ts", headers: ["Cookie": cookie]).status == 200)
            }
            #expect(try start(token).code == "token_already_used", "\(edge)")
            #expect(
                try start(maker.token("b", at: gate.now.adding(seconds: -700))).code == "access_token_expired",
                "\(edge)"
            )
            #expect(
                try start(TokenMaker().token("c", at: gate.now)).code == "access_token_signature_invalid",
                "\(edge)"
            )
            // A media token starts a playback beside them.
            #expect(try start(gate.token()).code == "200", "\(edge)")
            let bound = try maker.token("d", claims: ",\"cnf\":{\"jkt\":\"\(prover.thumbprint)\"}", at: gate.now)
            #expect(try start(bound).code == "access_token_proof_missing", "\(edge)")
            let url = "http://gate/film/master.m3u8"
            let other = try prover.proof(of: bound, for: "http://gate/film/other.m3u8", at: gate.now)
            #expect(try start(bound, headers: ["DPoP": other]).code == "access_token_proof_invalid", "\(edge)")
            let proof = try prover.proof(of: bound, for: url, at: gate.now)
            #expect(try start(bound, headers: ["DPoP": proof]).code == "200", "\(edge)")
        }
    }

    @Test func `a proof is good once for a token that starts several playbacks`() async throws {
        let (maker, prover) = (try TokenMaker(), try ProofMaker())
        let start = `Starts by access tokens`.usual.replacing(" }] }", with: " }], reuse: { until: expiry } }")
        try await RunningGate.with(
            `Starts by access tokens`.configuration(start),
            files: ["keys.json": try maker.keySet]
        ) { (gate) throws in
            let token = try maker.token("r", claims: ",\"cnf\":{\"jkt\":\"\(prover.thumbprint)\"}", at: gate.now)
            let proof = try prover.proof(of: token, for: "https://play.example/start", method: "POST", at: gate.now)
            func play(_ proof: String, url: String = "https://play.example/start?x=1") throws -> HTTPConnection.Response
            {
                let body =
                    #"{"media":"tnt","token":"\#(token)","proof":{"dpop":"\#(proof)","method":"POST","url":"\#(url)"}}"#
                return try gate.post("/v1/playback", body: body)
            }
            #expect(try play(proof).json["code"] as? String == "verified")
            #expect(try play(proof).json["code"] as? String == "access_token_proof_replayed")
            let next = try prover.proof(
                of: token,
                for: "https://play.example/start",
                method: "POST",
                id: "q",
                at: gate.now
            )
            #expect(
                try play(next, url: "https://other.example/start").json["code"] as? String
                    == "access_token_proof_invalid"
            )
            #expect(try play(next).json["code"] as? String == "verified")
            for wrong in [
                #"{"dpop":"a"}"#, #"{"url":"https://a/"}"#, #"{"dpop":"a","method":"GET","url":"a"}"#,
                #"{"certificate":"a"}"#, "1", #"{"x":1}"#,
            ] {
                let answer = try gate.post(
                    "/v1/playback",
                    body: #"{"media":"tnt","token":"\#(token)","proof":\#(wrong)}"#
                )
                #expect(
                    answer.status == 400 && answer.json["code"] as? String == "invalid_request",
                    "\(wrong): \(answer)"
                )
            }
        }
    }
}
