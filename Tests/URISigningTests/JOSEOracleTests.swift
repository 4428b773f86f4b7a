// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Testing

@testable import EdgeTokens
@testable import URISigning

/// Two independent JOSE libraries in Python, in the environment that `scripts/setup test` makes.
@Suite(.enabled(if: Requirement.hasOracles, "joserfc and jwcrypto are not installed: run scripts/setup test"))
struct `joserfc and jwcrypto` {
    private static let python = repository + "/.build-oracles/bin/python"
    private static let libraries = ["joserfc", "jwcrypto"]

    private static func ask(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/URISigningTests/Oracles/jose.py"
        let run = try CommandRun(python, arguments: [script], input: [UInt8](lines.joined(separator: "\n").utf8))
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private struct Peer {
        let key: TokenKey
        /// The private key, for the libraries.
        let jwk: [String: Any]

        /// What every request about a token of the key says.
        var given: [String: Any] { ["key": jwk, "alg": key.algorithm.rawValue, "kid": "key-1"] }
    }

    /// A key for each algorithm that both libraries have without asking for more.
    private static func peers() throws -> [Peer] {
        try KeyAlgorithm.allCases.map { algorithm in
            let made = try TokenKey.generate(algorithm, id: KeyID("key-1"), binding: SignedSample.binding)
            let line = try #require(made.jwk?.line)
            let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
            return Peer(key: made.key, jwk: try #require(object as? [String: Any]))
        }
    }

    private static func claims(_ random: inout SplitMix64) throws -> URISigningClaims {
        let containers: [URISigningClaims.Container] = [
            .scope(.init(host: "cdn.example", path: "/live/tnt/")), .hash(try SignedSample.uri()),
            .pattern(#"^https://cdn\.example/(live|vod)/[a-z0-9./]+$"#),
        ]
        var claims = URISigningClaims(random.pick(containers))
        claims.expires = SignedSample.time(Double(Int.random(in: 2...300, using: &random)))
        claims.issued = random.once(in: 2) ? SignedSample.time(0) : nil
        claims.notBefore = random.once(in: 2) ? SignedSample.time(0) : nil
        claims.audience = random.pick([[], ["edge-1"], ["é", "edge-1"]])
        claims.identifier = random.once(in: 3) ? "id \(random.next())" : nil
        if random.once(in: 2) {
            claims.renewal = URISigningRenewal(random.pick([.cookie, .query]), life: 300, depth: 2)
        }
        if random.once(in: 2) {
            claims.session = PlaybackSession(id: SessionID(number: 5), end: SignedSample.time(900), revocation: nil)
        }
        claims.encryptionKey = try SignedSample.encryptionKey.get()
        if random.once(in: 3) { claims.subject = [UInt8]("viewer".utf8) }
        return claims
    }

    @Test func `verify what is issued here, with the same claims`() throws {
        var random = SplitMix64(seed: 7)
        var requests: [[String: Any]] = []
        var payloads: [String] = []
        for peer in try Self.peers() {
            let issuer = try URISigningIssuer(key: peer.key)
            let verifier = try SignedSample.verifier([peer.key])
            for number in 0..<(peer.key.algorithm.isMAC ? 60 : 12) {
                let token = try issuer.issue(try Self.claims(&random)).token
                #expect(verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(1)).isAllowed)
                var request = peer.given
                (request["do"], request["token"], request["with"]) = ("verify", token, Self.libraries[number % 2])
                requests.append(request)
                payloads.append(String(decoding: try UnverifiedJWS(token.utf8.span).payload, as: UTF8.self))
            }
        }
        let answers = try Self.ask(requests)
        try #require(answers.count == requests.count)
        for ((answer, request), payload) in zip(zip(answers, requests), payloads) {
            let claims = answer["claims"] as? NSDictionary
            let own = try JSONSerialization.jsonObject(with: Data(payload.utf8)) as? NSDictionary
            #expect(
                claims != nil && claims == own,
                "\(request["with"] ?? "") \(request["alg"] ?? ""): \(answer["error"] ?? "")"
            )
            #expect((answer["header"] as? [String: Any])?["kid"] as? String == "key-1")
        }
    }

    @Test func `verify each of a hundred renewals`() throws {
        let peer = try Self.peers().first { $0.key.algorithm == .es256 }
        let key = try #require(peer?.key)
        let issuer = try URISigningIssuer(key: key)
        let verifier = try SignedSample.verifier([key])
        var claims = SignedSample.claims
        claims.session = PlaybackSession(id: SessionID(number: 9), end: SignedSample.time(43_200), revocation: nil)
        var token = try issuer.issue(claims).token
        var now = SignedSample.time(1)
        var requests: [[String: Any]] = []
        for _ in 0..<100 {
            guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: now) else {
                Issue.record("not authentic")
                return
            }
            now = try #require(grant.renewalStart)
            token = try issuer.renew(grant, at: now).token
            var request = try #require(peer?.given)
            (request["do"], request["token"], request["with"]) = ("verify", token, "joserfc")
            requests.append(request)
        }
        let ends = try Self.ask(requests).map { ($0["claims"] as? [String: Any])?["exp"] as? Int64 }
        #expect(ends == (1...100).map { SignedSample.issued + 300 + 150 * Int64($0) })
    }

    @Test func `sign what verifies here, and a changed token nowhere`() throws {
        var requests: [[String: Any]] = []
        let peers = try Self.peers()
        for peer in peers {
            for library in Self.libraries {
                var request = peer.given
                request["do"] = "sign"
                request["with"] = library
                request["claims"] = [
                    "iss": "playgate", "exp": 1_925_000_420.5, "nbf": 1_925_000_120.0, "cdniuc": "regex:^https://.*$",
                    "aud": ["edge-1"], "cdniv": 1, "cdniets": 300, "cdnistt": 1, "cdnistd": 1, "other": ["a": NSNull()],
                ]
                requests.append(request)
            }
        }
        let tokens = try Self.ask(requests).map { try #require($0["token"] as? String) }
        try #require(tokens.count == requests.count)
        for (index, token) in tokens.enumerated() {
            let key = peers[index / 2].key
            let verifier = try SignedSample.verifier([key])
            let verdict = verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(1))
            #expect(verdict.isAllowed, "\(key) \(Self.libraries[index % 2]): \(verdict)")
            #expect(!verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(300.5)).isAllowed)
            let other = try SignedSample.verifier([peers[(index / 2 + 1) % peers.count].key])
            #expect(!other.check(token, for: try SignedSample.facts(), at: SignedSample.time(1)).isAllowed)
        }
    }

    @Test func `encrypt and decrypt as it is done here`() throws {
        let secrets = [16: [UInt8](0..<16), 32: [UInt8](0..<32)]
        let rows: [(EncryptionKey.Algorithm, Int, EncryptionKey.Encryption)] = [
            (.direct, 16, .a128gcm), (.direct, 32, .a256gcm), (.a128kw, 16, .a128gcm), (.a128kw, 16, .a256gcm),
            (.a256kw, 32, .a128gcm), (.a256kw, 32, .a256gcm),
        ]
        var requests: [[String: Any]] = []
        var keys: [EncryptionKey] = []
        for (algorithm, size, encryption) in rows {
            let secret = try #require(secrets[size])
            let jwk = ["kty": "oct", "k": Base64.encodeURLSafe(secret)]
            let key = try EncryptionKey(secret: secret, id: nil, algorithm: algorithm, encryption: encryption)
            for library in Self.libraries {
                let names = ["alg": algorithm.rawValue, "enc": encryption.rawValue]
                let token = try key.encrypt([UInt8]("203.0.113.0/24".utf8))
                requests.append(["do": "decrypt", "with": library, "token": token, "key": jwk])
                requests.append(
                    ["do": "encrypt", "with": library, "text": "2001:db8::1", "key": jwk].merging(names) { $1 }
                )
                keys += [key, key]
            }
        }
        let answers = try Self.ask(requests)
        try #require(answers.count == requests.count)
        for (index, answer) in answers.enumerated() {
            if index.isMultiple(of: 2) {
                #expect(answer["text"] as? String == "203.0.113.0/24", "\(requests[index]): \(answer)")
            } else {
                let token = try #require(answer["token"] as? String)
                let text = JWE(token.utf8.span)?.decrypted(by: [keys[index]])
                #expect(text == [UInt8]("2001:db8::1".utf8), "\(requests[index])")
            }
        }
    }
}
