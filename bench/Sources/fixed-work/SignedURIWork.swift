// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Keys
import RequestTargets
import URISigning

/// The parts of the work with signed URIs (RFC 9246): the claims are those that a gate issues, and never differ.
enum SignedURIWork {
    /// Returns the work of a part, or `nil` if the part has none with signed URIs.
    static func part(_ name: String) throws -> (() -> Bool)? {
        guard name.hasPrefix("signed-uri") else { return nil }
        let now = Timestamp(secondsSince1970: 1_925_000_130)
        let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
        let key = try TokenKey.of(name, binding: binding)
        var claims = URISigningClaims(.scope(.init(host: "cdn.example", path: "/live/tnt/")))
        claims.audience = ["edge-1"]
        claims.expires = Timestamp(secondsSince1970: 1_925_000_420)
        claims.notBefore = Timestamp(secondsSince1970: 1_925_000_120)
        claims.issued = claims.notBefore
        claims.renewal = URISigningRenewal(.cookie, life: 300, depth: 2)
        let token = Array(try URISigningIssuer(key: key).issue(claims).token.utf8)
        var policy = URISigningPolicy()
        policy.audience = ["edge-1"]
        let verifier = URISigningVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedSigner("playgate")],
            policy: policy
        )
        guard let uri = RequestURI("/live/tnt/low/seg1.m4s", scheme: .https, authority: "cdn.example"),
            case .authentic(let grant) = verifier.authenticate(token.span, at: now)
        else { fatalError("no request") }
        let facts = RequestFacts(uri: uri, method: "GET")
        switch name {
        case "signed-uri", "signed-uri-es256": return { verifier.verify(token.span, for: facts, at: now).isAllowed }
        case "signed-uri-cached": return { verifier.judge(grant, for: facts, at: now).isAllowed }
        default: return nil
        }
    }
}
