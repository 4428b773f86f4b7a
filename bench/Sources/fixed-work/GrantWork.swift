// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import Keys
import RequestTargets

/// The parts of the work with grants: the claims are those that a gate issues, and never differ.
enum GrantWork {
    private static let now = Timestamp(secondsSince1970: 1_925_000_130)

    /// Returns the work of a part, or `nil` if the part has none with grants.
    static func part(_ name: String) throws -> (() -> Bool)? {
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey.of(name, binding: binding)
        let (issuer, claims) = (try CATIssuer(key: key), try claims())
        let verifier = CATVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedIssuer("playgate")],
            policy: CATPolicy()
        )
        guard let uri = RequestURI("/live/tnt/low/seg1.m4s", scheme: .https, authority: "cdn.example") else {
            fatalError("no request")
        }
        let facts = RequestFacts(uri: uri, method: "GET")
        let token = Array(try issuer.issue(claims).token.utf8)
        switch name {
        case "grant", "grant-es256": return { verifier.verify(token.span, for: facts, at: now).isAllowed }
        case "grant-cached":
            guard case .authentic(let grant) = verifier.authenticate(token.span, at: now) else { fatalError("refused") }
            return { verifier.judge(grant, presentedAs: token.span, for: facts, at: now).isAllowed }
        case "grant-issue": return { (try? issuer.issue(claims))?.token.isEmpty == false }
        default: return nil
        }
    }

    private static func claims() throws -> CATClaims {
        var claims = CATClaims()
        claims.expires = Timestamp(secondsSince1970: 1_925_000_420)
        claims.notBefore = Timestamp(secondsSince1970: 1_925_000_120)
        claims.issued = claims.notBefore
        // Without it, random bytes would be made, by a number of instructions that differs.
        claims.identifier = [UInt8](0x40...0x4F)
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        claims.methods = ["GET", "HEAD"]
        var renewal = CATRenewal(.cookie, life: 300, deadline: 120)
        renewal.cookieAttributes = ["Path=/live/tnt/", "Secure", "HttpOnly", "SameSite=None"]
        claims.renewal = renewal
        guard let id = SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16"),
            let tag = SubjectTag(hexadecimal: "9cdc1ad605d9dc40aa0413577634fc43"),
            let protection = ProtectionTag(hexadecimal: "5b1d3c0e7a9f48d2b6c4a1e0f3927d58")
        else { fatalError("no session") }
        claims.protection = protection
        claims.profile = "live"
        claims.session = PlaybackSession(
            id: id,
            end: Timestamp(secondsSince1970: 1_925_043_310),
            revocation: .init(issued: Timestamp(secondsSince1970: 1_925_000_110), tags: [tag, tag, tag])
        )
        return claims
    }
}

extension TokenKey {
    /// Returns the key of a part: one by HS256 that never differs, or a generated one by ES256, as no private key is kept.
    static func of(_ part: String, binding: KeyBinding) throws -> TokenKey {
        guard part.hasSuffix("-es256") else {
            return try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-2026-11"), binding: binding)
        }
        return try generate(.es256, id: KeyID("pg-es-1"), binding: binding).key
    }
}
