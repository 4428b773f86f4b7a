// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Keys
import Testing

@Suite struct `Key sets` {
    static let x = "sP2VzTW_SP-lt1RhWXcn8ZJtmP3UKB1OGcrJ_2GXqpw"
    static let y = "r5heKMJthF5Vz_tlofuLy1BWACaL-s_zefEzrlgg4uU"
    static let point = "\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x)\",\"y\":\"\(y)\""
    static let secret = Base64.encodeURLSafe(Example.secret)

    static func read(
        _ keys: String...,
        source: KeySetSource = .published,
        rsa: KeyAlgorithm? = nil
    ) throws(KeySetError) -> KeySetReading {
        let text = "{\"keys\":[" + keys.joined(separator: ",") + "]}"
        let binding = KeyBinding(issuer: "playgate", format: .cat, rsaAlgorithm: rsa)
        return try KeySetReading([UInt8](text.utf8), source: source, binding: binding)
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func `have generated keys, with their secrets`(algorithm: KeyAlgorithm) throws {
        let made = try TokenKey.generate(algorithm, id: KeyID("key-1"), binding: Example.binding)
        let jwk = try #require(made.jwk).line
        let read = try Self.read(jwk, source: .local)
        let key = try #require(read.keys.first)
        #expect(read.skipped.isEmpty && key.id == KeyID("key-1") && key.algorithm == algorithm)
        #expect(key.operations == [.verify, .sign])
        #expect(throws: KeySetError(.privateKeyPresent)) { try Self.read(jwk) }
        guard algorithm.coseIdentifier != nil else { return }
        let token = try key.signCOSE([1, 2, 3])
        #expect(try KeySet([made.key]).payload(token) == [1, 2, 3])
    }

    @Test func `of JWK and of COSE_Key have the same keys, and are published byte for byte`() throws {
        let json = try KeySetReading([UInt8](Example.jwkSet.utf8), source: .published, binding: Example.binding)
        let cbor = try KeySetReading(Example.coseKeySet, source: .published, binding: Example.binding)
        for reading in [json, cbor] {
            let key = try #require(reading.keys.first)
            #expect(reading.keys.count == 1 && reading.skipped.isEmpty)
            #expect(key.id == KeyID("pg-es-1") && key.algorithm == .es256 && key.operations == .verify)
            let keys = try KeySet([Example.macKey()] + reading.keys)
            #expect(keys.publishedJWKSet == Example.jwkSet)
            #expect(keys.publishedCOSEKeySet == Example.coseKeySet)
            #expect(try keys.payload(Example.bytes(Example.signedToken)).count == 125)
        }
        let none = try KeySet([Example.macKey()])
        #expect(none.publishedJWKSet == "{\"keys\":[]}" && none.publishedCOSEKeySet == [0x80])
    }

    @Test(arguments: [
        ("{\(point)}", KeyAlgorithm.es256),
        ("{\(point),\"alg\":\"ES256\",\"use\":\"sig\",\"key_ops\":[\"verify\"]}", .es256),
        ("{\(point),\"x5c\":[\"AAAA\"],\"other\":{\"a\":1}}", .es256),
        (
            "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}", .edDSA
        ),
        (
            "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"alg\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\"}",
            .edDSA
        ),
    ])
    func `have keys that name their algorithm or have only one`(jwk: String, algorithm: KeyAlgorithm) throws {
        #expect(try Self.read(jwk).keys.map(\.algorithm) == [algorithm])
    }

    @Test(arguments: [
        "{}", "1", "{\"kty\":1}", "{\"kty\":\"XYZ\"}",
        "{\"kty\":\"EC\",\"crv\":\"secp256k1\",\"x\":\"\(x)\",\"y\":\"\(y)\"}",
        "{\(point),\"use\":\"enc\"}", "{\(point),\"use\":1}", "{\(point),\"key_ops\":[\"sign\"]}",
        "{\(point),\"key_ops\":[]}",
        "{\(point),\"key_ops\":\"verify\"}", "{\(point),\"alg\":\"ES384\"}", "{\(point),\"alg\":\"HS256\"}",
        "{\(point),\"alg\":\"none\"}", "{\(point),\"alg\":\"RS256\"}", "{\(point),\"kid\":\"\"}",
        "{\(point),\"kid\":1}",
        "{\(point),\"kid\":\"\(String(repeating: "k", count: 65))\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x)\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x)\",\"y\":\"\(x)\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"AA\(x)\",\"y\":\"\(y)\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-384\",\"x\":\"\(x)\",\"y\":\"\(y)\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x)=\",\"y\":\"\(y)\"}",
        "{\"kty\":\"EC\",\"crv\":\"P-256\",\"x\":\"\(x.replacing("_", with: "/"))\",\"y\":\"\(y)\"}",
        "{\"kty\":\"OKP\",\"crv\":\"X25519\",\"x\":\"\(x)\"}", "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"AAAA\"}",
        "{\"kty\":\"RSA\",\"n\":\"AQAB\",\"e\":\"AQAB\",\"alg\":\"PS256\"}",
    ])
    func `skip entries that cannot be used`(jwk: String) throws {
        let good = "{\(Self.point),\"kid\":\"good\"}"
        let reading = try Self.read(jwk, good)
        #expect(reading.keys.map(\.id) == [KeyID("good")])
        #expect(reading.skipped.map(\.index) == [0] && reading.skipped.allSatisfy { !$0.reason.isEmpty })
        #expect(throws: KeySetError(.noUsableKey)) { try Self.read(jwk) }
    }

    @Test func `of others have no private or symmetric key`() throws {
        let good = "{\(Self.point),\"kid\":\"good\"}"
        for entry in [
            "{\"kty\":\"AKP\",\"alg\":\"ML-DSA-44\",\"pub\":\"AA\",\"priv\":\"AA\"}",
            "{\"kty\":\"oct\",\"k\":\"\(Self.secret)\"}", "{\(Self.point),\"d\":\"AA\"}", "{\"kty\":\"XYZ\",\"k\":1}",
            "{\"kty\":\"RSA\",\"p\":\"AA\"}", "{\"kty\":\"RSA\",\"q\":\"AA\"}",
        ] {
            #expect(throws: KeySetError(.privateKeyPresent)) { try Self.read(good, entry) }
        }
        let symmetric = [UInt8](hex: "81a301040305205820") + Example.secret
        #expect(throws: KeySetError(.privateKeyPresent)) {
            try KeySetReading(symmetric, source: .published, binding: Example.binding)
        }
        let local = try KeySetReading(symmetric, source: .local, binding: Example.binding)
        #expect(local.keys.map(\.algorithm) == [.hs256])
        #expect(
            try Self.read("{\"kty\":\"oct\",\"k\":\"\(Self.secret)\"}", source: .local).keys.map(\.algorithm) == [
                .hs256
            ]
        )
    }

    @Test(arguments: [
        ("AAAA", "HS256"), (Base64.encodeURLSafe([UInt8](repeating: 1, count: 31)), "HS256"), (secret, "HS384"),
    ])
    func `have no short secrets`(secret: String, algorithm: String) {
        #expect(throws: KeySetError(.noUsableKey)) {
            try Self.read("{\"kty\":\"oct\",\"k\":\"\(secret)\",\"alg\":\"\(algorithm)\"}", source: .local)
        }
    }

    @Test func `have identifiers that are unique for an algorithm`() throws {
        let other = "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo\""
        let another = "\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"x\":\"PUAXw-hDiVqStwqnTRt-vJyYLM8uxJaMwM1V8Sr0Zgw\""
        #expect(try Self.read("{\(Self.point),\"kid\":\"a\"}", "{\(other),\"kid\":\"a\"}").keys.count == 2)
        #expect(try Self.read("{\(other),\"kid\":\"a\"}", "{\(other),\"kid\":\"a\"}").keys.count == 1)
        #expect(try Self.read("{\(other),\"kid\":\"a\"}", "{\(another),\"kid\":\"b\"}").keys.count == 2)
        #expect(throws: KeySetError(.duplicateKeyID)) {
            try Self.read("{\(other),\"kid\":\"a\"}", "{\(another),\"kid\":\"a\"}")
        }
        // Without an identifier, only a key that is alone.
        #expect(try Self.read("{\(Self.point)}", "{\(other)}").keys.count == 2)
        let mixed = try Self.read("{\(other)}", "{\(another),\"kid\":\"b\"}")
        #expect(mixed.keys.map(\.id) == [KeyID("b")] && mixed.skipped.map(\.index) == [0])
        #expect(throws: KeySetError(.noUsableKey)) { try Self.read("{\(other)}", "{\(another)}") }
    }

    @Test(arguments: [
        ("", KeySetError.Code.malformed), ("{}", .malformed), ("[]", .malformed), ("{\"keys\":{}}", .malformed),
        ("{\"keys\":[]}", .noUsableKey), ("{\"keys\":[],\"keys\":[]}", .malformed), ("{\"keys\":[]} x", .malformed),
        ("\u{80}", .malformed), (String(repeating: " ", count: 65_537), .tooLarge),
    ])
    func `are read strictly`(text: String, code: KeySetError.Code) {
        #expect(throws: KeySetError(code)) {
            try KeySetReading([UInt8](text.utf8), source: .published, binding: Example.binding)
        }
    }

    @Test func `have at most 32 keys`() throws {
        func read(_ count: Int) throws(KeySetError) -> Int {
            let keys = (0..<count).map { "{\(Self.point),\"kid\":\"\($0)\"}" }.joined(separator: ",")
            let text = [UInt8]("{\"keys\":[\(keys)]}".utf8)
            return try KeySetReading(text, source: .published, binding: Example.binding).keys.count
        }
        #expect(try read(32) == 32)
        #expect(throws: KeySetError(.tooManyKeys)) { try read(33) }
    }

    @Test(arguments: ["81a0", "81a10102", "8101", "82a1", "81a201020102", "9fff", "81bf0102ff", "8180", "81a10105"])
    func `of COSE are read strictly`(hex: String) {
        #expect(throws: KeySetError.self) {
            try KeySetReading([UInt8](hex: hex), source: .published, binding: Example.binding)
        }
        for count in Example.coseKeySet.indices {
            #expect(throws: KeySetError.self) {
                try KeySetReading(
                    coseKeySet: Array(Example.coseKeySet.prefix(count)),
                    source: .published,
                    binding: Example.binding
                )
            }
        }
    }

    @Test(arguments: KeyAlgorithm.allCases)
    func `give back the keys that were published`(algorithm: KeyAlgorithm) throws {
        let made = try TokenKey.generate(algorithm, id: KeyID("made"), binding: Example.binding)
        let set = try KeySet([made.key])
        guard !algorithm.isMAC else {
            #expect(set.publishedJWKSet == "{\"keys\":[]}")
            return
        }
        var sets = [[UInt8](set.publishedJWKSet.utf8)]
        if algorithm != .rs256 { sets.append(set.publishedCOSEKeySet) }
        for bytes in sets {
            let read = try KeySetReading(bytes, source: .published, binding: Example.binding)
            #expect(read.keys.map(\.algorithm) == [algorithm] && read.keys.map(\.id) == [KeyID("made")])
            let again = try KeySet(read.keys)
            #expect(
                again.publishedJWKSet == set.publishedJWKSet && again.publishedCOSEKeySet == set.publishedCOSEKeySet
            )
            guard algorithm != .rs256 else { continue }
            #expect(try again.payload(made.key.signCOSE([1, 2, 3])) == [1, 2, 3])
        }
    }

    @Test func `without a key that can be used tell why of each`() throws {
        let long = String(repeating: "k", count: 65)
        let error = try #require(
            #expect(throws: KeySetError.self) {
                try Self.read("{\(Self.point),\"kid\":\"\(long)\"}", "{\"kty\":\"XYZ\"}")
            }
        )
        #expect(error.code == .noUsableKey)
        #expect(error.reason.contains("key 1: its identifier has not 1 to 64 bytes"))
        #expect(error.reason.contains("key 2: its type XYZ is not supported"))
    }
}
