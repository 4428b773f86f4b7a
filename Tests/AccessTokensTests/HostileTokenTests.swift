// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Testing

@testable import AccessTokens

/// The published attacks on JSON Web Tokens, each with the code of its refusal. The provider has a key for ES256.
@Suite struct `Hostile access tokens` {
    struct Attack {
        let name: String
        let token: String
        let refusal: AccessTokenRefusal
    }

    private static func encoded(_ text: String) -> String { Base64.encodeURLSafe([UInt8](text.utf8)) }

    /// Headers that the provider itself signs, or that nobody can: a wrong header is refused before its signature.
    private static let headers: [(String, AccessTokenRefusal)] = [
        // Algorithm confusion (RFC 8725 §2.1).
        (#"{"alg":"none","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"None","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"NONE","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"nOnE","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"none","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":" ES256","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"es256","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"ES256\u0000","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"HS256","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"HS384","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"HS512","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"RS256","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"RS512","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"PS256","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"ES384","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"ES512","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"ES256K","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"EdDSA","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"RSA-OAEP","enc":"A256GCM","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"alg":"dir","enc":"A256GCM","kid":"key-1","typ":"at+jwt"}"#, .algorithmRefused),
        (#"{"kid":"key-1","typ":"at+jwt"}"#, .malformed), (#"{"alg":null,"kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":256,"kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":true,"kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":["ES256"],"kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":{"ES256":1},"kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","alg":"none","kid":"key-1","typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","al\u0067":"none","kid":"key-1","typ":"at+jwt"}"#, .malformed),
        // Injection into the identifier of the key.
        (#"{"alg":"ES256","kid":"","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-2","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"KEY-1","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-1 ","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-1\u0000","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"../../../../dev/null","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"/proc/sys/kernel/randomize_va_space","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-1' OR '1'='1","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"x' UNION SELECT 'key';--","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-1|whoami","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"$(id)","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"https://evil.example/jwks.json","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"file:///etc/passwd","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":"key-1\r\nX: y","typ":"at+jwt"}"#, .keyUnknown),
        (#"{"alg":"ES256","kid":null,"typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","kid":1,"typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","kid":["key-1"],"typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","kid":{"$ne":""},"typ":"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","kid":"key-2","typ":"at+jwt"}"#, .malformed),
        // Tokens of another purpose (RFC 8725 §2.7, RFC 9068 §5).
        (#"{"alg":"ES256","kid":"key-1"}"#, .typeRefused), (#"{"alg":"ES256","kid":"key-1","typ":""}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"JWT"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"id+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"dpop+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"logout+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"secevent+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"token-introspection+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"mediatoken+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt "}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwtx"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"text/at+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":"\u0061t+jwt"}"#, .typeRefused),
        (#"{"alg":"ES256","kid":"key-1","typ":null}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":1}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":["at+jwt"]}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","typ":"JWT"}"#, .malformed),
        // Extensions (RFC 7515 §4.1.11, RFC 7797, RFC 7516 §4.1.3).
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","crit":["exp"],"exp":1}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","crit":[]}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","crit":null}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","crit":"b64"}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","b64":false,"crit":["b64"]}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","b64":false}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","b64":true}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","zip":"DEF"}"#, .headerUnsupported),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","cri\u0074":["x"]}"#, .headerUnsupported),
        // What is no strict JSON.
        ("", .malformed), ("null", .malformed), ("[]", .malformed), ("\"at+jwt\"", .malformed), ("{", .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt"}}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt",}"#, .malformed),
        (#"{'alg':'ES256','kid':'key-1','typ':'at+jwt'}"#, .malformed),
        (#"{alg:"ES256",kid:"key-1",typ:"at+jwt"}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt"}//"#, .malformed),
        ("\u{FEFF}{\"alg\":\"ES256\",\"kid\":\"key-1\",\"typ\":\"at+jwt\"}", .malformed),
        (
            #"{"alg":"ES256","kid":"key-1","typ":"at+jwt","x":\#(String(repeating: "[", count: 32))\#(String(repeating: "]", count: 32))}"#,
            .malformed
        ),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","x":NaN}"#, .malformed),
        (#"{"alg":"ES256","kid":"key-1","typ":"at+jwt","x":"\#(String(repeating: "x", count: 1024))"}"#, .tooLarge),
    ]

    /// Payloads that the provider signs.
    private static let payloads: [(String, AccessTokenRefusal)] = {
        let second = Provider.second
        func claims(_ changes: (String, String)...) -> String { Provider.claims(changes) }
        return [
            ("", .malformed), ("null", .malformed), ("[]", .malformed), ("{}", .issuerRefused), ("{", .malformed),
            ("\"\(claims())\"", .malformed), (claims() + "{}", .malformed), (claims() + "\u{0}", .malformed),
            ("\u{FEFF}" + claims(), .malformed), (claims().replacing("}", with: ",}"), .malformed),
            // Members twice: which one counts differs between readers.
            (claims(("exp", "\(second + 300),\"exp\":\(second + 99_999)")), .malformed),
            (claims(("iss", "\"\(Provider.issuer)\",\"iss\":\"https://evil.example\"")), .malformed),
            (claims(("aud", "\"playgate\",\"aud\":\"other\"")), .malformed),
            (claims(("aud", "\"playgate\",\"a\\u0075d\":\"other\"")), .malformed),
            (claims(("entitlements", "[],\"entitlements\":[\"TNT\"]")), .malformed),
            (claims(("entitlements", "{\"a\":1,\"a\":2}")), .malformed),
            (claims(("jti", "\"a\",\"jti\":\"b\"")), .malformed),
            // Huge and odd numbers.
            (claims(("exp", "1e400")), .malformed), (claims(("exp", "1E2")), .malformed),
            (claims(("exp", "9223372036854775807")), .malformed), (claims(("exp", "9223372036854775808")), .malformed),
            (claims(("exp", "\(second)000")), .malformed), (claims(("exp", "0")), .expired),
            (claims(("exp", "-0")), .expired), (claims(("exp", "\(second + 300)e0")), .malformed),
            (claims(("exp", "0x7fffffff")), .malformed), (claims(("exp", "Infinity")), .malformed),
            (claims(("exp", "+\(second + 300)")), .malformed), (claims(("exp", "0\(second + 300)")), .malformed),
            (claims(("exp", "\(second + 300).")), .malformed), (claims(("exp", "true")), .malformed),
            (claims(("exp", "[\(second + 300)]")), .malformed), (claims(("exp", "{}")), .malformed),
            (claims(("exp", "\"never\"")), .malformed), (claims(("exp", "")), .claimMissing),
            (claims(("exp", "null")), .claimMissing), (claims(("exp", "\(second - 3600)")), .expired),
            (claims(("exp", String(repeating: "9", count: 5000))), .malformed),
            (claims(("iat", "")), .claimMissing), (claims(("iat", "1e9")), .malformed),
            (claims(("iat", "\(second + 3600)")), .notYetValid), (claims(("iat", "0")), .tooOld),
            (claims(("iat", "\"\(second)\"")), .malformed), (claims(("nbf", "\(second + 3600)")), .notYetValid),
            (claims(("nbf", "[]")), .malformed), (claims(("nbf", "99999999999999")), .malformed),
            // Another issuer, another recipient.
            (claims(("iss", "")), .issuerRefused), (claims(("iss", "null")), .issuerRefused),
            (claims(("iss", "\"\"")), .issuerRefused), (claims(("iss", "\"https://evil.example\"")), .issuerRefused),
            (claims(("iss", "\"https://id.example/realms/tv?x\"")), .issuerRefused),
            (claims(("iss", "\"https://ID.example/realms/tv\"")), .issuerRefused),
            (claims(("iss", "\"http://id.example/realms/tv\"")), .issuerRefused),
            (claims(("iss", "\"https://id.example:443/realms/tv\"")), .issuerRefused),
            (claims(("iss", "\"https://id.example/realms/tv\\u0000\"")), .issuerRefused),
            (claims(("iss", "\" https://id.example/realms/tv\"")), .issuerRefused),
            (claims(("iss", "{\"a\":\"https://id.example/realms/tv\"}")), .malformed),
            (claims(("aud", "")), .audienceMismatch), (claims(("aud", "null")), .audienceMismatch),
            (claims(("aud", "\"\"")), .audienceMismatch), (claims(("aud", "\"*\"")), .audienceMismatch),
            (claims(("aud", "\"Playgate\"")), .audienceMismatch), (claims(("aud", "\"playgate2\"")), .audienceMismatch),
            (claims(("aud", "\"play\"")), .audienceMismatch),
            (claims(("aud", "\"account,playgate\"")), .audienceMismatch),
            (claims(("aud", "true")), .audienceMismatch), (claims(("aud", "[[\"playgate\"]]")), .audienceMismatch),
            (claims(("aud", "[{\"aud\":\"playgate\"}]")), .audienceMismatch),
            (claims(("aud", "{\"0\":\"playgate\"}")), .audienceMismatch),
            // Viewers that nobody could tell apart, or revoke.
            (claims(("sub", "")), .claimMissing), (claims(("sub", "\"\"")), .claimMissing),
            (claims(("sub", "null")), .claimMissing), (claims(("sub", "[]")), .malformed),
            (claims(("sub", "{}")), .malformed), (claims(("sub", "1.5")), .malformed),
            (claims(("sub", "true")), .malformed),
            (claims(("sub", "\"\(String(repeating: "x", count: 1025))\"")), .claimMissing),
            // What is not bought.
            (claims(("entitlements", "")), .resourceRefused), (claims(("entitlements", "null")), .resourceRefused),
            (claims(("entitlements", "\"*\"")), .resourceRefused),
            (claims(("entitlements", "[\"*\"]")), .resourceRefused),
            (claims(("entitlements", "\"\"")), .resourceRefused), (claims(("entitlements", "[]")), .resourceRefused),
            (claims(("entitlements", "\"TNT,TBS\"")), .resourceRefused),
            (claims(("entitlements", "\"TNT TBS\"")), .resourceRefused),
            (claims(("entitlements", "\"TN\"")), .resourceRefused),
            (claims(("entitlements", "\"TNTX\"")), .resourceRefused),
            (claims(("entitlements", "\"\u{0422}NT\"")), .resourceRefused),
            (claims(("entitlements", "{\"TNT\":true}")), .resourceRefused),
            (claims(("entitlements", "[[\"TNT\"]]")), .resourceRefused),
            (claims(("entitlements", "[\"<rss><channel><title>TNT</title></channel></rss>\"]")), .resourceRefused),
            // Bound tokens without their proof, and bound in ways that are not known.
            (claims(("cnf", "{\"jkt\":\"\(String(repeating: "A", count: 43))\"}")), .proofMissing),
            (claims(("cnf", "{\"x5t#S256\":\"\(String(repeating: "A", count: 43))\"}")), .proofMissing),
            (claims(("cnf", "{\"jwk\":{\"kty\":\"EC\"}}")), .confirmationUnsupported),
            (claims(("cnf", "{\"kid\":\"a\"}")), .confirmationUnsupported),
            (
                claims(("cnf", "{\"jkt\":\"\(String(repeating: "A", count: 43))\",\"osc\":{}}")),
                .confirmationUnsupported
            ),
            (claims(("cnf", "{}")), .confirmationUnsupported), (claims(("cnf", "[]")), .malformed),
            (claims(("cnf", "\"\"")), .malformed), (claims(("cnf", "{\"jkt\":\"\"}")), .malformed),
            (claims(("cnf", "{\"jkt\":null}")), .malformed), (claims(("cnf", "{\"jkt\":[\"A\"]}")), .malformed),
            // Too much of everything.
            (claims(("x", String(repeating: "[", count: 64) + String(repeating: "]", count: 64))), .malformed),
            (claims(("x", "[" + String(repeating: "1,", count: 2000) + "1]")), .malformed),
            ("{" + (0..<65).map { "\"m\($0)\":1" }.joined(separator: ",") + "}", .malformed),
            (claims(("x", "\"\(String(repeating: "x", count: 12_300))\"")), .tooLarge),
        ]
    }()

    /// Forms and signatures that anybody can make of a good token, and tokens by the key of an attacker.
    private static func forms(_ provider: Provider) throws -> [Attack] {
        let good = try provider.token()
        let parts = good.split(separator: ".").map(String.init)
        let (signed, signature) = ("\(parts[0]).\(parts[1])", parts[2])
        let bytes = try #require(Base64.decodeURLSafe(signature))
        func withSignature(_ bytes: [UInt8]) -> String { "\(signed).\(Base64.encodeURLSafe(bytes))" }
        var all: [(String, String, AccessTokenRefusal)] = [
            ("nothing", "", .malformed), ("a dot", ".", .malformed), ("two dots", "..", .malformed),
            ("no signature", signed, .malformed), ("an empty signature", signed + ".", .malformed),
            ("a fourth part", good + ".", .malformed), ("four parts", good + ".AAAA", .malformed),
            ("five parts", "\(good).AAAA.AAAA", .encrypted), ("six parts", "\(good).A.A.A", .malformed),
            ("a blank before", " " + good, .malformed), ("a line end behind", good + "\n", .malformed),
            ("the scheme before it", "Bearer " + good, .malformed), ("quotes around it", "\"\(good)\"", .malformed),
            ("padding", good + "=", .malformed),
            ("padding of the header", parts[0] + "=." + parts[1] + "." + signature, .malformed),
            ("standard Base64", signed + "." + signature.dropLast() + "+", .malformed),
            ("a slash", signed + "." + signature.dropLast() + "/", .malformed),
            ("an empty payload", "\(parts[0])..\(signature)", .signatureInvalid),
            ("an empty header", ".\(parts[1]).\(signature)", .malformed),
            ("header and payload exchanged", "\(parts[1]).\(parts[0]).\(signature)", .malformed),
            (
                "JSON serialization",
                "{\"payload\":\"\(parts[1])\",\"protected\":\"\(parts[0])\",\"signature\":\"\(signature)\"}", .malformed
            ),
            ("psychic signature", withSignature([UInt8](repeating: 0, count: 64)), .signatureInvalid),
            ("all ones", withSignature([UInt8](repeating: 255, count: 64)), .signatureInvalid),
            ("r without s", withSignature(bytes.prefix(32) + [UInt8](repeating: 0, count: 32)), .signatureInvalid),
            ("s without r", withSignature([UInt8](repeating: 0, count: 32) + bytes.suffix(32)), .signatureInvalid),
            ("r and s exchanged", withSignature(Array(bytes.suffix(32) + bytes.prefix(32))), .signatureInvalid),
            ("a byte too few", withSignature(bytes.dropLast()), .malformed),
            ("a byte too many", withSignature(bytes + [0]), .malformed),
            ("twice", withSignature(bytes + bytes), .malformed), ("one byte", withSignature([0]), .malformed),
            (
                "DER of it",
                withSignature([0x30, 0x44, 0x02, 0x20] + bytes.prefix(32) + [0x02, 0x20] + bytes.suffix(32)), .malformed
            ),
            ("a flipped bit", withSignature([bytes[0] ^ 1] + bytes.dropFirst()), .signatureInvalid),
            ("a signature of a kilobyte", withSignature([UInt8](repeating: 1, count: 1100)), .malformed),
            ("more than 16 KiB", good + String(repeating: "A", count: 16_384), .tooLarge),
            ("no text of a token", "opaque-token", .malformed), ("a media token", "PHNpZ25hdHVyZUluZm8+", .malformed),
            ("NUL", "\0", .malformed), ("no ASCII", "é.é.é", .malformed),
        ]
        let attacker = try Provider()
        let jwk = try #require(attacker.made.jwk?.line)
        for (name, member) in [
            ("jwk", "\"jwk\":\(jwk)"), ("jku", "\"jku\":\"https://evil.example/jwks.json\""),
            ("x5u", "\"x5u\":\"https://evil.example/cert.pem\""), ("x5c", "\"x5c\":[\"MIIB\"]"),
            ("jku of the issuer", "\"jku\":\"\(Provider.issuer)/jwks.json\""),
            ("jku with user information", "\"jku\":\"https://id.example@evil.example/\""),
        ] {
            let header = #"{"alg":"ES256","kid":"key-1","typ":"at+jwt",\#(member)}"#
            all.append((name, try attacker.token(header: header), .signatureInvalid))
            let without = #"{"alg":"ES256","typ":"at+jwt",\#(member)}"#
            all.append((name + " without kid", try attacker.token(header: without), .signatureInvalid))
        }
        all.append(("another key", try attacker.token(), .signatureInvalid))
        all.append(("nested", try provider.token(good), .malformed))
        all.append(
            (
                "nested and declared",
                try provider.token(good, header: #"{"alg":"ES256","kid":"key-1","typ":"at+jwt","cty":"JWT"}"#),
                .malformed
            )
        )
        // The public key as the secret of an authentication code (CVE-2015-9235).
        let der = try #require(provider.key.publicKeyInfo)
        let pem = "-----BEGIN PUBLIC KEY-----\n\(Base64.encode(der))\n-----END PUBLIC KEY-----\n"
        for (name, secret) in [
            ("DER", der), ("PEM", [UInt8](pem.utf8)), ("JWK", [UInt8](try #require(provider.made.jwk?.line).utf8)),
        ] {
            let key = try TokenKey(
                secret: secret,
                id: KeyID("key-1"),
                binding: KeyBinding(issuer: Provider.issuer, format: .uriSigning)
            )
            let header = encoded(#"{"alg":"HS256","kid":"key-1","typ":"at+jwt"}"#)
            let token = try key.signedJWS("\(header).\(encoded(Provider.claims([])))")
            all.append(("the public key's \(name) as a secret", token, .algorithmRefused))
        }
        return all.map { Attack(name: $0.0, token: $0.1, refusal: $0.2) }
    }

    @Test func `more than 200 of them: none is accepted, and each has its code`() throws {
        let provider = try Provider.shared.get()
        let verifier = try provider.verifier()
        #expect(try verifier.check(try provider.token()).token != nil)
        var attacks = try Self.forms(provider)
        for (header, refusal) in Self.headers {
            attacks.append(Attack(name: header, token: try provider.token(header: header), refusal: refusal))
        }
        for (payload, refusal) in Self.payloads {
            attacks.append(Attack(name: payload, token: try provider.token(payload), refusal: refusal))
        }
        for attack in attacks {
            let answer = try verifier.check(attack.token)
            #expect(answer.refusal == attack.refusal, "\(attack.name.prefix(200)): \(answer)")
        }
        #expect(attacks.count > 230, "\(attacks.count)")
    }

    @Test func `a secret is never a key, even if an issuer's set has one`() throws {
        let binding = KeyBinding(issuer: Provider.issuer, format: .accessToken)
        let secret = try TokenKey(secret: [UInt8](repeating: 7, count: 32), id: KeyID("key-1"), binding: binding)
        let verifier = try AccessTokenVerifier([try Provider.rules()], keys: [secret])
        #expect(verifier.keys.isEmpty)
        let header = Self.encoded(#"{"alg":"HS256","kid":"key-1","typ":"at+jwt"}"#)
        let token = try secret.signedJWS("\(header).\(Self.encoded(Provider.claims([])))")
        #expect(try verifier.check(token).refusal == .keyUnknown)
    }

    @Test func `random changes of a good token are refused or the same token`() throws {
        let provider = try Provider.shared.get()
        let verifier = try provider.verifier()
        let good = [UInt8](try provider.token().utf8)
        let fingerprint = try verifier.check(String(decoding: good, as: UTF8.self)).token?.fingerprint
        var random = SplitMix64(seed: 48)
        for _ in 0..<4000 {
            var changed = good
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                changed[Int.random(in: changed.indices, using: &random)] = UInt8.random(in: 0...127, using: &random)
            }
            guard let token = try verifier.check(String(decoding: changed, as: UTF8.self)).token else { continue }
            #expect(changed == good && token.fingerprint == fingerprint)
        }
    }
}
