// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import RequestTargets

/// Independent libraries for CBOR Web Tokens and COSE in Python, with a judgement of claims from the specification, in the
/// environment that `scripts/setup test` makes. Each direction covers 10,000 random tokens, in one process of Python
/// for each key.
@Suite(.enabled(if: Requirement.hasOracles, "cwt, pycose and cbor2 are not installed: run scripts/setup test"))
struct `cwt, pycose and cbor2` {
    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/CommonAccessTokensTests/Oracles/cat.py"
        let run = try CommandRun(python, arguments: [script], input: [UInt8](lines.joined(separator: "\n").utf8))
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private struct Peer {
        let key: TokenKey
        /// The key in the form that the oracles accept.
        var given: [String: String]

        /// The number of random tokens: 10,000 with all keys.
        var count: Int { key.algorithm == .hs256 ? 9100 : 300 }
    }

    private static func peers() throws -> [Peer] {
        try [KeyAlgorithm.hs256, .es256, .ps256, .edDSA].map { algorithm in
            let made = try TokenKey.generate(algorithm, id: KeyID("key-1"), binding: CATSample.binding)
            var peer = Peer(key: made.key, given: ["kid": "key-1", "alg": algorithm.rawValue])
            switch made.secret {
            case .bytes(let secret): peer.given["k"] = secret.hexadecimal
            case .pem(let pem): peer.given["pem"] = pem
            }
            return peer
        }
    }

    @Test func `judge random tokens alike`() throws {
        let now = CATSample.issued
        for (seed, peer) in try Self.peers().enumerated() {
            let answers = try Self.ask([
                ["do": "make", "count": peer.count, "now": now, "seed": seed, "key": peer.given]
            ])
            #expect(answers.count == peer.count)
            let verifier = try CATSample.verifier([peer.key])
            var allowed = 0
            for answer in answers {
                func text(_ name: String) throws -> String { try #require(answer[name] as? String) }
                let uri = RequestURI(try text("target")[...], scheme: .https, authority: try text("host")[...])
                var facts = RequestFacts(uri: try #require(uri), method: try text("method")[...])
                facts.clientAddress = IPAddress(try text("client"))
                let token = COSEText.encode(CATSample.bytes(try text("token")))
                let verdict = verifier.check(token, for: facts, at: Timestamp(secondsSince1970: now))
                #expect(verdict.isAllowed == answer["allowed"] as? Bool, "\(answer): \(verdict)")
                allowed += verdict.isAllowed ? 1 : 0
            }
            // Both answers occur often.
            #expect(answers.count / 10..<answers.count * 9 / 10 ~= allowed)
        }
    }

    @Test func `read what is issued here, which is canonical`() throws {
        var random = SplitMix64(seed: 4)
        var requests: [[String: Any]] = []
        var issued: [(claims: CATClaims, payload: String)] = []
        for peer in try Self.peers() {
            let issuer = try CATIssuer(key: peer.key)
            for _ in 0..<peer.count {
                let claims = Self.claims(&random)
                let token = try #require(COSEText.decoded(try issuer.issue(claims).token))
                requests.append(["do": "read", "token": token.bytes.hexadecimal, "key": peer.given])
                issued.append((claims, try #require(token.payload).hexadecimal))
            }
        }
        let answers = try Self.ask(requests)
        try #require(answers.count == issued.count)
        for (answer, (claims, payload)) in zip(answers, issued) {
            #expect(answer["payload"] as? String == payload && answer["pycose"] as? Bool == true)
            #expect(answer["canonical"] as? Bool == true, "\(payload)")
            let labels = Set((answer["labels"] as? [Int]) ?? [])
            #expect(labels.isSuperset(of: [1, 4, 7, 310]))
            #expect(labels.contains(311) == !claims.networks.isEmpty)
            #expect(labels.contains(323) == (claims.renewal != nil))
        }
    }

    private static func claims(_ random: inout SplitMix64) -> CATClaims {
        var claims = CATClaims()
        claims.expires = CATSample.time(Double(Int.random(in: 1...1_000_000, using: &random)))
        claims.identifier = (0..<Int.random(in: 1...64, using: &random)).map { _ in .random(in: 0...255, using: &random)
        }
        claims.audience = Array(["a", "b", "ü"].shuffled(using: &random).prefix(Int.random(in: 0...3, using: &random)))
        claims.methods = random.once(in: 2) ? ["GET", "HEAD"] : []
        let matches: [CATClaims.Match] = [
            .exact("x"), .prefix("/a/"), .suffix("é"), .contains("c"), .sha256(sha256("a")), .sha512t256(sha256("b")),
            .pattern("^a[0-9]+$"),
        ]
        claims.uri = URIComponent.allCases.shuffled(using: &random).prefix(3).map {
            .init($0, match: random.pick(matches))
        }
        claims.networks = random.once(in: 2) ? [.system(.random(in: 1...UInt32.max, using: &random))] : []
        for text in ["203.0.113.9", "2001:db8::1", "0.0.0.0"] where random.once(in: 3) {
            guard let address = IPAddress(text) else { continue }
            let length = Int.random(in: 0...(address.isIPv4 ? 24 : 56), using: &random)
            claims.networks.append(.prefix(address, length: length))
        }
        claims.headers =
            random.once(in: 2) ? [.init("X-A", match: random.pick(matches)), .init("accept", match: .exact(""))] : []
        claims.alpn = random.once(in: 3) ? ["h2", "http/1.1"] : []
        claims.countries = random.once(in: 3) ? ["US"] : []
        claims.replay = random.once(in: 3) ? 1 : nil
        if random.once(in: 2) {
            claims.renewal = CATRenewal(random.pick(CATRenewal.Delivery.allCases), life: 300, deadline: 100)
            claims.renewal?.cookieName = random.once(in: 2) ? "cat" : nil
            claims.renewal?.redirectStatus = random.once(in: 2) ? 307 : nil
        }
        return claims
    }
}
