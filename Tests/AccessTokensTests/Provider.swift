// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import GateTestSupport
import Platform

@testable import AccessTokens

/// An identity provider of tests, with a key for each of its tokens.
struct Provider {
    static let issuer = "https://id.example/realms/tv"
    static let now = GateSample.time
    /// The time in seconds.
    static var second: Int64 { now.millisecondsSince1970 / 1000 }

    let made: GeneratedKey
    var key: TokenKey { made.key }

    init(_ algorithm: KeyAlgorithm = .es256, id: String? = "key-1", issuer: String = issuer) throws {
        let binding = AccessTokenIssuer(issuer, audience: [], rules: []).binding
        made = try TokenKey.generate(algorithm, id: id.flatMap { KeyID($0) }, binding: binding)
    }

    /// The one that most tests share.
    static let shared = Result { () throws(any Error) in try Provider() }

    /// The members of a good token, in JSON, by their names.
    static var claims: [(String, String)] {
        [
            ("iss", "\"\(issuer)\""), ("aud", "[\"account\",\"playgate\"]"), ("sub", "\"viewer-1\""),
            ("exp", "\(second + 300)"), ("iat", "\(second - 10)"), ("jti", "\"token-1\""),
            ("entitlements", "[\"TNT\",\"TBS\"]"),
        ]
    }

    /// Returns the claims with some of them changed, added, or removed by an empty text.
    static func claims(_ changes: [(String, String)]) -> String {
        var all = claims
        for (name, value) in changes {
            all.removeAll { $0.0 == name }
            if !value.isEmpty { all.append((name, value)) }
        }
        return "{" + all.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    static let header = #"{"alg":"ES256","kid":"key-1","typ":"at+jwt"}"#

    /// Signs a header and a payload as they are.
    func token(_ payload: String = claims([]), header: String = header) throws -> String {
        let parts = [header, payload].map { Base64.encodeURLSafe([UInt8]($0.utf8)) }
        return try key.signedJWS(parts.joined(separator: "."))
    }

    static func rules(_ rules: [ResourceRule]? = nil) throws -> AccessTokenIssuer {
        let entitlements = ResourceRule(try ClaimPath("entitlements"))
        return AccessTokenIssuer(issuer, audience: ["playgate"], rules: rules ?? [entitlements])
    }

    func verifier(_ change: (inout AccessTokenIssuer) throws -> Void = { _ in }) throws -> AccessTokenVerifier {
        var issuer = try Self.rules()
        try change(&issuer)
        return try AccessTokenVerifier([issuer], keys: [key])
    }
}

extension AccessTokenVerifier {
    func check(
        _ token: String,
        for resource: String = "TNT",
        presenting proof: PresentedProof? = nil,
        at now: Timestamp = Provider.now
    ) throws -> AccessTokenVerification {
        verify(token.utf8.span, for: try MediaResource(resource), presenting: proof, at: now)
    }
}

extension AccessTokenVerification {
    var token: AccessToken? { if case .valid(let token) = self { token } else { nil } }
}
