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

        init(_ name: String, _ value: String?, _ code: GrantCode?) {
            (self.name, self.value, self.code) = (name, value, code)
        }
    }

    private static let rows: [Row] = [
        Row("iss", #""playgate""#, nil), Row("iss", #""other""#, .issuerRefused), Row("iss", nil, .issuerRefused),
        Row("iss", "1", .malformed), Row("iss", "null", .malformed), Row("iss", #"["playgate"]"#, .malformed),
        Row("aud", #""edge-1""#, nil), Row("aud", #"["x","edge-1"]"#, nil), Row("aud", #""edge""#, .audienceMismatch),
        Row("aud", "[]", .audienceMismatch), Row("aud", "[1]", .malformed), Row("aud", "{}", .malformed),
        Row("exp", "1925000121", .expired), Row("exp", "1925000122", nil), Row("exp", "1925000121.001", nil),
        Row("exp", "1925000121.0", .expired), Row("exp", "1.925000420e9", nil),
        Row("exp", #""1925000420""#, .malformed),
        Row("exp", nil, .malformed), Row("exp", "-1", .malformed), Row("exp", "1e99", .malformed),
        Row("exp", "9007199254740993", .malformed), Row("exp", "true", .malformed), Row("exp", "null", .malformed),
        Row("exp", "[1925000420]", .malformed), Row("exp", "0", .expired),
        Row("nbf", "1925000121", nil), Row("nbf", "1925000122", .notYetValid), Row("nbf", "1925000121.0", nil),
        Row("nbf", "1925000121.5", .notYetValid), Row("nbf", #""0""#, .malformed), Row("nbf", "-5", .malformed),
        Row("iat", "1", nil), Row("iat", "2925000121", nil), Row("iat", #""x""#, .malformed),
        Row("cdniv", "1", nil), Row("cdniv", "2", .versionUnsupported), Row("cdniv", "0", .versionUnsupported),
        Row("cdniv", #""1""#, .malformed), Row("cdniv", "1.0", .malformed),
        Row("cdnicrit", #""cdniuc""#, .claimUnsupported), Row("cdnicrit", #""""#, .claimUnsupported),
        Row("cdnicrit", #""x""#, .claimUnsupported), Row("cdnicrit", #""pge""#, .claimUnsupported),
        Row("cdnicrit", #"["pge"]"#, .malformed),
        Row("cdniuc", nil, .uriMismatch), Row("cdniuc", #""""#, .uriMismatch), Row("cdniuc", "1", .malformed),
        Row("cdniuc", #""Regex:^https://.*$""#, .uriMismatch), Row("cdniuc", #""regex:""#, .claimUnsupported),
        Row("cdniuc", #""regex:https://cdn.example/live""#, .uriMismatch),
        Row("cdniuc", #""regex:https?://[a-z.]+/live/.*""#, nil), Row("cdniuc", #""regex:(a|https://.*)""#, nil),
        Row("cdniuc", #""regex:^https://cdn\\.example/live/tnt/seg1\\.m4s$""#, nil),
        Row("cdniuc", #""regex:^https://cdn\\.example/live/tnt/seg1\\.m4$""#, .uriMismatch),
        Row("cdniuc", #""regex:a)|(https://.*""#, .claimUnsupported),
        Row("cdniuc", #""regex:(?:https).*""#, .claimUnsupported),
        Row("cdniuc", #""regex:.*\\d.*""#, .claimUnsupported),
        Row("cdniuc", #""regex:(a{255}){255}""#, .tooLarge),
        Row("cdniuc", #""hash:sha-256;GAgXqbO0-QXfKwYxtLDnSShATaRkGvVDg2xKCCb9EQ8""#, .uriMismatch),
        Row("cdniuc", #""hash:sha-256-128;nUaz9VLWrOJcMK_osP4n5w""#, .uriMismatch),
        Row("cdniuc", #""hash:sha-256;nUaz""#, .uriMismatch), Row("cdniuc", #""hash:md5;nUaz""#, .uriMismatch),
        Row("cdniuc", #""hash:""#, .uriMismatch),
        Row("cdniets", "300", .renewalInvalid), Row("cdnistt", "1", .renewalInvalid),
        Row("cdnistt", "3", .renewalInvalid),
        Row("cdnistt", #""1""#, .malformed), Row("cdnistt", "1.0", .malformed), Row("cdniets", #""300""#, .malformed),
        Row("cdnistd", "0", nil), Row("cdnistd", "-1", .malformed), Row("cdnistd", "0.5", .malformed),
        Row("sub", #""viewer""#, .subjectInvalid), Row("sub", #""a.b.c.d.e""#, .subjectInvalid),
        Row("sub", "7", .malformed),
        Row("cdniip", #""203.0.113.9""#, .addressMismatch), Row("cdniip", "1", .malformed),
        Row("jti", #""a""#, nil), Row("jti", "1", .malformed),
        Row("unknown", #"{"a":[1,{"b":null}]}"#, nil), Row("unknown", #"{"a":1,"a":2}"#, .malformed),
        Row("pge", #""x""#, .malformed), Row("pgs", #""short""#, .malformed), Row("pgr", #""AAAA""#, .malformed),
    ]

    @Test func `pass and fail as the table says, and the claim is named`() throws {
        let verifier = try SignedSample.verifier()
        let facts = try SignedSample.facts()
        for row in Self.rows {
            let token = try SignedSample.token(row.name, row.value)
            let refusal = verifier.check(token, facts, at: SignedSample.time(1)).refusal
            #expect(refusal?.code == row.code, "\(row.name) \(row.value ?? "absent")")
            guard let refusal, row.name != "unknown" else { continue }
            #expect(refusal.claimName == row.name, "\(row.name) \(row.value ?? "absent")")
            let explained = verifier.explain(token.utf8.span, facts, at: SignedSample.time(1))
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
            let token = try SignedSample.token("cdniip", SignedSample.encrypted(text))
            let facts = try SignedSample.facts(client: client)
            let refusal = verifier.check(token, facts, at: SignedSample.time(1)).refusal
            #expect(refusal?.code == code, "\(text) for \(client ?? "nobody")")
            #expect(refusal == nil || refusal?.claimName == "cdniip")
        }
        // Without the key, and with another.
        let token = try SignedSample.token("cdniip", SignedSample.encrypted("203.0.113.9"))
        let facts = try SignedSample.facts(client: "203.0.113.9")
        #expect(
            try SignedSample.verifier().check(token, facts, at: SignedSample.time(1)).refusal?.code == .addressMismatch
        )
        policy.decryptionKeys = [try EncryptionKey(secret: [UInt8](0..<16), id: KeyID("enc-1"), algorithm: .a128kw)]
        let other = try SignedSample.verifier(policy: policy)
        #expect(other.check(token, facts, at: SignedSample.time(1)).refusal?.code == .addressMismatch)
    }

    @Test func `an encrypted subject passes, and only a key tells it`() throws {
        let token = try SignedSample.token("sub", SignedSample.encrypted("viewer 7"))
        let verifier = try SignedSample.verifier()
        #expect(verifier.check(token, try SignedSample.facts(), at: SignedSample.time(1)).isAllowed)
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: SignedSample.time(1)) else {
            Issue.record("not authentic")
            return
        }
        #expect(grant.subject([try SignedSample.encryptionKey.get()]) == [UInt8]("viewer 7".utf8))
        #expect(grant.subject([]) == nil)
    }

    @Test func `an identity is used once for each URI`() throws {
        let verifier = try SignedSample.verifier()
        let token = try SignedSample.token("jti", #""a""#)
        func use(_ target: String, _ token: String) throws -> GrantObligations.Use? {
            guard
                case .allowed(let obligations) = verifier.check(
                    token,
                    try SignedSample.facts(target),
                    at: SignedSample.time(1)
                )
            else { return nil }
            return obligations.use
        }
        let first = try #require(try use("/live/tnt/a", token))
        #expect(first.until == SignedSample.time(300) && !first.isWatched)
        #expect(try use("/live/%74nt/a", token) == first)
        #expect(try use("/live/tnt/b", token)?.key != first.key)
        #expect(try use("/live/tnt/a", try SignedSample.token("jti", #""b""#))?.key != first.key)
        #expect(try use("/live/tnt/a", SignedSample.token) == nil)

        let without = try SignedSample.verifier(policy: URISigningPolicy())
        let refusal = without.check(token, try SignedSample.facts(), at: SignedSample.time(1)).refusal
        #expect(refusal == GrantRefusal(.replayed, .member(.identifier)))
        var signer = AcceptedSigner("playgate")
        signer.requiresExpiration = false
        let endless = #"{"iss":"playgate","jti":"a","cdniuc":"regex:^https://.*$"}"#
        let lenient = try SignedSample.verifier(signer: signer)
        #expect(
            lenient.check(try SignedSample.token(endless), try SignedSample.facts(), at: SignedSample.time(1)).refusal?
                .code
                == .replayed
        )
    }

    @Test func `a profile may do without issuer, expiry and container`() throws {
        var signer = AcceptedSigner("playgate")
        (signer.isNameOptional, signer.requiresExpiration, signer.requiresContainer) = (true, false, false)
        let verifier = try SignedSample.verifier(signer: signer)
        let facts = try SignedSample.facts("/any")
        #expect(verifier.check(try SignedSample.token("{}"), facts, at: SignedSample.time(1)).isAllowed)
        #expect(
            verifier.check(try SignedSample.token(#"{"iss":"other"}"#), facts, at: SignedSample.time(1)).refusal?.code
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
            let token = try SignedSample.token("cdniuc", "\"regex:\(pattern)\"")
            let verdict = verifier.check(token, try SignedSample.facts(), at: SignedSample.time(1))
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
                verifier.check(token, try SignedSample.facts("/live/tnt/a.m3u8?b=1"), at: SignedSample.time(1))
                    .isAllowed
            )
            #expect(
                !verifier.check(token, try SignedSample.facts("/live/tnt/a.m3u8?b=2"), at: SignedSample.time(1))
                    .isAllowed
            )
        }
    }

    @Test func `the first failure in the fixed order is told`() throws {
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
            let refusal = verifier.check(token, try SignedSample.facts(), at: SignedSample.time(1)).refusal
            #expect(refusal?.code == code, "\(claims)")
        }
    }
}
