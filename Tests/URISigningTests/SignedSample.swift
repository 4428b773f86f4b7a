// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Testing

@testable import EdgeTokens
@testable import RequestTargets
@testable import URISigning

/// The key, claims and facts of the specification's examples of signed URIs.
enum SignedSample {
    static let secret = [UInt8](0...31)
    static let binding = KeyBinding(issuer: "playgate", format: .uriSigning)

    static func key() throws -> TokenKey {
        try TokenKey(secret: secret, id: KeyID("pg-2026-11"), binding: binding)
    }

    /// The time of issue, in seconds.
    static let issued: Int64 = 1_925_000_120

    static let payload =
        #"{"iss":"playgate","aud":"edge-1","exp":1925000420,"nbf":1925000120,"iat":1925000120,"cdniv":1,"#
        + #""cdniuc":"regex:^https://cdn\\.example/live/tnt/.*$","cdniets":300,"cdnistt":1,"cdnistd":2}"#
    static let token =
        "eyJhbGciOiJIUzI1NiIsImtpZCI6InBnLTIwMjYtMTEifQ.eyJpc3MiOiJwbGF5Z2F0ZSIsImF1ZCI6ImVkZ2UtMSIsImV4cCI6MTkyNTAwMDQyMCwi"
        + "bmJmIjoxOTI1MDAwMTIwLCJpYXQiOjE5MjUwMDAxMjAsImNkbml2IjoxLCJjZG5pdWMiOiJyZWdleDpeaHR0cHM6Ly9jZG5cXC5leGFtcGxlL2xp"
        + "dmUvdG50Ly4qJCIsImNkbmlldHMiOjMwMCwiY2RuaXN0dCI6MSwiY2RuaXN0ZCI6Mn0.hxiYB_my9hhYxSJgxnyQBv1Pgt7B7wl5bXBTZzOuAwk"

    /// The token of RFC 9246, Appendix A.1, and its key.
    static let appendixA1 =
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IlA1VXBPdjBlTXExd2N4TGY3V3hJZzA5SmRTWUdZRkRPV2tsZHVlYUltZjAifQ.eyJleHAiOjE2NDY4Njcz"
        + "NjksImlzcyI6InVDRE4gSW5jIiwiY2RuaXVjIjoiaGFzaDpzaGEtMjU2OzJ0ZGVyZldQYTg2S3U3WW56VzUxWVVwN2RHVWpCU18zU1czRUx4NGht"
        + "V1kifQ.TaNlJM3D96i_9J9XvlICO6FUIDFTqt3E2YJkEUOLfcH0b89wYRKTbJ9Yj6h_GRgSoZoQO0cps3yUPcWGK3smCw"
    static let appendixKeys = """
        {"keys":[{"kty":"EC","crv":"P-256","kid":"P5UpOv0eMq1wcxLf7WxIg09JdSYGYFDOWkldueaImf0","use":"sig","alg":"ES256",\
        "x":"be807S4O7dzB6I4hTiCUvmxCI6FuxWba1xYBlLSSsZ8","y":"rOGC4vI69g-WF9AGEVI37sNNwbjIzBxSjLvIL7f3RBA"}]}
        """

    /// The claims of the example.
    static var claims: URISigningClaims {
        var claims = URISigningClaims(.scope(.init(host: "cdn.example", path: "/live/tnt/")))
        claims.audience = ["edge-1"]
        claims.expires = time(300)
        claims.notBefore = time(0)
        claims.issued = time(0)
        claims.renewal = URISigningRenewal(.cookie, life: 300, depth: 2)
        return claims
    }

    /// The time `seconds` after the issue.
    static func time(_ seconds: Double) -> Timestamp {
        Timestamp(millisecondsSince1970: issued * 1000 + Int64((seconds * 1000).rounded()))
    }

    static func uri(_ target: String = "/live/tnt/seg1.m4s") throws -> RequestURI {
        try #require(RequestURI(target[...], scheme: .https, authority: "cdn.example"))
    }

    static func facts(_ target: String = "/live/tnt/seg1.m4s", client: String? = nil) throws -> RequestFacts {
        RequestFacts(uri: try uri(target), method: "GET", clientAddress: client.flatMap { IPAddress($0) })
    }

    static var policy: URISigningPolicy {
        var policy = URISigningPolicy()
        policy.audience = ["edge-1"]
        policy.hasReplayStore = true
        return policy
    }

    static func verifier(
        _ keys: [TokenKey]? = nil,
        signer: AcceptedSigner = AcceptedSigner("playgate"),
        policy: URISigningPolicy = policy
    ) throws -> URISigningVerifier {
        URISigningVerifier(keys: try KeySet(keys ?? [key()]), issuers: [signer], policy: policy)
    }

    /// Returns a token with the example's key around any payload.
    static func token(_ payload: String) throws -> String { try key().signJWS([UInt8](payload.utf8)) }

    /// Returns a token with the example's claims, one of them replaced, added, or removed with `nil`.
    static func token(claim name: String, value: String?) throws -> String {
        try token(
            members(claim: name, value: value).map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",").inBraces
        )
    }

    private static func members(claim name: String, value: String?) -> [(name: String, value: String)] {
        var members: [(name: String, value: String)] = [
            ("iss", "\"playgate\""), ("exp", "1925000420"), ("cdniuc", #""regex:^https://cdn\\.example/live/tnt/.*$""#),
        ]
        if let index = members.firstIndex(where: { $0.name == name }) {
            if let value { members[index].value = value } else { members.remove(at: index) }
        } else if let value {
            members.append((name, value))
        }
        return members
    }

    static let encryptionKey = Result {
        try EncryptionKey(secret: [UInt8](32..<48), id: KeyID("enc-1"), algorithm: .a128kw)
    }

    /// Returns a JSON string with an encrypted text.
    static func encrypted(_ text: String) throws -> String {
        "\"\(try encryptionKey.get().encrypt([UInt8](text.utf8)))\""
    }
}

extension String {
    var inBraces: String { "{\(self)}" }
}

extension URISigningVerifier {
    /// Checks a token in all ways, which must agree.
    func check(_ token: String, for facts: RequestFacts, at now: Timestamp) -> GrantVerdict {
        let verdict = verify(token.utf8.span, for: facts, at: now)
        switch authenticate(token.utf8.span, at: now) {
        case .authentic(let grant): #expect(judge(grant, for: facts, at: now) == verdict)
        case .refused(let refusal): #expect(verdict == .refused(refusal))
        }
        #expect(explain(token.utf8.span, for: facts, at: now).verdict == verdict)
        return verdict
    }
}
