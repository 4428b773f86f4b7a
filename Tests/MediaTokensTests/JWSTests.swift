// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import MediaResources
import Platform
import Testing

@testable import MediaTokens

/// The keys of JWS media tokens that tests share.
struct JWSSigner: Sendable {
    let key: PrivateKey
    let issuer: JWSIssuer

    init(_ type: KeyType) throws {
        key = try PrivateKey(generating: type)
        issuer = try JWSIssuer(pem: key.pem())
    }

    static let p256 = Result { () throws(any Error) in try JWSSigner(.ellipticCurve(.p256)) }
    static let ed25519 = Result { () throws(any Error) in try JWSSigner(.ed25519) }

    func source(requestors: RequestorScope = .any) throws -> TrustSource {
        .pem(try key.publicKey.pem(), name: "jws", requestors: requestors, tokens: .jws)
    }

    func token(_ payload: String) throws -> String { try issuer.sign(payload: [UInt8](payload.utf8)).serialized }
}

@Suite struct `Media tokens in JWS form` {
    private static func verifier(
        _ sources: [TrustSource],
        cache: AuthenticatedTokenCache? = nil
    ) throws -> Verifier {
        Verifier(
            trust: try TrustStore(sources, at: Sample.time),
            policy: try VerificationPolicy(requestor: "REF30"),
            cache: cache
        )
    }

    private static func verify(_ token: String, at now: Timestamp = Sample.time) throws -> Verification {
        let sources = try [JWSSigner.p256.get().source(), JWSSigner.ed25519.get().source()]
        return try verifier(sources).verify(token, for: MediaResource("TNT"), at: now)
    }

    /// A payload with all fields, of which some are replaced (as JSON) or removed (`nil`).
    private static func payload(_ changes: [String: String?] = [:]) -> String {
        let fields: [(String, String)] = [
            ("sessionGUID", "\"guid-1\""), ("requestorID", "\"REF30\""), ("resourceID", "\"TNT\""), ("ttl", "420000"),
            ("issueTime", String(Sample.time.millisecondsSince1970)), ("mvpdId", "\"SandboxMVPD\""),
        ]
        let kept = fields.compactMap { name, value in
            (changes[name] ?? value).map { "\"\(name)\":\($0)" }
        }
        let added = changes.filter { change in !fields.contains { $0.0 == change.key } }
        return "{"
            + (kept + added.compactMap { name, value in value.map { "\"\(name)\":\($0)" } }).joined(separator: ",")
            + "}"
    }

    @Test(arguments: [JWSSigner.p256, JWSSigner.ed25519])
    private func `are valid by a key that is trusted for them`(signer: Result<JWSSigner, any Error>) throws {
        let signer = try signer.get()
        let token = try signer.issuer.issue(Sample.claims, at: Sample.time)
        let answer = try Self.verify(token.serialized)
        #expect(answer.isValid, "\(answer)")
        #expect(answer.token?.userSessionGUID == Sample.claims.userSessionGUID)
        #expect(answer.token?.mvpdID == Sample.claims.mvpdID)
        #expect(answer.token?.timeIssued == Sample.time)
        #expect(answer.token?.proxyMVPDID == nil)
        #expect(token.raw == token.serialized)
    }

    @Test func `are no tokens for a trust that does not name their key`() throws {
        let token = try JWSSigner.p256.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        #expect(try Sample.verify(token).reason == .invalidBase64)
        // Of another key of the same type.
        let other = try Self.verifier([JWSSigner(.ellipticCurve(.p256)).source()])
        #expect(try other.verify(token, for: MediaResource("TNT"), at: Sample.time).reason == .untrustedSignature)
        // Of a key of another type alone.
        let edwards = try Self.verifier([JWSSigner.ed25519.get().source()])
        #expect(try edwards.verify(token, for: MediaResource("TNT"), at: Sample.time).reason == .noUsableKey)
    }

