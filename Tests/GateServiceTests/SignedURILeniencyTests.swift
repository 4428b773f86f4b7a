// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// What Traffic Server 9.2 with `uri_signing` does with unusual tokens, so that a change of it is seen, beside what is done
/// here: where it is lenient, the refusal is by name.
@Suite struct `The leniency of Traffic Server` {
    private struct Row {
        let name: String
        let claims: String
        /// The status of Traffic Server.
        let status: Int
        /// The code here; `nil` if the token is accepted.
        let code: GrantCode?
        var target = "/live/tnt/a.ts"

        init(_ name: String, _ claims: String, _ status: Int, _ code: GrantCode?, target: String = "/live/tnt/a.ts") {
            (self.name, self.claims, self.status, self.code, self.target) = (name, claims, status, code, target)
        }
    }

    private static let folder = #""cdniuc":"regex:^http://cdn\\.example/live/.*$""#
    private static let usual = "\"iss\":\"playgate\",\"exp\":EXP,\(folder)"

    private static let rows: [Row] = [
        Row("plain", usual, 200, nil),
        Row("no cdniuc", #""iss":"playgate","exp":EXP"#, 200, .uriMismatch),
        Row("empty cdniuc", #""iss":"playgate","exp":EXP,"cdniuc":"""#, 200, .uriMismatch),
        Row("cdniuc of another type", #""iss":"playgate","exp":EXP,"cdniuc":7"#, 200, .malformed),
        Row("cdniuc of another kind", #""iss":"playgate","exp":EXP,"cdniuc":"glob:*""#, 403, .uriMismatch),
        Row("hash", #""iss":"playgate","exp":EXP,"cdniuc":"hash:sha-256;HASH""#, 403, nil),
        Row("prefix", #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#, 200, .uriMismatch),
        Row(
            "prefix, other folder",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#,
            200,
            .uriMismatch,
            target: "/liveother/a.ts"
        ),
        Row("middle", #""iss":"playgate","exp":EXP,"cdniuc":"regex:live""#, 403, .uriMismatch),
        Row(
            "alternatives",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(vod|live)/.+$""#,
            200,
            nil
        ),
        Row("interval", #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/l[a-z]{3}/.*$""#, 200, nil),
        Row(
            "Perl group",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(?:live)/.*$""#,
            403,
            .claimUnsupported
        ),
        Row("no exp", #""iss":"playgate",\#(folder)"#, 200, .malformed),
        Row("exp as a string", #""iss":"playgate","exp":"1",\#(folder)"#, 200, .malformed),
        Row("exp as a float", #""iss":"playgate","exp":EXP.5,\#(folder)"#, 200, nil),
        Row("expired", #""iss":"playgate","exp":1000,\#(folder)"#, 403, .expired),
        Row("nbf to come", usual + #","nbf":EXP"#, 403, .notYetValid),
        Row("no iss", #""exp":EXP,\#(folder)"#, 403, .issuerRefused),
        Row("another iss", #""iss":"other","exp":EXP,\#(folder)"#, 403, .issuerRefused),
        Row("aud", usual + #","aud":"edge-1""#, 200, nil),
        Row("aud list", usual + #","aud":["x","edge-1"]"#, 200, nil),
        Row("another aud", usual + #","aud":"x""#, 403, .audienceMismatch),
        Row("sub in clear", usual + #","sub":"viewer""#, 200, .subjectInvalid),
        Row("jti", usual + #","jti":"a""#, 403, nil),
        Row("cdniv 1", usual + #","cdniv":1"#, 200, nil),
        Row("cdniv 2", usual + #","cdniv":2"#, 403, .versionUnsupported),
        Row("cdniv as a string", usual + #","cdniv":"2""#, 200, .malformed),
        Row("cdnicrit", usual + #","cdnicrit":"x","x":1"#, 403, .claimUnsupported),
        Row("cdniip in clear", usual + #","cdniip":"127.0.0.1""#, 403, .addressMismatch),
        Row("cdnistt 2", usual + #","cdnistt":2,"cdniets":30"#, 403, nil),
        Row("cdnistt alone", usual + #","cdnistt":1"#, 200, .renewalInvalid),
        Row("cdniets negative", usual + #","cdnistt":1,"cdniets":-30"#, 200, .renewalInvalid),
        Row("unknown claim", usual + #","x":{"y":1}"#, 200, nil),
        Row(
            "host case",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/tnt/a\\.ts$""#,
            200,
            nil
        ),
        Row("encoded letter", usual, 200, nil, target: "/%6Cive/tnt/a.ts"),
        Row("dot segments", usual, 200, nil, target: "/x/../live/tnt/a.ts"),
    ]

    private static func hash(_ url: String) throws -> String {
        let uri = try #require(RequestURI(url: url[...]))
        let key = try TokenKey(secret: [UInt8](0...31), id: nil, binding: KeyBinding(issuer: "h", format: .uriSigning))
        var claims = URISigningClaims(.hash(uri))
        claims.expires = Timestamp(secondsSince1970: 1)
        let payload = try UnverifiedJWS(try URISigningIssuer(key: key).issue(claims).token.utf8.span).payload
        let text = String(decoding: payload, as: UTF8.self)
        let start = try #require(text.firstRange(of: "sha-256;")).upperBound
        return String(text[start...].prefix { $0 != "\"" })
    }

    @Test func `is refused here by name, row by row`() async throws {
        guard SigningTrafficServer.isInstalled else { return }
        try await onThread {
            let server = try SigningTrafficServer()
            let key = try TokenKey(
                secret: [UInt8](0...31),
                id: KeyID("pg-2026-11"),
                binding: KeyBinding(issuer: "playgate", format: .uriSigning)
            )
            var policy = URISigningPolicy()
            (policy.audience, policy.hasReplayStore) = (["edge-1"], true)
            let verifier = URISigningVerifier(
                keys: try KeySet([key]),
                issuers: [AcceptedSigner("playgate")],
                policy: policy
            )
            let end = Timestamp.now().millisecondsSince1970 / 1000 + 300
            let digest = try Self.hash("http://cdn.example/live/tnt/a.ts")
            for row in Self.rows {
                let claims = row.claims.replacing("EXP", with: String(end)).replacing("HASH", with: digest)
                let token = try key.signJWS([UInt8]("{\(claims)}".utf8))
                let target = PackageAttribute.standard.inQuery(token, of: row.target[...])
                #expect(try server.get(target).status == row.status, "\(row.name)")
                let uri = try #require(RequestURI(row.target[...], scheme: .http, authority: "cdn.example"))
                let facts = RequestFacts(uri: uri, method: "GET")
                #expect(verifier.verify(token.utf8.span, facts, at: .now()).refusal?.code == row.code, "\(row.name)")
            }
            try Self.checkAlgorithms(server, key, end)
        }
    }

    private static func checkAlgorithms(_ server: SigningTrafficServer, _ key: TokenKey, _ end: Int64) throws {
        // A token without a key id may be by any key of the issuer; one with another id is refused.
        let bare = try TokenKey(
            secret: [UInt8](0...31),
            id: nil,
            binding: KeyBinding(issuer: "playgate", format: .uriSigning)
        )
        let other = try TokenKey(
            secret: [UInt8](0...31),
            id: KeyID("x"),
            binding: KeyBinding(issuer: "playgate", format: .uriSigning)
        )
        let verifier = URISigningVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedSigner("playgate")],
            policy: URISigningPolicy()
        )
        let payload = "{\(usual.replacing("EXP", with: String(end)))}"
        let facts = RequestFacts(uri: try #require(RequestURI(url: "http://cdn.example/live/tnt/a.ts")), method: "GET")
        for (signer, status, code) in [(bare, 200, nil), (other, 403, GrantCode.keyUnknown)] {
            let token = try signer.signJWS([UInt8](payload.utf8))
            let target = PackageAttribute.standard.inQuery(token, of: "/live/tnt/a.ts")
            #expect(try server.get(target).status == status)
            #expect(verifier.verify(token.utf8.span, facts, at: .now()).refusal?.code == code)
        }
        let none =
            "\(Base64.encodeURLSafe([UInt8](#"{"alg":"none","kid":"pg-2026-11"}"#.utf8))).\(Base64.encodeURLSafe([UInt8](payload.utf8)))."
        #expect(try server.get(PackageAttribute.standard.inQuery(none, of: "/live/tnt/a.ts")).status == 403)
        #expect(verifier.verify(none.utf8.span, facts, at: .now()).refusal?.code == .algorithmRefused)
    }

    /// The algorithms of asymmetric keys, with keys of this run: Traffic Server takes the algorithm from the token.
    @Test func `goes as far as the algorithm, which a token may choose`() async throws {
        guard SigningTrafficServer.isInstalled else { return }
        try await onThread {
            let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
            let curve = try TokenKey.generate(.es256, id: KeyID("es"), binding: binding).key
            let made = try TokenKey.generate(.ps256, id: KeyID("ps"), binding: binding)
            guard case .pem(let pem) = made.secret else { return }
            let pss = made.key
            let pkcs1 = try TokenKey(pem: [UInt8](pem.utf8), id: KeyID("ps"), algorithm: .rs256, binding: binding)
            let set = try KeySet([curve, pss]).publishedJWKSet
            let list = try #require(set.firstRange(of: "[")).lowerBound
            let signing = try SigningTrafficServer.block("json")
            let place = try #require(signing.firstRange(of: "\"keys\":["))
            let keys = String(set[list...].dropFirst().dropLast(2)).replacing(",\"use\":\"sig\"", with: "")
            let server = try SigningTrafficServer(
                signing: signing.replacingCharacters(in: place, with: "\"keys\":[\(keys),")
            )
            let verifier = URISigningVerifier(
                keys: try KeySet([curve, pss]),
                issuers: [AcceptedSigner("playgate")],
                policy: URISigningPolicy()
            )
            var claims = URISigningClaims(.scope(.init(scheme: .http, host: "cdn.example", path: "/live/tnt/")))
            claims.expires = Timestamp.now().advanced(byMilliseconds: 300_000)
            let facts = RequestFacts(
                uri: try #require(RequestURI(url: "http://cdn.example/live/tnt/a.ts")),
                method: "GET"
            )
            for (key, code) in [(curve, nil), (pss, nil), (pkcs1, GrantCode.algorithmRefused)] {
                let token = try URISigningIssuer(key: key).issue(claims).token
                #expect(verifier.verify(token.utf8.span, facts, at: .now()).refusal?.code == code, "\(key)")
                for carrier in [
                    PackageAttribute.standard.inQuery(token, of: "/live/tnt/a.ts"),
                    "/live/tnt;URISigningPackage=\(token)/a.ts",
                ] {
                    #expect(try server.get(carrier).status == 200, "\(key)")
                }
                #expect(try server.get("/live/tnt/a.ts", cookie: "URISigningPackage=\(token)").status == 200, "\(key)")
                #expect(try server.get(PackageAttribute.standard.inQuery(token, of: "/live/x/a.ts")).status == 403)
            }
        }
    }
}
