// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Keys
import Testing

@testable import playgate

@Suite struct `The grant commands for signed URIs` {
    private let sample: GrantSample
    private let folder: TemporaryFolder
    private let encryption: String

    init() throws {
        sample = try GrantSample.shared.get()
        folder = try TemporaryFolder()
        encryption = try folder.write(
            "enc.json",
            contents: #"{"keys":[{"kty":"oct","use":"enc","kid":"e","alg":"A128KW","k":"AAECAwQFBgcICQoLDA0ODw"}]}"#
        )
    }

    /// The specification's example.
    private static let example =
        "eyJhbGciOiJIUzI1NiIsImtpZCI6InBnLTIwMjYtMTEifQ.eyJpc3MiOiJwbGF5Z2F0ZSIsImF1ZCI6ImVkZ2UtMSIsImV4cCI6MTkyNTAwMDQyMCwi"
        + "bmJmIjoxOTI1MDAwMTIwLCJpYXQiOjE5MjUwMDAxMjAsImNkbml2IjoxLCJjZG5pdWMiOiJyZWdleDpeaHR0cHM6Ly9jZG5cXC5leGFtcGxlL2xp"
        + "dmUvdG50Ly4qJCIsImNkbmlldHMiOjMwMCwiY2RuaXN0dCI6MSwiY2RuaXN0ZCI6Mn0.hxiYB_my9hhYxSJgxnyQBv1Pgt7B7wl5bXBTZzOuAwk"

    private func grant(
        _ command: String,
        options: [String],
        at seconds: Int64 = 0,
        input: String = ""
    ) throws -> CommandRun {
        let time = String(GrantSample.issued + seconds)
        let start = ["grant", command, "--format", "uri-signing", "--keys", sample.keys, "--at", time]
        return try CommandRun(start + options, input: input)
    }

    private func issue(_ options: [String]) throws -> CommandRun {
        try grant("issue", options: ["--kid", "pg-2026-11", "--issuer", "playgate"] + options)
    }

    @Test func `issue the specification's example`() throws {
        let options = ["--host", "cdn.example", "--scope", "/live/tnt/", "--audience", "edge-1", "--renew", "cookie"]
        #expect(try issue(options).output == Self.example + "\n")
    }

