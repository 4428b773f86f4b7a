// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import GateTestSupport
import Testing

@testable import AccessTokens

/// The shapes of tokens of four providers, with the configuration that docs/how-to/start-by-jwt.md prints for each.
@Suite struct `Tokens of usual providers` {
    private struct Shape {
        let name: String
        let issuer: String
        let header: String
        let claims: String
        let audience: [String]
        let types: JWSTypes
        let required: [(String, [String])]
        let rule: (String, ResourceRule)
        let viewer: String
        /// Changes of the text that must refuse.
        let wrong: [(String, String)]
    }

    private static func table(_ values: [String: [String]]) throws -> [String: ResourceRule.Entitlement] {
        try values.mapValues { .some(try $0.map { try MediaResource($0) }) }
    }

    private static func shapes() throws -> [Shape] {
        let second = Provider.second
        let times = #""exp":\#(second + 300),"iat":\#(second - 5)"#
        let roles = try table(["tv-basic": ["TNT"]])
        return [
            Shape(
                name: "Keycloak",
                issuer: "https://id.example/realms/tv",
                header: #"{"alg":"ES256","typ":"JWT","kid":"key-1"}"#,
                claims: #"""
                    {\#(times),"jti":"onrtac:1","iss":"https://id.example/realms/tv","aud":["playgate","account"],"sub":"7c0b",
                    "typ":"Bearer","azp":"tv-app","sid":"s","acr":"1","allowed-origins":["https://tv.example"],
                    "realm_access":{"roles":["offline_access","tv-basic"]},
                    "resource_access":{"account":{"roles":["manage-account"]}},"scope":"openid email","email_verified":true}
                    """#,
                audience: ["playgate"],
                types: JWSTypes(["JWT", "at+jwt"]),
                required: [("typ", ["Bearer", "DPoP"])],
                rule: ("", ResourceRule(try ClaimPath("/realm_access/roles"), resources: roles)),
                viewer: "sub",
                wrong: [(#""typ":"Bearer""#, #""typ":"ID""#), ("tv-basic", "tv-none"), ("\"playgate\",", "")]
            ),
            Shape(
                name: "Auth0",
                issuer: "https://tv.eu.auth0.com/",
                header: #"{"alg":"ES256","typ":"at+jwt","kid":"key-1"}"#,
                claims: #"""
                    {\#(times),"iss":"https://tv.eu.auth0.com/","sub":"auth0|5f7c","aud":["https://play.example",
                    "https://tv.eu.auth0.com/userinfo"],"azp":"my_client","scope":"openid tv:TNT tv:TBS","permissions":["x"]}
                    """#,
                audience: ["https://play.example"],
                types: .accessTokens,
                required: [],
                rule: ("", ResourceRule(try ClaimPath("scope"), prefix: "tv:")),
                viewer: "sub",
                wrong: [("https://tv.eu.auth0.com/\",\"sub", "https://tv.eu.auth0.com\",\"sub"), ("tv:TNT", "tvTNT")]
            ),
            Shape(
                name: "Cognito",
                issuer: "https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc",
                header: #"{"kid":"key-1","alg":"ES256"}"#,
                claims: #"""
                    {\#(times),"sub":"aaaa-bbbb","cognito:groups":["tv-basic"],"token_use":"access","scope":"openid",
                    "iss":"https://cognito-idp.eu-central-1.amazonaws.com/eu-central-1_abc","auth_time":\#(second - 5),
                    "version":2,"jti":"d0f3","client_id":"3n4b","username":"janedoe"}
                    """#,
                audience: [],
                types: JWSTypes([], permitsNone: true),
                required: [("token_use", ["access"]), ("client_id", ["3n4b"])],
                rule: ("", ResourceRule(try ClaimPath("cognito:groups"), resources: roles)),
                viewer: "sub",
                wrong: [(#""token_use":"access""#, #""token_use":"id""#), ("3n4b", "other"), ("tv-basic", "none")]
            ),
            Shape(
                name: "Entra",
                issuer: "https://login.microsoftonline.com/9188/v2.0",
                header: #"{"typ":"JWT","alg":"ES256","kid":"key-1"}"#,
                claims: #"""
                    {\#(times),"aud":"11aa","iss":"https://login.microsoftonline.com/9188/v2.0","nbf":\#(second - 5),
                    "azp":"22bb","oid":"33cc","scp":"tv.TNT profile","sub":"pairwise","tid":"9188","uti":"u","ver":"2.0"}
                    """#,
                audience: ["11aa"],
                types: JWSTypes(["JWT"]),
                required: [("tid", ["9188"])],
                rule: ("", ResourceRule(try ClaimPath("scp"), prefix: "tv.")),
                viewer: "oid",
                wrong: [(#""tid":"9188""#, #""tid":"9189""#), ("tv.TNT", "tv.CNN"), (#""aud":"11aa""#, #""aud":"00""#)]
            ),
        ]
    }

    @Test func `start what they entitle to, and nothing if a claim is another`() throws {
        for shape in try Self.shapes() {
            var issuer = AccessTokenIssuer(shape.issuer, audience: shape.audience, rules: [shape.rule.1])
            issuer.types = shape.types
            issuer.requiredClaims = try shape.required.map { .init(try ClaimPath($0.0), values: $0.1) }
            issuer.viewer = try ClaimPath(shape.viewer)
            let key = try TokenKey.generate(.es256, id: KeyID("key-1"), binding: issuer.binding).key
            let verifier = try AccessTokenVerifier([issuer], keys: [key])
            func check(_ claims: String) throws -> AccessTokenVerification {
                let parts = [shape.header, claims].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }
                return try verifier.check(try key.signedJWS(parts.joined(separator: ".")))
            }
            let good = try check(shape.claims)
            #expect(good.token != nil, "\(shape.name): \(good)")
            for (text, other) in shape.wrong {
                let changed = shape.claims.replacing(text, with: other)
                #expect(changed != shape.claims, "\(shape.name): \(text)")
                #expect(try check(changed).refusal != nil, "\(shape.name): \(other)")
            }
        }
    }
}
