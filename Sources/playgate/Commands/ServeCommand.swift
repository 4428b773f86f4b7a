// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import Encodings
import GateServer

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the gate for player backends and edges.",
        discussion: """
            Logs to standard error. On SIGHUP it reads its files again; on SIGTERM it finishes requests in flight and \
            exits with 0. See docs/how-to/run-a-gate.md.
            """
    )

    @Option(help: ArgumentHelp("The configuration file (YAML).", valueName: "file"), completion: .file())
    var config: String

    func run() async throws {
        do {
            try await GateServer(configurationFile: config).run()
        } catch let error as ConfigurationError {
            throw CommandFailure("\(error)")
        } catch {
            throw CommandFailure("the gate has stopped: \(error)")
        }
    }
}

struct CheckCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a gate configuration without running the gate.",
        discussion: """
            Reads the file and everything that it names: keys, feeds, certificates. Prints every problem with file, \
            line and key. Exits with 2 if there is one.
            """
    )

    @Argument(help: ArgumentHelp("The configuration file (YAML).", valueName: "file"), completion: .file())
    var file: String

    @Flag(help: "Print a JSON object.")
    var json = false

    var answersInJSON: Bool { json }

    func run() async throws {
        let server: GateServer
        do throws(ConfigurationError) { server = try GateServer(configurationFile: file) } catch {
            throw CommandFailure(Self.text(error), answer: Self.json(error))
        }
        let summary = server.summary
        let advice = summary.advice + (await server.addressAdvice())
        if json {
            Terminal.output.write(Self.json(summary, advice: advice).line + "\n")
            return
        }
        for warning in summary.warnings + advice { Terminal.output.write(Style.yellow("!") + " \(warning)\n") }
        Terminal.output.write(
            Style.green("✔")
                + " \(file): trusted keys \(summary.keys), catalogue entries \(summary.entries), "
                + "api \(summary.api), admin \(summary.admin)\(summary.edges.map { ", edge \($0)" }.joined())"
                + "\(summary.offloads.map { ", spoe \($0)" }.joined())"
                + "\(summary.grpc.map { ", grpc \($0)" }.joined())"
                + "\(summary.manifests.map { ", manifest \($0)" }.joined())\n"
        )
    }

    /// The problems, each with the line of the file if the parser of YAML has found it. A line may have a secret: it is for the
    /// person at a terminal, not for a log.
    private static func text(_ error: ConfigurationError) -> String {
        guard Terminal.error.isInteractive else { return "\(error)" }
        return error.problems.map { problem in
            "\(problem)" + (problem.excerpt.map { "\n" + $0 } ?? "")
        }.joined(separator: "\n")
    }

    private static func json(_ summary: GateServer.Summary, advice: [String]) -> JSON {
        .object([
            ("valid", .bool(true)), ("keys", .number(Int64(summary.keys))),
            ("entries", .number(Int64(summary.entries))), ("api", .string(summary.api)),
            ("admin", .string(summary.admin)),
            ("edges", .array(summary.edges.map { .string($0) })),
            ("offloads", .array(summary.offloads.map { .string($0) })),
            ("grpc", .array(summary.grpc.map { .string($0) })),
            ("manifests", .array(summary.manifests.map { .string($0) })),
            ("warnings", .array(summary.warnings.map { .string($0) })),
            ("advice", .array(advice.map { .string($0) })),
        ])
    }

    private static func json(_ error: ConfigurationError) -> JSON {
        let problems = error.problems.map { problem -> JSON in
            .object([
                ("file", .string(problem.location.file)), ("line", .number(Int64(problem.location.line))),
                ("column", .number(Int64(problem.location.column))), ("key", .string(problem.location.key)),
                ("message", .string(problem.message)),
            ])
        }
        return .object([("valid", .bool(false)), ("problems", .array(problems))])
    }
}
