// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Testing

/// The commands of docs/how-to/move-from-a-hosted-service.md for clients of a hosted service, run as they are printed.
@Suite struct `The commands for clients of a hosted service` {
    /// The commands of the page, each with what is printed below it.
    private static func steps() throws -> [ConsoleStep] {
        let page = try String(
            contentsOfFile: repository + "/docs/how-to/move-from-a-hosted-service.md",
            encoding: .utf8
        )
        return ConsoleStep.steps(of: page)
    }

    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    /// A gate with the profile of docs/how-to/several-networks.md that the commands name.
    private static func configuration(_ key: String) -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { akamai: { secret: \(String(repeating: "0f", count: 32)), encoding: hex } }
            grants:
              subjectKey: \(secret)
              profiles:
                akamai:
                  format: edgeauth
                  key: akamai
                  host: akamai.example
                  life: 2h
                  deliver: [cookie, segment]
                  settings: { name: hdntl }
            """,
            catalogue: "    - { path: /live/tnt/master.m3u8, resource: TNT, grant: akamai }",
            api: """
                  keys: [{ name: mover, sha256: \(SHA256.digest(key).hexadecimal), scopes: [tvs], resources: [TNT] }]
                  tvs: post
                """
        )
    }

    @Test func `print what stands below them`() async throws {
        let steps = try Self.steps()
        #expect(steps.count == 3 && steps.allSatisfy { $0.output.count == 1 })
        let bash = try #require(Program.installed("bash"))
        try await RunningGate.with(Self.configuration("pg_page")) { gate in
            let variables = "KEY=pg_page TOKEN='\(try gate.token())'"
            for step in steps {
                let command = step.command.replacing("http://127.0.0.1:8080", with: "http://\(gate.api)")
                try #require(command != step.command, "the page has another address")
                let run = try CommandRun(bash, arguments: ["-c", "\(variables)\n\(command)"])
                let difference = step.difference(from: run.output)
                #expect(difference == nil, "\(step.command): \(difference ?? "") \(run.error)")
            }
        }
    }
}
