// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Synchronization
import Testing

/// Two real identity providers, with rotation of their keys and with one that is away.
@Suite(.serialized) struct `Real identity providers` {
    /// glewlwyd with its keys and its client, as the script starts it.
    private final class Glewlwyd: Sendable {
        private let (program, folder): (Program, TemporaryFolder)
        private let lines = Mutex(0)

        init() throws {
            folder = try TemporaryFolder()
            program = try Program(
                python,
                arguments: [
                    repository + "/Tests/GateServerTests/Oracles/glewlwyd.py", folder.path, "\(try freePort())",
                ],
                log: folder.file("answers")
            )
        }

        func end() throws {
            program.signal(SIGKILL)
            try program.waitUntilExit()
        }

        /// The next answer of the script, after a command if there is one.
        func answer(to command: String? = nil) throws -> [String: String] {
            if let command {
                let pipe = try FileHandle(forWritingTo: URL(filePath: folder.file("commands")))
                try pipe.write(contentsOf: Data((command + "\n").utf8))
                try pipe.close()
            }
            let wanted = lines.withLock { lines in
                lines += 1
                return lines
            }
            #expect(eventually { program.output.count { $0 == "\n" } >= wanted || !program.isRunning })
            let line = try #require(program.output.split(separator: "\n").last)
            return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
        }
    }

    private static let python = repository + "/.build-oracles/bin/python"

    private static func start(_ issuer: String, discovery: String, more: String) -> String {
        "{ issuer: \"\(issuer)\", source: { url: \"\(discovery)\", networks: [127.0.0.1, \"::1\"] }, \(more) }"
    }

    private static func code(_ token: String, by gate: RunningGate) throws -> String? {
        // The tokens are of this machine's clock.
        gate.now = .now()
        return try gate.play("tnt", token: token).json["code"] as? String
    }

    @Test(.enabled(if: Requirement.areInstalled("glewlwyd") && Requirement.hasOracles))
    func `glewlwyd's tokens start playbacks through rotations and its end`() async throws {
        let provider = try Glewlwyd()
        let first = try provider.answer()
        let start = Self.start(
            try #require(first["issuer"]),
            discovery: try #require(first["discovery"]),
            more: "audience: \"https://play.example/\", allow: [{ claim: scope, values: { tv: [TNT] } }]"
        )
        try await RunningGate.with(`Starts by access tokens`.configuration(start)) { (gate) throws in
            gate.now = .now()
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            let token = try #require(first["token"])
            #expect(try Self.code(token, by: gate) == "verified")
            #expect(try Self.code(token, by: gate) == "token_already_used")
            let unused = try #require(try provider.answer(to: "token")["token"])
            let second = try #require(try provider.answer(to: "rotate")["token"])
            #expect(try eventually { try Self.code(second, by: gate) == "verified" })
            #expect(try Self.code(unused, by: gate) == "verified")
            let last = try #require(try provider.answer(to: "token")["token"])
            try provider.end()
            #expect(try Self.code(last, by: gate) == "verified")
        }
    }

    @Test(.enabled(if: Requirement.hasOracles(importing: "nanoidp")))
    func `NanoIDP's tokens start playbacks, read here or by its introspection`() async throws {
        let (folder, port) = (try TemporaryFolder(), try freePort())
        let program = repository + "/.build-oracles/bin/nanoidp"
        let made = try CommandRun(
            "/bin/sh",
            arguments: [
                "-c",
                "cd \(folder.path) && \(program) init >/dev/null && sed -i 's/ADMIN_ACCESS/TNT/' config/users.yaml && sed -i 's|localhost:8000|localhost:\(port)|' config/settings.yaml",
            ]
        )
        try #require(made.status == 0, "\(made.error)")
        let provider = try Program(
            "/bin/sh",
            arguments: ["-c", "cd \(folder.path) && exec \(program) --config config --port \(port)"],
            log: folder.file("log")
        )
        defer { provider.signal(SIGKILL) }
        @Sendable func request(_ path: String, data: String?) throws -> String {
            let more = data.map { ["-u", "demo-client:demo-secret", "-d", $0] } ?? ["-X", "POST"]
            return try CommandRun(
                "/usr/bin/curl",
                arguments: ["-sf", "-m", "60", "http://localhost:\(port)\(path)"] + more
            ).output
        }
        #expect(
            try eventually {
                try CommandRun("/usr/bin/curl", arguments: ["-sf", "http://localhost:\(port)/.well-known/jwks.json"])
                    .status == 0
            }
        )
        @Sendable func token() throws -> String {
            let answer = try request("/token", data: "grant_type=password&username=admin&password=admin")
            let object = try JSONSerialization.jsonObject(with: Data(answer.utf8)) as? [String: Any]
            return try #require(object?["access_token"] as? String, "\(answer)")
        }
        let issuer = "http://localhost:\(port)"
        let rules = "audience: my-app, types: [JWT], claims: { token_use: access }, allow: [{ claim: entitlements }]"
        let start = Self.start(issuer, discovery: "\(issuer)/.well-known/openid-configuration", more: rules)
        let tokens = try (0..<3).map { _ in try token() }
        try await RunningGate.with(`Starts by access tokens`.configuration(start)) { (gate) throws in
            gate.now = .now()
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            let first = try Self.code(tokens[0], by: gate)
            #expect(first == "verified")
            #expect(try gate.play("cnn", token: tokens[1]).json["code"] as? String == "access_token_resource_refused")
            _ = try request("/api/keys/rotate", data: nil)
            let next = try token()
            #expect(try eventually { try Self.code(next, by: gate) == "verified" })
            #expect(try Self.code(tokens[1], by: gate) == "verified")
        }
        // The same tokens as opaque ones: the server says what they mean.
        let introspection =
            "introspection: { url: \"\(issuer)/introspect\", client: demo-client, secret: demo-secret, deadline: 10s }"
        let opaque = "audience: my-app, allow: [{ claim: username, values: { admin: [TNT] } }], \(introspection)"
        let known = try token()
        try await RunningGate.with(
            `Starts by access tokens`.configuration(
                Self.start(issuer, discovery: "\(issuer)/.well-known/openid-configuration", more: opaque)
            )
        ) { (gate) throws in
            #expect(try Self.code("opaque-and-unknown", by: gate) == "access_token_inactive")
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            // A JSON Web Token is never sent to it: its own type is refused here.
            let code = try Self.code(known, by: gate)
            #expect(code == "access_token_type_refused")
        }
    }
}
