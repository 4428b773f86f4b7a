// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import CommonAccessTokens
import EdgeTokens
import Keys
import RequestTargets
import TokenParts

extension HotPath {
    /// Measures checks of Common Access Tokens: of text, and of what a cache keeps.
    static func grants(_ options: Options) throws -> [String] {
        let secret = [UInt8](0...31)
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey(secret: secret, id: KeyID("pg-2026-11"), binding: binding)
        let grant = try GrantSample(key)
        let table = Table("Common Access Tokens by HS256", options: options)
        table.measure("HMAC() of the same bytes", count: 2000) { n in
            precondition(limits_hmac(secret, secret.count, grant.signed, grant.signed.count, Int32(n)) == Int32(n))
        }
        grant.add(to: table, count: 2000)
        table.run()

        let mint = Table("Issue of Common Access Tokens by HS256", options: options)
        mint.measure("HMAC() of the same bytes twice, 16 random bytes", count: 2000) { n in
            precondition(limits_mint(secret, secret.count, grant.signed, grant.signed.count, Int32(n)) == Int32(n))
        }
        grant.addIssue(to: mint, count: 2000)
        mint.run()

        let made = try TokenKey.generate(.es256, id: KeyID("pg-es-1"), binding: binding)
        let other = try GrantSample(made.key)
        guard case .pem(let pem) = made.secret, let ec = limits_ec_new(pem, other.signature) else {
            fatalError("no key")
        }
        let signatures = Table("Common Access Tokens by ES256", options: options)
        signatures.measure("EVP_PKEY_verify on a kept context", count: 100) { n in
            precondition(limits_ec_reused(ec, other.signed, other.signed.count, Int32(n)) == Int32(n))
        }
        other.add(to: signatures, count: 100)
        signatures.run()
        // By ES256, the whole check takes 1.03 to 1.08 times the bare one: the rest of it runs cold behind 0.8 million instructions of
        // OpenSSL, and slower if another program shares the core's caches. `bench/instructions` guards what the rest does, exactly.
        return table.faults([("a judged grant", table["judged from a cache"], 0)])
    }
}

/// A token with the claims that a gate issues, and what a request shows it with.
private struct GrantSample {
    private let token: [UInt8]
    private let verifier: CATVerifier
    private let issuer: CATIssuer
    private let claims: CATClaims
    private let facts: RequestFacts
    private let now = Timestamp(secondsSince1970: 1_925_000_130)
    /// The bytes that the code or signature is over.
    let signed: [UInt8]
    /// The code or signature.
    let signature: [UInt8]

    init(_ key: TokenKey) throws {
        var claims = CATClaims()
        claims.expires = Timestamp(secondsSince1970: 1_925_000_420)
        claims.notBefore = Timestamp(secondsSince1970: 1_925_000_120)
        claims.issued = claims.notBefore
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        claims.methods = ["GET", "HEAD"]
        claims.renewal = CATRenewal(.cookie, life: 300, deadline: 120)
        guard let id = SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16"),
            let tag = SubjectTag(hexadecimal: "9cdc1ad605d9dc40aa0413577634fc43"),
            let protection = ProtectionTag(hexadecimal: "5b1d3c0e7a9f48d2b6c4a1e0f3927d58"),
            let uri = RequestURI("/live/tnt/low/seg1.m4s", scheme: .https, authority: "cdn.example")
        else { fatalError("no request") }
        claims.protection = protection
        claims.profile = "live"
        claims.session = PlaybackSession(
            id: id,
            end: Timestamp(secondsSince1970: 1_925_043_310),
            revocation: .init(issued: Timestamp(secondsSince1970: 1_925_000_110), tags: [tag, tag, tag])
        )
        self.claims = claims
        issuer = try CATIssuer(key: key)
        let text = Array(try issuer.issue(claims).token.utf8)
        token = text
        facts = RequestFacts(uri: uri, method: "GET")
        verifier = CATVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedIssuer("playgate")],
            policy: CATPolicy()
        )
        let parts = TokenParts(cwt: text)
        (signed, signature) = (parts.signed, parts.signature)
    }

    /// Adds the checks of the token to a table.
    func add(to table: Table, count: Int) {
        guard case .authentic(let grant) = verifier.authenticate(token.span, at: now) else { fatalError("refused") }
        table.measure("the whole check: text to allowed", count: count) { n in
            for _ in 0..<n { precondition(verifier.verify(token.span, for: facts, at: now).isAllowed) }
        }
        table.measure("judged from a cache", count: 5000) { n in
            for _ in 0..<n {
                precondition(verifier.judge(grant, presentedAs: token.span, for: facts, at: now).isAllowed)
            }
        }
    }

    /// Adds the issue of such tokens to a table: claims to text.
    func addIssue(to table: Table, count: Int) {
        table.measure("issued: claims to text", count: count) { n in
            for _ in 0..<n { precondition((try? issuer.issue(claims))?.token.isEmpty == false) }
        }
    }
}
