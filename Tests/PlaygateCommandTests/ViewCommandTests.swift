// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The sandbox and a gate that trusts it, as processes.
private final class Stage: Sendable {
    let folder: TemporaryFolder
    let service: String
    let gate: String
    private let programs: [Program]

    init() throws {
        folder = try TemporaryFolder()
        let keys = try CommandRun(["keys", "new", "--out", folder.file("keys")])
        try #require(keys.status == 0, "\(keys.error)")
        let sandbox = try Program(
            Program.built("playgate-sandbox"),
            ["serve", "--keys", folder.file("keys"), "--listen", "127.0.0.1:0"],
            log: folder.file("sandbox.log")
        )
        try folder.write(
            "gate.yaml",
            """
            requestor: REF30
            trust: { keys: [{ file: keys/signer.pem }] }
            catalogue: { entries: [{ media: tnt-live, resource: TNT }, { media: tbs-live, resource: TBS }] }
            api: { listen: "127.0.0.1:0", open: true }
            admin: { listen: "unix:\(folder.file("admin.sock"))" }
            """
        )
        let gate = try Program(
            Program.built("playgate"),
            ["serve", "--config", folder.file("gate.yaml")],
            log: folder.file("gate.log")
        )
        programs = [sandbox, gate]
        service = try Self.wait(sandbox, for: /listening on (http:\/\/127\.0\.0\.1:\d+)/)
        self.gate = "http://" + (try Self.wait(gate, for: /"address":"([^"]+)","listener":"api"/))
    }

    private static func wait(_ program: Program, for line: Regex<(Substring, Substring)>) throws -> String {
        _ = eventually { program.output.contains(line) || !program.isRunning }
        return String(try #require(program.output.firstMatch(of: line), "\(program.output)").output.1)
    }

    func view(_ user: String, _ more: String...) throws -> CommandRun {
        try CommandRun(
            ["view", "--service", service, "--provider", "SandboxMVPD", "--user", user, "--password", user] + more,
            of: "playgate-sandbox"
        )
    }
}

@Suite struct `playgate-sandbox view` {
    @Test("flow G: goes the way from nothing to the gate, and tells of each step") func way() async throws {
        try await onThread {
            let stage = try Stage()
            let run = try stage.view(
                "bob",
                "--show",
                "TNT",
                "--show",
                "CNN",
                "--resource",
                "TNT",
                "--gate",
                stage.gate,
                "--media",
                "tnt-live",
                "--logout"
            )
            #expect(run.status == 0, "\(run.output)\(run.error)")
            let steps = run.output.split(separator: "\n").filter { !$0.hasPrefix(" ") }
                .map { $0.split(separator: "  ")[0].trimmingCharacters(in: .whitespaces) }
            #expect(
                steps == [
                    "✔ configuration", "✔ provider", "✔ login", "✔ preauthorization", "– preauthorization",
                    "✔ authorization", "✔ media token", "✔ gate", "✔ logout",
                ]
            )
            #expect(run.output.contains("tnt-live: verified"))
            #expect(run.output.contains("authorization_denied_by_mvpd"))
            // The output must contain neither the password nor the token.
            #expect(!run.output.contains("PHNpZ25hdHVyZUluZm8"))
        }
    }

    @Test func `says no with the words of who says no, and exits with 1`() async throws {
        try await onThread {
            let stage = try Stage()
            for interface in ["v1", "v2"] {
                let denied = try stage.view("bob", "--interface", interface, "--resource", "CNN")
                #expect(denied.status == 1)
                #expect(denied.output.contains("✘ authorization"))
                #expect(denied.output.contains("authorization_denied_by_mvpd"))
            }
            let refused = try stage.view("bob", "--resource", "TNT", "--gate", stage.gate, "--media", "tbs-live")
            #expect(refused.status == 1)
            #expect(refused.output.contains("resource_mismatch"))
        }
    }

    @Test func `prints one JSON object, with the token where it is asked for`() async throws {
        try await onThread {
            let stage = try Stage()
            let run = try stage.view("alice", "--json", "--resource", "TNT", "--print-token")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: [[String: Any]]]
            )
            let steps = try #require(object["steps"])
            #expect(
                steps.compactMap { $0["step"] as? String } == [
                    "configuration", "provider", "login", "authorization", "media token",
                ]
            )
            let token = try #require(steps.last?["token"] as? String)
            let trust = stage.folder.file("keys/signer.pem")
            let verified = try CommandRun(
                ["verify", token, "--trust", trust, "--requestor", "REF30", "--resource", "TNT"]
            )
            #expect(verified.status == 0)
            #expect(verified.output.contains("VALID_TOKEN"))
        }
    }

    @Test func `keeps a login where it is told to`() async throws {
        try await onThread {
            let stage = try Stage()
            let storage = stage.folder.file("logins")
            #expect(try stage.view("alice", "--storage", storage).status == 0)
            let again = try CommandRun(
                ["view", "--service", stage.service, "--storage", storage, "--json", "--resource", "TNT"],
                of: "playgate-sandbox"
            )
            #expect(again.status == 0, "\(again.output)\(again.error)")
            #expect(again.output.contains(#""cached":true"#))
        }
    }

    /// Arguments, the exit code, and the expected message.
    private static let wrong: [(arguments: [String], status: Int32, says: String)] = [
        (["--user", "alice"], 64, "--user and --password require each other"),
        (["--gate", "http://127.0.0.1:1"], 64, "--gate requires --resource"),
        (["--service", "ftp://a"], 64, "http:// or https://"),
        (["--json"], 64, "--json cannot prompt"),
        (["--interface", "v3"], 64, "v3"),
        (["--service", "http://127.0.0.1:9", "--user", "a", "--password", "a"], 2, "network_error"),
    ]

    @Test("wrong usage is told, and what cannot be done is 2", arguments: wrong.indices)
    func usage(index: Int) async throws {
        let (arguments, status, says) = Self.wrong[index]
        let run = try await onThread { try CommandRun(["view"] + arguments, of: "playgate-sandbox") }
        #expect(run.status == status, "\(run.output)\(run.error)")
        #expect((run.output + run.error).contains(says))
    }

    @Test func `a wrong password and an unknown provider are told`() async throws {
        try await onThread {
            let stage = try Stage()
            let login = ["view", "--service", stage.service, "--user", "alice", "--password", "wrong"]
            let password = try CommandRun(login + ["--provider", "SandboxMVPD"], of: "playgate-sandbox")
            #expect(password.status == 2)
            #expect(password.output.contains("rejected the user name or password"))
            let provider = try CommandRun(login + ["--provider", "Nobody"], of: "playgate-sandbox")
            #expect(provider.status == 2)
            #expect(provider.output.contains("unknown provider Nobody; known: SandboxMVPD"))
        }
    }
}
