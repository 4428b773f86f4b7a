// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateAPI
import SharedGrants

struct LeaksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leaks",
        abstract: "List the playbacks whose grant more than one hold, and show the evidence.",
        discussion: "Asks a running gate with the section leaks. See docs/how-to/shared-grants.md.",
        subcommands: [List.self, Show.self, Replay.self],
        defaultSubcommand: List.self
    )

    struct List: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(abstract: "List suspected and proven playbacks, newest first.")

        @OptionGroup var gate: RevocationsCommand.GateOptions

        var answersInJSON: Bool { gate.json }

        func run() async throws {
            let client = try gate.client()
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in try await client.leaks() },
                text: LeakText.list
            )
        }
    }

    struct Show: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "Show the requests of a playback since its challenge, with a letter for each grant.",
            discussion: "One cookie jar goes from one letter to the next, and never back. Two jars go back and forth."
        )

        @Argument(help: ArgumentHelp("The id of the session, as the list has it.", valueName: "id")) var session: String
        @OptionGroup var gate: RevocationsCommand.GateOptions

        var answersInJSON: Bool { gate.json }

        func validate() throws {
            guard session.utf8.count == 32, session.utf8.allSatisfy({ $0.hexadecimalDigit != nil }) else {
                throw ValidationError("'\(session)' is no id of a session, which has 32 hexadecimal digits")
            }
        }

        func run() async throws {
            let client = try gate.client()
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in try await client.leak(session) }
            ) { answer in LeakText(answer).line + LeakText(answer).picture }
        }
    }

    struct Replay: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "Find the playbacks in logs that a gate would challenge.",
            discussion: """
                Reads logs of edges in JSON, with or without the section leaks. A log proves nothing: two tabs alternate too. \
                docs/how-to/shared-grants.md has the lines for nginx.
                """
        )

        @Argument(help: ArgumentHelp("The logs of all edges that players reach, or -.", valueName: "log")) var logs:
            [String]
        @Option(help: ArgumentHelp("A part of paths that names a rendition, such as /v*/.", valueName: "pattern"))
        var rendition: [RenditionPattern] = []
        @Flag(help: "Answer in JSON.") var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            var (replay, malformed) = (LogReplay(), 0)
            var lines = try MergedLines<LoggedSegment>(logs, longest: LoggedSegment.longestLine) { line in
                switch LoggedSegment.read(line.span, renditions: rendition) {
                case .segment(let segment): return .element(segment, at: segment.time)
                case .other: return .skipped
                case .malformed:
                    malformed += line.isEmpty ? 0 : 1
                    return .skipped
                }
            }
            while let segment = try lines.next() { replay.count(segment) }
            let answer = json ? replay.json(malformed: malformed).line + "\n" : replay.text(malformed: malformed)
            Terminal.output.write(answer)
        }
    }
}

extension RenditionPattern: ExpressibleByArgument {
    public init?(argument: String) { self.init(argument) }
}
