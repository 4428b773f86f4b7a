// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import RequestTargets
import Testing
import URISigning

/// What Traffic Server 9.2 with `uri_signing` does with unusual tokens, so that a change of it is seen, beside what is done
/// here: where it is lenient, the refusal is by name.
@Suite(.needsSigningTrafficServer) struct `The leniency of Traffic Server` {
    private static func hash(_ url: String) throws -> String {
        let uri = try #require(RequestURI(url: url[...]))
        let key = try TokenKey(secret: [UInt8](0...31), id: nil, binding: KeyBinding(issuer: "h", format: .uriSigning))
        var claims = URISigningClaims(.hash(uri))
        claims.expires = Timestamp(secondsSince1970: 1)
        let payload = try UnverifiedJWS(try URISigningIssuer(key: key).issue(claims).token.utf8.span).payload
        let text = String(decoding: payload, as: UTF8.self)
        let start = try #require(text.firstRange(of: "sha-256;")).upperBound
        return String(text[start...].prefix { $0 != "\"" })
    }

    @Test func `is refused here by name, row by row`() async throws {
        try await onThread {
            let server = try SigningTrafficServer()
            let key = try TokenKey(
                secret: [UInt8](0...31),
                id: KeyID("pg-2026-11"),
                binding: KeyBinding(issuer: "playgate", format: .uriSigning)
            )
            var policy = URISigningPolicy()
            (policy.audience, policy.hasReplayStore) = (["edge-1"], true)
            let verifier = URISigningVerifier(
                keys: try KeySet([key]),
                issuers: [AcceptedSigner("playgate")],
                policy: policy
            )
            let end = Timestamp.now().millisecondsSince1970 / 1000 + 300
            let digest = try Self.hash("http://cdn.example/live/tnt/a.ts")
            #expect(SignedURILeniencyRow.all.count >= 60)
            for row in SignedURILeniencyRow.all {
                let claims = row.claims.replacing("EXP", with: String(end)).replacing("HASH", with: digest)
                let token = row.form(try Self.token(of: "{\(claims)}", header: row.header, by: key))
                let target = PackageAttribute.standard.inQuery(token, of: row.target[...])
                let (status, code) = (
                    try server.get(target).status, Self.code(for: token, at: row.target, by: verifier)
                )
                #expect(status == row.status, "\(row.name): \(status)")
                #expect(code == row.code, "\(row.name): \(code ?? "accepted")")
            }
            try Self.checkAlgorithms(of: server, key: key, end: end)
        }
    }

    /// Returns a token of any header and payload, by the key that the page prints.
    private static func token(of payload: String, header: String?, by key: TokenKey) throws -> String {
        guard let header else { return try key.signJWS([UInt8](payload.utf8)) }
        let message = [header, payload].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        let mac = try HMACKey([UInt8](0...31), function: .sha256)
        let code = mac.code(of: MessagePieces(message.utf8.span))
        return "\(message).\(Base64.encodeURLSafe(try #require(code)))"
    }

    /// Returns the code here for a token with a target; `nil` if it is accepted.
    private static func code(for token: String, at target: String, by verifier: URISigningVerifier) -> String? {
        guard let uri = RequestURI(target[...], scheme: .http, authority: "cdn.example") else {
            return SignedURILeniencyRow.pathRefused
        }
        return verifier.verify(token.utf8.span, for: RequestFacts(uri: uri, method: "GET"), at: .now()).refusal?.code
            .rawValue
    }

