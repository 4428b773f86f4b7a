// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateAPI
import Platform

struct LeaksCommand: AsyncParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "leaks",
        abstract: "List the playbacks whose grant more than one hold.",
        discussion: """
            Asks a running gate with the section leaks, as GET /v1/leaks does. A playback is suspected when two successors of \
            one grant were renewed, and proven when that happened in two generations running. docs/how-to/shared-grants.md \
            says what is found, and in what time.
            """
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
            return all.map(Self.line).joined()
        }
    }

    private static func line(_ leak: JSON) -> String {
        func time(_ name: String) -> String {
            guard case .number(let time)? = leak[name] else { return "" }
            return Timestamp(millisecondsSince1970: time).iso8601
        }
        let isRevoked = if case .bool(true)? = leak["revoked"] { true } else { false }
        let state = (leak["state"]?.text ?? "") + (isRevoked ? ", revoked" : "")
        return "\(leak["session"]?.text ?? "")  \(state)  profile \(leak["profile"]?.text ?? "")  "
            + "from \(time("suspected")) to \(time("last"))\n"
    }
}
