// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Foundation
import GateTestSupport
import Keys
import Platform
import Testing

@testable import playgate

@Suite struct `The grant issue and renew commands` {
    private let sample: GrantSample

    init() throws { sample = try GrantSample.shared.get() }

    private func issue(_ options: [String], at time: Int64 = GrantSample.issued) throws -> CommandRun {
        try CommandRun(
            [
                "grant", "issue", "--keys", sample.keys, "--kid", "pg-2026-11", "--issuer", "playgate", "--scope",
                "/live/tnt/",
                "--at", String(time),
            ] + options
        )
    }

    private func token(_ options: [String]) throws -> String {
        let run = try issue(options)
        try #require(run.status == 0, "\(run.error)")
        return String(run.output.dropLast())
    }

    private func renew(_ token: String, at seconds: Int64, options: [String] = []) throws -> CommandRun {
        let time = String(GrantSample.issued + seconds)
        return try CommandRun(["grant", "renew", "--keys", sample.keys, "--at", time] + options, input: token)
    }

    @Test func `issue what verify accepts, and nothing beyond it`() throws {
        let token = try token([
            "--host", "cdn.example", "--audience", "edge", "--address", "203.0.113.0/24", "--asn", "7",
        ])
        let facts = ["--audience", "edge", "--client", "203.0.113.77"]
        #expect(try sample.verify(token, options: GrantSample.live + facts).isValid)
        #expect(try sample.verify(token, options: GrantSample.live + facts + ["--issuer", "playgate"]).isValid)
        let rows: [([String], GrantCode)] = [
            (GrantSample.live + ["--client", "203.0.113.77"], .audienceMismatch),
            (GrantSample.live + ["--audience", "edge", "--client", "203.0.114.1", "--asn", "8"], .addressMismatch),
            (["--url", "https://cdn.example/live/tntx/a"] + facts, .uriMismatch),
            (["--url", "https://other.example/live/tnt/a"] + facts, .uriMismatch),
            (GrantSample.live + facts + ["--method", "DELETE"], .methodRefused),
            (GrantSample.live + facts + ["--at", "1925000420"], .expired),
        ]
        for (options, code) in rows { #expect(try sample.verify(token, options: options).refusal?.code == code) }
    }

    @Test func `issue with the claims of E1 but for identity and site`() throws {
        let token = try token(["--host", "cdn.example", "--renew", "cookie", "--deadline", "120s"])
        var issued = try GrantSample.payload(token)
        var example = try GrantSample.payload(GrantSample.e1)
        // The identity is random, and the cookie is also for other sites.
        issued.replaceSubrange(31..<47, with: example[31..<47])
        let cookie = GrantSample.bytes("6d") + [UInt8]("SameSite=None".utf8)
        example += cookie
        example[example.count - 33 - cookie.count] = 0x84
        #expect(issued == example)
    }

    @Test func `issue for one use, with methods and countries`() throws {
        let token = try token(["--once", "--method", "GET", "--country", "US"])
        #expect(try sample.verify(token, options: GrantSample.live + ["--country", "US"]).assumptions == [.firstUse])
        #expect(
            try sample.verify(token, options: GrantSample.live + ["--country", "CA"]).refusal?.code == .locationMismatch
        )
        #expect(
            try sample.verify(token, options: GrantSample.live + ["--method", "HEAD"]).refusal?.code == .methodRefused
        )
    }

    @Test func `print the times with the grant`() throws {
        let run = try issue(["--host", "cdn.example", "--session", "12h", "--renew", "header", "--json"])
        let object = try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
        #expect(object["expires"] as? Int64 == 1_925_000_420_000)
        #expect(object["renewAfter"] as? Int64 == 1_925_000_300_000)
        #expect(object["sessionEnds"] as? Int64 == 1_925_043_320_000)
        #expect(object["scope"] as? [String] == ["https://cdn.example/live/tnt/"])
        #expect((object["session"] as? String)?.count == 32 && (object["id"] as? String)?.count == 32)
        let token = try #require(object["token"] as? String)
        #expect(try sample.verify(token).grant?.sessionID?.hexadecimal == object["session"] as? String)
    }

    @Test(
        arguments: [
            (["--scope", "/live"], "--scope"), (["--scope", "live/"], "--scope"), (["--scope", "/a/../"], "--scope"),
            (["--scope", "/a b/"], "--scope"), (["--host", "cdn.example:443"], "--host"),
            (["--host", "CDN.example"], "--host"),
            (["--address", "203.0.113.9"], "/24"), (["--address", "2001:db8::/64"], "/56"),
            (["--address", "x"], "--address"),
            (["--address", "1.2.3.0/33"], "--address"), (["--renew", "cookie", "--deadline", "300s"], "--deadline"),
            (["--deadline", "10s"], "--renew"), (["--session", "1m"], "--session"), (["--life", "0s"], "--life"),
            (["--renew", "redirect"], "--renew"), (["--session", "106751991167d"], "--session"),
            (["--at", "-1"], "--at"), (["--issuer", ""], "--issuer"), (["--asn", "0"], "--asn"),
        ] as [([String], String)]
    )
    func `call wrong usage by its name`(options: [String], message: String) throws {
        let run = try issue(options)
        #expect(run.status == 64 && run.output.isEmpty)
        #expect(run.error.contains(message), "\(run.error)")
    }

    @Test(arguments: [("none", "is not in the key set"), ("pg-es-1", "is a public key")])
    func `say which key cannot sign`(kid: String, message: String) throws {
        let run = try issue(["--kid", kid, "--json"])
        #expect(run.status == 2 && run.error.contains(message))
        #expect(run.output.hasPrefix(#"{"error":"grant_key_unusable""#))
    }

    @Test func `renew only within the window`() throws {
        let token = try token(["--session", "12h", "--renew", "cookie"])
        for (seconds, code) in [(179, "grant_not_renewable"), (300, "grant_expired"), (-1, "grant_not_yet_valid")]
            as [(Int64, String)]
        {
            let run = try renew(token, at: seconds, options: ["--json"])
            #expect(run.status == 1)
            #expect(run.output.hasPrefix(#"{"renewed":false,"code":"\#(code)""#), "\(run.output)")
        }
        for seconds in [180, 299] as [Int64] {
            let run = try renew(token, at: seconds)
            #expect(run.status == 0, "\(run.error)")
            let now = String(GrantSample.issued + seconds + 299)
            let answer = try sample.verify(String(run.output.dropLast()), options: GrantSample.live + ["--at", now])
            #expect(answer.isValid && answer.obligations?.isRenewalDue == true)
            #expect(answer.grant?.sessionID == (try sample.verify(token).grant?.sessionID))
        }
    }

    @Test func `renew only up to the end of the session`() throws {
        let token = try token(["--session", "400s", "--renew", "cookie"])
        let renewed = try renew(token, at: 250, options: ["--json"])
        #expect(renewed.output.contains(#""expires":1925000520000,"#), "\(renewed.output)")
        let last = String(try renew(token, at: 250).output.dropLast())
        let ended = try renew(last, at: 399, options: ["--json"])
        #expect(ended.status == 1 && ended.output.contains(#""code":"session_ends""#))
        #expect(try renew(last, at: 400, options: ["--json"]).output.contains(#""code":"session_ended""#))
    }

    @Test func `renew a grant without a session only with a bound`() throws {
        let run = try renew(GrantSample.e1, at: 200)
        #expect(run.status == 1 && run.error.contains("--maximum-session"))
        let renewed = try renew(GrantSample.e1, at: 200, options: ["--maximum-session", "1h", "--json"])
        #expect(renewed.status == 0 && renewed.output.contains(#""expires":1925000620000,"#), "\(renewed.error)")
        #expect(try renew(GrantSample.e1, at: 200, options: ["--maximum-session", "100s"]).status == 1)
        #expect(try renew(GrantSample.e1, at: 200, options: ["--maximum-session", "106751991167d"]).status == 64)
        #expect(try renew(try token([]), at: 200, options: ["--json"]).output.contains(#""code":"not_renewable""#))
        #expect(
            try renew(GrantSample.e1, at: 200, options: ["--issuer", "x", "--json"]).output.contains(
                "grant_issuer_refused"
            )
        )
        let forged = try GrantSample.changedToken { $0[40] ^= 1 }
        #expect(try renew(forged, at: 200, options: ["--json"]).output.contains("grant_signature_invalid"))
    }
}
