// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// Two independent COSE libraries in Python, in the environment that `scripts/setup test` makes.
@Suite(.enabled(if: Requirement.hasOracles, "cwt and pycose are not installed: run scripts/setup test"))
struct `cwt and pycose` {
    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let run = try CommandRun(
            python,
            arguments: [repository + "/Tests/KeysTests/Oracles/cose.py"],
            input: [UInt8](lines.joined(separator: "\n").utf8)
        )
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private struct Peer {
        let key: TokenKey
        /// The key in the form that the oracles accept.
        let given: [String: String]
    }

    private static func peers() throws -> [Peer] {
        try [KeyAlgorithm.hs256, .es256, .es384, .es512, .ps256, .edDSA].map { algorithm in
            let made = try TokenKey.generate(algorithm, id: KeyID("key-1"), binding: Example.binding)
            var given = ["kid": "key-1", "alg": algorithm.rawValue]
            switch made.secret {
            case .bytes(let secret): given["k"] = secret.hexadecimal
            case .pem(let pem): given["pem"] = pem
            }
            return Peer(key: made.key, given: given)
        }
    }

    @Test func `verify what is made here, which is canonical`() throws {
        var random = SplitMix64(seed: 9)
        var requests: [[String: Any]] = []
        var payloads: [String] = []
        for peer in try Self.peers() {
            for number in 0..<20 {
                let payload = (0..<Int.random(in: 0...400, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let form = COSEForm(hasUnprotectedKeyID: number % 2 == 1, prefersLowS: number % 3 == 1)
                let token = try peer.key.signCOSE(payload, form: form)
                requests.append(["do": "check", "token": token.hexadecimal, "key": peer.given])
                payloads.append(payload.hexadecimal)
            }
        }
        let answers = try Self.ask(requests)
        #expect(answers.count == payloads.count)
        for (answer, payload) in zip(answers, payloads) {
            #expect(answer["cwt"] as? String == payload && answer["pycose"] as? String == payload, "\(answer)")
            #expect(answer["canonical"] as? Bool == true)
        }
    }

    @Test func `verify the examples`() throws {
        let secret = ["kid": "pg-2026-11", "k": Example.secret.hexadecimal]
        let keys = try Example.keys()
        let answers = try Self.ask(
            try Example.macTokens.map { ["do": "check", "token": try Example.bytes($0).hexadecimal, "key": secret] }
        )
        for (answer, token) in zip(answers, Example.macTokens) {
            let payload = try keys.payload(Example.bytes(token)).hexadecimal
            #expect(answer["cwt"] as? String == payload && answer["pycose"] as? String == payload, "\(answer)")
        }
    }

    @Test func `make what is verified here`() throws {
        let peers = try Self.peers()
        let payload = [UInt8](0..<200)
        let answers = try Self.ask(
            peers.map { peer in
                [
                    "do": "make", "payload": payload.hexadecimal, "key": peer.given,
                    "tag": peer.key.algorithm.isMAC ? 17 : 18,
                ]
            }
        )
        #expect(answers.count == peers.count)
        for (answer, peer) in zip(answers, peers) {
            for name in ["cwt", "pycose"] {
                let token = [UInt8](hex: try #require(answer[name] as? String))
                #expect(try KeySet([peer.key]).payload(token) == payload, "\(name) \(peer.key)")
                let stranger = try TokenKey.generate(peer.key.algorithm, id: KeyID("key-1"), binding: Example.binding)
                    .key
                #expect(throws: COSERefusal.signatureInvalid) { try KeySet([stranger]).payload(token) }
            }
        }
    }
}
