// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import GateTestSupport
import Platform
import Testing

@testable import AccessTokens

@Suite struct `Claims of access tokens` {
    private func check(
        _ changes: [(String, String)],
        at now: Timestamp = Provider.now,
        _ rules: (inout AccessTokenIssuer) throws -> Void = { _ in }
    ) throws -> AccessTokenVerification {
        let provider = try Provider.shared.get()
        return try provider.verifier(rules).check(try provider.token(Provider.claims(changes)), at: now)
    }

    @Test func `a good token starts its resource, and says who, until when and once`() throws {
        let token = try #require(try check([]).token)
        #expect(token.provider == Provider.issuer && token.viewer == "viewer-1")
        #expect(token.expires == Provider.now.adding(seconds: 300) && token.issued == Provider.now.adding(seconds: -10))
        #expect(!token.isReusable && token.streamLimit == nil && token.sessionEnd == nil && token.proofUse == nil)
        let provider = try Provider.shared.get()
        let other = try provider.verifier().check(try provider.token(), for: "CNN")
        #expect(other.refusal == .resourceRefused)
    }

    private static let second = Provider.second

    @Test(arguments: [
        ("iss", "", AccessTokenRefusal.issuerRefused), ("iss", "\"https://id.example/realms/tv/\"", .issuerRefused),
        ("iss", "[\"https://id.example/realms/tv\"]", .malformed), ("iss", "1", .malformed),
        ("aud", "", .audienceMismatch), ("aud", "\"playgate \"", .audienceMismatch), ("aud", "[]", .audienceMismatch),
        ("aud", "{\"playgate\":1}", .audienceMismatch), ("aud", "[[\"playgate\"]]", .audienceMismatch),
        ("aud", "\"account playgate\"", .audienceMismatch),
        ("exp", "", .claimMissing), ("exp", "\"\(second + 300)\"", .malformed), ("exp", "-1", .malformed),
        ("exp", "1e12", .malformed), ("exp", "99999999999999999999", .malformed), ("exp", "253402300800", .malformed),
        ("exp", "\(second - 31)", .expired), ("exp", "\(second - 31).9", .expired), ("exp", "null", .claimMissing),
        ("iat", "", .claimMissing), ("iat", "\(second + 31)", .notYetValid), ("nbf", "\(second + 31)", .notYetValid),
        ("nbf", "\"now\"", .malformed), ("iat", "\(second - 86_431)", .tooOld),
        ("sub", "", .claimMissing), ("sub", "\"\"", .claimMissing), ("sub", "[\"a\"]", .malformed),
        ("sub", "true", .malformed), ("entitlements", "", .resourceRefused), ("entitlements", "{}", .resourceRefused),
        ("entitlements", "\"TNT TBS\"", .resourceRefused), ("entitlements", "[[\"TNT\"]]", .resourceRefused),
        ("entitlements", "[\"tnt\"]", .resourceRefused), ("entitlements", "[\"TNT\\u0000\"]", .resourceRefused),
        ("cnf", "{}", .confirmationUnsupported), ("cnf", "{\"jwk\":{}}", .confirmationUnsupported),
        ("cnf", "\"jkt\"", .malformed), ("cnf", "{\"jkt\":\"short\"}", .malformed),
        ("cnf", "{\"jkt\":1}", .malformed),
    ])
    func `a wrong claim refuses`(name: String, value: String, refusal: AccessTokenRefusal) throws {
        #expect(try check([(name, value)]).refusal == refusal)
    }

    @Test(arguments: [
        ("aud", "\"playgate\""), ("exp", "\(second - 30)"), ("exp", "\(second + 9).75"), ("nbf", "\(second + 30)"),
        ("iat", "\(second + 30)"), ("iat", "\(second - 86_400)"), ("sub", "17"), ("entitlements", "\"TNT\""),
        ("entitlements", "[1, null, \"TNT\"]"), ("entitlements", "[\"T\\u004eT\"]"), ("nbf", "null"),
    ])
    func `a claim at the edge of what is permitted is accepted`(name: String, value: String) throws {
        let answer = try check([(name, value)])
        #expect(answer.token != nil, "\(answer)")
    }

