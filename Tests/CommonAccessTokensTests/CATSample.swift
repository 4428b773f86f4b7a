// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import RequestTargets

/// The keys, claims and facts of the specification's examples.
enum CATSample {
    static let secret = [UInt8](0...31)
    static let binding = KeyBinding(issuer: "playgate", format: .cat)

    static func key() throws -> TokenKey {
        try TokenKey(secret: secret, id: KeyID("pg-2026-11"), binding: binding)
    }

    /// The public key of E2.
    static let coseKeySet =
        "81a70102024770672d65732d3103260481022001215820b0fd95cd35bf48ffa5b75461597727f1926d98fdd4281d4e19cac9ff6197aa9c"
        + "225820af985e28c26d845e55cffb65a1fb8bcb505600268bfacff379f133ae5820e2e5"

    /// The time of issue of E1, in seconds.
    static let issued: Int64 = 1_925_000_120
    static let identifier = bytes("7f1c09a2b3d4e5f60718293a4b5c6d7e")

    static let e1 =
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWJCpAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZATiiAaEAa2Nk"
        + "bi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDpAABARkBLAIYeAWDb1BhdGg9L2xpdmUvdG50L2ZTZWN1cmVoSHR0cE9u"
        + "bHlYIHAJw0km1vP6XEUvzYc-ovSBR-iIk6ZEivk6Y2zQPESf"
    static let e1Renewed =
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWJCpAWhwbGF5Z2F0ZQQacr0tygUacr0ruAYacr0sngdQChssPU5fYHGCk6S1xtfo-RkBNgEZATiiAaEAa2Nk"
        + "bi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDpAABARkBLAIYeAWDb1BhdGg9L2xpdmUvdG50L2ZTZWN1cmVoSHR0cE9u"
        + "bHlYIAbG_33UAwT7u_HJm98Sj10d2MlUMYxEnYf8DkJW8SVR"
    static let e2 =
        "2D3ShEyiASYER3BnLWVzLTGgWH2oAWhwbGF5Z2F0ZQOCZmVkZ2UtMWZlZGdlLTIEGnK9OVAHUAARIjNEVWZ3iJmqu8zd7v8ZATYBGQE3g9g0ghgY"
        + "Q8sAcdg2ghgwRiABDbgAARn79BkBOKMAoQBlaHR0cHMDoQFqL3ZvZC8xMjM0LwihAGNtNHMZATmBY0dFVFhAgjwkt7Qcc3z0lfpAXZ-5LiAX"
        + "FhV7kyTqHivvShxNdw3nXpuB63Wu-NEKmmE7ISo6iSEQw1q66VCrvCFa5FJMXA"
    static let e3 =
        "2D3RhE-iAQUESnBnLTIwMjYtMTGgWM2sAWhwbGF5Z2F0ZQQacr0s5AUacr0ruAYacr0ruAdQfxwJorPU5fYHGCk6S1xtfhkBNgEZATiiAaEAa2Nk"
        + "bi5leGFtcGxlA6EBai9saXZlL3RudC8ZATmCY0dFVGRIRUFEGQFDowABARkBLAIYeDoAAQAAUOaIBFxgTV7MJyz32DsA7BY6AAEAARpyvdRu"
        + "OgABAAJYOAAAAcAy8p-wnNwa1gXZ3ECqBBNXdjT8Q4JmkumNffYY30K_M-qror8SNGfU5MXJU_pbzfz1uWkZWCAuiQ4wUGx15pnnLR3aqIed"
        + "52VFavNzSyWVKjYxcJrjHA"

    /// The claims of E1.
    static var claims: CATClaims {
        var claims = CATClaims()
        claims.expires = Timestamp(secondsSince1970: issued + 300)
        claims.notBefore = Timestamp(secondsSince1970: issued)
        claims.issued = Timestamp(secondsSince1970: issued)
        claims.identifier = identifier
        claims.uri = [.init(.host, match: .exact("cdn.example")), .init(.path, match: .prefix("/live/tnt/"))]
        claims.methods = ["GET", "HEAD"]
        claims.renewal = CATRenewal(.cookie, life: 300, deadline: 120)
        claims.renewal?.cookieAttributes = ["Path=/live/tnt/", "Secure", "HttpOnly"]
        return claims
    }

    static func facts(_ target: String = "/live/tnt/seg1.m4s", method: Substring = "GET") throws -> RequestFacts {
        let uri = try #require(RequestURI(target[...], scheme: .https, authority: "cdn.example"))
        return RequestFacts(uri: uri, method: method)
    }

    static func verifier(
        _ keys: [TokenKey]? = nil,
        issuer: AcceptedIssuer = AcceptedIssuer("playgate"),
        policy: CATPolicy = CATPolicy()
    ) throws -> CATVerifier {
        CATVerifier(keys: try KeySet(keys ?? [key()]), issuers: [issuer], policy: policy)
    }

    /// The time `seconds` after the issue of E1.
    static func time(_ seconds: Double) -> Timestamp {
        Timestamp(millisecondsSince1970: issued * 1000 + Int64((seconds * 1000).rounded()))
    }

    static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.utf8.filter { $0 != UInt8(ascii: " ") }.compactMap(\.hexadecimalDigit)
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns a token with E1's key around any payload.
    static func token(payload: [UInt8]) throws -> String { COSEText.encode(try key().signCOSE(payload)) }

    /// Returns a token with E1's claims and another one, given in CBOR by its label and value.
    static func token(adding fragment: String) throws -> String {
        let claims = bytes(fragment)
        try #require(claims[0] == 0xA1)
        var payload = try #require(CATSample.claimsWithIssuer.payload())
        payload[0] += 1
        return try token(payload: payload + claims.dropFirst())
    }

    static var claimsWithIssuer: CATClaims {
        var claims = claims
        claims.issuer = "playgate"
        return claims
    }
}

extension CATVerifier {
    /// Checks a token in both ways, which must agree.
    func check(_ token: String, for facts: RequestFacts, at now: Timestamp) -> GrantVerdict {
        let verdict = verify(token.utf8.span, for: facts, at: now)
        switch authenticate(token.utf8.span, at: now) {
        case .authentic(let grant):
            let again = judge(grant, presentedAs: token.utf8.span, for: facts, at: now)
            #expect(again == verdict)
        case .refused(let refusal): #expect(verdict == .refused(refusal))
        }
        return verdict
    }
}

/// Returns the SHA-256 of a text.
func sha256(_ text: String) -> [UInt8] { SHA256.digest(text) }
