// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Keys
import Testing

@testable import EdgeTokens
@testable import URISigning

/// Every claim of signed URIs with pass and fail.
@Suite struct `Claims of signed URIs` {
    private struct Row {
        let name: String
        /// The value in JSON; `nil` for a token without the claim.
        let value: String?
        let code: GrantCode?

        init(_ name: String, value: String?, code: GrantCode?) {
            (self.name, self.value, self.code) = (name, value, code)
        }
    }

    private static let rows: [Row] = [
        Row("iss", value: #""playgate""#, code: nil), Row("iss", value: #""other""#, code: .issuerRefused),
        Row("iss", value: nil, code: .issuerRefused),
        Row("iss", value: "1", code: .malformed), Row("iss", value: "null", code: .malformed),
        Row("iss", value: #"["playgate"]"#, code: .malformed),
        Row("aud", value: #""edge-1""#, code: nil), Row("aud", value: #"["x","edge-1"]"#, code: nil),
        Row("aud", value: #""edge""#, code: .audienceMismatch),
        Row("aud", value: "[]", code: .audienceMismatch), Row("aud", value: "[1]", code: .malformed),
        Row("aud", value: "{}", code: .malformed),
        Row("exp", value: "1925000121", code: .expired), Row("exp", value: "1925000122", code: nil),
        Row("exp", value: "1925000121.001", code: nil),
        Row("exp", value: "1925000121.0", code: .expired), Row("exp", value: "1.925000420e9", code: nil),
        Row("exp", value: #""1925000420""#, code: .malformed),
        Row("exp", value: nil, code: .malformed), Row("exp", value: "-1", code: .malformed),
        Row("exp", value: "1e99", code: .malformed),
        Row("exp", value: "9007199254740993", code: .malformed), Row("exp", value: "true", code: .malformed),
        Row("exp", value: "null", code: .malformed),
        Row("exp", value: "[1925000420]", code: .malformed), Row("exp", value: "0", code: .expired),
        Row("nbf", value: "1925000121", code: nil), Row("nbf", value: "1925000122", code: .notYetValid),
        Row("nbf", value: "1925000121.0", code: nil),
        Row("nbf", value: "1925000121.5", code: .notYetValid), Row("nbf", value: #""0""#, code: .malformed),
        Row("nbf", value: "-5", code: .malformed),
        Row("iat", value: "1", code: nil), Row("iat", value: "2925000121", code: nil),
        Row("iat", value: #""x""#, code: .malformed),
        Row("cdniv", value: "1", code: nil), Row("cdniv", value: "2", code: .versionUnsupported),
        Row("cdniv", value: "0", code: .versionUnsupported),
        Row("cdniv", value: #""1""#, code: .malformed), Row("cdniv", value: "1.0", code: .malformed),
        Row("cdnicrit", value: #""cdniuc""#, code: .claimUnsupported),
        Row("cdnicrit", value: #""""#, code: .claimUnsupported),
        Row("cdnicrit", value: #""x""#, code: .claimUnsupported),
        Row("cdnicrit", value: #""pge""#, code: .claimUnsupported),
        Row("cdnicrit", value: #"["pge"]"#, code: .malformed),
        Row("cdniuc", value: nil, code: .uriMismatch), Row("cdniuc", value: #""""#, code: .uriMismatch),
        Row("cdniuc", value: "1", code: .malformed),
        Row("cdniuc", value: #""Regex:^https://.*$""#, code: .uriMismatch),
        Row("cdniuc", value: #""regex:""#, code: .claimUnsupported),
        Row("cdniuc", value: #""regex:https://cdn.example/live""#, code: .uriMismatch),
        Row("cdniuc", value: #""regex:https?://[a-z.]+/live/.*""#, code: nil),
        Row("cdniuc", value: #""regex:(a|https://.*)""#, code: nil),
        Row("cdniuc", value: #""regex:^https://cdn\\.example/live/tnt/seg1\\.m4s$""#, code: nil),
        Row("cdniuc", value: #""regex:^https://cdn\\.example/live/tnt/seg1\\.m4$""#, code: .uriMismatch),
        Row("cdniuc", value: #""regex:a)|(https://.*""#, code: .claimUnsupported),
        Row("cdniuc", value: #""regex:(?:https).*""#, code: .claimUnsupported),
        Row("cdniuc", value: #""regex:.*\\d.*""#, code: .claimUnsupported),
        Row("cdniuc", value: #""regex:(a{255}){255}""#, code: .tooLarge),
        Row("cdniuc", value: #""hash:sha-256;GAgXqbO0-QXfKwYxtLDnSShATaRkGvVDg2xKCCb9EQ8""#, code: .uriMismatch),
        Row("cdniuc", value: #""hash:sha-256-128;nUaz9VLWrOJcMK_osP4n5w""#, code: .uriMismatch),
        Row("cdniuc", value: #""hash:sha-256;nUaz""#, code: .uriMismatch),
        Row("cdniuc", value: #""hash:md5;nUaz""#, code: .uriMismatch),
        Row("cdniuc", value: #""hash:""#, code: .uriMismatch),
        Row("cdniets", value: "300", code: .renewalInvalid), Row("cdnistt", value: "1", code: .renewalInvalid),
        Row("cdnistt", value: "3", code: .renewalInvalid),
        Row("cdnistt", value: #""1""#, code: .malformed), Row("cdnistt", value: "1.0", code: .malformed),
        Row("cdniets", value: #""300""#, code: .malformed),
        Row("cdnistd", value: "0", code: nil), Row("cdnistd", value: "-1", code: .malformed),
        Row("cdnistd", value: "0.5", code: .malformed),
        Row("sub", value: #""viewer""#, code: .subjectInvalid),
        Row("sub", value: #""a.b.c.d.e""#, code: .subjectInvalid),
        Row("sub", value: "7", code: .malformed),
        Row("cdniip", value: #""203.0.113.9""#, code: .addressMismatch), Row("cdniip", value: "1", code: .malformed),
        Row("jti", value: #""a""#, code: nil), Row("jti", value: "1", code: .malformed),
        Row("unknown", value: #"{"a":[1,{"b":null}]}"#, code: nil),
        Row("unknown", value: #"{"a":1,"a":2}"#, code: .malformed),
        Row("pge", value: #""x""#, code: .malformed), Row("pgs", value: #""short""#, code: .malformed),
        Row("pgr", value: #""AAAA""#, code: .malformed),
    ]

    @Test func `pass and fail as the table says, and the claim is named`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        for row in Self.rows {
            let token = try SignedSample.token(claim: row.name, value: row.value)
            let refusal = verifier.check(token, for: facts, at: SignedSample.time(1)).refusal
            #expect(refusal?.code == row.code, "\(row.name) \(row.value ?? "absent")")
            guard let refusal, row.name != "unknown" else { continue }
            #expect(refusal.claimName == row.name, "\(row.name) \(row.value ?? "absent")")
            let explained = verifier.explain(token.utf8.span, for: facts, at: SignedSample.time(1))
            guard refusal.code != .malformed, row.value != nil else { continue }
            #expect(explained.claims.first { $0.name == row.name }?.outcome == .fail, "\(row.name) \(row.value ?? "")")
        }
    }

    @Test func `encrypted addresses hold or fail`() throws {
        var policy = SignedSample.policy
        policy.decryptionKeys = [try SignedSample.encryptionKey.get()]
        let verifier = try SignedSample.verifier(policy: policy)
        let rows: [(String, String?, GrantCode?)] = [
            ("203.0.113.9", "203.0.113.9", nil), ("203.0.113.9", "203.0.113.8", .addressMismatch),
            ("203.0.113.0/24", "203.0.113.77", nil), ("203.0.113.0/24", "203.0.114.1", .addressMismatch),
            ("203.0.113.9/24", "203.0.113.1", nil), ("2001:db8::/32", "2001:db8:1::1", nil),
            ("2001:db8::/32", "2001:db9::1", .addressMismatch), ("203.0.113.9", nil, .addressMismatch),
            ("0.0.0.0/0", "2001:db8::1", .addressMismatch), ("203.0.113.0/33", "203.0.113.1", .addressMismatch),
            ("203.0.113.0/", "203.0.113.1", .addressMismatch), ("", "203.0.113.1", .addressMismatch),
            ("203.0.113.0/+8", "203.0.113.1", .addressMismatch), ("::ffff:203.0.113.9", "203.0.113.9", nil),
        ]
        for (text, client, code) in rows {
            let token = try SignedSample.token(claim: "cdniip", value: SignedSample.encrypted(text))
            let facts = try SignedSample.facts(client: client)
            let refusal = verifier.check(token, for: facts, at: SignedSample.time(1)).refusal
            #expect(refusal?.code == code, "\(text) for \(client ?? "nobody")")
            #expect(refusal == nil || refusal?.claimName == "cdniip")
        }
        // Without the key, and with another.
        let token = try SignedSample.token(claim: "cdniip", value: SignedSample.encrypted("203.0.113.9"))
        let facts = try SignedSample.facts(client: "203.0.113.9")
        #expect(
            try SignedSample.verifier().check(token, for: facts, at: SignedSample.time(1)).refusal?.code
                == .addressMismatch
        )
        policy.decryptionKeys = [try EncryptionKey(secret: [UInt8](0..<16), id: KeyID("enc-1"), algorithm: .a128kw)]
        let other = try SignedSample.verifier(policy: policy)
        #expect(other.check(token, for: facts, at: SignedSample.time(1)).refusal?.code == .addressMismatch)
    }

    @Test func `an encrypted subject passes, and only a key tells it`() throws {
        let token = try SignedSample.token(claim: "sub", value: SignedSample.encrypted("viewer 7"))
        let verifier = try SignedSample.verifier()
        #expect(verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(1)).isAllowed)
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: SignedSample.time(1)) else {
            Issue.record("not authentic")
            return
        }
        #expect(grant.subject([try SignedSample.encryptionKey.get()]) == [UInt8]("viewer 7".utf8))
        #expect(grant.subject([]) == nil)
    }

    @Test func `an identity is used once for each URI`() throws {
        let verifier = try SignedSample.verifier()
        let token = try SignedSample.token(claim: "jti", value: #""a""#)
        func use(for target: String, with token: String) throws -> GrantObligations.Use? {
            guard
                case .allowed(let obligations) = verifier.check(
                    token,
                    for: try SignedSample.facts(target),
                    at: SignedSample.time(1)
                )
            else { return nil }
            return obligations.use
        }
        let first = try #require(try use(for: "/live/tnt/a", with: token))
        #expect(first.until == SignedSample.time(300) && !first.isWatched)
        #expect(try use(for: "/live/%74nt/a", with: token) == first)
        #expect(try use(for: "/live/tnt/b", with: token)?.key != first.key)
        #expect(
            try use(for: "/live/tnt/a", with: try SignedSample.token(claim: "jti", value: #""b""#))?.key != first.key
        )
        #expect(try use(for: "/live/tnt/a", with: SignedSample.token) == nil)

        let without = try SignedSample.verifier(policy: URISigningPolicy())
        let refusal = without.check(token, for: try SignedSample.facts(), at: SignedSample.time(1)).refusal
        #expect(refusal == GrantRefusal(.replayed, detail: .member(.identifier)))
        var signer = AcceptedSigner("playgate")
        signer.requiresExpiration = false
        let endless = #"{"iss":"playgate","jti":"a","cdniuc":"regex:^https://.*$"}"#
        let lenient = try SignedSample.verifier(signer: signer)
        #expect(
            lenient.check(try SignedSample.token(endless), for: try SignedSample.facts(), at: SignedSample.time(1))
                .refusal?
                .code
                == .replayed
        )
    }

    @Test func `a profile may do without issuer, expiry and container`() throws {
        var signer = AcceptedSigner("playgate")
        (signer.isNameOptional, signer.requiresExpiration, signer.requiresContainer) = (true, false, false)
        let verifier = try SignedSample.verifier(signer: signer)
        let facts = try SignedSample.facts("/any")
        #expect(verifier.check(try SignedSample.token("{}"), for: facts, at: SignedSample.time(1)).isAllowed)
        #expect(
            verifier.check(try SignedSample.token(#"{"iss":"other"}"#), for: facts, at: SignedSample.time(1)).refusal?
                .code
                == .issuerRefused
        )
    }

    @Test(arguments: [
        (URIPatternMatch.whole, [true, false, false]), (.start, [true, true, false]), (.search, [true, true, true]),
    ])
    func `a pattern matches where the profile says`(match: URIPatternMatch, expected: [Bool]) throws {
        var signer = AcceptedSigner("playgate")
        signer.match = match
        let verifier = try SignedSample.verifier(signer: signer)
        let patterns = ["https://cdn.example/live/.*", "https://cdn.example/live", "live"]
        for (pattern, isAllowed) in zip(patterns, expected) {
            let token = try SignedSample.token(claim: "cdniuc", value: "\"regex:\(pattern)\"")
            let verdict = verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(1))
            #expect(verdict.isAllowed == isAllowed, "\(match) \(pattern)")
        }
    }

    @Test func `all three digests hold`() throws {
        let verifier = try SignedSample.verifier()
        for function in URISigningClaims.HashFunction.allCases {
            var claims = SignedSample.claims
            claims.container = .hash(try SignedSample.uri("/live/tnt/a.m3u8?b=1"), function)
            let token = try URISigningIssuer(key: SignedSample.key()).issue(claims).token
            #expect(
                verifier.check(token, for: try SignedSample.facts("/live/tnt/a.m3u8?b=1"), at: SignedSample.time(1))
                    .isAllowed
            )
            #expect(
                !verifier.check(token, for: try SignedSample.facts("/live/tnt/a.m3u8?b=2"), at: SignedSample.time(1))
                    .isAllowed
            )
        }
    }

    @Test func `the first failure in the fixed order is reported`() throws {
        let verifier = try SignedSample.verifier()
        // Each row mends the first fault of the one before.
        let faults: [(String, GrantCode)] = [
            (
                #""iss":"x","cdniv":2,"cdnicrit":"q","aud":"q","exp":1,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#,
                .issuerRefused
            ),
            (
                #""iss":"playgate","cdniv":2,"cdnicrit":"q","aud":"q","exp":1,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#,
                .versionUnsupported
            ),
            (
                #""iss":"playgate","cdnicrit":"q","aud":"q","exp":1,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#,
                .claimUnsupported
            ),
            (#""iss":"playgate","aud":"q","exp":1,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#, .audienceMismatch),
            (#""iss":"playgate","exp":1,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#, .expired),
            (#""iss":"playgate","exp":1925000420,"nbf":1925000420,"cdnistt":1,"cdniuc":"q","sub":"q""#, .notYetValid),
            (#""iss":"playgate","exp":1925000420,"cdnistt":1,"cdniuc":"q","cdniip":"q","sub":"q""#, .renewalInvalid),
            (#""iss":"playgate","exp":1925000420,"cdniuc":"q","cdniip":"q","sub":"q""#, .uriMismatch),
            (#""iss":"playgate","exp":1925000420,"cdniuc":"regex:^h.*$","cdniip":"q","sub":"q""#, .addressMismatch),
            (#""iss":"playgate","exp":1925000420,"cdniuc":"regex:^h.*$","sub":"q""#, .subjectInvalid),
        ]
        for (claims, code) in faults {
            let token = try SignedSample.token(claims.inBraces)
            let refusal = verifier.check(token, for: try SignedSample.facts(), at: SignedSample.time(1)).refusal
            #expect(refusal?.code == code, "\(claims)")
        }
    }
}