    @Test func `claims that the configuration demands must be there, with one of their values`() throws {
        let table: [(claims: [(String, String)], refusal: AccessTokenRefusal?)] = [
            ([], .claimMissing), ([("token_use", "\"id\"")], .claimRefused), ([("token_use", "\"access\"")], nil),
            ([("token_use", "[\"id\",\"access\"]")], nil), ([("token_use", "{}")], .claimRefused),
        ]
        for row in table {
            let answer = try check(row.claims) {
                $0.requiredClaims = [.init(try ClaimPath("token_use"), values: ["access", "refresh"])]
            }
            #expect(answer.refusal == row.refusal, "\(row.claims)")
        }
        let nested = try check([("realm", "{\"verified\":true}")]) {
            $0.requiredClaims = [.init(try ClaimPath("/realm/verified"), values: ["true"])]
        }
        #expect(nested.token != nil)
    }

    @Test func `viewer, limit and end come from the claims that are named`() throws {
        let claims = [("account", "{\"id\":\"a-1\",\"streams\":2,\"until\":\(Self.second + 60)}")]
        func rules(_ issuer: inout AccessTokenIssuer) throws {
            issuer.viewer = try ClaimPath("/account/id")
            issuer.streamLimit = try ClaimPath("/account/streams")
            issuer.sessionEnd = try ClaimPath("/account/until")
        }
        let token = try #require(try check(claims, rules).token)
        #expect(token.viewer == "a-1" && token.streamLimit == 2)
        #expect(token.sessionEnd == Provider.now.adding(seconds: 60))
        #expect(try check(claims, at: Provider.now.adding(seconds: 60), rules).refusal == .expired)
        let table: [(account: String, refusal: AccessTokenRefusal?)] = [
            ("{\"id\":\"a\",\"streams\":0,\"until\":\(Self.second + 60)}", .claimRefused),
            ("{\"id\":\"a\",\"streams\":\"3\",\"until\":\"2099-01-01T00:00:00Z\"}", nil),
            ("{\"id\":\"a\",\"streams\":\"many\",\"until\":\(Self.second + 60)}", .claimRefused),
            ("{\"id\":\"a\",\"streams\":1,\"until\":\"tomorrow\"}", .malformed),
            ("{\"id\":\"a\",\"streams\":1}", .claimMissing), ("{\"id\":\"a\",\"until\":1}", .claimMissing),
            ("[\"a\"]", .claimMissing),
        ]
        for row in table {
            #expect(try check([("account", row.account)], rules).refusal == row.refusal, "\(row.account)")
        }
    }

    @Test func `what is used up is the jti, else the signed bytes`() throws {
        let provider = try Provider.shared.get()
        let verifier = try provider.verifier()
        func fingerprint(_ changes: [(String, String)]) throws -> String {
            let answer = try verifier.check(try provider.token(Provider.claims(changes)))
            return try #require(answer.token?.fingerprint.hexadecimal)
        }
        // ECDSA has another signature each time, and a second one can be made of each.
        #expect(try fingerprint([]) == fingerprint([("exp", "\(Self.second + 200)")]))
        #expect(try fingerprint([]) != fingerprint([("jti", "\"token-2\"")]))
        #expect(try fingerprint([("jti", "")]) == fingerprint([("jti", "")]))
        #expect(try fingerprint([("jti", "")]) != fingerprint([("jti", ""), ("nonce", "\"a\"")]))
        let other = try Provider(issuer: "https://other.example")
        var rules = AccessTokenIssuer(
            "https://other.example",
            audience: ["playgate"],
            rules: [ResourceRule(try ClaimPath("entitlements"))]
        )
        rules.types = JWSTypes(["at+jwt"])
        let token = try other.token(Provider.claims([("iss", "\"https://other.example\"")]))
        let its = try AccessTokenVerifier([rules], keys: [other.key]).check(token).token?.fingerprint.hexadecimal
        #expect(try fingerprint([]) != its)
    }
}

