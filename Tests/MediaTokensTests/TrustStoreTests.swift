// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `The trust store` {
    private let fixture: Fixture
    private let folder: Folder

    init() throws {
        fixture = try Fixture.shared.get()
        folder = try Folder()
    }

    @Test func `loads certificates and public keys from files, and names them`() throws {
        let bare = try SigningKey(pem: fixture.other.signerKey).key.publicPEM()
        let bundle = try folder.write(
            "bundle.pem",
            "Some text\n" + fixture.keys.signerCertificate + "\n# more\n" + bare
        )
        let store = try TrustStore([.file(bundle, requestors: .only(["REF30"]))], at: Fixture.now)
        #expect(store.keys.map(\.name) == ["bundle", "bundle#2"])
        #expect(store.keys.map(\.form) == [.certificate, .publicKey])
        #expect(store.keys.map(\.bits) == [2048, 2048])
        #expect(store.keys.allSatisfy { $0.source == bundle && $0.requestors == .only(["REF30"]) })
        #expect(store.keys[1].validity == nil)
        #expect(
            store.keys[0].isValid(at: Fixture.now) && !store.keys[0].isValid(at: Fixture.now.plus(400 * 86_400_000))
        )
        let verifier = Verifier(trust: store, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try Issuer(key: SigningKey(pem: fixture.other.signerKey)).issue(Fixture.claims, at: Fixture.now)
        let answer = verifier.verify(token.serialized, for: try MediaResource("TNT"), at: Fixture.now)
        #expect(answer.key == "bundle#2")
    }

    @Test func `takes PKCS 1 public keys`() throws {
        let key = try folder.write("k.key", fixture.keys.signerKey)
        let text = try openssl("rsa", "-in", key, "-RSAPublicKey_out")
        #expect(try TrustStore([.pem(text, name: "k")], at: Fixture.now).keys.map(\.bits) == [2048])
    }

    @Test func `refuses what cannot be trusted, and names the file`() throws {
        let small = fixture.small.signerCertificate
        let good = fixture.keys.signerCertificate
        let rows: [(String, String, TrustError.Code)] = [
            ("empty.pem", "", .noKey), ("text.pem", "hello", .noKey), ("small.pem", small, .keyTooSmall),
            ("private.pem", good + fixture.keys.signerKey, .privateKeyPresent),
            ("damaged.pem", good.replacing("M", with: "!"), .malformedPEM),
            ("cut.pem", String(good.prefix(200)), .malformedPEM),
            ("junk.pem", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", .malformedPEM),
            ("junkkey.pem", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", .malformedPEM),
            ("other.pem", "-----BEGIN DH PARAMETERS-----\nAAAA\n-----END DH PARAMETERS-----\n", .unsupportedKey),
            ("ec.pem", try publicKey("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"), .unsupportedKey),
            ("pss.pem", try publicKey("-algorithm", "RSA-PSS", "-pkeyopt", "rsa_keygen_bits:2048"), .unsupportedKey),
            ("three.pem", try publicKey("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_pubexp:3"), .weakExponent),
            ("short.pem", try publicKey("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_pubexp:65535"), .weakExponent),
            ("even.pem", Self.keyWithEvenExponent, .weakExponent),
        ]
        for (name, text, code) in rows {
            let file = try folder.write(name, text)
            let error = #expect(throws: TrustError.self, "\(name)") { try TrustStore(files: [file], at: Fixture.now) }
            #expect(error?.code == code, "\(name): \(String(describing: error))")
            #expect(error?.source == file)
            #expect(error?.description.contains("PRIVATE KEY") == false)
        }
        for path in [folder.path + "/none.pem", folder.path] {
            let error = #expect(throws: TrustError.self) { try TrustStore(files: [path], at: Fixture.now) }
            #expect(error?.code == .fileUnreadable && error?.source == path)
        }
        let big = try folder.write("big.pem", String(repeating: "x", count: (1 << 20) + 1))
        #expect(throws: TrustError(.fileUnreadable, "", "")) { try TrustStore(files: [big], at: Fixture.now) }
        #expect(throws: TrustError(.noKey, "", "")) { try TrustStore([], at: Fixture.now) }
        #expect(throws: TrustError(.emptyScope, "", "")) {
            try TrustStore([.pem(good, name: "k", requestors: .only([]))], at: Fixture.now)
        }
    }

    @Test func `takes certificates within their validity only`() throws {
        let source = TrustSource.pem(fixture.keys.signerCertificate, name: "k")
        let year: Int64 = 398 * 86_400_000
        for (offset, code) in [
            (-300_001, .notYetValid), (-300_000, nil), (year, nil), (year + 1000, .noLongerValid),
        ] as [(Int64, TrustError.Code?)] {
            let now = Fixture.now.plus(offset)
            do {
                _ = try TrustStore([source], at: now)
                #expect(code == nil)
            } catch { #expect(error.code == code) }
        }
        let limited = TrustSource.pem(
            fixture.keys.signerCertificate,
            name: "k",
            validity: Fixture.now...Fixture.now.plus(1000)
        )
        let store = try TrustStore([limited], at: Fixture.now)
        let verifier = Verifier(trust: store, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try fixture.token().serialized
        let resource = try MediaResource("TNT")
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(1000)).isValid)
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(1001)).reason == .noUsableKey)
    }

    @Test func `takes a renewed certificate for the same key`() throws {
        let sources = [
            TrustSource.pem(
                fixture.keys.signerCertificate,
                name: "old",
                validity: Fixture.now...Fixture.now.plus(1000)
            ),
            TrustSource.pem(fixture.keys.signerCertificate, name: "new"),
        ]
        let store = try TrustStore(sources, at: Fixture.now)
        #expect(store.keys.count == 2 && store.groups.count == 1)
        let verifier = Verifier(trust: store, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try fixture.token().serialized
        let resource = try MediaResource("TNT")
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(1000)).key == "old")
        #expect(verifier.verify(token, for: resource, at: Fixture.now.plus(1001)).key == "new")
    }

    @Test func `believes a key for its requestors only`() throws {
        let sources = [
            TrustSource.pem(fixture.keys.signerCertificate, name: "a", requestors: .only(["A"])),
            TrustSource.pem(fixture.other.signerCertificate, name: "b", requestors: .only(["B"])),
        ]
        let store = try TrustStore(sources, at: Fixture.now)
        let resource = try MediaResource("TNT")
        let issuers = [
            "a": fixture.issuer, "b": Issuer(key: try SigningKey(pem: fixture.other.signerKey)),
        ]
        for (requestors, signer, requestor, reason) in [
            (["A"], "a", "A", nil), (["A"], "b", "A", .untrustedSignature), (["B"], "b", "B", nil),
            (["A", "B"], "a", "B", .keyOutOfScope), (["A", "B"], "b", "A", .keyOutOfScope),
            (["A", "B"], "b", "B", nil),
            (["C"], "a", "C", .noUsableKey),
        ] as [([String], String, String, RefusalReason?)] {
            var claims = Fixture.claims
            claims.requestorID = requestor
            let token = try #require(issuers[signer]).issue(claims, at: Fixture.now).serialized
            let verifier = Verifier(trust: store, policy: try VerificationPolicy(requestors: requestors))
            #expect(verifier.verify(token, for: resource, at: Fixture.now).reason == reason)
        }
    }

    @Test func `finds the signer among eight keys, and takes no ninth`() throws {
        let made = try (0..<9).map { _ in try DevelopmentKeys(bits: 1024, at: Fixture.now) }
        let sources = made.enumerated().map { TrustSource.pem($1.signerCertificate, name: "k\($0)") }
        let error = #expect(throws: TrustError.self) {
            try TrustStore(sources, minimumKeySize: .legacy1024, at: Fixture.now)
        }
        #expect(error?.code == .tooManyKeys)
        let store = try TrustStore(Array(sources.prefix(8)), minimumKeySize: .legacy1024, at: Fixture.now)
        let resource = try MediaResource("TNT")
        let policy = try VerificationPolicy(requestors: ["REF30"], minimumKeySize: .legacy1024)
        let verifier = Verifier(trust: store, policy: policy)
        for (index, keys) in made.enumerated() {
            let token = try Issuer(key: SigningKey(pem: keys.signerKey)).issue(Fixture.claims, at: Fixture.now)
            let answer = verifier.verify(token.serialized, for: resource, at: Fixture.now)
            #expect(answer.key == (index < 8 ? "k\(index)" : nil))
        }
        let strict = Verifier(trust: store, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try Issuer(key: SigningKey(pem: made[0].signerKey)).issue(Fixture.claims, at: Fixture.now)
        #expect(strict.verify(token.serialized, for: resource, at: Fixture.now).reason == .noUsableKey)
    }

    @Test func `checks the chain where there are anchors`() throws {
        let keys = fixture.keys
        func load(_ text: String, _ anchor: String) throws -> TrustStore {
            try TrustStore([.pem(text, name: "k")], anchors: [.pem(anchor, name: "anchor")], at: Fixture.now)
        }
        #expect(try load(keys.signerCertificate, keys.authorityCertificate).keys.count == 1)
        let bundle = keys.authorityCertificate + keys.signerCertificate
        #expect(try load(bundle, keys.authorityCertificate).keys.map(\.name) == ["k"], "a CA is a link, not a key")
        #expect(try load(keys.signerCertificate, keys.signerCertificate).keys.count == 1, "an anchor by name")
        let bare = try SigningKey(pem: keys.signerKey).key.publicPEM()
        for (text, anchor, code) in [
            (keys.signerCertificate, fixture.other.authorityCertificate, .untrustedChain),
            (bare, keys.authorityCertificate, .untrustedChain),
            (keys.authorityCertificate, keys.authorityCertificate, .noKey),
            (keys.signerCertificate, bare, .unsupportedKey), (keys.signerCertificate, "", .noKey),
        ] as [(String, String, TrustError.Code)] {
            let error = #expect(throws: TrustError.self) { try load(text, anchor) }
            #expect(error?.code == code)
        }
    }

    /// A key as `openssl genpkey` makes it, its public half.
    private func publicKey(_ arguments: String...) throws -> String {
        let file = folder.path + "/" + UUID().uuidString
        _ = try openssl(["genpkey"] + arguments + ["-out", file])
        return try openssl("pkey", "-in", file, "-pubout")
    }

    /// A modulus of 2048 bits with the exponent 65536.
    private static var keyWithEvenExponent: String {
        let modulus = [UInt8](repeating: 0xC5, count: 256)
        let numbers = [0x02, 0x82, 0x01, 0x01, 0x00] + modulus + [0x02, 0x03, 0x01, 0x00, 0x00]
        let der = [0x30, 0x82, UInt8(numbers.count >> 8), UInt8(numbers.count & 0xFF)] + numbers
        return "-----BEGIN RSA PUBLIC KEY-----\n\(Base64.encode(der).wrapped)-----END RSA PUBLIC KEY-----\n"
    }
}

extension String {
    /// Lines of 64 characters.
    fileprivate var wrapped: String {
        stride(from: 0, to: count, by: 64).map { dropFirst($0).prefix(64) + "\n" }.joined()
    }
}
