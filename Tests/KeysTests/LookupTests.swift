// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

@Suite struct `Keys for a token` {
    private static func secretKey(
        seed: UInt8,
        id: String?,
        issuer: String = "playgate",
        format: TokenFormat = .cat,
        validity: ClosedRange<Timestamp>? = nil
    ) throws -> TokenKey {
        try TokenKey(
            secret: [UInt8](repeating: seed, count: 32),
            id: id.flatMap { KeyID($0) },
            binding: KeyBinding(issuer: issuer, format: format),
            validity: validity
        )
    }

    private static func issuer(
        among keys: [TokenKey],
        of envelope: [UInt8],
        at now: Timestamp = Example.now,
        attempts: Int = 8
    ) throws -> String {
        switch try KeySet(keys).verify(cose: envelope.span, at: now, maximumAttempts: attempts) {
        case .verified(let key, _): return key.issuer
        case .refused(let refusal): throw refusal
        }
    }

    @Test func `are those with its identifier, of all issuers of the format`() throws {
        let (one, other) = (try Self.secretKey(seed: 1, id: "a"), try Self.secretKey(seed: 2, id: "a", issuer: "other"))
        #expect(try Self.issuer(among: [one, other], of: one.signCOSE([0xA0])) == "playgate")
        #expect(try Self.issuer(among: [one, other], of: other.signCOSE([0xA0])) == "other")
        #expect(try Self.issuer(among: [other, one], of: one.signCOSE([0xA0])) == "playgate")
        let renamed = try Self.secretKey(seed: 1, id: "b")
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: [renamed], of: one.signCOSE([0xA0])) }
        let foreign = try Self.secretKey(seed: 1, id: "a", format: .uriSigning)
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: [foreign], of: one.signCOSE([0xA0])) }
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: [], of: one.signCOSE([0xA0])) }
        let unnamed = try Self.secretKey(seed: 1, id: nil)
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: [unnamed], of: one.signCOSE([0xA0])) }
        #expect(throws: KeySetError(.duplicateKeyID)) { try KeySet([one, Self.secretKey(seed: 3, id: "a")]) }
    }

    @Test func `are at most eight if it has no identifier`() throws {
        let token = try Self.secretKey(seed: 9, id: nil).signCOSE([0xA0])
        let keys = try (1...9).map { try Self.secretKey(seed: UInt8($0), id: "\($0)") }
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: keys, of: token) }
        #expect(try Self.issuer(among: Array(keys.dropFirst()), of: token) == "playgate")
        #expect(throws: COSERefusal.keyUnknown) {
            try Self.issuer(among: Array(keys.dropFirst()), of: token, attempts: 7)
        }
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: [keys[8]], of: token, attempts: 0) }
        #expect(throws: COSERefusal.signatureInvalid) { try Self.issuer(among: Array(keys.dropLast()), of: token) }
    }

    @Test func `are only one if it has no algorithm`() throws {
        let envelope = try CraftedEnvelope(protected: "").bytes()
        #expect(try KeySet([Example.macKey()]).payload(envelope) == [0xA0])
        #expect(throws: COSERefusal.keyUnknown) {
            try KeySet([Example.macKey(), Self.secretKey(seed: 1, id: "other")]).payload(envelope)
        }
        let pair = try TokenKey.generate(.es256, id: KeyID("pg-2026-11"), binding: Example.binding).key
        #expect(throws: COSERefusal.algorithmRefused) { try KeySet([pair]).payload(envelope) }
    }

    @Test func `are valid at the time`() throws {
        let (start, end) = (Timestamp(secondsSince1970: 1000), Timestamp(secondsSince1970: 2000))
        let key = try Self.secretKey(seed: 1, id: "a", validity: start...end)
        let token = try key.signCOSE([0xA0])
        for now in [start, end] { #expect(try Self.issuer(among: [key], of: token, at: now) == "playgate") }
        for seconds: Int64 in [999, 2001] {
            #expect(throws: COSERefusal.keyUnknown) {
                try Self.issuer(among: [key], of: token, at: Timestamp(secondsSince1970: seconds))
            }
        }
    }

    @Test func `do only what they may`() throws {
        let pair = try TokenKey.generate(.es256, id: KeyID("a"), binding: Example.binding)
        guard case .pem(let pem) = pair.secret else { return }
        let verifying = try KeySetReading(
            KeySet([pair.key]).publishedCOSEKeySet,
            source: .published,
            binding: Example.binding
        )
        let token = try pair.key.signCOSE([0xA0])
        #expect(try Self.issuer(among: verifying.keys, of: token) == "playgate")
        #expect(throws: KeySetError(.unusableKey)) { try verifying.keys[0].signCOSE([0xA0]) }
        let again = try TokenKey(pem: [UInt8](pem.utf8), id: KeyID("a"), binding: Example.binding)
        #expect(try Self.issuer(among: [again], of: again.signCOSE([0xA0])) == "playgate")
        // A key that may only sign verifies nothing.
        let set = "{\"keys\":[{\"kty\":\"oct\",\"kid\":\"s\",\"key_ops\":[\"sign\"],\"k\":\"\(`Key sets`.secret)\"}]}"
        let signing = try KeySetReading([UInt8](set.utf8), source: .local, binding: Example.binding).keys
        #expect(throws: COSERefusal.keyUnknown) { try Self.issuer(among: signing, of: signing[0].signCOSE([0xA0])) }
    }

    @Test func `show no part of a secret`() throws {
        let made = try TokenKey.generate(.hs256, id: KeyID("a\u{7}\u{202E}"), binding: Example.binding)
        guard case .bytes(let secret) = made.secret else { return }
        var text = ""
        dump(made, to: &text)
        text += "\(made) \(made.key)" + String(reflecting: made.key)
        #expect(secret.count == 32 && !text.contains("\(secret[0]), \(secret[1])") && !text.contains("\u{202E}"))
    }
}

