// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import Keys
import MediaResources
import MediaTokens

extension HotPath {
    /// Measures verifications of media tokens in JWS form.
    static func jws(_ options: Options) throws {
        let made = try TokenKey.generate(
            .es256,
            id: KeyID("pg-es-1"),
            binding: KeyBinding(issuer: "playgate", format: .cat)
        )
        guard case .pem(let pem) = made.secret else { fatalError("no key") }
        let now = Timestamp(secondsSince1970: 1_925_114_645)
        let claims = TokenClaims(
            requestorID: "REF30",
            resourceID: "TNT",
            mvpdID: "SandboxMVPD",
            userSessionGUID: "4d7c9d7d8f3f4f7a8d3a3ad0a1b2c3d4"
        )
        let issuer = try JWSIssuer(pem: pem)
        let token = Array(try issuer.issue(claims, at: now).serialized.utf8)
        let trust = try TrustStore([.pem(issuer.publicKey, name: "jws", tokens: .jws)], at: now)
        let verifier = Verifier(trust: trust, policy: try VerificationPolicy(requestor: "REF30"))
        let resource = try MediaResource("TNT")
        guard let dot = token.lastIndex(of: UInt8(ascii: ".")) else { fatalError("no token") }
        let text =
            String(decoding: token[(dot + 1)...], as: UTF8.self)
            .replacing("-", with: "+").replacing("_", with: "/") + "=="
        guard let signature = Data(base64Encoded: text), let ec = limits_ec_new(pem, Array(signature)) else {
            fatalError("no signature")
        }
        let signed = Array(token[..<dot])
        let table = Table("Media tokens as JWS by ES256", options: options)
        table.measure("EVP_PKEY_verify on a kept context", count: 100) { n in
            precondition(limits_ec_reused(ec, signed, signed.count, Int32(n)) == Int32(n))
        }
        table.measure("the whole verification", count: 100) { n in
            for _ in 0..<n { precondition(verifier.verify(token.span, for: resource, at: now).isValid) }
        }
        table.run()
    }
}
