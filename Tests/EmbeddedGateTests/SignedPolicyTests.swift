// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CPlaygate
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

@testable import EdgeChecks
@testable import EmbeddedGate
@testable import PlaybackGate

/// Policies that are signed, by their C interface.
@Suite("Signed policies")
struct SignedPolicyTests {
    private static let algorithms = KeyAlgorithm.allCases.filter { !$0.isMAC }
    private static let type = "playgate-policy+jws"

    /// A key pair, the set that trusts it, and a policy that it signed.
    private struct Signer {
        let made: GeneratedKey
        let trust: String
        var key: TokenKey { made.key }

        init(_ algorithm: KeyAlgorithm = .es256, id: String = "signer-1") throws {
            let binding = KeyBinding(issuer: "", format: .cat, rsaAlgorithm: .ps256)
            made = try TokenKey.generate(algorithm, id: KeyID(id), binding: binding)
            trust = try KeySet([made.key]).publishedJWKSet
        }

        func policy(_ document: [UInt8]) throws -> String { try EdgeBundle.signed(document, by: key) }

        /// Returns a text with any header that is signed as it stands.
        func text(header: String, payload: [UInt8]) throws -> String {
            try key.signedJWS("\(Base64.encodeURLSafe([UInt8](header.utf8))).\(Base64.encodeURLSafe(payload))")
        }
    }

    private typealias Opened = (result: Int32, error: playgate_error, issued: Int64)

    private static func open(_ text: [UInt8], trust: String) -> Opened {
        var policy: OpaquePointer?
        var error = playgate_error()
        let (bytes, keys) = (text.map { CChar(bitPattern: $0) }, trust.utf8.map { CChar(bitPattern: $0) })
        let now = EmbeddedSample.time.millisecondsSince1970
        let result = playgate_policy_open_signed(bytes, bytes.count, keys, keys.count, now, &policy, &error)
        let issued = playgate_policy_issued(policy)
        #expect((policy == nil) == (result != PLAYGATE_OK))
        playgate_policy_release(policy)
        return (result, error, issued)
    }

    private static func open(_ text: String, trust: String) -> Opened { open([UInt8](text.utf8), trust: trust) }

    private static func expectRefusal(of text: String, trust: String, sentence: String, comment: Comment? = nil) {
        let opened = open(text, trust: trust)
        #expect(opened.result == PLAYGATE_E_SIGNATURE, comment)
        #expect(opened.error.sentence.contains(sentence), "\(comment ?? ""): \(opened.error.sentence)")
        #expect(opened.error.line == 0)
    }

    @Test("A policy by each algorithm is read, and is the one that was signed", arguments: algorithms)
    func roundTrip(algorithm: KeyAlgorithm) throws {
        let signer = try Signer(algorithm)
        let document = try EmbeddedSample().document()
        let opened = Self.open(try signer.policy(document.json()), trust: signer.trust)
        #expect(opened.result == PLAYGATE_OK, "\(opened.error.sentence)")
        #expect(opened.issued == document.issued.millisecondsSince1970)
        // The key among others, of which one has its identifier for another algorithm.
        let others = try [Signer(.es384, id: "other"), Signer(algorithm == .es512 ? .es384 : .es512), signer]
        let all = try KeySet(others.map(\.key)).publishedJWKSet
        #expect(Self.open(try signer.policy(document.json()), trust: all).result == PLAYGATE_OK)
        let stranger = try Signer(algorithm)
        Self.expectRefusal(
            of: try stranger.policy(document.json()),
            trust: signer.trust,
            sentence: "the signature is wrong"
        )
        Self.expectRefusal(
            of: try Signer(algorithm, id: "other").policy(document.json()),
            trust: signer.trust,
            sentence: "has the identifier"
        )
    }