@Suite struct `Keys in PEM` {
    @Test(arguments: [KeyAlgorithm.es256, .es384, .es512, .edDSA, .ps256, .rs256])
    func `are read, public and private`(algorithm: KeyAlgorithm) throws {
        let made = try TokenKey.generate(algorithm, id: nil, binding: Example.binding)
        guard case .pem(let pem) = made.secret else { return }
        var binding = Example.binding
        if algorithm == .ps256 || algorithm == .rs256 {
            #expect(throws: KeySetError(.unusableKey)) {
                try TokenKey(pem: [UInt8](pem.utf8), id: nil, binding: binding)
            }
            binding.rsaAlgorithm = algorithm
        }
        let pair = try TokenKey(pem: [UInt8](pem.utf8), id: nil, binding: binding)
        #expect(pair.algorithm == algorithm && pair.operations == [.verify, .sign] && pair.validity == nil)
        let folder = try TemporaryFolder()
        try pem.write(toFile: folder.file("key.pem"), atomically: true, encoding: .utf8)
        let run = try CommandRun("/usr/bin/openssl", arguments: ["pkey", "-in", folder.file("key.pem"), "-pubout"])
        let key = try TokenKey(pem: [UInt8](run.output.utf8), id: nil, binding: binding)
        #expect(key.algorithm == algorithm && key.operations == .verify)
        if algorithm != .rs256 {
            #expect(try KeySet([key]).payload(pair.signCOSE([1])) == [1])
        }
        #expect(throws: KeySetError(.unusableKey)) {
            try TokenKey(
                pem: [UInt8](pem.utf8),
                id: nil,
                algorithm: algorithm == .es256 ? .es384 : .es256,
                binding: binding
            )
        }
        #expect(throws: KeySetError(.unusableKey)) {
            try TokenKey(pem: [UInt8](run.output.utf8), id: nil, algorithm: .hs256, binding: binding)
        }
        #expect(throws: KeySetError(.malformed)) {
            try TokenKey(pem: [UInt8]((pem + run.output).utf8), id: nil, binding: binding)
        }
    }

    @Test func `of a certificate are valid as long as it is`() throws {
        let folder = try TemporaryFolder()
        let run = try CommandRun(
            "/usr/bin/openssl",
            arguments: [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                "-subj",
                "/CN=test", "-keyout", folder.file("key.pem"), "-out", folder.file("certificate.pem"),
            ]
        )
        #expect(run.status == 0, "\(run.error)")
        let text = [UInt8](try String(contentsOfFile: folder.file("certificate.pem"), encoding: .utf8).utf8)
        let key = try TokenKey(pem: text, id: KeyID("c"), binding: Example.binding)
        let validity = try #require(key.validity)
        #expect(key.algorithm == .es256 && key.operations == .verify)
        #expect(!key.isValid(at: Timestamp(secondsSince1970: 0)) && key.isValid(at: validity.lowerBound))
        let late = Timestamp(secondsSince1970: 0)...Timestamp(secondsSince1970: 1)
        #expect(throws: KeySetError(.unusableKey)) {
            try TokenKey(pem: text, id: nil, binding: Example.binding, validity: late)
        }
    }

    @Test(arguments: [
        "", "text", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n",
        "-----BEGIN X-----\nAAAA\n-----END X-----\n",
    ])
    func `are keys`(text: String) {
        #expect(throws: KeySetError.self) { try TokenKey(pem: [UInt8](text.utf8), id: nil, binding: Example.binding) }
    }
}
