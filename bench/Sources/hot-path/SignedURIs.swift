// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import EdgeTokens
import Keys
import RequestTargets
import TokenParts
import URISigning

extension HotPath {
    /// Measures checks of signed URIs (RFC 9246): of text, and of what a cache keeps.
    static func signedURIs(_ options: Options) throws -> [String] {
        let secret = [UInt8](0...31)
        let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
        let key = try TokenKey(secret: secret, id: KeyID("pg-2026-11"), binding: binding)
        let sample = try SignedURISample(key)
        let table = Table("Signed URIs by HS256", options: options)
        table.measure("HMAC() of the same bytes", count: 2000) { n in
            precondition(limits_hmac(secret, secret.count, sample.signed, sample.signed.count, Int32(n)) == Int32(n))
        }
        sample.add(to: table, count: 2000)
        table.run()

        let made = try TokenKey.generate(.es256, id: KeyID("pg-es-1"), binding: binding)
        let other = try SignedURISample(made.key)
        guard case .pem(let pem) = made.secret, let ec = limits_ec_new(pem, other.signature) else {
            fatalError("no key")
        }
        let signatures = Table("Signed URIs by ES256", options: options)
        signatures.measure("EVP_PKEY_verify on a kept context", count: 100) { n in
            precondition(limits_ec_reused(ec, other.signed, other.signed.count, Int32(n)) == Int32(n))
        }
        other.add(to: signatures, count: 100)
        signatures.run()
        return table.faults([
            ("a signed URI", table["the whole check"], 7), ("a judged signed URI", table["judged from a cache"], 0),
        ])
    }
}

/// A token with the claims that a gate would issue, and what a request shows it with.
private struct SignedURISample {
    private let token: [UInt8]
    private let verifier: URISigningVerifier
    private let facts: RequestFacts
    private let now = Timestamp(secondsSince1970: 1_925_000_130)
    /// The bytes that the code or signature is over.
    let signed: [UInt8]
    /// The code or signature.
    let signature: [UInt8]

    init(_ key: TokenKey) throws {
        var claims = URISigningClaims(.scope(.init(host: "cdn.example", path: "/live/tnt/")))
        claims.audience = ["edge-1"]
        claims.expires = Timestamp(secondsSince1970: 1_925_000_420)
        claims.notBefore = Timestamp(secondsSince1970: 1_925_000_120)
        claims.issued = claims.notBefore
        claims.renewal = URISigningRenewal(.cookie, life: 300, depth: 2)
        guard let uri = RequestURI("/live/tnt/low/seg1.m4s", scheme: .https, authority: "cdn.example") else {
            fatalError("no request")
        }
        let text = Array(try URISigningIssuer(key: key).issue(claims).token.utf8)
        token = text
        facts = RequestFacts(uri: uri, method: "GET")
        var policy = URISigningPolicy()
        policy.audience = ["edge-1"]
        verifier = URISigningVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedSigner("playgate")],
            policy: policy
        )
        let parts = TokenParts(jws: text)
        (signed, signature) = (parts.signed, parts.signature)
    }

    /// Adds the checks of the token to a table.
    func add(to table: Table, count: Int) {
        guard case .authentic(let grant) = verifier.authenticate(token.span, at: now) else { fatalError("refused") }
        table.measure("the whole check: text to allowed", count: count) { n in
            for _ in 0..<n { precondition(verifier.verify(token.span, for: facts, at: now).isAllowed) }
        }
        table.measure("judged from a cache", count: 5000) { n in
            for _ in 0..<n { precondition(verifier.judge(grant, for: facts, at: now).isAllowed) }
        }
    }
}
