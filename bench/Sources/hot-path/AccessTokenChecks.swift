// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessTokens
import CLimits
import Foundation
import Keys
import MediaResources
import MediaTokens

extension HotPath {
    /// Measures checks of access tokens of identity providers, which start playbacks.
    static func accessTokens(_ options: Options) throws -> [String] {
        let now = Timestamp(secondsSince1970: 1_925_114_645)
        let resource = try MediaResource("TNT")
        let keys = try DevelopmentKeys(at: now)
        let binding = KeyBinding(issuer: "", format: .uriSigning)
        guard case .pem(let pair) = try TokenKey.generate(.es256, id: KeyID("k"), binding: binding).secret else {
            fatalError("no key")
        }
        let ec = try AccessTokenSample(.es256, pem: pair, at: now)
        guard let kept = limits_ec_new(pair, ec.signature) else { fatalError("no key") }
        let signatures = Table("Access tokens by ES256", options: options)
        signatures.measure("EVP_PKEY_verify on a kept context", count: 100) { n in
            precondition(limits_ec_reused(kept, ec.signed, ec.signed.count, Int32(n)) == Int32(n))
        }
        signatures.measure("the whole check", count: 100) { n in
            for _ in 0..<n { precondition(ec.isValid(for: resource, at: now)) }
        }
        signatures.run()

        let rsa = try AccessTokenSample(.rs256, pem: keys.signerKey, at: now)
        guard let known = limits_rsa_new(keys.signerCertificate) else { fatalError("no key") }
        let table = Table("Access tokens by RS256", options: options)
        table.measure("EVP_PKEY_verify on a kept context", count: 300) { n in
            let count = limits_rsa_reused(
                known,
                rsa.signed,
                rsa.signed.count,
                rsa.signature,
                rsa.signature.count,
                Int32(n)
            )
            precondition(count == Int32(n))
        }
        table.measure("the whole check", count: 300) { n in
            for _ in 0..<n { precondition(rsa.isValid(for: resource, at: now)) }
        }
        table.run()
        return table.faults([("an access token", table["the whole check"], 24)])
    }
}

/// A token with the claims of RFC 9068, and the scope of a viewer.
private struct AccessTokenSample {
    private let token: [UInt8]
    private let verifier: AccessTokenVerifier
    /// The bytes that the signature is over.
    let signed: [UInt8]
    let signature: [UInt8]

    init(_ algorithm: KeyAlgorithm, pem: String, at now: Timestamp) throws {
        var issuer = AccessTokenIssuer(
            "https://id.example/realms/tv",
            audience: ["playgate"],
            rules: [ResourceRule(try ClaimPath("scope"), prefix: "tv:")]
        )
        // The maker of signed URIs writes no type.
        issuer.types = JWSTypes([], permitsNone: true)
        let id = KeyID("key-1")
        let key = try TokenKey(pem: [UInt8](pem.utf8), id: id, algorithm: algorithm, binding: issuer.binding)
        let second = now.millisecondsSince1970 / 1000
        let claims =
            #"{"iss":"https://id.example/realms/tv","aud":"playgate","sub":"4d7c9d7d-8f3f-4f7a-8d3a-3ad0a1b2c3d4","#
            + #""client_id":"tv-app","iat":\#(second - 5),"exp":\#(second + 300),"jti":"8e1c0f0d2a4b4c8f","#
            + #""scope":"openid profile tv:TBS tv:TNT"}"#
        token = Array(try key.signJWS([UInt8](claims.utf8)).utf8)
        verifier = try AccessTokenVerifier([issuer], keys: [key])
        guard let dot = token.lastIndex(of: UInt8(ascii: ".")) else { fatalError("no token") }
        let text = String(decoding: token[(dot + 1)...], as: UTF8.self)
            .replacing("-", with: "+").replacing("_", with: "/")
        let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let bytes = Data(base64Encoded: text + padding) else { fatalError("no signature") }
        signature = Array(bytes)
        signed = Array(token[..<dot])
    }

    func isValid(for resource: MediaResource, at now: Timestamp) -> Bool {
        verifier.verify(token.span, for: resource, at: now).refusal == nil
    }
}