    private static func checkAlgorithms(of server: SigningTrafficServer, key: TokenKey, end: Int64) throws {
        // A token without a key id may be by any key of the issuer; one with another id is refused.
        let bare = try TokenKey(
            secret: [UInt8](0...31),
            id: nil,
            binding: KeyBinding(issuer: "playgate", format: .uriSigning)
        )
        let other = try TokenKey(
            secret: [UInt8](0...31),
            id: KeyID("x"),
            binding: KeyBinding(issuer: "playgate", format: .uriSigning)
        )
        let verifier = URISigningVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedSigner("playgate")],
            policy: URISigningPolicy()
        )
        let payload = "{\(SignedURILeniencyRow.usual.replacing("EXP", with: String(end)))}"
        let facts = RequestFacts(uri: try #require(RequestURI(url: "http://cdn.example/live/tnt/a.ts")), method: "GET")
        for (signer, status, code) in [(bare, 200, nil), (other, 403, GrantCode.keyUnknown)] {
            let token = try signer.signJWS([UInt8](payload.utf8))
            let target = PackageAttribute.standard.inQuery(token, of: "/live/tnt/a.ts")
            #expect(try server.get(target).status == status)
            #expect(verifier.verify(token.utf8.span, for: facts, at: .now()).refusal?.code == code)
        }
        let none =
            "\(Base64.encodeURLSafe([UInt8](#"{"alg":"none","kid":"pg-2026-11"}"#.utf8))).\(Base64.encodeURLSafe([UInt8](payload.utf8)))."
        #expect(try server.get(PackageAttribute.standard.inQuery(none, of: "/live/tnt/a.ts")).status == 403)
        #expect(verifier.verify(none.utf8.span, for: facts, at: .now()).refusal?.code == .algorithmRefused)
    }

    /// The algorithms of asymmetric keys, with keys of this run: Traffic Server reads the algorithm from the token.
    @Test func `goes as far as the algorithm, which a token may choose`() async throws {
        try await onThread {
            let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
            let curve = try TokenKey.generate(.es256, id: KeyID("es"), binding: binding).key
            let made = try TokenKey.generate(.ps256, id: KeyID("ps"), binding: binding)
            guard case .pem(let pem) = made.secret else { return }
            let pss = made.key
            let pkcs1 = try TokenKey(pem: [UInt8](pem.utf8), id: KeyID("ps"), algorithm: .rs256, binding: binding)
            let set = try KeySet([curve, pss]).publishedJWKSet
            let list = try #require(set.firstRange(of: "[")).lowerBound
            let signing = try SigningTrafficServer.block("json")
            let range = try #require(signing.firstRange(of: "\"keys\":["))
            let keys = String(set[list...].dropFirst().dropLast(2)).replacing(",\"use\":\"sig\"", with: "")
            let server = try SigningTrafficServer(
                signing: signing.replacingCharacters(in: range, with: "\"keys\":[\(keys),")
            )
            let verifier = URISigningVerifier(
                keys: try KeySet([curve, pss]),
                issuers: [AcceptedSigner("playgate")],
                policy: URISigningPolicy()
            )
            var claims = URISigningClaims(.scope(.init(scheme: .http, host: "cdn.example", path: "/live/tnt/")))
            claims.expires = Timestamp.now().advanced(byMilliseconds: 300_000)
            let facts = RequestFacts(
                uri: try #require(RequestURI(url: "http://cdn.example/live/tnt/a.ts")),
                method: "GET"
            )
            for (key, code) in [(curve, nil), (pss, nil), (pkcs1, GrantCode.algorithmRefused)] {
                let token = try URISigningIssuer(key: key).issue(claims).token
                #expect(verifier.verify(token.utf8.span, for: facts, at: .now()).refusal?.code == code, "\(key)")
                for carrier in [
                    PackageAttribute.standard.inQuery(token, of: "/live/tnt/a.ts"),
                    "/live/tnt;URISigningPackage=\(token)/a.ts",
                ] {
                    #expect(try server.get(carrier).status == 200, "\(key)")
                }
                #expect(try server.get("/live/tnt/a.ts", cookie: "URISigningPackage=\(token)").status == 200, "\(key)")
                #expect(try server.get(PackageAttribute.standard.inQuery(token, of: "/live/x/a.ts")).status == 403)
            }
        }
    }
}