@Suite struct `Rules from claims to resources` {
    private static func table() throws -> [String: ResourceRule.Entitlement] {
        ["basic": .some([try MediaResource("TNT")]), "all": .all, "none": .some([])]
    }

    @Test(arguments: [
        ("scope", "", "\"openid TNT\"", true), ("scope", "tv:", "\"tv:TNT openid\"", true),
        ("scope", "tv:", "\"TNT\"", false), ("scope", "tv:", "\"tv: TNT\"", false), ("scope", "", "\"TNTX\"", false),
        ("scope", "", "[\"TBS TNT\"]", false), ("scope", "", "[\"TBS\",\"TNT\"]", true),
        ("roles", "", "\"openid TNT\"", false), ("/a/b~1c", "", "{\"b/c\":[\"TNT\"]}", true),
        ("/a/b~1c", "", "{\"b\":{\"c\":\"TNT\"}}", false), ("/a/b~1c", "", "\"TNT\"", false),
    ])
    func `a value is the resource behind its prefix`(path: String, prefix: String, value: String, isGood: Bool) throws {
        let provider = try Provider.shared.get()
        let claim = path.hasPrefix("/") ? "a" : path
        let verifier = try provider.verifier {
            $0.rules = [ResourceRule(try ClaimPath(path), prefix: prefix)]
        }
        let answer = try verifier.check(try provider.token(Provider.claims([(claim, value)])))
        #expect((answer.token != nil) == isGood, "\(answer)")
    }

    @Test(arguments: [
        ("\"basic\"", "TNT", true), ("\"basic\"", "TBS", false), ("\"all\"", "anything", true),
        ("\"none\"", "TNT", false),
        ("\"TNT\"", "TNT", false), ("[\"none\",\"basic\"]", "TNT", true), ("true", "TNT", false),
        ("null", "TNT", false),
    ])
    func `a table says what a value entitles to`(value: String, resource: String, isGood: Bool) throws {
        let provider = try Provider.shared.get()
        let verifier = try provider.verifier {
            $0.rules = [ResourceRule(try ClaimPath("subscription"), resources: try Self.table())]
        }
        let token = try provider.token(Provider.claims([("subscription", value)]))
        #expect((try verifier.check(token, for: resource).token != nil) == isGood)
    }

    @Test func `without a rule nothing starts, and one of several is enough`() throws {
        let provider = try Provider.shared.get()
        #expect(try provider.verifier { $0.rules = [] }.check(try provider.token()).refusal == .resourceRefused)
        let both = try provider.verifier {
            $0.rules = [ResourceRule(try ClaimPath("other")), ResourceRule(try ClaimPath("entitlements"))]
        }
        #expect(try both.check(try provider.token()).token != nil)
    }

    @Test func `a value never names a fragment`() throws {
        let fragment = "<rss version=\"2.0\"><channel><title>TNT</title></channel></rss>"
        let provider = try Provider.shared.get()
        let text = fragment.replacing("\"", with: "\\\"")
        let token = try provider.token(Provider.claims([("entitlements", "[\"\(text)\"]")]))
        #expect(try provider.verifier().check(token).refusal == .resourceRefused)
    }

    @Test(arguments: [
        ("", ClaimPathError.sizeOutOfRange), (String(repeating: "a", count: 257), .sizeOutOfRange),
        ("/", .malformedPointer), ("/a//b", .malformedPointer), ("/a/~2", .malformedPointer),
        ("/a/b~", .malformedPointer), ("/a/b/c/d/e/f/g", .malformedPointer),
    ])
    func `a path that is none is an error`(text: String, error: ClaimPathError) {
        #expect(throws: error) { try ClaimPath(text) }
    }
}
