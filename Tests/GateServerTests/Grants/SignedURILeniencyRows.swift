// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens

/// A token beside what Traffic Server 9.2.5 with `uri_signing` does with it, and what is done here.
struct SignedURILeniencyRow: Sendable {
    let name: String
    /// The members of the payload. `EXP` in it is a time to come, `HASH` the digest of the usual URL.
    let claims: String
    /// The status of Traffic Server.
    let status: Int
    /// The code here; `nil` if the token is accepted.
    let code: String?
    var target = "/live/tnt/a.ts"
    /// The header; `nil` for that of the key.
    var header: String?
    /// Returns the token in the form in which it is presented.
    var form: @Sendable (String) -> String

    init(
        _ name: String,
        claims: String,
        status: Int,
        code: GrantCode?,
        isPathRefused: Bool = false,
        target: String = "/live/tnt/a.ts",
        header: String? = nil,
        form: @escaping @Sendable (String) -> String = { $0 }
    ) {
        (self.name, self.claims, self.status, self.target) = (name, claims, status, target)
        self.code = isPathRefused ? Self.pathRefused : code?.rawValue
        (self.header, self.form) = (header, form)
    }

    /// The code of a path that is no request target here, whatever the token.
    static let pathRefused = "invalid_path"

    private typealias Row = Self

    private static let folder = #""cdniuc":"regex:^http://cdn\\.example/live/.*$""#
    /// The claims of a usual token.
    static let usual = "\"iss\":\"playgate\",\"exp\":EXP,\(folder)"

