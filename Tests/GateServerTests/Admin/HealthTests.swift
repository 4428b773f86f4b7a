// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `playgate health` {
    /// Asks the gate at `address`, by a configuration that has nothing else that can be used.
    static func ask(
        in folder: TemporaryFolder,
        at address: String,
        more: String = "",
        options: [String] = ["--json"]
    ) throws -> CommandRun {
        let file = try configuration(in: folder, address: address, more: more)
        return try CommandRun(Program.built("playgate"), arguments: ["health", "--config", file] + options)
    }

    private static func configuration(in folder: TemporaryFolder, address: String, more: String = "") throws -> String {
        let admin = "admin: { listen: \"\(address)\"\(more) }\ntrust: { keys: [{ file: missing.pem }] }\n"
        return try folder.write("asked.yaml", contents: admin)
    }

    @Test func `tells that a gate is ready, and what it lacks`() async throws {
        try await RunningGate.with { gate in
            let ready = try Self.ask(in: gate.folder, at: gate.admin)
            #expect(ready.status == 0, "\(ready.error)")
            #expect(
                ready.output == "{\"ready\":true,\"admin\":\"\(gate.admin)\",\"faults\":{},\"rejectedReload\":[]}\n"
            )
            #expect(
                try Self.ask(in: gate.folder, at: gate.admin, options: []).output == "✔ ready: admin \(gate.admin)\n"
            )
            gate.now = gate.now.adding(seconds: 399 * 86_400)
            let faulty = try Self.ask(in: gate.folder, at: gate.admin)
            #expect(faulty.status == 1, "\(faulty.error)")
            #expect(faulty.output.contains("\"ready\":false"))
            #expect(faulty.output.contains("\"trust\":\"no trusted key is currently valid\""))
            let text = try Self.ask(in: gate.folder, at: gate.admin, options: [])
            #expect(text.status == 1)
            #expect(text.output.hasSuffix("\n  trust: no trusted key is currently valid\n"))
        }
    }

    @Test func `tells a reload that was rejected, with its line, of a gate that goes on`() async throws {
        try await RunningGate.with { gate in
            try gate.folder.write("gate.yaml", contents: RunningGate.configuration("typo: 1"))
            #expect(try gate.admin("POST", path: "/reload").status == 422)
            let run = try Self.ask(in: gate.folder, at: gate.admin, options: [])
            let location = "\(gate.folder.file("gate.yaml")):"
            #expect(run.status == 0 && run.output.hasPrefix("✔ ready"), "\(run)")
            #expect(run.output.contains("reload rejected: \(location)") && run.output.contains("typo"))
            #expect(try gate.metric("playgate_config_reload_success") == 0)
            let table = try CommandRun(
                Program.built("playgate"),
                arguments: ["top", "--config", gate.folder.file("asked.yaml"), "--interval", "100ms", "--count", "1"]
            )
            #expect(table.output.contains("reload rejected") && table.output.contains(location), "\(table)")
            #expect(table.output.contains("ready      yes"))
            #expect(try gate.metric("playgate_ready") == 1 && gate.metric("playgate_store_up") == 1)
            gate.now = gate.now.adding(seconds: 399 * 86_400)
            #expect(try gate.metric("playgate_ready") == 0)
            #expect(try gate.metric("playgate_trusted_key_usable{key=\"signer\"}") == 0)
        }
    }

    @Test func `asks over a unix socket`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("admin one.sock"))"
        let configuration = RunningGate.configuration()
            .replacingOccurrences(of: "admin: { listen: \"127.0.0.1:0\" }", with: "admin: { listen: \"\(socket)\" }")
        try await RunningGate.with(configuration) { _ in
            let run = try Self.ask(in: folder, at: socket)
            #expect(run.status == 0, "\(run.error)")
        }
    }

    @Test func `waits for a gate that starts, up to its time limit`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("admin.sock"))"
        let late = try Self.ask(in: folder, at: socket, options: ["--json", "--wait", "200ms"])
        #expect(late.status == 2 && late.output.contains("\"error\":\"gate_unreachable\""))
        #expect(try Self.ask(in: folder, at: socket, options: ["--wait", "61m"]).status == 64)
        let file = try Self.configuration(in: folder, address: socket)
        let asking = try Program(
            Program.built("playgate"),
            arguments: ["health", "--config", file, "--wait", "1m"],
            log: folder.file("health.log")
        )
        let configuration = RunningGate.configuration()
            .replacingOccurrences(of: "admin: { listen: \"127.0.0.1:0\" }", with: "admin: { listen: \"\(socket)\" }")
        try await RunningGate.with(configuration) { _ in
            let status = try asking.waitUntilExit()
            #expect(status == 0, "\(asking.output)")
            #expect(asking.output == "✔ ready: admin \(socket)\n")
        }
    }

    @Test func `does not mistake another server for a gate`() async throws {
        try await RunningGate.with { gate in
            let run = try Self.ask(in: gate.folder, at: gate.api)
            #expect(run.status == 2)
            #expect(run.output.contains("\"error\":\"gate_unreachable\""))
            #expect(run.error.contains("with status 404, is not that of an admin listener"))
        }
    }

    @Test func `cannot ask where nobody listens, or where the address is not known`() throws {
        let folder = try TemporaryFolder()
        let absent = try Self.ask(in: folder, at: "unix:\(folder.file("none.sock"))")
        #expect(absent.status == 2)
        #expect(absent.output.contains("\"error\":\"gate_unreachable\""))
        #expect(absent.error.hasSuffix("none.sock: no such file or directory\n"), "\(absent.error)")
        for address in ["fd:3", "127.0.0.1:0", "nowhere"] {
            let run = try Self.ask(in: folder, at: address)
            #expect(run.status == 2)
            #expect(run.output.contains("\"error\":\"configuration_invalid\""))
            #expect(run.error.contains("asked.yaml:1:18: admin.listen: "), "\(run.error)")
        }
    }
}