    @Test func `verify and refuse by exit code, code and claim`() throws {
        let url = "https://cdn.example/live/tnt/a.ts"
        let rows: [(String, [String], Int32, String)] = [
            (url, ["--audience", "edge-1"], 0, #""valid":true,"code":null"#),
            (url, [], 1, #""code":"grant_audience_mismatch","claim":"aud""#),
            (
                "https://cdn.example/live/x", ["--audience", "edge-1"], 1,
                #""code":"grant_uri_mismatch","claim":"cdniuc""#
            ),
            ("/live/tnt/a.ts", ["--audience", "edge-1"], 1, #""claim":"cdniuc","fact":"scheme""#),
            (url, ["--issuer", "other"], 1, #""code":"grant_issuer_refused","claim":"iss""#),
        ]
        for (url, options, status, text) in rows {
            let run = try grant("verify", options: ["--url", url, "--json"] + options, at: 1, input: Self.example)
            #expect(run.status == status && run.output.contains(text), "\(options): \(run.output)\(run.error)")
        }
    }

    @Test func `cut the token out of the URL, the first good one of several`() throws {
        let good = "https://cdn.example/live/tnt/a.ts?URISigningPackage=\(Self.example)"
        let options = ["--audience", "edge-1"]
        #expect(try grant("verify", options: ["--url", good] + options, at: 1).status == 0)
        #expect(
            try grant("verify", options: ["--url", good + "&URISigningPackage=a.b.c"] + options, at: 1).status == 0
        )
        let path = "https://cdn.example/live/tnt;URISigningPackage=a.b.c/a.ts?x=1&URISigningPackage=\(Self.example)"
        #expect(try grant("verify", options: ["--url", path] + options, at: 1).status == 0)
        let other = good.replacing("URISigningPackage", with: "tok")
        #expect(try grant("verify", options: ["--url", other, "--attribute", "tok"] + options, at: 1).status == 0)
        let bad = try grant(
            "verify",
            options: ["--url", "https://cdn.example/a?URISigningPackage=a.b.c", "--json"],
            at: 1
        )
        #expect(bad.status == 1 && bad.output.contains("grant_malformed"))
    }

    @Test func `verify a file of URLs and of tokens`() throws {
        let lines = [
            "https://cdn.example/live/tnt/a.ts?URISigningPackage=\(Self.example)",
            "\(Self.example)\thttps://cdn.example/live/x", "https://cdn.example/live/tnt/a.ts?URISigningPackage=a.b.c",
        ]
        let file = try folder.write("batch.txt", contents: lines.joined(separator: "\n") + "\n")
        let run = try grant("verify", options: ["--batch", file, "--audience", "edge-1"], at: 1)
        let codes = run.output.split(separator: "\n").map { $0.prefix(60) }
        #expect(run.status == 1 && codes.count == 3, "\(run.error)")
        #expect(codes.first?.hasPrefix(#"{"line":1,"valid":true"#) == true)
        #expect(codes.dropFirst().first?.contains("grant_uri_mismatch") == true)
        #expect(codes.last?.contains("grant_malformed") == true)
    }

    @Test func `encrypt the client's address`() throws {
        let run = try issue([
            "--exact", "https://cdn.example/vod/a.mp4", "--address", "203.0.113.9", "--encrypt", encryption, "--once",
            "--subject", "viewer",
        ])
        let token = String(run.output.dropLast())
        let url = ["--url", "https://cdn.example/vod/a.mp4", "--json"]
        let good = try grant(
            "verify",
            options: url + ["--client", "203.0.113.9", "--decrypt", encryption],
            at: 1,
            input: token
        )
        #expect(
            good.status == 0 && good.output.contains(#""assumed":["first_use_of_url"]"#),
            "\(good.output)\(good.error)"
        )
        for options in [
            ["--client", "203.0.113.8", "--decrypt", encryption], ["--client", "203.0.113.9"],
            ["--decrypt", encryption],
        ] {
            let bad = try grant("verify", options: url + options, at: 1, input: token)
            #expect(bad.status == 1 && bad.output.contains(#""code":"grant_address_mismatch","claim":"cdniip""#))
        }
    }

    @Test func `leave the header out, and renew to a bounded session`() throws {
        let scope = ["--host", "cdn.example", "--scope", "/live/tnt/"]
        let bare = String(try issue(scope + ["--omit-header"]).output.dropLast())
        #expect(bare.split(separator: ".").count == 2)
        let header = String(Self.example.prefix { $0 != "." })
        let url = ["--url", "https://cdn.example/live/tnt/a"]
        #expect(try grant("verify", options: url + ["--jwt-header", header], at: 1, input: bare).status == 0)
        #expect(try grant("verify", options: url, at: 1, input: bare).status == 1)

        #expect(try grant("renew", options: [], at: 200, input: Self.example).status == 1)
        let renewed = try grant("renew", options: ["--maximum-session", "1h", "--json"], at: 200, input: Self.example)
        #expect(renewed.status == 0 && renewed.output.contains(#""expires":1925000620000"#), "\(renewed.output)")
        #expect(try grant("renew", options: ["--maximum-session", "1h"], at: 300, input: Self.example).status == 1)
    }

    @Test(arguments: [
        ("query", "Location: /live/tnt/a.m3u8?x=1&URISigningPackage=ey"),
        ("cookie", "Set-Cookie: URISigningPackage=ey"),
    ])
    func `renew as an edge answers`(way: String, start: String) throws {
        let options = ["--host", "cdn.example", "--scope", "/live/tnt/", "--session", "1h", "--renew", way]
        let url = "https://cdn.example/live/tnt/a.m3u8?x=1"
        let signed = String(try issue(options + ["--sign", url]).output.dropLast())
        let run = try grant("renew", options: ["--url", signed], at: 200)
        #expect(run.status == 0 && run.output.hasPrefix(start), "\(run.output)\(run.error)")
        #expect(!run.output.contains(signed.suffix(43)), "the old token is gone")
        #expect(try grant("renew", options: ["--url", signed], at: 10).status == 1)
        let short = try grant(
            "renew",
            options: ["--url", signed.replacing("/live/tnt/a.m3u8", with: "/a"), "--json"],
            at: 200
        )
        #expect((short.status == 0) == (way == "query"), "\(short.output)")
        let cat = try CommandRun(["grant", "renew", "--keys", sample.keys, "--url", url])
        #expect(cat.status == 64)
    }

    @Test func `redirect to another network`() throws {
        let made = ["keys", "new", "--out", folder.file("dcdn"), "--kid", "dcdn-1", "--algorithm", "ES512"]
        #expect(try CommandRun(made).status == 0)
        let keys = folder.file("dcdn/keys.json")
        let options = [
            "--host", "cdn.example", "--scope", "/live/tnt/", "--sign", "https://cdn.example/live/tnt/a.m3u8",
        ]
        let signed = String(try issue(options).output.dropLast())
        func redirect(_ target: String, at seconds: Int64 = 1) throws -> CommandRun {
            let start = ["grant", "redirect", "--keys", sample.keys, "--issuer", "playgate", "--url", signed]
            let time = ["--at", String(GrantSample.issued + seconds), "--signing-keys", keys, "--kid", "dcdn-1"]
            return try CommandRun(start + time + ["--as", "ucdn", "--to", target])
        }
        func code(for token: String, at url: String) throws -> Int32 {
            let time = String(GrantSample.issued + 1)
            let start = [
                "grant", "verify", "--format", "uri-signing", "--keys", keys, "--issuer", "ucdn", "--at", time,
            ]
            return try CommandRun(start + ["--url", url], input: token).status
        }
        for (target, opensFolder) in [("/live/tnt/a.m3u8", true), ("/other/a.m3u8", false)] {
            let run = try redirect("https://dcdn.example\(target)")
            let start = "https://dcdn.example\(target)?URISigningPackage="
            try #require(run.status == 0 && run.output.hasPrefix(start), "\(run.output)\(run.error)")
            let token = String(run.output.dropFirst(start.count).dropLast())
            #expect(try code(for: token, at: "https://dcdn.example\(target)") == 0)
            #expect(
                try code(for: token, at: "https://dcdn.example/live/tnt/b.ts") == (opensFolder ? 0 : 1),
                "\(target)"
            )
            #expect(try code(for: token, at: "https://cdn.example\(target)") == 1)
        }
        let down = try redirect("http://dcdn.example/live/tnt/a.m3u8")
        #expect(down.status == 2 && down.output.isEmpty && down.error.contains("https to http"), "\(down.error)")
        let late = try redirect("https://dcdn.example/live/tnt/a.m3u8", at: 300)
        #expect(late.status == 1 && late.error.contains("grant_expired"), "\(late.error)")
        #expect(try redirect("/live/tnt/a.m3u8").status == 64)
    }

    @Test(arguments: [
        (#"{"exp":1925000420,"cdniuc":"regex:^.*$"}"#, "iss", "grant_issuer_refused"),
        (#"{"iss":"playgate","cdniuc":"regex:^.*$"}"#, "exp", "grant_malformed"),
        (#"{"iss":"playgate","exp":1925000420}"#, "cdniuc", "grant_uri_mismatch"),
    ])
    func `demand a claim unless it is optional`(payload: String, claim: String, code: String) throws {
        let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
        let key = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-2026-11"), binding: binding)
        let token = try key.signJWS([UInt8](payload.utf8))
        let url = ["--url", "https://cdn.example/a", "--json"]
        let strict = try grant("verify", options: url + ["--issuer", "playgate"], at: 1, input: token)
        #expect(strict.status == 1 && strict.output.contains(code), "\(strict.output)")
        let lenient = url + ["--optional", claim]
        let run = try grant("verify", options: lenient + ["--issuer", "playgate"], at: 1, input: token)
        #expect(run.status == 0, "\(run.output)\(run.error)")
        if claim == "iss" { #expect(try grant("verify", options: lenient, at: 1, input: token).status == 64) }
    }

    @Test(arguments: ["HS384", "HS512", "ES384", "ES512", "EdDSA", "PS256", "RS256"])
    func `accept keys of every algorithm of the format`(algorithm: String) throws {
        let made = ["keys", "new", "--out", folder.file(algorithm), "--kid", "k", "--algorithm", algorithm]
        let run = try CommandRun(made)
        #expect(run.status == 0, "\(run.error)")
        let start = ["--keys", folder.file("\(algorithm)/keys.json"), "--at", String(GrantSample.issued)]
        let scope = ["--kid", "k", "--issuer", "playgate", "--host", "cdn.example", "--scope", "/a/"]
        let issued = try CommandRun(["grant", "issue", "--format", "uri-signing"] + start + scope)
        let url = ["--url", "https://cdn.example/a/b", "--issuer", "playgate"]
        let token = String(issued.output.dropLast())
        let good = try CommandRun(["grant", "verify", "--format", "uri-signing"] + start + url, input: token)
        #expect(good.status == 0 && good.output.contains("(\(algorithm))"), "\(good.output)\(good.error)")
        let cat = try CommandRun(["grant", "issue"] + start + scope)
        #expect((cat.status == 0) == (algorithm != "RS256"), "\(cat.error)")
        let header = try CommandRun(
            ["grant", "verify", "--format", "uri-signing", "--jwt-header", "eyJhbGciOiJub25lIn0"] + start + url
        )
        #expect(header.status == 64 && header.error.contains("grant_algorithm_refused"))
    }

    @Test func `name the options that have no claim`() throws {
        let scope = ["--scope", "/live/tnt/"]
        let rows: [[String]] = [
            [], scope + ["--exact", "https://a/"], scope + ["--method", "GET"], scope + ["--asn", "1"],
            scope + ["--country", "US"], scope + ["--address", "10.0.0.1"], scope + ["--renew", "header"],
            scope + ["--renew", "cookie", "--deadline", "10s"], scope + ["--subject", "x"],
            scope + ["--attribute", "a b"], scope + ["--depth", "65"], scope + ["--sign", "nothing"],
        ]
        for row in rows {
            let run = try issue(row)
            #expect(run.status == 64 && run.output.isEmpty, "\(row): \(run.error)")
        }
        let cat = try CommandRun(
            ["grant", "issue", "--keys", sample.keys, "--kid", "pg-2026-11", "--issuer", "playgate"] + scope
                + ["--renew", "query"]
        )
        #expect(cat.status == 64)
    }
}