    @Test("A fault of the document is told with its line, once the signature is good")
    func lines() throws {
        let signer = try Signer()
        let text = String(decoding: try EmbeddedSample().document().json(), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        let line = try #require(lines.firstIndex { $0.contains("\"/segments/\"") })
        let faulty = [UInt8](text.replacing("\"/segments/\"", with: "\"segments\"").utf8)
        let opened = Self.open(try signer.policy(faulty), trust: signer.trust)
        #expect(opened.result == PLAYGATE_E_POLICY && opened.error.line == UInt32(line + 1))
        #expect(opened.error.sentence.contains("must begin with /"), "\(opened.error.sentence)")
        Self.expectRefusal(of: try Signer().policy(faulty), trust: signer.trust, sentence: "the signature is wrong")
        let next = [UInt8](text.replacing("\"version\": 1", with: "\"version\": 2").utf8)
        #expect(Self.open(try signer.policy(next), trust: signer.trust).result == PLAYGATE_E_VERSION)
        #expect(Self.open(try signer.policy([]), trust: signer.trust).result == PLAYGATE_E_POLICY)
    }

    @Test("A signed policy and one that is not cannot be taken for each other")
    func kinds() throws {
        let signer = try Signer()
        let document = try EmbeddedSample().document().json()
        let plain = String(decoding: document, as: UTF8.self)
        Self.expectRefusal(of: plain, trust: signer.trust, sentence: "not signed: write it by playgate export --sign")
        let bytes = try signer.policy(document).utf8.map { CChar(bitPattern: $0) }
        var policy: OpaquePointer?
        var error = playgate_error()
        #expect(playgate_policy_open(bytes, bytes.count, 0, &policy, &error) == PLAYGATE_E_POLICY)
        #expect(policy == nil && error.sentence.contains("trust=FILE"), "\(error.sentence)")
        // A grant by the same key is no policy.
        Self.expectRefusal(
            of: try signer.key.signJWS(document),
            trust: signer.trust,
            sentence: "must have alg, kid and typ"
        )
    }

    @Test("Headers that say anything else are refused")
    func headers() throws {
        let signer = try Signer()
        let document = try EmbeddedSample().document().json()
        let (start, type) = ("{\"alg\":\"ES256\",\"kid\":\"signer-1\"", "\"typ\":\"\(Self.type)\"")
        let good = "\(start),\(type)}"
        #expect(Self.open(try signer.text(header: good, payload: document), trust: signer.trust).result == PLAYGATE_OK)
        let (others, keys) = ("nothing else", "none of the keys to trust")
        for (header, sentence) in [
            ("{\"alg\":\"none\",\"kid\":\"signer-1\",\(type)}", "the algorithm"),
            ("{\"alg\":\"HS256\",\"kid\":\"signer-1\",\(type)}", "the algorithm"),
            ("{\"alg\":\"ES384\",\"kid\":\"signer-1\",\(type)}", "the algorithm"),
            ("{\"alg\":\"es256\",\"kid\":\"signer-1\",\(type)}", "the algorithm"),
            ("\(start),\"typ\":\"JWT\"}", "its typ is another"),
            ("\(start),\"typ\":\"Playgate-policy+jws\"}", "its typ is another"),
            ("\(start),\"typ\":\"application/\(Self.type)\"}", "its typ is another"),
            ("\(start)}", others), ("{\"alg\":\"ES256\",\(type)}", others), ("{\"kid\":\"signer-1\",\(type)}", others),
            ("\(start),\(type),\"crit\":[\"exp\"]}", others), ("\(start),\(type),\"crit\":[]}", others),
            ("\(start),\(type),\"b64\":false}", others), ("\(start),\(type),\"zip\":\"DEF\"}", others),
            ("\(start),\(type),\"jku\":\"https://evil.example/\"}", others),
            ("\(start),\(type),\"x5u\":\"https://evil.example/\"}", others),
            ("\(start),\(type),\"x5c\":\"AA\"}", others), ("\(start),\(type),\"jwk\":{}}", others),
            ("\(start),\(type),\"a\":1}", others), ("\(start),\"kid\":\"signer-1\",\(type)}", others),
            ("\(start),\(type),\"alg\":\"ES256\"}", others), ("\(start),\(type),\"\\u0061lg\":\"ES256\"}", others),
            ("\(start),\"typ\":1}", others), ("\(start),\(type)} {}", others), ("[\(good)]", others), ("{}", others),
            ("{\"alg\":\"ES256\",\"kid\":\"other\",\(type)}", keys), ("{\"alg\":\"ES256\",\"kid\":\"\",\(type)}", keys),
            ("{\"alg\":\"ES256\",\"kid\":\"Signer-1\",\(type)}", keys),
            ("\(start),\(type)\(String(repeating: " ", count: 1024))}", "nothing else"), ("", "nothing else"),
        ] {
            Self.expectRefusal(
                of: try signer.text(header: header, payload: document),
                trust: signer.trust,
                sentence: sentence,
                comment: "\(header)"
            )
        }
    }

    @Test("Forms that are not the only one are refused")
    func forms() throws {
        let signer = try Signer()
        let document = try EmbeddedSample().document()
        let text = try signer.policy(document.json())
        let parts = text.split(separator: ".").map(String.init)
        var later = document
        later.goodFor = .seconds(86_400)
        let swapped = Base64.encodeURLSafe(later.json())
        let none = "{\"alg\":\"none\",\"kid\":\"signer-1\",\"typ\":\"\(Self.type)\"}"
        let header = Base64.encodeURLSafe([UInt8](none.utf8))
        let json = "{\"payload\":\"\(parts[1])\",\"protected\":\"\(parts[0])\",\"signature\":\"\(parts[2])\"}"
        for (changed, sentence) in [
            ("\(parts[0]).\(swapped).\(parts[2])", "the signature is wrong"),
            ("\(header).\(parts[1]).", "the algorithm"), ("\(parts[0]).\(parts[1]).", "the signature is wrong"),
            ("\(parts[0])..\(parts[2])", "the signature is wrong"),
            ("\(text)\n", "nothing else"), (" \(text)", "not signed"), ("\(text).", "nothing else"),
            ("\(text).AA", "nothing else"), ("\(text)=", "nothing else"), ("\(text)A", "the signature is wrong"),
            ("\(text)AAAA", "the signature is wrong"), ("\(parts[0]).\(parts[1])", "nothing else"),
            ("\(parts[0]).\(parts[1])==.\(parts[2])", "the signature is wrong"),
            (parts[0], "nothing else"), ("...", "nothing else"), ("..", "nothing else"),
            (json, "not signed"), ("{\"payload\":\"\(parts[1])\",\"signatures\":[]}", "not signed"),
            (String(repeating: "e", count: 5_000_000), "nothing else"),
            (String(repeating: ".", count: 5_000_000), "nothing else"),
            ("\(parts[0]).\(String(repeating: "A", count: 5_000_000)).\(parts[2])", "the signature is wrong"),
            ("\(parts[0]).\(parts[1]).\(String(repeating: "A", count: 5_000_000))", "nothing else"),
        ] {
            Self.expectRefusal(
                of: changed,
                trust: signer.trust,
                sentence: sentence,
                comment: "\(changed.prefix(40))…\(changed.suffix(40))"
            )
        }
    }

    @Test("A code by the public key, or by any secret, is no signature")
    func codes() throws {
        let document = try EmbeddedSample().document().json()
        let binding = KeyBinding(issuer: "", format: .cat)
        for algorithm in Self.algorithms {
            let signer = try Signer(algorithm)
            // The public key as the attacker has it: the text of the set.
            let secret = try TokenKey(secret: [UInt8](signer.trust.utf8), id: KeyID("signer-1"), binding: binding)
            #expect(throws: KeySetError.self) { try EdgeBundle.signed(document, by: secret) }
            let header = "{\"alg\":\"HS256\",\"kid\":\"signer-1\",\"typ\":\"\(Self.type)\"}"
            let message = "\(Base64.encodeURLSafe([UInt8](header.utf8))).\(Base64.encodeURLSafe(document))"
            Self.expectRefusal(of: try secret.signedJWS(message), trust: signer.trust, sentence: "the algorithm")
        }
    }

    @Test("A set that trusts what it must not is an error of the caller's")
    func trust() throws {
        let signer = try Signer()
        let text = try signer.policy(try EmbeddedSample().document().json())
        let secret = "{\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"\(Base64.encodeURLSafe([UInt8](0..<32)))\"}"
        let own = try #require(signer.made.jwk).line
        let nameless = signer.trust.replacing("\"kid\":\"signer-1\",", with: "")
        for (trust, sentence) in [
            ("{", "no JWK Set"), ("{}", "no JWK Set"), ("{\"keys\":[]}", "no key"),
            ("{\"keys\":[\(secret)]}", "no JWK Set of public keys"),
            ("{\"keys\":[\(own)]}", "no JWK Set of public keys"),
            (nameless, "has no \"kid\""),
            (signer.trust.replacing("\"use\":\"sig\"", with: "\"use\":\"enc\""), "no key"),
            (signer.trust + String(repeating: " ", count: 65_536), "no JWK Set"), (text, "no JWK Set"),
        ] {
            let opened = Self.open(text, trust: trust)
            #expect(opened.result == PLAYGATE_E_ARGUMENT, "\(trust.prefix(80))")
            #expect(opened.error.sentence.contains(sentence), "\(opened.error.sentence)")
        }
        var policy: OpaquePointer?
        #expect(playgate_policy_open_signed(nil, 0, nil, 0, 0, nil, nil) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_policy_open_signed(nil, 9, nil, 9, 0, &policy, nil) == PLAYGATE_E_ARGUMENT)
        #expect(Self.open(text, trust: "").result == PLAYGATE_E_ARGUMENT)
        let keys = signer.trust.utf8.map { CChar(bitPattern: $0) }
        #expect(playgate_policy_open_signed(nil, 9, keys, keys.count, 0, &policy, nil) == PLAYGATE_E_ARGUMENT)
        #expect(playgate_policy_open_signed(keys, .max, keys, keys.count, 0, &policy, nil) == PLAYGATE_E_POLICY)
        #expect(playgate_policy_open_signed(keys, 9, keys, .min, 0, &policy, nil) == PLAYGATE_E_ARGUMENT)
    }

    @Test("No change of any bytes is accepted", arguments: [KeyAlgorithm.es256, .edDSA, .ps256])
    func changes(algorithm: KeyAlgorithm) throws {
        let signer = try Signer(algorithm)
        let text = [UInt8](try signer.policy(try EmbeddedSample().document().json()).utf8)
        let alphabet = [UInt8]("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.=+/ {\n".utf8)
        var random = SplitMix64(seed: 19)
        for _ in 0..<1500 {
            var changed = text
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                // Header and signature are short: they are changed as often as the rest.
                let edge = Int.random(in: 0..<min(120, changed.count), using: &random)
                let anywhere = Int.random(in: changed.indices, using: &random)
                let index = random.pick([edge, changed.count - 1 - edge, anywhere])
                switch Int.random(in: 0..<5, using: &random) {
                case 0: changed[index] = random.pick(alphabet)
                case 1: changed[index] = UInt8.random(in: 0...255, using: &random)
                case 2: changed.insert(random.pick(alphabet), at: index)
                case 3: changed.remove(at: index)
                default: changed.swapAt(index, changed.count - 1 - edge)
                }
            }
            guard changed != text else { continue }
            let result = Self.open(changed, trust: signer.trust).result
            #expect(result == PLAYGATE_E_SIGNATURE, "\(String(decoding: changed, as: UTF8.self))")
        }
    }

