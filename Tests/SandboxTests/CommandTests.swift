// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Sandbox
import Testing

/// The command-line program.
@Suite struct `playgate-sandbox` {
    private static func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
        let run = try CommandRun(Program.built("playgate-sandbox"), arguments: arguments)
        return (run.status, run.output + run.error)
    }

    @Test func `serves with the keys and the configuration that it is given, until it is stopped`() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let keys = try GateSample.current.get().keys
            try folder.write("signer.pem", contents: keys.signerCertificate)
            try folder.write("signer.key", contents: keys.signerKey)
            let file = try folder.write("sandbox.yaml", contents: try SandboxConfigurationText.printed())
            let program = try Program(
                Program.built("playgate-sandbox"),
                arguments: [
                    "serve", "--config", file, "--keys", folder.path, "--state", folder.file("state"), "--listen",
                    "127.0.0.1:0",
                ],
                log: folder.file("log")
            )
            #expect(eventually { program.output.contains("listening on ") || !program.isRunning })
            let line = try #require(
                program.output.firstMatch(of: /playgate-sandbox: listening on http:\/\/(127\.0\.0\.1:\d+)\n/)
            )
            let answer = try HTTPConnection(String(line.1)).request("GET", path: "/sandbox/keys", host: "localhost")
            #expect(answer.body == keys.signerCertificate)
            program.signal(SIGTERM)
            #expect(try program.waitUntilExit() == 0)
            // The program prints nothing else.
            #expect(program.output == String(line.0))
        }
    }

    @Test func `inventory 3: logs requests on demand, with the names of options and no values`()
        async throws
    {
        try await onThread {
            let folder = try TemporaryFolder()
            let program = try Program(
                Program.built("playgate-sandbox"),
                arguments: ["serve", "--verbose", "--listen", "127.0.0.1:0"],
                log: folder.file("log")
            )
            #expect(eventually { program.output.contains("listening on ") || !program.isRunning })
            let line = try #require(program.output.firstMatch(of: /listening on http:\/\/(127\.0\.0\.1:\d+)\n/))
            _ = try HTTPConnection(String(line.1)).request(
                "GET",
                path: "/api/v2/REF30/profiles/code/SECRET1?token=SECRET2",
                headers: [
                    "AP-Visitor-Identifier": "SECRET3", "AP-Application-Profile": "SECRET4",
                    "Authorization": "Bearer SECRET5",
                ],
                host: "localhost"
            )
            #expect(eventually { program.output.contains("GET /api/v2/:provider/profiles/code/:code") })
            #expect(program.output.contains("options=visitorID,applicationProfile"))
            #expect(program.output.contains("status=401"))
            #expect(!program.output.contains("SECRET"))
        }
    }

    @Test func `refuses what it cannot do, with a reason and an exit code`() async throws {
        try await onThread {
            let folder = try TemporaryFolder()
            let bad = try folder.write("bad.yaml", contents: "requestors: 1\n")
            let good = try folder.write("good.yaml", contents: try SandboxConfigurationText.printed())
            let keys = try GateSample.current.get().keys
            try folder.write("signer.pem", contents: keys.signerCertificate)
            try folder.write("signer.key", contents: try GateSample.foreign.get().keys.signerKey)
            let cases: [([String], Int32, String)] = [
                (["check", good], 0, ": valid"), (["check", bad], 2, "bad.yaml:1:13: requestors: must be a list"),
                (["check", folder.file("none.yaml")], 2, "cannot be opened"),
                (["serve", "--config", bad], 2, "bad.yaml"),
                (["serve", "--keys", folder.file("none"), "--listen", "127.0.0.1:0"], 2, "playgate keys new"),
                (["serve", "--keys", folder.path, "--listen", "127.0.0.1:0"], 2, "not the key of signer.pem"),
                (["serve", "--listen", "0.0.0.0:0"], 64, "--allow-remote"),
                (["serve", "--listen", "nowhere"], 64, "HOST:PORT"),
                (
                    ["serve", "--state", folder.file("no/such"), "--listen", "127.0.0.1:0"], 2,
                    "the state cannot be opened"
                ),
                (["serve", "--listen", "127.0.0.1"], 64, "HOST:PORT"), (["nonsense"], 64, "nonsense"),
                (["--help"], 0, "test entitlement service"),
            ]
            for (arguments, status, text) in cases {
                let outcome = try Self.run(arguments)
                #expect(outcome.status == status, "\(arguments): \(outcome.output)")
                #expect(outcome.output.contains(text), "\(arguments): \(outcome.output)")
            }
        }
    }
}

/// The configuration that the program prints.
private enum SandboxConfigurationText {
    static func printed() throws -> String {
        let run = try CommandRun(Program.built("playgate-sandbox"), arguments: ["config"])
        #expect(run.status == 0)
        #expect(run.output == SandboxConfiguration.defaultText)
        return run.output
    }
}
