// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateAPI

struct LeaksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leaks",
        abstract: "List the playbacks whose grant more than one hold, and show the evidence.",
        discussion: "Asks a running gate with the section leaks. See docs/how-to/shared-grants.md.",
        subcommands: [List.self, Show.self],
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
}