    @Test func `stand beside signed elements, each with its own keys`() throws {
        let main = try TestSigner.main.get()
        let both = try Self.verifier([
            .pem(main.keys.signerCertificate, name: "main"), JWSSigner.p256.get().source(),
        ])
        let resource = try MediaResource("TNT")
        let element = try Sample.token().serialized
        let jws = try JWSSigner.p256.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        #expect(both.verify(element, for: resource, at: Sample.time).key == "main")
        #expect(both.verify(jws, for: resource, at: Sample.time).key == "jws")
        // A JWS has no further layer of Base64.
        let wrapped = Base64.encode([UInt8](jws.utf8))
        #expect(both.verify(wrapped, for: resource, at: Sample.time).reason == .invalidEnvelope)
    }

    @Test(
        arguments: [
            ("a missing field", ["mvpdId": nil], .missingField),
            ("a field that is null", ["sessionGUID": "null"], .missingField),
            ("an empty field", ["resourceID": "\" \""], .emptyField),
            ("a field that is a number", ["requestorID": "30"], .malformedBody),
            ("a text that XML cannot hold", ["mvpdId": "\"a\\u0000\""], .malformedBody),
            ("a life in a text", ["ttl": "\"420000\""], .invalidTTL),
            ("a life with a fraction", ["ttl": "1.5"], .invalidTTL),
            ("a life of zero", ["ttl": "0"], .ttlNotPositive),
            ("a life that is too long", ["ttl": "900001"], .ttlTooLong),
            ("an issue time in a text", ["issueTime": "\"2031-01-02T10:04:05Z\""], .invalidIssueTime),
            ("an issue time before 1970", ["issueTime": "-1"], .invalidIssueTime),
            ("an issue time after the year 9999", ["issueTime": "253402300800000"], .invalidIssueTime),
            ("another requestor", ["requestorID": "\"OTHER\""], .requestorMismatch),
            ("another resource", ["resourceID": "\"TBS\""], .resourceMismatch),
            ("exp, which is not evaluated", ["exp": "1"], .malformedBody),
            ("aud, which is not evaluated", ["aud": "\"x\""], .malformedBody),
            ("an empty proxied provider", ["proxyMvpdId": "\"\""], nil),
            ("a member of another name", ["iat": "1"], nil),
        ] as [(String, [String: String?], RefusalReason?)]
    )
    func `have the fields of other tokens`(name: String, changes: [String: String?], reason: RefusalReason?) throws {
        let token = try JWSSigner.p256.get().token(Self.payload(changes))
        #expect(try Self.verify(token).reason == reason, "\(name)")
    }

    @Test func `refuse two members of one name`() throws {
        let twice = Self.payload().dropLast() + ",\"ttl\":1}"
        #expect(try Self.verify(JWSSigner.p256.get().token(String(twice))).reason == .repeatedField)
        for text in ["[]", "{", "{\"a\":" + String(repeating: "[", count: 99)] {
            #expect(try Self.verify(JWSSigner.p256.get().token(text)).reason == .malformedBody)
        }
    }

