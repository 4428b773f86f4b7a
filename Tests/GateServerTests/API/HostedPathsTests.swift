// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The paths of a hosted service, as docs/how-to/move-from-a-hosted-service.md describes them, and their twin in JSON.
@Suite struct `The paths of a hosted service` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    private static let hex = String(repeating: "0f", count: 32)
    private static let key = "pg_test"

    private static func configuration(_ tvs: String = "  tvs: get\n") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(secret) }, k2: { secret: \(secret) }, akamai: { secret: "\(hex)", encoding: hex } }
            grants:
              subjectKey: \(secret)
              profiles:
                live: { issuer: playgate, key: k1, host: cdn.example, deliver: [segment] }
                akamai: { format: edgeauth, key: akamai, host: akamai.example, settings: { name: hdnts } }
                signed: { format: uri-signing, issuer: signer, key: k2, host: signed.example }
                media: { format: media-cdn, key: akamai, host: media.example, settings: { name: edge-cache-token } }
                bunny: { format: bunny, key: akamai, host: bunny.example }
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: [live, akamai] }
                """,
            api: """
                  keys:
                    - { name: mover, sha256: \(SHA256.digest(key).hexadecimal), scopes: [tvs, playback], resources: [TBS] }
                    - { name: other, sha256: \(SHA256.digest("pg_other").hexadecimal), scopes: [tvs] }
                \(tvs)
                """
        )
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let letter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            return letter ? String(UnicodeScalar(byte)) : "%" + String(Int(byte) + 0x100, radix: 16).dropFirst()
        }.joined()
    }

    private static func form(_ parameters: [(String, String)]) -> String {
        parameters.map { "\($0.0)=\(encoded($0.1))" }.joined(separator: "&")
    }

    private static func post(
        to gate: RunningGate,
        path: String,
        body: String,
        key: String = key
    ) throws -> HTTPConnection.Response {
        let headers = ["Authorization": "Bearer \(key)", "Content-Type": "application/x-www-form-urlencoded"]
        return try gate.post(path, body: body, headers: headers)
    }

    private static func parameters(
        _ gate: RunningGate,
        resource: String = "TNT",
        cdn: String = "akamai",
        url: String = "https://akamai.example/film/master.m3u8"
    ) throws -> [(String, String)] {
        let token = try gate.token(GateSample.claims(resource: resource, session: UUID().uuidString))
        let name = Data(resource.utf8).base64EncodedString()
        return [("mediaToken", token), ("resource", name), ("cdn", cdn), ("url", url)]
    }

    @Test func `validate a token without consuming it, by POST and GET, also with two slashes`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let parameters = Array(try Self.parameters(gate, resource: "TBS").prefix(2))
            for path in ["/tvs/v1/validate", "//tvs/v1/validate"] {
                let answer = try Self.post(to: gate, path: path, body: Self.form(parameters))
                #expect(answer.status == 200 && answer.body == "VALID_TOKEN", "\(answer)")
            }
            // A plus sign that was not encoded arrives as a space.
            let query = "mediaToken=\(parameters[0].1)&resource=\(parameters[1].1)"
            let headers = ["Authorization": "Bearer \(Self.key)"]
            #expect(try gate.get("/tvs/v1/validate?" + query, headers: headers).status == 200)
            let wrong = try Self.post(to: gate, path: "/tvs/v1/validate", body: "mediaToken=AAAA&resource=VEJT")
            #expect(wrong.status == 403 && wrong.body == "INVALID_TOKEN_FORMAT (invalid_envelope)", "\(wrong)")
            // The caller's list does not have it.
            let unlisted = try Self.post(
                to: gate,
                path: "/tvs/v1/validate",
                body: Self.form(Array(try Self.parameters(gate).prefix(2)))
            )
            #expect(unlisted.status == 403 && unlisted.body == "INVALID_RESOURCE_ID (resource_mismatch)")
        }
    }

    @Test func `sign a URL once for a token`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let parameters = try Self.parameters(gate)
            let answer = try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters))
            #expect(answer.status == 200, "\(answer)")
            #expect(
                answer.body.hasPrefix("https://akamai.example/hdnts=exp=") && answer.body.hasSuffix("/film/master.m3u8")
            )
            #expect(answer.values("Cache-Control") == ["no-store"])
            let again = try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters))
            #expect(again.status == 403 && again.body.contains("token_already_used"), "\(again)")
            #expect(!again.body.contains(parameters[0].1))
            // A resource of the caller's list, for a URL that the catalogue does not have.
            let listed = try Self.parameters(gate, resource: "TBS", cdn: "live", url: "https://cdn.example/else/a.m3u8")
            let own = try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(listed))
            #expect(own.status == 200 && own.body.hasPrefix("https://cdn.example/~cat="), "\(own)")
        }
    }

    @Test func `sign a URL with its query, which is kept as it is`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let query = "x=1&name=a%2Fb%20c&x=%C3%A4&empty=&~='()*!$,;:@/?"
            let rows = [
                ("akamai", "https://akamai.example/hdnts=", "/else/a.m3u8?\(query)"),
                ("live", "https://cdn.example/~cat=", "/else/a.m3u8?\(query)"),
                ("signed", "https://signed.example/else;URISigningPackage=", "/a.m3u8?\(query)"),
                ("media", "https://media.example/else/a.m3u8?\(query)&edge-cache-token=", ""),
            ]
            for (cdn, start, end) in rows {
                let host = cdn == "live" ? "cdn" : cdn
                let url = "https://\(host).example/else/a.m3u8?\(query)"
                let answer = try Self.post(
                    to: gate,
                    path: "/tvs/v1/sign",
                    body: Self.form(try Self.parameters(gate, resource: "TBS", cdn: cdn, url: url))
                )
                #expect(answer.status == 200, "\(cdn): \(answer)")
                #expect(answer.body.hasPrefix(start) && answer.body.hasSuffix(end), "\(cdn): \(answer.body)")
            }
        }
    }

    /// The entry of a URL decides. A caller's list is for URLs that the catalogue does not know, and for no folder with others' media.
    @Test(
        arguments: [
            ("/film/master.m3u8", "TBS", "akamai", "resource_mismatch"),
            ("/film/master.m3u8", "TNT", "media", "invalid_request"),
            ("/segments/1.ts", "TNT", "akamai", "grant_missing"),
            ("/film/else.m3u8", "TBS", "akamai", "invalid_request"),
            ("/a.m3u8", "TBS", "akamai", "invalid_request"), ("/else/a.m3u8", "TNT", "akamai", "resource_mismatch"),
            ("/else/a.m3u8", "TBS", "akamai", nil),
        ] as [(String, String, String, String?)]
    )
    func `obey the entry of a URL`(_ path: String, _ resource: String, _ cdn: String, _ code: String?) async throws {
        let text = Self.configuration().replacing(
            "    - { path: /film/",
            with:
                "    - { path: /segments/, resource: TNT, admits: grant, grant: [live, akamai] }\n    - { path: /film/"
        )
        try await RunningGate.with(text) { gate in
            let url = "https://\(cdn).example\(path)"
            let form = Self.form(try Self.parameters(gate, resource: resource, cdn: cdn, url: url))
            let answer = try Self.post(to: gate, path: "/tvs/v1/sign", body: form)
            #expect(code.map { answer.body.contains("(\($0)") } ?? (answer.status == 200), "\(answer)")
        }
    }

    /// The limit is that of the entry, also if the profile that signs has none.
    @Test func `start no more playbacks than the entry's limit`() async throws {
        let limited = Self.configuration().replacing(
            "deliver: [segment] }",
            with: "deliver: [segment], maxConcurrentStreams: 1 }"
        )
        try await RunningGate.with(limited) { gate in
            let sign = { (json: Bool, ttl: Int64) in
                let token = try gate.token(GateSample.claims(session: "one", ttl: ttl))
                if json {
                    let body: [String: String] = ["path": "/film/master.m3u8", "profile": "akamai", "token": token]
                    let text = String(decoding: try JSONSerialization.data(withJSONObject: body), as: UTF8.self)
                    return try gate.post("/v1/sign", body: text, headers: ["Authorization": "Bearer \(Self.key)"])
                }
                var parameters = try Self.parameters(gate)
                parameters[0].1 = token
                return try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters))
            }
            #expect(try sign(true, 300_000).status == 200)
            for (json, ttl) in [(true, 310_000), (false, 320_000)] as [(Bool, Int64)] {
                let second = try sign(json, ttl)
                #expect(second.body.contains("stream_limit_reached"), "\(second)")
            }
        }
    }

    /// A signed URL is one that the edge accepts, and the query of the caller's is behind it.
    @Test func `sign a URL with a query that an edge accepts`() async throws {
        let edge = "edge: { listen: \"127.0.0.1:0\", tokens: [{ query: token }] }"
        let catalogue = "    - { path: /else/, resource: TBS, grant: [live, signed] }\n"
        let text = Self.configuration().replacing("admin: {", with: "\(edge)\nadmin: {").replacing(
            "    - { path: /film/",
            with: "\(catalogue)    - { path: /film/"
        )
        try await RunningGate.with(text) { gate in
            for (cdn, host) in [("live", "cdn.example"), ("signed", "signed.example")] {
                let url = "https://\(host)/else/a.m3u8?x=1&y=2"
                let form = Self.form(try Self.parameters(gate, resource: "TBS", cdn: cdn, url: url))
                let signed = try Self.post(to: gate, path: "/tvs/v1/sign", body: form).body
                let target = String(signed.dropFirst("https://\(host)".utf8.count))
                let check = { (target: String) in
                    let headers = [
                        "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Proto": "https",
                        "X-Forwarded-Host": host,
                    ]
                    return try HTTPConnection(gate.edge).request("GET", path: "/v1/check/forward", headers: headers)
                }
                #expect(try check(target).status == 200, "\(cdn): \(signed)")
                #expect(try check(target.replacing("/a.m3u8", with: "/a.ts")).status == 200, "\(cdn)")
                #expect(try check("/else/a.m3u8?x=1&y=2").status != 200)
            }
        }
    }

    @Test func `refuse a query that has a token's parameter, or is none, before the token is consumed`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let queries: [(cdn: String, query: String)] = [
                ("signed", "URISigningPackage=eyJ.x.y"), ("signed", "a=1&URISigningPackage="),
                ("signed", "a=1;URISigningPackage=x"),
                ("signed", "a=/URISigningPackage=x"), ("signed", "%55RISigningPackage=x"),
                ("signed", "urisigningpackage=x"),
                ("akamai", "URISigningPackage=x"), ("live", "cat=x"), ("live", "a=1&CAT=x"), ("live", "c%61t=x"),
                ("media", "edge-cache-token=x"), ("media", "a=1&edge%2Dcache-token=x"),
                // The vendor's digest has no room for parameters of a folder.
                ("bunny", "a=1"),
                ("live", "a=1#x"), ("live", "#"), ("live", "a=\u{7f}"), ("live", "a=\r\nb"), ("live", "a=\u{0}"),
                ("live", "a b"),
                ("live", "a=%0D%0ASet-Cookie:x"), ("live", "a=%00"), ("live", "a=%C2%85"), ("live", "a=%FF"),
                ("live", "a=%4"),
                ("live", "a=ä"), ("live", "a=\"x\""), ("live", "a=<x>"), ("live", "a=\\"),
                ("live", "a=" + String(repeating: "x", count: 2048)),
            ]
            for (cdn, query) in queries {
                let url = "https://\(cdn == "live" ? "cdn" : cdn).example/else/a.m3u8"
                var parameters = try Self.parameters(gate, resource: "TBS", cdn: cdn, url: "\(url)?\(query)")
                let answer = try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters))
                #expect(answer.status == 400, "\(cdn) \(query.prefix(40)): \(answer)")
                #expect(!answer.body.contains("Set-Cookie:x"))
                // The token is good for the URL without it.
                guard cdn != "bunny" else { continue }
                parameters[3].1 = url
                #expect(
                    try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters)).status == 200,
                    "\(cdn) \(query.prefix(40))"
                )
            }
        }
    }

    @Test func `refuse what the caller may not say`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let refused: [([(String, String)], Int)] = [
                (try Self.parameters(gate, cdn: "nowhere"), 400),
                (try Self.parameters(gate, url: "http://akamai.example/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example.evil/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/../other/a.m3u8"), 400),
                (try Self.parameters(gate, url: "https://user@akamai.example/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/master.m3u8?"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/master.m3u8#x"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/else/a.m3u8"), 403),
                (try Self.parameters(gate) + [("cdn", "live")], 400), (Array(try Self.parameters(gate).prefix(3)), 400),
            ]
            for (parameters, status) in refused {
                let answer = try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(parameters))
                #expect(answer.status == status, "\(parameters.dropFirst()): \(answer)")
            }
            // The catalogue has it, but a list of another caller does not make it this one's.
            let foreign = try Self.parameters(
                gate,
                resource: "TBS",
                cdn: "live",
                url: "https://cdn.example/else/a.m3u8"
            )
            #expect(
                try Self.post(to: gate, path: "/tvs/v1/sign", body: Self.form(foreign), key: "pg_other").status == 403
            )
            #expect(try Self.post(to: gate, path: "/tvs/v1/sign", body: "", key: "wrong").status == 401)
            #expect(
                try gate.post("/tvs/v1/sign", body: "{}", headers: ["Authorization": "Bearer \(Self.key)"]).status
                    == 415
            )
        }
    }

    @Test func `are off unless they are configured, and can be without GET`() async throws {
        try await RunningGate.with(Self.configuration("")) { gate in
            let answer = try Self.post(to: gate, path: "/tvs/v1/validate", body: "mediaToken=a&resource=b")
            #expect(answer.status == 404)
        }
        try await RunningGate.with(Self.configuration("  tvs: post\n")) { gate in
            let headers = ["Authorization": "Bearer \(Self.key)"]
            let answer = try gate.get("/tvs/v1/validate?mediaToken=a&resource=b", headers: headers)
            #expect(answer.status == 405 && answer.values("Allow") == ["POST"])
        }
    }

    @Test func `have a twin in JSON that signs for one profile of an entry`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let token = try gate.token()
            let headers = ["Authorization": "Bearer \(Self.key)", "Content-Type": "application/json"]
            let body = "{\"path\":\"/film/master.m3u8\",\"token\":\"\(token)\",\"profile\":\"akamai\"}"
            let answer = try gate.post("/v1/sign", body: body, headers: headers)
            #expect(answer.status == 200 && answer.json["allowed"] as? Bool == true, "\(answer)")
            #expect((answer.json["url"] as? String)?.hasPrefix("https://akamai.example/hdnts=") ?? false)
            let again = try gate.post("/v1/sign", body: body, headers: headers)
            #expect(again.status == 403 && again.json["allowed"] as? Bool == false, "\(again)")
            let unknown = body.replacingOccurrences(of: "akamai", with: "nowhere")
            #expect(try gate.post("/v1/sign", body: unknown, headers: headers).status == 400)
        }
    }
}