    /// The rows.
    static let all: [Self] = [
        Row("plain", claims: usual, status: 200, code: nil),
        Row("no cdniuc", claims: #""iss":"playgate","exp":EXP"#, status: 200, code: .uriMismatch),
        Row("empty cdniuc", claims: #""iss":"playgate","exp":EXP,"cdniuc":"""#, status: 200, code: .uriMismatch),
        Row("cdniuc of another type", claims: #""iss":"playgate","exp":EXP,"cdniuc":7"#, status: 200, code: .malformed),
        Row(
            "cdniuc of another kind",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"glob:*""#,
            status: 403,
            code: .uriMismatch
        ),
        Row("hash", claims: #""iss":"playgate","exp":EXP,"cdniuc":"hash:sha-256;HASH""#, status: 403, code: nil),
        Row(
            "prefix",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#,
            status: 200,
            code: .uriMismatch
        ),
        Row(
            "prefix, other folder",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#,
            status: 200,
            code: .uriMismatch,
            target: "/liveother/a.ts"
        ),
        Row("middle", claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:live""#, status: 403, code: .uriMismatch),
        Row(
            "alternatives",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(vod|live)/.+$""#,
            status: 200,
            code: nil
        ),
        Row(
            "interval",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/l[a-z]{3}/.*$""#,
            status: 200,
            code: nil
        ),
        Row(
            "Perl group",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(?:live)/.*$""#,
            status: 403,
            code: .claimUnsupported
        ),
        Row("no exp", claims: #""iss":"playgate",\#(folder)"#, status: 200, code: .malformed),
        Row("exp as a string", claims: #""iss":"playgate","exp":"1",\#(folder)"#, status: 200, code: .malformed),
        Row("exp as a float", claims: #""iss":"playgate","exp":EXP.5,\#(folder)"#, status: 200, code: nil),
        Row("expired", claims: #""iss":"playgate","exp":1000,\#(folder)"#, status: 403, code: .expired),
        Row("nbf to come", claims: usual + #","nbf":EXP"#, status: 403, code: .notYetValid),
        Row("no iss", claims: #""exp":EXP,\#(folder)"#, status: 403, code: .issuerRefused),
        Row("another iss", claims: #""iss":"other","exp":EXP,\#(folder)"#, status: 403, code: .issuerRefused),
        Row("aud", claims: usual + #","aud":"edge-1""#, status: 200, code: nil),
        Row("aud list", claims: usual + #","aud":["x","edge-1"]"#, status: 200, code: nil),
        Row("another aud", claims: usual + #","aud":"x""#, status: 403, code: .audienceMismatch),
        Row("sub in clear", claims: usual + #","sub":"viewer""#, status: 200, code: .subjectInvalid),
        Row("jti", claims: usual + #","jti":"a""#, status: 403, code: nil),
        Row("cdniv 1", claims: usual + #","cdniv":1"#, status: 200, code: nil),
        Row("cdniv 2", claims: usual + #","cdniv":2"#, status: 403, code: .versionUnsupported),
        Row("cdniv as a string", claims: usual + #","cdniv":"2""#, status: 200, code: .malformed),
        Row("cdnicrit", claims: usual + #","cdnicrit":"x","x":1"#, status: 403, code: .claimUnsupported),
        Row("cdniip in clear", claims: usual + #","cdniip":"127.0.0.1""#, status: 403, code: .addressMismatch),
        Row("cdnistt 2", claims: usual + #","cdnistt":2,"cdniets":30"#, status: 403, code: nil),
        Row("cdnistt alone", claims: usual + #","cdnistt":1"#, status: 200, code: .renewalInvalid),
        Row("cdniets negative", claims: usual + #","cdnistt":1,"cdniets":-30"#, status: 200, code: .renewalInvalid),
        Row("unknown claim", claims: usual + #","x":{"y":1}"#, status: 200, code: nil),
        Row(
            "host case",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/tnt/a\\.ts$""#,
            status: 200,
            code: nil
        ),
        Row("encoded letter", claims: usual, status: 200, code: nil, target: "/%6Cive/tnt/a.ts"),
        Row("dot segments", claims: usual, status: 200, code: nil, target: "/x/../live/tnt/a.ts"),
        Row("cdniuc null", claims: #""iss":"playgate","exp":EXP,"cdniuc":null"#, status: 200, code: .malformed),
        Row(
            "cdniuc as a list",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":["regex:.*"]"#,
            status: 200,
            code: .malformed
        ),
        Row(
            "kind in capitals",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"REGEX:.*""#,
            status: 403,
            code: .uriMismatch
        ),
        Row(
            "empty pattern",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:""#,
            status: 200,
            code: .claimUnsupported
        ),
        Row(
            "no end",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/""#,
            status: 200,
            code: .uriMismatch
        ),
        Row("end alone", claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:.*\\.ts$""#, status: 200, code: nil),
        Row(
            "two alternatives, one of them a prefix",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^x$|http://cdn""#,
            status: 200,
            code: .uriMismatch
        ),
        Row(
            "Perl class",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/\\w+/.*$""#,
            status: 200,
            code: .claimUnsupported
        ),
        Row(
            "look-ahead",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(?=live).*$""#,
            status: 403,
            code: .claimUnsupported
        ),
        Row(
            "back-reference",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^(h)ttp://cdn\\.example/live/.*\\1?$""#,
            status: 200,
            code: .claimUnsupported
        ),
        Row(
            "lazy quantifier",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/.*?$""#,
            status: 200,
            code: .claimUnsupported
        ),
        Row(
            "broken pattern",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://(""#,
            status: 403,
            code: .claimUnsupported
        ),
        Row(
            "another scheme",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^https://cdn\\.example/.*$""#,
            status: 403,
            code: .uriMismatch
        ),
        Row(
            "default port",
            claims: #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example:80/live/.*$""#,
            status: 403,
            code: .uriMismatch
        ),
        Row("exp null", claims: #""iss":"playgate","exp":null,\#(folder)"#, status: 200, code: .malformed),
        Row("exp true", claims: #""iss":"playgate","exp":true,\#(folder)"#, status: 200, code: .malformed),
        Row("exp as a list", claims: #""iss":"playgate","exp":[EXP],\#(folder)"#, status: 200, code: .malformed),
        Row("exp negative", claims: #""iss":"playgate","exp":-1,\#(folder)"#, status: 403, code: .malformed),
        Row("exp beyond all times", claims: #""iss":"playgate","exp":1e300,\#(folder)"#, status: 200, code: .malformed),
        Row("exp twice", claims: usual + #","exp":1"#, status: 403, code: .malformed),
        Row("nbf as a string", claims: usual + #","nbf":"EXP""#, status: 200, code: .malformed),
        Row("nbf as a float", claims: usual + #","nbf":1000.5"#, status: 200, code: nil),
        Row("iat to come", claims: usual + #","iat":EXP"#, status: 200, code: nil),
        Row("iat as a string", claims: usual + #","iat":"x""#, status: 200, code: .malformed),
        Row("iss as a number", claims: #""iss":7,"exp":EXP,\#(folder)"#, status: 403, code: .malformed),
        Row("aud as an empty list", claims: usual + #","aud":[]"#, status: 403, code: .audienceMismatch),
        Row("aud as a number", claims: usual + #","aud":7"#, status: 403, code: .malformed),
        Row("aud empty", claims: usual + #","aud":"""#, status: 403, code: .audienceMismatch),
        Row("sub as a number", claims: usual + #","sub":7"#, status: 200, code: .malformed),
        Row("jti as a number", claims: usual + #","jti":7"#, status: 200, code: .malformed),
        Row("cdniv 0", claims: usual + #","cdniv":0"#, status: 403, code: .versionUnsupported),
        Row("cdniv as a float", claims: usual + #","cdniv":1.0"#, status: 200, code: .malformed),
        Row("cdniv null", claims: usual + #","cdniv":null"#, status: 200, code: .malformed),
        Row("cdnicrit empty", claims: usual + #","cdnicrit":"""#, status: 403, code: .claimUnsupported),
        Row("cdnicrit as a list", claims: usual + #","cdnicrit":["exp"]"#, status: 200, code: .malformed),
        Row("cdnistt 0", claims: usual + #","cdnistt":0"#, status: 200, code: .renewalInvalid),
        Row("cdnistt 1", claims: usual + #","cdnistt":1,"cdniets":30"#, status: 200, code: nil),
        Row("cdnistt 3", claims: usual + #","cdnistt":3,"cdniets":30"#, status: 403, code: .renewalInvalid),
        Row("cdnistt as a string", claims: usual + #","cdnistt":"1","cdniets":30"#, status: 200, code: .malformed),
        Row("cdniets as a float", claims: usual + #","cdnistt":1,"cdniets":30.5"#, status: 200, code: nil),
        Row("cdniets as a string", claims: usual + #","cdnistt":1,"cdniets":"30""#, status: 200, code: .malformed),
        Row("cdniets alone", claims: usual + #","cdniets":30"#, status: 200, code: .renewalInvalid),
        Row(
            "cdnistd negative",
            claims: usual + #","cdnistt":1,"cdniets":30,"cdnistd":-1"#,
            status: 403,
            code: .malformed
        ),
        Row(
            "cdnistd as a string",
            claims: usual + #","cdnistt":1,"cdniets":30,"cdnistd":"1""#,
            status: 200,
            code: .malformed
        ),
        Row(
            "header with typ",
            claims: usual,
            status: 200,
            code: nil,
            header: #"{"alg":"HS256","kid":"pg-2026-11","typ":"JWT"}"#
        ),
        Row(
            "header with crit",
            claims: usual,
            status: 200,
            code: .claimUnsupported,
            header: #"{"alg":"HS256","kid":"pg-2026-11","crit":["exp"],"exp":1}"#
        ),
        Row(
            "header with b64",
            claims: usual,
            status: 200,
            code: .claimUnsupported,
            header: #"{"alg":"HS256","kid":"pg-2026-11","crit":["b64"],"b64":true}"#
        ),
        Row(
            "header with a key",
            claims: usual,
            status: 200,
            code: nil,
            header: #"{"alg":"HS256","kid":"pg-2026-11","jwk":{"kty":"oct","k":"AA"}}"#
        ),
        Row("kid as a number", claims: usual, status: 200, code: .malformed, header: #"{"alg":"HS256","kid":7}"#),
        Row(
            "alg in small letters",
            claims: usual,
            status: 403,
            code: .algorithmRefused,
            header: #"{"alg":"hs256","kid":"pg-2026-11"}"#
        ),
        Row(
            "alg of another hash",
            claims: usual,
            status: 403,
            code: .algorithmRefused,
            header: #"{"alg":"HS512","kid":"pg-2026-11"}"#
        ),
        Row(
            "alg twice",
            claims: usual,
            status: 200,
            code: .malformed,
            header: #"{"alg":"none","alg":"HS256","kid":"pg-2026-11"}"#
        ),
        Row("no alg", claims: usual, status: 403, code: .malformed, header: #"{"kid":"pg-2026-11"}"#),
        Row("padded signature", claims: usual, status: 200, code: .malformed) { $0 + "=" },
        Row("four parts", claims: usual, status: 403, code: .malformed) { $0 + ".AAAA" },
        Row("no signature", claims: usual, status: 403, code: .malformed) {
            String($0[...($0.lastIndex(of: ".") ?? $0.startIndex)])
        },
        Row("encoded slash", claims: usual, status: 403, code: .uriMismatch, target: "/live%2Ftnt/a.ts"),
        Row("two slashes", claims: usual, status: 200, code: nil, target: "/live//tnt/a.ts"),
        Row(
            "parameter of the path",
            claims: usual,
            status: 200,
            code: nil,
            isPathRefused: true,
            target: "/live/tnt;x=1/a.ts"
        ),
        Row("null byte", claims: usual, status: 200, code: nil, isPathRefused: true, target: "/live/%00/a.ts"),
    ]
}
