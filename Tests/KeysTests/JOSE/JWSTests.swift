// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Keys
import Platform
import Testing

@Suite struct `JSON Web Signatures` {
    private static let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
    private static let now = Timestamp(secondsSince1970: 1_925_000_200)
    private static let made = Result {
        try KeyAlgorithm.allCases.map { try TokenKey.generate($0, id: KeyID("k"), binding: binding).key }
    }

    private static func verify(_ token: String, by keys: [TokenKey], header: String? = nil) throws -> JWSVerification {
        let set = try KeySet(keys)
        guard let header else { return set.verify(jws: token.utf8.span, at: now) }
        return set.verify(jws: token.utf8.span, header: header.utf8.span, at: now)
    }

    private static func refusal(of token: String, by keys: [TokenKey]) throws -> JOSERefusal? {
        if case .refused(let refusal) = try verify(token, by: keys) { refusal } else { nil }
    }

    /// Returns a token with a header of any kind and a good code of the secret.
    private static func token(_ header: String, payload: String = "{}") throws -> String {
        let encoded = Base64.encodeURLSafe([UInt8](header.utf8))
        let body = Base64.encodeURLSafe([UInt8](payload.utf8))
        let text = "\(encoded).\(body)"
        let code = try HMACKey([UInt8](0...31), function: .sha256).code(of: MessagePieces(text.utf8.span))
        return "\(text).\(Base64.encodeURLSafe(try #require(code)))"
    }

    private static func key(id: String? = "k", binding: KeyBinding = binding) throws -> TokenKey {
        try TokenKey(secret: [UInt8](0...31), id: id.flatMap { KeyID($0) }, binding: binding)
    }

