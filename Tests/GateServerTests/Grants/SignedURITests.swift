// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import RequestTargets
import Testing
import URISigning

/// Traffic Server 9.2 with `uri_signing`, an independent implementation of RFC 9246.
@Suite(.needsSigningTrafficServer, .serialized) struct `Signed URIs at Traffic Server` {
    private static let attribute = PackageAttribute.standard
    private static let binding = KeyBinding(issuer: "playgate", format: .uriSigning)

    /// The key that the page prints.
    private static func printedKey() throws -> TokenKey {
        try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-2026-11"), binding: binding)
    }

    private static func claims(_ path: String = "/live/tnt/") -> URISigningClaims {
        let now = Timestamp(secondsSince1970: Timestamp.now().millisecondsSince1970 / 1000)
        var claims = URISigningClaims(.scope(.init(scheme: .http, host: SigningTrafficServer.host, path: path)))
        claims.audience = ["edge-1"]
        (claims.issued, claims.notBefore) = (now, now)
        claims.expires = now.advanced(byMilliseconds: 300_000)
        return claims
    }

    private static func issue(by key: TokenKey, change: (inout URISigningClaims) -> Void = { _ in }) throws -> String {
        var claims = claims()
        change(&claims)
        return try URISigningIssuer(key: key).issue(claims).token
    }

    /// The verifier of what the page's Traffic Server verifies.
    private static func verifier(_ keys: [TokenKey]) throws -> URISigningVerifier {
        var policy = URISigningPolicy()
        policy.audience = ["edge-1"]
        return URISigningVerifier(keys: try KeySet(keys), issuers: [AcceptedSigner("playgate")], policy: policy)
    }

    private static func facts(_ target: String) throws -> RequestFacts {
        let cut = attribute.cut(target[...])
        let uri = RequestURI(cut.target, scheme: .http, authority: SigningTrafficServer.host[...])
        return RequestFacts(uri: try #require(uri), method: "GET")
    }

    @Test func `it serves what is issued here, in query, path and cookie, and nothing else`() async throws {
        try await onThread {
            let key = try Self.printedKey()
            let server = try SigningTrafficServer()
            let verifier = try Self.verifier([key])
            let token = try Self.issue(by: key)
            let good = "/live/tnt/a.ts"
            let rows: [(target: String, cookie: String?, status: Int)] = [
                (Self.attribute.inQuery(token, of: good[...]), nil, 200),
                (Self.attribute.inQuery(token, of: "/live/tnt/a.ts?x=1"), nil, 200),
                (Self.attribute.inPath(token, of: good[...]), nil, 200),
                ("/live/tnt;URISigningPackage=\(token)/a.ts", nil, 200),
                (good, "URISigningPackage=\(token)", 200), ("/live/crossdomain.xml", nil, 200),
                (good, nil, 403), (Self.attribute.inQuery(token, of: "/live/other/a.ts"), nil, 403),
                ("/live/other/a.ts", "URISigningPackage=\(token)", 403),
                (Self.attribute.inQuery(token, of: "/live/tnt"), nil, 403),
            ]
            for row in rows {
                let response = try server.get(row.target, cookie: row.cookie)
                #expect(response.status == row.status, "\(row.target.prefix(60)) \(row.cookie == nil ? "" : "cookie")")
                guard row.status == 200, !row.target.contains("crossdomain") else { continue }
                // The origin never sees the token, and the same request passes here.
                #expect(!response.body.prefix { $0 != "\n" }.contains(token), "\(response.body)")
                let presented = Self.attribute.cut(row.target[...]).packages.first ?? token[...]
                let verdict = verifier.verify(presented.utf8.span, for: try Self.facts(row.target), at: .now())
                #expect(verdict.isAllowed, "\(row.target): \(verdict)")
            }
            let refused = [
                try Self.issue(by: key) { $0.audience = ["other"] },
                try Self.issue(by: key) { $0.expires = Timestamp.now().advanced(byMilliseconds: -1000) },
                try Self.issue(by: key) { $0.notBefore = Timestamp.now().advanced(byMilliseconds: 60_000) },
            ]
            for token in refused {
                let target = Self.attribute.inQuery(token, of: good[...])
                #expect(try server.get(target).status == 403)
                #expect(!verifier.verify(token.utf8.span, for: try Self.facts(target), at: .now()).isAllowed)
            }
        }
    }

    @Test func `it refuses each mutation, as is done here`() async throws {
        try await onThread {
            let key = try Self.printedKey()
            let server = try SigningTrafficServer()
            let verifier = try Self.verifier([key])
            let token = [UInt8](try Self.issue(by: key).utf8)
            for index in stride(from: 0, to: token.count, by: 9) {
                var changed = token
                changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                let text = String(decoding: changed, as: UTF8.self)
                let target = Self.attribute.inQuery(text, of: "/live/tnt/a.ts")
                #expect(try server.get(target).status == 403, "\(index)")
                #expect(!verifier.verify(changed.span, for: try Self.facts(target), at: .now()).isAllowed, "\(index)")
            }
        }
    }

    @Test func `its renewed cookie is accepted here, and ours there`() async throws {
        try await onThread {
            let key = try Self.printedKey()
            let server = try SigningTrafficServer()
            let token = try Self.issue(by: key) { $0.renewal = URISigningRenewal(.cookie, life: 600, depth: 1) }
            let response = try server.get(Self.attribute.inQuery(token, of: "/live/tnt/a.ts"))
            let line = try #require(response.values("Set-Cookie").first, "\(response.fields)")
            #expect(line.hasPrefix("URISigningPackage=") && line.contains("Path=/live"), "\(line)")
            let renewed = line.dropFirst("URISigningPackage=".count).prefix { $0 != ";" }
            let payload = String(decoding: try UnverifiedJWS(renewed.utf8.span).payload, as: UTF8.self)
            #expect(payload.contains(".0"), "the times are floats: \(payload)")
            let verifier = try Self.verifier([key])
            #expect(
                verifier.verify(renewed.utf8.span, for: try Self.facts("/live/tnt/b.ts"), at: .now()).isAllowed,
                "\(payload)"
            )
            guard case .authentic(let grant) = verifier.authenticate(renewed.utf8.span, at: .now()) else {
                Issue.record("not authentic: \(payload)")
                return
            }
            #expect(grant.renewal == URISigningRenewal(.cookie, life: 600, depth: 1))
            #expect(grant.expires ?? .now() > Timestamp.now().advanced(byMilliseconds: 500_000))

            // Our renewal of it, with a bounded session, is served there.
            var signer = AcceptedSigner("playgate")
            (signer.maximumSession, signer.renewalWindow) = (.seconds(3600), .seconds(900))
            var policy = URISigningPolicy()
            policy.audience = ["edge-1"]
            let renewing = URISigningVerifier(keys: try KeySet([key]), issuers: [signer], policy: policy)
            guard case .authentic(let own) = renewing.authenticate(renewed.utf8.span, at: .now()) else { return }
            let later = Timestamp.now().advanced(byMilliseconds: 60_000)
            let again = try URISigningIssuer(key: key).renew(own, at: later)
            #expect(try server.get("/live/tnt/c.ts", cookie: "URISigningPackage=\(again.token)").status == 200)
        }
    }
}
