// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The commands of docs/reference/verification.md for media tokens in JWS form.
@Suite(.enabled(if: Requirement.areInstalled("openssl"), "openssl is not installed: run scripts/setup test"))
struct `The commands for tokens in JWS form` {
    @Test func `run as the page prints them`() throws {
        let page = try String(contentsOfFile: repository + "/docs/reference/verification.md", encoding: .utf8)
        let section = try #require(page.components(separatedBy: "## Tokens in JWS form").last)
        let script = try #require(section.components(separatedBy: "```sh\n").dropFirst().first)
        let commands = try #require(script.components(separatedBy: "```").first)
        let folder = try TemporaryFolder()
        let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        let run = try CommandRun(
            "/usr/bin/env",
            arguments: ["-C", folder.path, "bash", "-ec", "PATH=\(programs):$PATH\n" + commands + "cat token.jws"]
        )
        #expect(run.status == 0, "\(run.error)")
        #expect(run.output.contains("VALID_TOKEN"))
        let token = try #require(run.output.split(separator: "\n").last.map(String.init))

        let key = folder.file("jws.pem")
        let other = ["verify", "--requestor", "REF30", "--resource", "TBS", token]
        #expect(try CommandRun(other + ["--trust-jws", key]).status == 1)
        // Trusted for signed elements, the key is refused.
        let element = try CommandRun(other + ["--trust", key])
        #expect(element.status == 2)
        #expect(element.error.contains("trust_unsupported_key"))
        #expect(try CommandRun(other).status == 64)
        #expect(try CommandRun(["inspect", token]).output.contains("mediatoken+jwt"))
    }
}