    @Test func `only the key that signed verifies, for all algorithms`() throws {
        let keys = try Self.made.get()
        for signer in keys {
            let token = try signer.signJWS([UInt8](#"{"a":1}"#.utf8))
            for key in keys {
                switch try Self.verify(token, by: [key]) {
                case .verified(let found, let payload):
                    #expect(found === signer && key === signer && payload == [UInt8](#"{"a":1}"#.utf8))
                case .refused(let refusal):
                    #expect(key !== signer && refusal == .algorithmRefused, "\(signer) by \(key)")
                }
            }
            let twin = try TokenKey.generate(signer.algorithm, id: KeyID("k"), binding: Self.binding).key
            #expect(try Self.refusal(of: token, by: [twin]) == .signatureInvalid)
        }
    }

    @Test func `a header selects a key, and nothing else`() throws {
        let key = try Self.key()
        let jwk = #""jwk":{"kty":"oct","k":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8"}"#
        let rows: [(String, JOSERefusal?)] = [
            (#"{"alg":"HS256","kid":"k"}"#, nil), (#"{"kid":"k","typ":"JWT","alg":"HS256"}"#, nil),
            (#"{"alg":"HS256"}"#, nil), (#"{"\u0061lg":"HS256","kid":"k"}"#, nil),
            (#"{"alg":"HS256","kid":"k",\#(jwk),"jku":"https://evil.example/","x5u":1,"x5c":[]}"#, nil),
            (#"{"alg":"HS256","kid":"other",\#(jwk)}"#, .keyUnknown), (#"{"alg":"HS256","kid":""}"#, .keyUnknown),
            (#"{"alg":"HS256","kid":"\#(String(repeating: "k", count: 65))"}"#, .keyUnknown),
            (#"{"alg":"none","kid":"k"}"#, .algorithmRefused), (#"{"alg":"None","kid":"k"}"#, .algorithmRefused),
            (#"{"alg":"hs256","kid":"k"}"#, .algorithmRefused), (#"{"alg":"HS384","kid":"k"}"#, .algorithmRefused),
            (#"{"alg":"ES256","kid":"k"}"#, .algorithmRefused), (#"{"alg":"","kid":"k"}"#, .algorithmRefused),
            (#"{"alg":"A128KW","enc":"A128GCM","kid":"k"}"#, .algorithmRefused),
            (#"{"kid":"k"}"#, .malformed), (#"{"alg":1,"kid":"k"}"#, .malformed),
            (#"{"alg":"HS256","kid":1}"#, .malformed),
            (#"{"alg":"HS256","kid":"k","typ":1}"#, .malformed), (#"{"alg":"HS256","alg":"HS256"}"#, .malformed),
            (#"{"alg":"HS256","\u0061lg":"HS256"}"#, .malformed), ("[]", .malformed), ("", .malformed),
            ("{", .malformed),
            (#"{"alg":"HS256","kid":"k"} x"#, .malformed),
            (#"{"alg":"HS256","kid":"k","crit":["exp"],"exp":1}"#, .claimUnsupported),
            (#"{"alg":"HS256","kid":"k","crit":[]}"#, .claimUnsupported),
            (#"{"alg":"HS256","kid":"k","b64":false}"#, .claimUnsupported),
            (#"{"alg":"HS256","kid":"k","b64":true,"crit":["b64"]}"#, .claimUnsupported),
        ]
        for (header, refusal) in rows {
            #expect(try Self.refusal(of: Self.token(header), by: [key]) == refusal, "\(header)")
        }
    }

    @Test func `without an identifier there must be no choice`() throws {
        let key = try Self.key()
        let other = try TokenKey(secret: [UInt8](1...32), id: KeyID("l"), binding: Self.binding)
        let long = try TokenKey(secret: [UInt8](0...63), id: KeyID("m"), algorithm: .hs512, binding: Self.binding)
        let token = try Self.token(#"{"alg":"HS256"}"#)
        #expect(try Self.refusal(of: token, by: [key, long]) == nil)
        #expect(try Self.refusal(of: token, by: [key, other]) == .keyUnknown)
        #expect(try Self.refusal(of: token, by: [long]) == .algorithmRefused)
        #expect(try Self.refusal(of: token, by: []) == .keyUnknown)
        // A key without an identifier is not one with it.
        #expect(try Self.refusal(of: Self.token(#"{"alg":"HS256","kid":"k"}"#), by: [Self.key(id: nil)]) == .keyUnknown)
    }

    @Test func `a key of another format, use or time is none`() throws {
        let token = try Self.key().signJWS([1])
        #expect(
            try Self.refusal(of: token, by: [Self.key(id: "k", binding: KeyBinding(issuer: "playgate", format: .cat))])
                == .keyUnknown
        )
        let past = Timestamp(secondsSince1970: 0)...Timestamp(secondsSince1970: 1)
        let old = try TokenKey(secret: [UInt8](0...31), id: KeyID("k"), binding: Self.binding, validity: past)
        #expect(try Self.refusal(of: token, by: [old]) == .keyUnknown)
    }

    @Test func `a header may be known from elsewhere`() throws {
        let key = try Self.key()
        let whole = try key.signJWS([UInt8]("{}".utf8))
        let bare = try key.signJWS([UInt8]("{}".utf8), form: JWSForm(omitsHeader: true))
        let header = try #require(key.jwsHeader)
        #expect(whole == "\(header).\(bare)")
        guard case .verified = try Self.verify(bare, by: [key], header: header),
            case .verified = try Self.verify(whole, by: [key], header: header)
        else {
            Issue.record("refused")
            return
        }
        #expect(try Self.refusal(of: bare, by: [key]) == .malformed)
        guard
            case .refused(.keyUnknown) = try Self.verify(
                bare,
                by: [key],
                header: Base64.encodeURLSafe([UInt8](#"{"alg":"HS256","kid":"x"}"#.utf8))
            )
        else {
            Issue.record("another header verifies")
            return
        }
    }

    @Test func `signatures of a wrong size are malformed`() throws {
        for key in try Self.made.get() {
            let token = try key.signJWS([UInt8]("{}".utf8))
            let cut = token.lastIndex(of: ".").map { token[...$0] } ?? ""
            #expect(try Self.refusal(of: String(cut), by: [key]) == .malformed)
            #expect(try Self.refusal(of: cut + "AAAA", by: [key]) == .malformed)
            let signature = try #require(Base64.decodeURLSafe(String(token[cut.endIndex...])))
            #expect(try Self.refusal(of: cut + Base64.encodeURLSafe(signature + [0]), by: [key]) == .malformed)
            #expect(
                try Self.refusal(of: cut + Base64.encodeURLSafe([signature[0] ^ 1] + signature.dropFirst()), by: [key])
                    == .signatureInvalid
            )
        }
    }

    @Test func `the bytes of a public key are no secret`() throws {
        let pair = try TokenKey.generate(.es256, id: KeyID("k"), binding: Self.binding).key
        let published = try KeySet([pair]).publishedJWKSet
        let secret = [UInt8](published.utf8)
        let forger = try TokenKey(secret: secret, id: KeyID("k"), binding: Self.binding)
        let forged = try forger.signJWS([UInt8]("{}".utf8))
        #expect(try Self.refusal(of: forged, by: [pair]) == .algorithmRefused)
    }
}