    @Test(
        arguments: [
            (#"{"alg":"ES256","typ":"JWT"}"#, .unsupportedRoot), (#"{"alg":"ES256"}"#, .unsupportedRoot),
            (#"{"alg":"none","typ":"mediatoken+jwt"}"#, .noUsableKey), (#"{"typ":"mediatoken+jwt"}"#, .noUsableKey),
            (#"{"alg":"HS256","typ":"mediatoken+jwt"}"#, .noUsableKey),
            (#"{"alg":"EdDSA","typ":"mediatoken+jwt"}"#, .untrustedSignature),
            (#"{"alg":"ES256","typ":"mediatoken+jwt","crit":["x"]}"#, .invalidEnvelope),
            (#"{"alg":"ES256","alg":"ES256","typ":"mediatoken+jwt"}"#, .invalidEnvelope),
            (#"{"alg":"ES256","typ":"mediatoken+jwt","kid":"other","jwk":{}}"#, nil),
        ] as [(String, RefusalReason?)]
    )
    func `state type and algorithm in their headers`(header: String, reason: RefusalReason?) throws {
        let signer = try JWSSigner.p256.get()
        let maker = try #require(SignatureMaker(signer.key, scheme: .es256))
        let signed = [header, Self.payload()].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        let signature = try maker.sign(MessagePieces(signed.utf8.span))
        #expect(try Self.verify(signed + "." + Base64.encodeURLSafe(signature)).reason == reason)
    }

    @Test func `are refused after any change of a character`() throws {
        let token = Array(try JWSSigner.p256.get().issuer.issue(Sample.claims, at: Sample.time).serialized.utf8)
        for index in token.indices {
            for byte in [UInt8(ascii: "A"), UInt8(ascii: "z"), UInt8(ascii: "."), UInt8(ascii: "=")]
            where byte != token[index] {
                var changed = token
                changed[index] = byte
                let answer = try Self.verify(String(decoding: changed, as: UTF8.self))
                #expect(!answer.isValid, "byte \(index) changed to \(byte)")
            }
            let shorter = String(decoding: token[..<index], as: UTF8.self)
            #expect(try !Self.verify(shorter).isValid, "cut at \(index)")
        }
    }

    @Test func `come from the cache, with their time checked again`() throws {
        let cache = AuthenticatedTokenCache()
        let verifier = try Self.verifier([JWSSigner.ed25519.get().source()], cache: cache)
        let token = try JWSSigner.ed25519.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        let resource = try MediaResource("TNT")
        #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
        #expect(verifier.verify(token, for: resource, at: Sample.time).isValid)
        #expect(cache.statistics.hits == 1)
        let late = Sample.time.advanced(byMilliseconds: 420_001)
        #expect(verifier.verify(token, for: resource, at: late).reason == .expired)
    }

    @Test func `obey the scope of their key`() throws {
        let scoped = try Self.verifier([JWSSigner.p256.get().source(requestors: .only(["OTHER", "REF30"]))])
        let token = try JWSSigner.p256.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        #expect(scoped.verify(token, for: try MediaResource("TNT"), at: Sample.time).isValid)
        let other = try Self.verifier([JWSSigner.p256.get().source(requestors: .only(["OTHER"]))])
        #expect(other.verify(token, for: try MediaResource("TNT"), at: Sample.time).reason == .noUsableKey)
    }

    @Test func `need keys of P-256 or Ed25519, and others need not be named for them`() throws {
        let rsa = try TestSigner.main.get()
        let p256 = try JWSSigner.p256.get().key.publicKey.pem()
        let p384 = try PrivateKey(generating: .ellipticCurve(.p384))
        let sources: [TrustSource] = [
            .pem(rsa.keys.signerCertificate, name: "rsa", tokens: .jws), .pem(p256, name: "element"),
            .pem(try p384.publicKey.pem(), name: "p384", tokens: .jws),
        ]
        for source in sources {
            let error = #expect(throws: TrustError.self) { _ = try TrustStore([source], at: Sample.time) }
            #expect(error?.code == .unsupportedKey)
        }
        #expect(throws: TrustError.self) { _ = try JWSIssuer(pem: rsa.keys.signerKey) }
        #expect(throws: TrustError.self) { _ = try SigningKey(pem: JWSSigner.p256.get().key.pem()) }
    }

    @Test func `are read for inspection without a check`() throws {
        let token = try JWSSigner.p256.get().issuer.issue(Sample.claims, at: Sample.time).serialized
        let read = try UnverifiedToken(reading: token)
        #expect(read.root == "mediatoken+jwt")
        #expect(read.content.resourceID == "TNT")
        #expect(read.content == (try Self.verify(token)).token)
    }

    @Test(.enabled(if: OpenSSLCommand.isInstalled, "openssl is not installed: run scripts/setup test"))
    func `are accepted with a signature by the openssl command`() throws {
        let openssl = try OpenSSLCommand()
        try openssl("genpkey -algorithm ed25519 -out ed.key")
        try openssl("pkey -in ed.key -pubout -out ed.pem")
        let header = #"{"alg":"EdDSA","typ":"mediatoken+jwt","kid":"openssl"}"#
        let signed = [header, Self.payload()].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        try openssl.folder.write("signed", contents: signed)
        try openssl("pkeyutl -sign -rawin -inkey ed.key -in signed -out signature")
        let signature = try openssl.folder.file("signature").bytesOfFile(limit: 64)
        let verifier = try Self.verifier([.file(openssl.folder.file("ed.pem"), tokens: .jws)])
        let token = signed + "." + Base64.encodeURLSafe(signature)
        #expect(verifier.verify(token, for: try MediaResource("TNT"), at: Sample.time).key == "ed")
    }
}