    // MARK: Libraries of others

    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/URISigningTests/Oracles/jose.py"
        let run = try CommandRun(python, arguments: [script], input: [UInt8](lines.joined(separator: "\n").utf8))
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    @Test(
        "joserfc and jwcrypto sign what is read here, and verify what is signed here",
        .enabled(if: Requirement.hasOracles, "joserfc and jwcrypto are not installed: run scripts/setup test")
    )
    func others() throws {
        let document = try EmbeddedSample().document()
        let plain = try JSONSerialization.jsonObject(with: Data(document.json()))
        for algorithm in Self.algorithms {
            let signer = try Signer(algorithm)
            let line = try #require(signer.made.jwk?.line)
            let key = try JSONSerialization.jsonObject(with: Data(line.utf8))
            for library in ["joserfc", "jwcrypto"] {
                let given: [String: Any] = [
                    "with": library, "key": key, "alg": algorithm.rawValue, "kid": "signer-1", "typ": Self.type,
                ]
                let answers = try Self.ask([
                    given.merging(["do": "sign", "claims": plain]) { $1 },
                    given.merging(["do": "verify", "token": try signer.policy(document.json())]) { $1 },
                ])
                try #require(answers.count == 2)
                let opened = Self.open(try #require(answers[0]["token"] as? String), trust: signer.trust)
                #expect(opened.result == PLAYGATE_OK, "\(library) \(algorithm): \(opened.error.sentence)")
                #expect(opened.issued == document.issued.millisecondsSince1970)
                #expect(answers[1]["claims"] as? NSDictionary == plain as? NSDictionary, "\(library) \(algorithm)")
                #expect((answers[1]["header"] as? [String: Any])?["typ"] as? String == Self.type)
            }
        }
    }
}
