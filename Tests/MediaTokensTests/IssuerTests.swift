// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaResources
import Testing

@testable import MediaTokens

@Suite struct `The issuer` {
    private let fixture: Fixture

    init() throws { fixture = try Fixture.shared.get() }

    @Test func `writes the wire form byte for byte`() throws {
        let issuer = Issuer(key: try SigningKey(pem: fixture.keys.signerKey), offsetMinutes: -420)
        let claims = TokenClaims(
            requestorID: "REF30",
            resourceID: "A & B",
            mvpdID: "M",
            proxyMVPDID: "P",
            userSessionGUID: "g"
        )
        let token = try issuer.issue(claims, at: Fixture.now)
        let parts = token.raw.split(separator: "<signatureInfo>", omittingEmptySubsequences: false)
        #expect(parts.count == 3 && parts[0].isEmpty)
        #expect(parts[1].utf8.count == 344)
        #expect(
            parts[2] == """
                <authToken><sessionGUID>g</sessionGUID><requestorID>REF30</requestorID><resourceID>A &amp; B</resourceID>\
                <ttl>420000</ttl><issueTime>2031-01-02 03:04:05 -0700</issueTime><mvpdId>M</mvpdId>\
                <proxyMvpdId>P</proxyMvpdId></authToken>
                """
        )
        #expect(Data(base64Encoded: token.serialized) == Data(token.raw.utf8))
        #expect(try issuer.issue(claims, at: Fixture.now) == token, "one second, one token")
    }

    @Test(
        arguments: [
            ("<a/>", "<![CDATA[<a/>]]>"), ("<a>]]></a>", "<![CDATA[<a>]]]]>><![CDATA[</a>]]>"),
            ("<rss><![CDATA[x]]></rss>", "<![CDATA[<rss><![CDATA[x]]]]>><![CDATA[</rss>]]>"),
            ("<]]]>]]>", "<![CDATA[<]]]]]>><![CDATA[]]]]>><![CDATA[]]>"), ("a\r<", "a&#13;&lt;"), ("]]>", "]]&gt;"),
        ])
    func `wraps fragments in CDATA as real tokens do`(resource: String, text: String) throws {
        let token = try fixture.token { $0.resourceID = resource }
        #expect(token.raw.contains("<resourceID>\(text)</resourceID>"), "\(token.raw)")
        let said = try fixture.verifier().authenticate(token.serialized, at: Fixture.now).token?.resourceID
        #expect(said.map { Array($0.utf8) } == Array(resource.utf8))
    }

    @Test func `refuses what a verifier would refuse`() throws {
        for (change, error) in [
            ({ $0.requestorID = "" }, .emptyField("requestorID")),
            ({ $0.proxyMVPDID = " " }, .emptyField("proxyMvpdId")),
            ({ $0.resourceID = "\u{0}" }, .invalidCharacter("resourceID")),
            ({ $0.userSessionGUID = String(repeating: "x", count: 17_000) }, .tooLarge),
        ] as [((inout TokenClaims) -> Void, IssueError)] {
            #expect(throws: error) { try fixture.token(change) }
        }
    }

    @Test func `makes tokens that openssl verifies`() throws {
        let folder = try Folder()
        let key = try folder.write(
            "key.pem",
            try openssl("x509", "-pubkey", "-noout", "-in", folder.write("c.pem", fixture.keys.signerCertificate))
        )
        for resource in ["TNT", "<rss><channel><title>é &amp; <![CDATA[x]]></title></channel></rss>"] {
            let token = try UnverifiedToken(reading: fixture.token { $0.resourceID = resource }.serialized)
            let body = try folder.write("body", Data(token.signedBytes))
            let signature = try folder.write("signature", Data(token.signature))
            #expect(try openssl("dgst", "-sha256", "-verify", key, "-signature", signature, body) == "Verified OK\n")
        }
    }

    /// The token of the specification's recipe, without a line of this project's code.
    @Test func `is not needed where openssl alone makes tokens`() throws {
        let folder = try Folder()
        let key = folder.path + "/key.pem"
        _ = try openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", key)
        let publicKey = try openssl("pkey", "-in", key, "-pubout")
        let trust = try TrustStore([.pem(publicKey, name: "k")], at: Fixture.now)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        let body = try folder.write("body", Body().text)
        _ = try openssl("dgst", "-sha256", "-sign", key, "-out", folder.path + "/signature", body)
        let signature = try openssl("base64", "-A", "-in", folder.path + "/signature")
        let raw = "<signatureInfo>\(signature)<signatureInfo>\(Body().text)"
        let serialized = try openssl(["base64", "-A"], input: Data(raw.utf8))
        for token in [raw, serialized] {
            let answer = verifier.verify(token, for: try MediaResource("TNT"), at: Fixture.now)
            #expect(answer.isValid && answer.token?.mvpdID == "M")
        }
    }
}

@Suite struct `Signing keys` {
    @Test func `are read from PEM, and only where they are fit`() throws {
        let fixture = try Fixture.shared.get()
        let folder = try Folder()
        let key = try folder.write("key.pem", fixture.keys.signerKey)
        let old = try openssl("rsa", "-in", key, "-traditional")
        let body = Array("x".utf8)
        #expect(try SigningKey(pem: old).sign(body) == SigningKey(file: key).sign(body))
        let encrypted = try openssl("rsa", "-in", key, "-traditional", "-aes128", "-passout", "pass:secret")
        let encrypted8 = try openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:secret")
        let curve = try openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256")
        let tiny = try openssl("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:512")
        for (text, code) in [
            (encrypted, .unsupportedKey), (encrypted8, .unsupportedKey), (curve, .unsupportedKey), (tiny, .keyTooSmall),
            (fixture.keys.signerCertificate, .noKey), ("", .noKey),
            ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", .malformedPEM),
        ] as [(String, TrustError.Code)] {
            let error = #expect(throws: TrustError.self) { try SigningKey(pem: text) }
            #expect(error?.code == code, "\(String(describing: error))")
        }
        #expect(throws: TrustError(.fileUnreadable, "", "")) { try SigningKey(file: "/nowhere") }
    }

    @Test func `never print`() throws {
        let key = try SigningKey(pem: Fixture.shared.get().keys.signerKey)
        var dumped = ""
        dump(key, to: &dumped)
        for text in ["\(key)", String(reflecting: key), dumped] {
            #expect(text.contains("<private key>") && !text.contains("0x") && text.count < 60, "\(text)")
        }
    }

    @Test func `and certificates for development pass the checks of openssl`() throws {
        let fixture = try Fixture.shared.get()
        let folder = try Folder()
        let authority = try folder.write("ca.pem", fixture.keys.authorityCertificate)
        let signer = try folder.write("signer.pem", fixture.keys.signerCertificate)
        let time = String(Fixture.now.millisecondsSince1970 / 1000)
        let verified = try openssl("verify", "-x509_strict", "-attime", time, "-CAfile", authority, signer)
        #expect(verified.hasSuffix("OK\n"))
        #expect(throws: TrustError(.keyTooSmall, "", "")) { try DevelopmentKeys(bits: 1023, at: Fixture.now) }
        #expect(throws: TrustError(.keyTooLarge, "", "")) { try DevelopmentKeys(bits: 8193, at: Fixture.now) }
    }
}
