// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The sandbox and a gate that trusts it, as processes.
final class ViewStage: Sendable {
    let folder: TemporaryFolder
    let service: String
    let gate: String
    private let programs: [Program]

    /// Starts both.
    ///
    /// - Parameter edit: Changes the default configuration of the sandbox.
    init(_ edit: (String) -> String = { $0 }) throws {
        folder = try TemporaryFolder()
        let keys = try CommandRun(["keys", "new", "--out", folder.file("keys")])
        try #require(keys.status == 0, "\(keys.error)")
        let configuration = edit(try CommandRun(["config"], of: "playgate-sandbox").output)
        let sandbox = try Program(
            Program.built("playgate-sandbox"),
            arguments: [
                "serve", "--keys", folder.file("keys"), "--listen", "127.0.0.1:0", "--config",
                try folder.write("sandbox.yaml", contents: configuration),
            ],
            log: folder.file("sandbox.log")
        )
        try folder.write(
            "gate.yaml",
            contents: """
                requestor: REF30
                trust: { keys: [{ file: keys/signer.pem }] }
                catalogue:
                  entries:
                    - { media: tnt-live, resource: TNT }
                    - { media: tbs-live, resource: TBS }
                    - { media: trailer, protected: false }
                api: { listen: "127.0.0.1:0", anonymous: true }
                admin: { listen: "unix:\(folder.file("admin.sock"))" }
                """
        )
        let gate = try Program(
            Program.built("playgate"),
            arguments: ["serve", "--config", folder.file("gate.yaml")],
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

    /// The arguments that log `user` in.
    static func login(_ user: String, at provider: String = "SandboxMVPD") -> [String] {
        ["--provider", provider, "--user", user, "--password", user]
    }

    /// The arguments that play a media at the gate.
    func play(_ media: String) -> [String] { ["--gate", gate, "--media", media] }

    func view(_ arguments: [String]) throws -> CommandRun {
        try CommandRun(["view", "--service", service] + arguments, of: "playgate-sandbox")
    }

    /// Runs a journey that reports in JSON.
    func journey(_ arguments: [String]) throws -> Journey { try Journey(view(arguments + ["--json"])) }

    /// Sets switches of the sandbox.
    func control(_ json: String) throws {
        let address = String(service.dropFirst("http://".count))
        let answer = try HTTPConnection(address).request("POST", path: "/sandbox/control", body: json, host: address)
        try #require(answer.status == 204, "\(answer.body)")
    }
}

/// The report of `playgate-sandbox view --json`.
struct Journey: Sendable {
    let exit: Int32
    /// The steps, each with its outcome if that is not `done`.
    let steps: [String]
    /// The texts of the steps, with their errors.
    let texts: [String]
    /// The media tokens.
    let tokens: [String]

    init(_ run: CommandRun) throws {
        exit = run.status
        let object = try? JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: [[String: Any]]]
        let members = try #require(object?["steps"], "\(run.output)\(run.error)")
        steps = members.map { step in
            let outcome = step["outcome"] as? String ?? ""
            return (step["step"] as? String ?? "") + (outcome == "done" ? "" : " \(outcome)")
        }
        texts = members.map { step in
            let code = (step["error"] as? [String: Any])?["code"] as? String
            return (step["text"] as? String ?? "") + (code.map { " \($0)" } ?? "")
        }
        tokens = members.compactMap { $0["token"] as? String }
    }

    /// Returns the text of the last step with this name.
    func text(_ step: String) -> String? { steps.lastIndex { $0.hasPrefix(step) }.map { texts[$0] } }
}
