// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

/// Renewal by redirect, redirection to another network, and the log fields of docs/how-to/sign-uris.md.
@Suite struct `A gate that redirects signed URIs` {
    private static let manifest = "/live/query/master.m3u8"

    private static func location(_ answer: HTTPConnection.Response) throws -> String {
        try #require(answer.values("Location").first, "\(answer)")
    }

    @Test func `renews in the query of a redirect, once`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token(Self.manifest, profile: "query")
            let claims = try SignedURIGate.claims(token)
            #expect(claims["cdnistt"] as? Int == 2 && claims["cdniets"] as? Int == 300 && claims["cdnistd"] == nil)
            #expect(try sample.check(Self.manifest, token: token).status == 200)
            sample.gate.now = sample.gate.now.advanced(byMilliseconds: 200_000)
            let answer = try sample.check(Self.manifest + "?x=1", token: token)
            #expect(answer.status == 302 && answer.values("X-Playgate-Code") == ["renewed"], "\(answer)")
            #expect(answer.values("Cache-Control") == ["no-store"] && answer.values("Set-Cookie").isEmpty)
            #expect(answer.values("Content-Length") == ["0"])
            let location = try Self.location(answer)
            #expect(location.hasPrefix("\(Self.manifest)?x=1&URISigningPackage=ey") && !location.contains(token))
            // The player goes there, and is not redirected again, with the old token in a cookie neither.
            #expect(try sample.check(location).values("X-Playgate-Code") == ["granted"])
            let both = try sample.check(location, cookie: token)
            #expect(both.status == 200 && both.values("X-Playgate-Code") == ["granted"], "\(both)")
            let again = try Self.location(try sample.check(Self.manifest + "?x=1", token: token))
            #expect(again == location, "parallel requests get one token")
            let metric = "playgate_edge_requests_total{edge=\"forward\",status=\"302\"}"
            #expect(try sample.gate.metric(metric) == 2)
            sample.gate.now = sample.gate.now.advanced(byMilliseconds: 150_000)
            #expect(try sample.check(Self.manifest, token: token).values("X-Playgate-Code") == ["grant_expired"])
            #expect(try sample.check(location).values("X-Playgate-Code") == ["renewed"])
        }
    }

    @Test func `redirects no segment, cookie, other method, or edge that could not pass it on`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token(Self.manifest, profile: "query")
            sample.gate.now = sample.gate.now.advanced(byMilliseconds: 200_000)
            let answers = [
                try sample.check("/live/query/seg-1.m4s", token: token), try sample.check(Self.manifest, cookie: token),
                try sample.check(Self.manifest, token: token, nginx: true),
                try sample.check(Self.manifest, cookie: token, nginx: true),
            ]
            for answer in answers {
                #expect(answer.status == 200 && answer.values("X-Playgate-Code") == ["granted"], "\(answer)")
                #expect(answer.values("Location").isEmpty && answer.values("X-Playgate-Grant").isEmpty)
            }
            #expect(try sample.check(Self.manifest, token: token, method: "POST").status == 403)
            #expect(try sample.check(Self.manifest, token: token, method: "HEAD").status == 302)
            // A backend renews for such edges.
            let renewed = try sample.post("/v1/grants/renew", body: ["grant": token])
            let grant = try #require(renewed.json["grant"] as? SignedURIGate.Object, "\(renewed)")
            let fresh = try #require(grant["token"] as? String)
            #expect(fresh != token && grant["profile"] as? String == "query")
            #expect(try sample.code(for: "/live/query/seg-1.m4s", token: fresh) == "granted")
            // Two slashes at the start would name a host.
            for target in ["//evil.example/live/query/a.m3u8", "/\\evil.example/a.m3u8"] {
                let answer = try sample.check(target, token: token)
                #expect(answer.status == 403 && answer.values("Location").isEmpty, "\(target)")
            }
        }
        try await SignedURIGate.with(changes: [("  advanced: { redirects: [forward] }\n", "")]) { sample in
            let token = try sample.token(Self.manifest, profile: "query")
            sample.gate.now = sample.gate.now.advanced(byMilliseconds: 200_000)
            #expect(try sample.check(Self.manifest, token: token).status == 200)
        }
    }

    @Test func `makes the signed URI of another network, of the same folder and no longer life`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token("/live/tnt/master.m3u8", profile: "cdni")
            let url = "https://cdn.example/live/tnt/a.m3u8?x=1&URISigningPackage=\(token)"
            let answer = try sample.post("/v1/grants/redirect", body: ["url": url, "profile": "dcdn"])
            #expect(answer.status == 200, "\(answer)")
            let made = try #require(answer.json["token"] as? String)
            #expect(
                answer.json["url"] as? String
                    == "https://dcdn.example/live/tnt/a.m3u8?x=1&URISigningPackage=\(made)"
            )
            let (old, new) = (try SignedURIGate.claims(token), try SignedURIGate.claims(made))
            #expect(new["cdniuc"] as? String == #"regex:^https://dcdn\.example/live/tnt/.*$"#)
            for name in ["exp", "nbf", "cdniets", "cdnistt", "cdnistd"] {
                #expect(new[name] as? Int == old[name] as? Int, "\(name)")
            }
            // What it was given for, and by whom it is counted and revoked, stays.
            for name in ["pgs", "pgr", "pgt"] {
                #expect(new[name] as? String == old[name] as? String && new[name] != nil, "\(name)")
            }
            #expect(new["aud"] as? String == "dcdn")
            #expect(old["pgf"] as? String == "cdni" && new["pgf"] as? String == "dcdn")
            #expect(try UnverifiedJWS(made.utf8.span).keyID == KeyID("ec-1"))
            // It is for the other network alone.
            #expect(try sample.code(for: "/live/tnt/a.m3u8", token: made) == "grant_audience_mismatch")
            let cookie = ["url": "https://cdn.example/live/tnt/a.m3u8", "grant": token, "profile": "dcdn"]
            #expect(try sample.post("/v1/grants/redirect", body: cookie).status == 200)
        }
    }

    @Test func `redirects nothing that an edge would refuse`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token("/live/tnt/master.m3u8", profile: "cdni")
            let start = "https://cdn.example/live/tnt/a.m3u8"
            let good = "\(start)?URISigningPackage=\(token)"
            let rows: [(url: String, profile: String, status: Int, code: String)] = [
                (start, "dcdn", 401, "grant_missing"), (good + "x", "dcdn", 403, "grant_malformed"),
                ("http" + good.dropFirst(5), "dcdn", 403, "grant_uri_mismatch"),
                ("https://cdn.example/live/other/a.m3u8?URISigningPackage=\(token)", "dcdn", 404, "unknown_media"),
                ("https://cdn.example/live/query/a.m3u8?URISigningPackage=\(token)", "dcdn", 400, "invalid_request"),
                (good, "none", 400, "invalid_request"), (good, "partner", 400, "invalid_request"),
                ("cdn.example/live/tnt/a.m3u8", "dcdn", 400, "invalid_request"),
                ("https://cdn.example/live/tnt/a;b/a.m3u8", "dcdn", 400, "invalid_request"),
            ]
            for row in rows {
                let answer = try sample.post("/v1/grants/redirect", body: ["url": row.url, "profile": row.profile])
                #expect(answer.status == row.status && answer.json["code"] as? String == row.code, "\(row): \(answer)")
            }
            let revocation: SignedURIGate.Object = [
                "playback": try #require(try sample.start("/live/tnt/master.m3u8")["cdni"]?["session"] as? String)
            ]
            #expect(try sample.post("/v1/revocations", body: revocation).status < 300)
            let revoked = try sample.post("/v1/grants/redirect", body: ["url": good, "profile": "dcdn"])
            #expect(revoked.json["code"] as? String == "grant_revoked", "\(revoked)")
        }
    }

    @Test func `uses up an identity by a redirect, and leads from https only to https`() async throws {
        let changes = [
            ("grant: partner }", "grant: [partner, dcdn, plain] }"),
            (
                "    partner: {",
                "    plain: { format: uri-signing, issuer: playgate, key: ec-1, host: plain.example, "
                    + "scheme: http, cookie: { sameSite: Lax } }\n    partner: {"
            ),
        ]
        try await SignedURIGate.with(changes: changes) { sample in
            let token = try sample.partnerToken(#"{"iss":"partner","exp":%,"jti":"once","cdniuc":"regex:https://.*"}"#)
            let url = "https://cdn.example/partner/a.ts?URISigningPackage=\(token)"
            let down = try sample.post("/v1/grants/redirect", body: ["url": url, "profile": "plain"])
            #expect(down.status == 422 && down.json["code"] as? String == "url_not_signed", "\(down)")
            #expect(down.json["details"] as? String == "grant_redirect_insecure")
            let first = try sample.post("/v1/grants/redirect", body: ["url": url, "profile": "dcdn"])
            let claims = try SignedURIGate.claims(try #require(first.json["token"] as? String, "\(first)"))
            #expect(claims["jti"] as? String == "once" && claims["iss"] as? String == "playgate")
            #expect((claims["cdniuc"] as? String)?.hasPrefix("hash:sha-256;") ?? false, "\(claims)")
            let second = try sample.post("/v1/grants/redirect", body: ["url": url, "profile": "dcdn"])
            #expect(second.json["code"] as? String == "grant_replayed", "\(second)")
        }
    }

    @Test func `logs checks with the fields of a CDNI log`() async throws {
        try await SignedURIGate.with { sample in
            let token = try sample.token("/live/tnt/master.m3u8", profile: "cdni")
            let rows: [(path: String, token: String?, status: String, reason: String)] = [
                ("/live/tnt/log-1.ts", token, "200", "-"), ("/live/tnt/log-2.ts", nil, "000", #"\"grant_missing\""#),
                ("/live/tnt/log-3.ts", token + "x", "500", #"\"grant_malformed\""#),
                ("/live/tnt/log-4.ts", String(token.dropLast(4)) + "AAAA", "400", #"\"grant_signature_invalid\""#),
                (
                    "/live/query/log-5.ts", try sample.token("/vod/film.mp4", profile: "file"), "411",
                    #"\"grant_uri_mismatch\""#
                ),
                (
                    "/partner/log-6.ts", try sample.partnerToken(#"{"iss":"partner","exp":1}"#), "404",
                    #"\"grant_expired\""#
                ),
            ]
            for row in rows {
                _ = try sample.check(row.path, token: row.token)
                let line = try #require(try sample.gate.log("\"path\":\"\(row.path)\"").first, "\(row.path)")
                let fields = "\"s-uri-signing\":\"\(row.status)\",\"s-uri-signing-deny-reason\":\"\(row.reason)\""
                #expect(line.contains(fields), "\(line)")
                #expect(!line.contains("URISigningPackage") && !line.contains(token.prefix(40)))
            }
            // A start at the API is no check of a signed URI.
            #expect(try sample.gate.log("\"code\":\"verified\"").allSatisfy { !$0.contains("s-uri-signing") })
        }
    }
}
