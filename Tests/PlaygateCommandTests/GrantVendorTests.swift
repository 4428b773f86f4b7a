// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import GateTestSupport
import Testing
import VendorTokens

@testable import playgate

/// Vendors' formats on the command line.
@Suite struct `Vendors' formats of grants` {
    private static let hexadecimal = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

    private static func issue(_ options: [String], secret: String = hexadecimal) throws -> CommandRun {
        let folder = try TemporaryFolder()
        let file = try folder.write("secret", contents: secret + "\n")
        return try CommandRun(
            ["grant", "issue", "--secret", file, "--scope", "/live/tnt/", "--at", "1925000120"] + options
        )
    }

    @Test func `are named as in the library`() {
        for format in VendorFormat.allCases { #expect(GrantFormatName(rawValue: format.rawValue)?.vendor == format) }
        #expect(GrantFormatName.cat.vendor == nil)
    }

    @Test func `print the specification's example`() throws {
        let run = try Self.issue(["--format", "edgeauth", "--set", "start=true", "--json"])
        let token =
            "st=1925000120~exp=1925000420~acl=/live/tnt/*~hmac=1c47cf9b16d6930edee447367cad855720be7118d8011aac40060147d09b7d76"
        #expect(run.status == 0, "\(run.error)")
        #expect(
            run.output.hasPrefix(
                "{\"format\":\"edgeauth\",\"token\":\"\(token)\",\"expires\":1925000420000,\"session\":null,"
            )
        )
        #expect(run.error.isEmpty)
    }

    @Test func `end with the session, and show its id`() throws {
        let run = try Self.issue(["--format", "edgeauth", "--life", "300s", "--session", "600s"])
        #expect(run.output.contains("~id="))
        let named = try Self.issue(["--format", "edgeauth", "--session-id", "s-1", "--life", "60s"])
        #expect(named.output.contains("exp=1925000180~acl=/live/tnt/*~id=s-1~"))
    }

    @Test func `warn of short secrets and weak algorithms`() throws {
        let options = ["--format", "secure-link", "--set", "weak=true", "--set", "template={expires}{scope}{secret}"]
        let run = try Self.issue(options, secret: "secret")
        #expect(run.status == 0)
        #expect(run.error.contains("fewer than 32 bytes") && run.error.contains("algorithm is weak"))
    }

    static let failures: [(options: [String], code: String)] = [
        (["--format", "edgeauth", "--session-id", "a~b"], "grant_character_refused"),
        (["--format", "edgeauth", "--set", "algorithm=md5"], "grant_algorithm_weak"),
        (["--format", "edgeauth", "--set", "algorithm=sha3"], "grant_value_invalid"),
        (["--format", "edgeauth", "--set", "colour=blue"], "grant_setting_unknown"),
        (["--format", "access-control", "--set", "kid=k"], "grant_value_missing"),
        (["--format", "secure-link", "--set", "weak=true", "--set", "template={expires}"], "grant_template_invalid"),
        (["--format", "url-sig", "--set", "weak=true"], "grant_value_missing"),
        (["--format", "edgeauth", "--secret-form", "base64", "--file", "/vod/a.mp4"], "grant_scope_invalid"),
        (["--format", "bunny", "--client", "203.0.113.0/24"], "grant_value_invalid"),
    ]

    @Test(arguments: failures)
    func `fail with the library's code`(options: [String], code: String) throws {
        let run = try Self.issue(options + ["--json"])
        #expect(run.status == 2)
        #expect(run.output.contains("{\"error\":\"\(code)\","), "\(run.output)")
        #expect(!run.error.contains(Self.hexadecimal))
    }

    @Test func `fail without a key, or with one of another form`() throws {
        let folder = try TemporaryFolder()
        let start = ["grant", "issue", "--format", "edgeauth", "--scope", "/live/tnt/", "--secret"]
        let none = try CommandRun(start + [folder.file("none"), "--json"])
        #expect(none.status == 2 && none.output.contains("input_unreadable"), "\(none.output)")
        let text = try CommandRun(start + [folder.write("text", contents: "not hexadecimal"), "--json"])
        #expect(text.status == 2 && text.output.contains("grant_key_unusable"), "\(text.output)")
    }

    static let wrong: [[String]] = [
        ["--format", "edgeauth"], ["--format", "cloudfront", "--secret", "x"],
        ["--format", "edgeauth", "--secret", "x", "--keys", "keys.json"],
        ["--format", "edgeauth", "--secret", "x", "--kid", "k"],
        ["--format", "edgeauth", "--secret", "x", "--method", "GET"],
        ["--format", "edgeauth", "--secret", "x", "--renew", "cookie"],
        ["--format", "edgeauth", "--secret", "x", "--once"], ["--format", "edgeauth", "--secret", "x", "--single"],
        ["--format", "edgeauth", "--secret", "x", "--set", "a"],
        ["--format", "edgeauth", "--secret", "x", "--set", "a=1", "--set", "a=2"],
        ["--format", "edgeauth", "--secret", "x", "--private-key", "y"], ["--format", "edge"],
        ["--keys", "k", "--kid", "k", "--issuer", "i", "--secret", "x"],
        ["--keys", "k", "--kid", "k", "--issuer", "i", "--file", "/a"],
        ["--kid", "k", "--issuer", "i"], ["--keys", "k", "--issuer", "i"], ["--keys", "k", "--kid", "k"],
    ]

    @Test(arguments: wrong)
    func `refuse options of another format`(options: [String]) {
        #expect(throws: (any Error).self) { try GrantCommand.Issue.parse(["--scope", "/live/tnt/"] + options) }
    }

    @Test func `are verified where edges of one's own have them`() throws {
        let folder = try TemporaryFolder()
        let secret = try folder.write("secret", contents: "playgate-example-of-thirty-two-b")
        let rows: [(format: String, settings: [String], more: [String])] = [
            ("secure-link", ["weak=true", "template={expires}{scope}{address}{secret}"], ["--client", "203.0.113.9"]),
            ("access-control", ["kid=key1", "subject=s"], []),
            ("edgeauth", ["escape=true"], ["--client", "2001:db8::1"]),
        ]
        for row in rows {
            let common =
                ["--format", row.format, "--secret", secret, "--secret-form", "text"]
                + row.settings.flatMap { ["--set", $0] }
                + row.more + ["--scope", "/live/tnt/"]
            let issued = try CommandRun(["grant", "issue", "--at", "1925000120"] + common)
            let line = try #require(issued.output.split(separator: "\n").first, "\(issued.error)")
            let token = try folder.write("token", contents: String(line.dropFirst("token    ".count)))
            func verify(_ more: [String]) throws -> CommandRun {
                let scope = row.format == "secure-link" ? common : Array(common.dropLast(2))
                return try CommandRun(["grant", "verify", "--token-file", token, "--json"] + scope + more)
            }
            let url = ["--url", "https://cdn.example/live/tnt/v1/1.m4s"]
            let good = try verify(url + ["--at", "1925000419"])
            #expect(
                good.status == 0 && good.output.hasPrefix("{\"valid\":true,\"code\":null"),
                "\(row.format) \(good.output) \(good.error)"
            )
            let late = try verify(url + ["--at", "1925000421"])
            #expect(late.status == 1 && late.output.contains("grant_expired"))
        }
        for format in ["cloudfront", "bunny"] {
            #expect(throws: (any Error).self) {
                try GrantCommand.Verify.parse(["--format", format, "--secret", secret, "--url", "/a"])
            }
        }
    }
}
