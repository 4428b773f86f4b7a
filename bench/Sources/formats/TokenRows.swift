// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import CommonAccessTokens
import EdgeTokens
import Keys
import MediaResources
import MediaTokens
import RequestTargets
import TokenParts
import URISigning

extension Formats {
    /// Returns the works with grants and media tokens: verified, and issued.
    static func tokens(_ material: Material) throws -> [Work] {
        var works: [Work] = []
        for algorithm in [KeyAlgorithm.hs256, .es256] {
            let name = algorithm.rawValue.lowercased()
            works += try grants(from: material, algorithm: algorithm, name: name)
            works += try signedURIs(from: material, algorithm: algorithm, name: name)
        }
        return works + (try mediaTokens(material))
    }

    /// Returns the key for an algorithm and a format.
    private static func key(
        from material: Material,
        algorithm: KeyAlgorithm,
        format: TokenFormat
    ) throws -> TokenKey {
        let binding = KeyBinding(issuer: "playgate", format: format)
        if algorithm == .hs256 { return try TokenKey(secret: material.secret, id: KeyID("bench"), binding: binding) }
        return try TokenKey(pem: Array(material.ec.utf8), id: KeyID("bench"), binding: binding)
    }

    /// Returns the bare check and the bare making of a token's code or signature.
    private static func bare(
        from material: Material,
        algorithm: KeyAlgorithm,
        parts: TokenParts,
        verified: String,
        issued: String?
    ) -> [Work] {
        let (secret, signed) = (material.secret, parts.signed)
        if algorithm == .hs256 {
            let body = { (n: Int) in
                precondition(limits_hmac(secret, secret.count, signed, signed.count, Int32(n)) == Int32(n))
            }
            return [Work(verified, contender: "bare", body: body)]
                + (issued.map { [Work($0, contender: "bare", body: body)] } ?? [])
        }
        guard let ec = limits_ec_new(material.ec, parts.signature), let signer = limits_signer_new(material.ec) else {
            fatalError("no key")
        }
        let check = Work(verified, contender: "bare") { n in
            precondition(limits_ec_reused(ec, signed, signed.count, Int32(n)) == Int32(n))
        }
        guard let issued else { return [check] }
        return [
            check,
            Work(issued, contender: "bare") { n in
                precondition(limits_signer_sign(signer, signed, signed.count, Int32(n)) == Int32(n))
            },
        ]
    }

    private static func facts() -> RequestFacts {
        guard let uri = RequestURI("/live/tnt/low/seg1.m4s", scheme: .https, authority: "cdn.example") else {
            fatalError("no request")
        }
        return RequestFacts(uri: uri, method: "GET")
    }

    private static func grants(from material: Material, algorithm: KeyAlgorithm, name: String) throws -> [Work] {
        let key = try key(from: material, algorithm: algorithm, format: .cat)
        let (facts, now) = (facts(), material.now)
        var claims = CATClaims()
        claims.expires = tomorrow(material)
        claims.notBefore = now
        claims.issued = now
        claims.identifier = [UInt8](0x40...0x4F)
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        claims.methods = ["GET", "HEAD"]
        let (issuer, wanted) = (try CATIssuer(key: key), claims)
        let token = Array(try issuer.issue(claims).token.utf8)
        try material.write(token, as: "cat-\(name)")
        let verifier = CATVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedIssuer("playgate")],
            policy: CATPolicy()
        )
        return bare(
            from: material,
            algorithm: algorithm,
            parts: TokenParts(cwt: token),
            verified: "cat-\(name)",
            issued: "issue-cat-\(name)"
        ) + [
            Work("cat-\(name)", contender: "playgate") { n in
                for _ in 0..<n { precondition(verifier.verify(token.span, for: facts, at: .now()).isAllowed) }
            },
            Work("issue-cat-\(name)", contender: "playgate") { n in
                for _ in 0..<n { precondition((try? issuer.issue(wanted)) != nil) }
            },
        ]
    }

    private static func signedURIs(
        from material: Material,
        algorithm: KeyAlgorithm,
        name: String
    ) throws -> [Work] {
        let key = try key(from: material, algorithm: algorithm, format: .uriSigning)
        let (facts, now) = (facts(), material.now)
        var claims = URISigningClaims(.scope(.init(host: "cdn.example", path: "/live/tnt/")))
        claims.audience = ["edge-1"]
        claims.expires = tomorrow(material)
        claims.notBefore = now
        claims.issued = now
        claims.renewal = URISigningRenewal(.cookie, life: 300, depth: 2)
        let (issuer, wanted) = (try URISigningIssuer(key: key), claims)
        let token = Array(try issuer.issue(claims).token.utf8)
        try material.write(token, as: "uri-\(name)")
        var policy = URISigningPolicy()
        policy.audience = ["edge-1"]
        let verifier = URISigningVerifier(
            keys: try KeySet([key]),
            issuers: [AcceptedSigner("playgate")],
            policy: policy
        )
        return bare(
            from: material,
            algorithm: algorithm,
            parts: TokenParts(jws: token),
            verified: "uri-\(name)",
            issued: "issue-uri-\(name)"
        ) + [
            Work("uri-\(name)", contender: "playgate") { n in
                for _ in 0..<n { precondition(verifier.verify(token.span, for: facts, at: .now()).isAllowed) }
            },
            Work("issue-uri-\(name)", contender: "playgate") { n in
                for _ in 0..<n { precondition((try? issuer.issue(wanted)) != nil) }
            },
        ]
    }

    private static func mediaTokens(_ material: Material) throws -> [Work] {
        let issuer = try JWSIssuer(pem: material.ec)
        let claims = TokenClaims(
            requestorID: "REF30",
            resourceID: "TNT",
            mvpdID: "SandboxMVPD",
            userSessionGUID: "4d7c9d7d8f3f4f7a8d3a3ad0a1b2c3d4",
            timeToLiveMilliseconds: 420_000
        )
        let token = Array(try issuer.issue(claims, at: material.now).serialized.utf8)
        try material.write(token, as: "media-es256")
        let now = material.now
        let trust = try TrustStore([.pem(issuer.publicKey, name: "jws", tokens: .jws)], at: now)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        let resource = try MediaResource("TNT")
        return bare(
            from: material,
            algorithm: .es256,
            parts: TokenParts(jws: token),
            verified: "media-es256",
            issued: nil
        ) + [
            Work("media-es256", contender: "playgate") { n in
                for _ in 0..<n { precondition(verifier.verify(token.span, for: resource, at: now).isValid) }
            }
        ]
    }
}
