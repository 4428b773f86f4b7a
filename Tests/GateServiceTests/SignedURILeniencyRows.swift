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
    /// Returns the token in the form in which it is shown.
    var form: @Sendable (String) -> String

    init(
        _ name: String,
        _ claims: String,
        _ status: Int,
        _ code: GrantCode?,
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
        Row("plain", usual, 200, nil),
        Row("no cdniuc", #""iss":"playgate","exp":EXP"#, 200, .uriMismatch),
        Row("empty cdniuc", #""iss":"playgate","exp":EXP,"cdniuc":"""#, 200, .uriMismatch),
        Row("cdniuc of another type", #""iss":"playgate","exp":EXP,"cdniuc":7"#, 200, .malformed),
        Row("cdniuc of another kind", #""iss":"playgate","exp":EXP,"cdniuc":"glob:*""#, 403, .uriMismatch),
        Row("hash", #""iss":"playgate","exp":EXP,"cdniuc":"hash:sha-256;HASH""#, 403, nil),
        Row("prefix", #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#, 200, .uriMismatch),
        Row(
            "prefix, other folder",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:http://cdn\\.example/live""#,
            200,
            .uriMismatch,
            target: "/liveother/a.ts"
        ),
        Row("middle", #""iss":"playgate","exp":EXP,"cdniuc":"regex:live""#, 403, .uriMismatch),
        Row(
            "alternatives",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(vod|live)/.+$""#,
            200,
            nil
        ),
        Row("interval", #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/l[a-z]{3}/.*$""#, 200, nil),
        Row(
            "Perl group",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(?:live)/.*$""#,
            403,
            .claimUnsupported
        ),
        Row("no exp", #""iss":"playgate",\#(folder)"#, 200, .malformed),
        Row("exp as a string", #""iss":"playgate","exp":"1",\#(folder)"#, 200, .malformed),
        Row("exp as a float", #""iss":"playgate","exp":EXP.5,\#(folder)"#, 200, nil),
        Row("expired", #""iss":"playgate","exp":1000,\#(folder)"#, 403, .expired),
        Row("nbf to come", usual + #","nbf":EXP"#, 403, .notYetValid),
        Row("no iss", #""exp":EXP,\#(folder)"#, 403, .issuerRefused),
        Row("another iss", #""iss":"other","exp":EXP,\#(folder)"#, 403, .issuerRefused),
        Row("aud", usual + #","aud":"edge-1""#, 200, nil),
        Row("aud list", usual + #","aud":["x","edge-1"]"#, 200, nil),
        Row("another aud", usual + #","aud":"x""#, 403, .audienceMismatch),
        Row("sub in clear", usual + #","sub":"viewer""#, 200, .subjectInvalid),
        Row("jti", usual + #","jti":"a""#, 403, nil),
        Row("cdniv 1", usual + #","cdniv":1"#, 200, nil),
        Row("cdniv 2", usual + #","cdniv":2"#, 403, .versionUnsupported),
        Row("cdniv as a string", usual + #","cdniv":"2""#, 200, .malformed),
        Row("cdnicrit", usual + #","cdnicrit":"x","x":1"#, 403, .claimUnsupported),
        Row("cdniip in clear", usual + #","cdniip":"127.0.0.1""#, 403, .addressMismatch),
        Row("cdnistt 2", usual + #","cdnistt":2,"cdniets":30"#, 403, nil),
        Row("cdnistt alone", usual + #","cdnistt":1"#, 200, .renewalInvalid),
        Row("cdniets negative", usual + #","cdnistt":1,"cdniets":-30"#, 200, .renewalInvalid),
        Row("unknown claim", usual + #","x":{"y":1}"#, 200, nil),
        Row(
            "host case",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/tnt/a\\.ts$""#,
            200,
            nil
        ),
        Row("encoded letter", usual, 200, nil, target: "/%6Cive/tnt/a.ts"),
        Row("dot segments", usual, 200, nil, target: "/x/../live/tnt/a.ts"),
        Row("cdniuc null", #""iss":"playgate","exp":EXP,"cdniuc":null"#, 200, .malformed),
        Row("cdniuc as a list", #""iss":"playgate","exp":EXP,"cdniuc":["regex:.*"]"#, 200, .malformed),
        Row("kind in capitals", #""iss":"playgate","exp":EXP,"cdniuc":"REGEX:.*""#, 403, .uriMismatch),
        Row("empty pattern", #""iss":"playgate","exp":EXP,"cdniuc":"regex:""#, 200, .claimUnsupported),
        Row("no end", #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/""#, 200, .uriMismatch),
        Row("end alone", #""iss":"playgate","exp":EXP,"cdniuc":"regex:.*\\.ts$""#, 200, nil),
        Row(
            "two alternatives, one of them a prefix",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^x$|http://cdn""#,
            200,
            .uriMismatch
        ),
        Row(
            "Perl class",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/\\w+/.*$""#,
            200,
            .claimUnsupported
        ),
        Row(
            "look-ahead",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/(?=live).*$""#,
            403,
            .claimUnsupported
        ),
        Row(
            "back-reference",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^(h)ttp://cdn\\.example/live/.*\\1?$""#,
            200,
            .claimUnsupported
        ),
        Row(
            "lazy quantifier",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example/live/.*?$""#,
            200,
            .claimUnsupported
        ),
        Row("broken pattern", #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://(""#, 403, .claimUnsupported),
        Row(
            "another scheme",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^https://cdn\\.example/.*$""#,
            403,
            .uriMismatch
        ),
        Row(
            "default port",
            #""iss":"playgate","exp":EXP,"cdniuc":"regex:^http://cdn\\.example:80/live/.*$""#,
            403,
            .uriMismatch
        ),
        Row("exp null", #""iss":"playgate","exp":null,\#(folder)"#, 200, .malformed),
        Row("exp true", #""iss":"playgate","exp":true,\#(folder)"#, 200, .malformed),
        Row("exp as a list", #""iss":"playgate","exp":[EXP],\#(folder)"#, 200, .malformed),
        Row("exp negative", #""iss":"playgate","exp":-1,\#(folder)"#, 403, .malformed),
        Row("exp beyond all times", #""iss":"playgate","exp":1e300,\#(folder)"#, 200, .malformed),
        Row("exp twice", usual + #","exp":1"#, 403, .malformed),
        Row("nbf as a string", usual + #","nbf":"EXP""#, 200, .malformed),
        Row("nbf as a float", usual + #","nbf":1000.5"#, 200, nil),
        Row("iat to come", usual + #","iat":EXP"#, 200, nil),
        Row("iat as a string", usual + #","iat":"x""#, 200, .malformed),
        Row("iss as a number", #""iss":7,"exp":EXP,\#(folder)"#, 403, .malformed),
        Row("aud as an empty list", usual + #","aud":[]"#, 403, .audienceMismatch),
        Row("aud as a number", usual + #","aud":7"#, 403, .malformed),
        Row("aud empty", usual + #","aud":"""#, 403, .audienceMismatch),
        Row("sub as a number", usual + #","sub":7"#, 200, .malformed),
        Row("jti as a number", usual + #","jti":7"#, 200, .malformed),
        Row("cdniv 0", usual + #","cdniv":0"#, 403, .versionUnsupported),
        Row("cdniv as a float", usual + #","cdniv":1.0"#, 200, .malformed),
        Row("cdniv null", usual + #","cdniv":null"#, 200, .malformed),
        Row("cdnicrit empty", usual + #","cdnicrit":"""#, 403, .claimUnsupported),
        Row("cdnicrit as a list", usual + #","cdnicrit":["exp"]"#, 200, .malformed),
        Row("cdnistt 0", usual + #","cdnistt":0"#, 200, .renewalInvalid),
        Row("cdnistt 1", usual + #","cdnistt":1,"cdniets":30"#, 200, nil),
        Row("cdnistt 3", usual + #","cdnistt":3,"cdniets":30"#, 403, .renewalInvalid),
        Row("cdnistt as a string", usual + #","cdnistt":"1","cdniets":30"#, 200, .malformed),
        Row("cdniets as a float", usual + #","cdnistt":1,"cdniets":30.5"#, 200, nil),
        Row("cdniets as a string", usual + #","cdnistt":1,"cdniets":"30""#, 200, .malformed),
        Row("cdniets alone", usual + #","cdniets":30"#, 200, .renewalInvalid),
        Row("cdnistd negative", usual + #","cdnistt":1,"cdniets":30,"cdnistd":-1"#, 403, .malformed),
        Row("cdnistd as a string", usual + #","cdnistt":1,"cdniets":30,"cdnistd":"1""#, 200, .malformed),
        Row("header with typ", usual, 200, nil, header: #"{"alg":"HS256","kid":"pg-2026-11","typ":"JWT"}"#),
        Row(
            "header with crit",
            usual,
            200,
            .claimUnsupported,
            header: #"{"alg":"HS256","kid":"pg-2026-11","crit":["exp"],"exp":1}"#
        ),
        Row(
            "header with b64",
            usual,
            200,
            .claimUnsupported,
            header: #"{"alg":"HS256","kid":"pg-2026-11","crit":["b64"],"b64":true}"#
        ),
        Row(
            "header with a key",
            usual,
            200,
            nil,
            header: #"{"alg":"HS256","kid":"pg-2026-11","jwk":{"kty":"oct","k":"AA"}}"#
        ),
        Row("kid as a number", usual, 200, .malformed, header: #"{"alg":"HS256","kid":7}"#),
        Row("alg in small letters", usual, 403, .algorithmRefused, header: #"{"alg":"hs256","kid":"pg-2026-11"}"#),
        Row("alg of another hash", usual, 403, .algorithmRefused, header: #"{"alg":"HS512","kid":"pg-2026-11"}"#),
        Row("alg twice", usual, 200, .malformed, header: #"{"alg":"none","alg":"HS256","kid":"pg-2026-11"}"#),
        Row("no alg", usual, 403, .malformed, header: #"{"kid":"pg-2026-11"}"#),
        Row("padded signature", usual, 200, .malformed) { $0 + "=" },
        Row("four parts", usual, 403, .malformed) { $0 + ".AAAA" },
        Row("no signature", usual, 403, .malformed) { String($0[...($0.lastIndex(of: ".") ?? $0.startIndex)]) },
        Row("encoded slash", usual, 403, .uriMismatch, target: "/live%2Ftnt/a.ts"),
        Row("two slashes", usual, 200, nil, target: "/live//tnt/a.ts"),
        Row("parameter of the path", usual, 200, nil, isPathRefused: true, target: "/live/tnt;x=1/a.ts"),
        Row("null byte", usual, 200, nil, isPathRefused: true, target: "/live/%00/a.ts"),
    ]
}
