// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

@Suite(.enabled(if: OpenSSLCommand.isInstalled, "openssl is not installed: run scripts/setup test"))
struct `Interoperability with the openssl command` {
    @Test(arguments: [2048, 3072], TokenBody.roots)
    func `verifies tokens that only it minted`(bits: Int, root: String) throws {
        let openssl = try OpenSSLCommand()
        try openssl("genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:\(bits) -out key.pem")
        try openssl("pkey -in key.pem -pubout -out public.pem")
        let body = TokenBody.plain.rooted(root)
        try openssl.folder.write("body", contents: body.bytes)
        try openssl("dgst -sha256 -sign key.pem -out signature body")
        try openssl("base64 -A -in signature -out signature.txt")
        let raw = "<signatureInfo>\(try openssl.folder.text("signature.txt"))<signatureInfo>\(body.text)"
        try openssl.folder.write("token", contents: raw)
        try openssl("base64 -A -in token -out token.txt")
        let trust = try TrustStore(files: ["\(openssl.folder.path)/public.pem"], at: Sample.time)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        for token in [raw, try openssl.folder.text("token.txt")] {
            let answer = verifier.verify(token, for: try MediaResource("TNT"), at: Sample.time)
            #expect(answer.isValid)
            #expect(answer.key == "public")
            #expect(answer.token?.timeIssued == Sample.time)
        }
    }

    @Test(arguments: ["TNT", "<rss><title><![CDATA[Law & Order]]></title></rss>", "Ünïcode & more"])
    func `mints tokens that it verifies`(resource: String) throws {
        let openssl = try OpenSSLCommand()
        let signer = try TestSigner.main.get()
        var claims = Sample.claims
        claims.resourceID = resource
        let issued = try signer.issuer.issue(claims, at: Sample.time)
        for text in [issued.raw, issued.serialized] {
            let token = try UnverifiedToken(reading: text)
            try openssl.folder.write("body", contents: token.signedBytes)
            try openssl.folder.write("signature", contents: token.signature)
            try openssl.folder.write("signer.pem", contents: signer.keys.signerCertificate)
            try openssl("x509 -in signer.pem -pubkey -noout -out public.pem")
            let verdict = try openssl("dgst -sha256 -verify public.pem -signature signature body")
            #expect(verdict.contains("Verified OK"))
            #expect(token.content.resourceID == resource)
        }
        try openssl.folder.write("body", contents: TokenBody.plain.bytes)
        #expect(throws: OpenSSLCommand.Failure.self) {
            try openssl("dgst -sha256 -verify public.pem -signature signature body")
        }
    }

    @Test(arguments: ["-sha1", "-sha384", "-sha256 -sigopt rsa_padding_mode:pss"])
    func `refuses signatures of another kind`(kind: String) throws {
        let openssl = try OpenSSLCommand()
        let signer = try TestSigner.main.get()
        try openssl.folder.write("key.pem", contents: signer.keys.signerKey)
        try openssl.folder.write("body", contents: TokenBody.plain.bytes)
        try openssl("dgst \(kind) -sign key.pem -out signature body")
        let signature = Base64.encode(try openssl.folder.bytes("signature"))
        let token = "<signatureInfo>\(signature)<signatureInfo>\(TokenBody.plain.text)"
        #expect(try Sample.verify(token).reason == .untrustedSignature)
    }

    @Test func `makes keys that it accepts`() throws {
        let openssl = try OpenSSLCommand()
        let keys = try TestSigner.main.get().keys
        try openssl.folder.write("ca.pem", contents: keys.authorityCertificate)
        try openssl.folder.write("signer.pem", contents: keys.signerCertificate)
        try openssl.folder.write("signer.key", contents: keys.signerKey)
        let seconds = Sample.time.millisecondsSince1970 / 1000
        let verdict = try openssl("verify -x509_strict -attime \(seconds) -CAfile ca.pem signer.pem")
        #expect(verdict.contains("signer.pem: OK"))
        #expect(try openssl("pkey -in signer.key -check -noout").contains("Key is valid"))
    }

    @Test func `reads keys in the older form`() throws {
        let openssl = try OpenSSLCommand()
        try openssl.folder.write("key.pem", contents: try TestSigner.main.get().keys.signerKey)
        try openssl("rsa -in key.pem -traditional -out old.pem")
        try openssl("rsa -in key.pem -RSAPublicKey_out -out old-public.pem")
        #expect(try openssl.folder.text("old.pem").contains("BEGIN RSA PRIVATE KEY"))
        let issuer = Issuer(key: try SigningKey(file: "\(openssl.folder.path)/old.pem"))
        let trust = try TrustStore(files: ["\(openssl.folder.path)/old-public.pem"], at: Sample.time)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        let token = try issuer.issue(Sample.claims, at: Sample.time)
        #expect(token == (try Sample.token()))
        #expect(verifier.verify(token.raw, for: try MediaResource("TNT"), at: Sample.time).key == "old-public")
    }
}
