// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// The commands of `docs/playback.md`, run as printed.
@Suite struct `The page on playing a whole stream` {
    /// A command, and what it prints.
    struct Command: Sendable {
        let text: String
        var output: [String] = []
    }

    private static func page() throws -> String {
        try String(contentsOfFile: "\(repository)/docs/playback.md", encoding: .utf8)
    }

    /// The blocks of the page that are marked as `kind`.
    private static func blocks(_ kind: String) throws -> [String] {
        try page().components(separatedBy: "```\(kind)\n").dropFirst().compactMap {
            $0.components(separatedBy: "```\n").first
        }
    }

    private static func commands() throws -> [Command] {
        var commands: [Command] = []
        for line in try blocks("console").joined().split(separator: "\n").map(String.init) {
            if line.hasPrefix("$ ") {
                commands.append(Command(text: String(line.dropFirst(2))))
            } else {
                commands[commands.count - 1].output.append(line)
            }
        }
        return commands
    }

    /// The addresses of the page become sockets in a folder.
    private static func replacingAddresses(
        _ text: String,
        _ folder: TemporaryFolder,
        _ replacement: (String) -> String
    ) -> String {
        var text = text
        for (address, name) in [("127.0.0.1:8080", "api"), ("127.0.0.1:8081", "edge"), ("127.0.0.1:9090", "admin")] {
            text = text.replacing("http://\(address)", with: "--unix-socket \(folder.file(name)) http://gate")
                .replacing(address, with: replacement(folder.file(name)))
        }
        return text
    }

    @Test func `prints what its commands do`() throws {
        let folder = try TemporaryFolder()
        let configuration = try #require(try Self.blocks("yaml").first)
        try folder.write("gate.yaml", Self.replacingAddresses(configuration, folder) { "\"unix:\($0)\"" })
        let commands = try Self.commands()
        #expect(commands.count > 25 && commands.filter { !$0.output.isEmpty }.count > 15)
        let program = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        var script = "cd \(folder.path)\nPATH=\(program):$PATH\n"
        for command in commands {
            script += Self.replacingAddresses(command.text, folder) { $0 } + "\n"
            // The gate is ready when it knows the revocations.
            if command.text.hasSuffix("&") {
                let answers =
                    "curl -s -f -o /dev/null --unix-socket \(folder.file("api")) http://gate/v1/revocations/export"
                let listens = "[ -S \(folder.file("edge")) ]"
                script += "tries=0; until \(listens) && \(answers) || [ $((tries += 1)) -gt 600 ]; do sleep 0.1; done\n"
            }
            script += "echo '--next--'\n"
        }
        let shell = try #require(Program.installed("bash"))
        let run = try CommandRun(shell, ["-c", script], within: 120)
        let printed = run.output.components(separatedBy: "--next--\n")
        #expect(printed.count == commands.count + 1, "\(run.error)")
        for (command, text) in zip(commands, printed) {
            let lines = text.split(separator: "\n").map(String.init)
            #expect(lines == command.output, "\(command.text): \(text) \(run.error)")
        }
    }
}
