// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateAPI
import Platform

struct LeaksCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "leaks",
        abstract: "List the playbacks whose grant more than one hold, and show the evidence.",
        discussion: """
            Asks a running gate with the section leaks. docs/how-to/shared-grants.md says what is found, and in what time.
            """,
        subcommands: [List.self, Show.self],
        defaultSubcommand: List.self
    )

    struct List: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "List the suspected and the proven playbacks, the newest first."
        )

        @OptionGroup var gate: RevocationsCommand.GateOptions

        var answersInJSON: Bool { gate.json }

        func run() async throws {
            let client = try gate.client()
            try await gate.report(
                at: client.address,
                ask: { () async throws(ListenerClient.Failure) in try await client.leaks() }
            ) { answer in
                guard case .array(let all)? = answer["leaks"], !all.isEmpty else {
                    return "no grant is known to be shared\n"
                }
                return all.map(\.leakLine).joined()
            }
        }
    }

    struct Show: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            abstract: "Show the requests of a playback since its challenge, with a letter for each grant.",
            discussion: """
                One cookie jar goes from one letter to the next, and never back. Letters that take turns are the grants of \
                different jars.
                """
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
            ) { leak in leak.leakLine + LeakPicture(leak).text }
        }
    }
}

extension JSON {
    /// The line of a playback in the list.
    fileprivate var leakLine: String {
        let isRevoked = if case .bool(true)? = self["revoked"] { true } else { false }
        let state = (self["state"]?.text ?? "") + (isRevoked ? ", revoked" : "")
        return "\(self["session"]?.text ?? "")  \(state) by \(self["evidence"]?.text ?? "")  "
            + "profile \(self["profile"]?.text ?? "")  from \(time("suspected")) to \(time("last"))\n"
    }

    private func time(_ name: String) -> String {
        number(name).map { Timestamp(millisecondsSince1970: $0).iso8601 } ?? ""
    }

    fileprivate func number(_ name: String) -> Int64? {
        if case .number(let number)? = self[name] { number } else { nil }
    }
}

/// The requests of a playback, a line each: the time, the segment as a column, and the grant as a letter.
private struct LeakPicture {
    private struct Use {
        let time: Timestamp
        let index: Int64
        let grant: Int64
        let track: Int64
    }

    private let uses: [Use]
    private static let columns: Int64 = 60

    init(_ leak: JSON) {
        guard case .array(let elements)? = leak["uses"] else {
            uses = []
            return
        }
        let all = elements.compactMap { element -> Use? in
            guard let time = element.number("time"), let index = element.number("index"),
                let grant = element.number("grant"), let track = element.number("track")
            else { return nil }
            return Use(time: Timestamp(millisecondsSince1970: time), index: index, grant: grant, track: track)
        }
        // The track with the most requests: those of others have other numbers.
        let counts = Dictionary(grouping: all, by: \.track).mapValues(\.count)
        let main = counts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
        uses = all.filter { $0.track == main }
    }

    var text: String {
        guard let first = uses.map(\.index).min(), let last = uses.map(\.index).max() else {
            return "It was not challenged, so there are no requests to show.\n"
        }
        return uses.map { use in
            let column = (use.index - first) * (Self.columns - 1) / max(1, last - first)
            let letter = Character(Unicode.Scalar(UInt8(ascii: "A") + UInt8(use.grant % 26)))
            let dots =
                String(repeating: "·", count: Int(column)) + String(letter)
                + String(repeating: "·", count: Int(Self.columns - 1 - column))
            return "\(use.time.iso8601)  \(dots)  \(use.index)\n"
        }.joined()
    }
}
