// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateAPI
import GateConfiguration

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create, rotate, list and export keys of grants; create keys of callers and of development issuers.",
        discussion: """
            KEYS.json is a JWK Set with keys that follow each other (playgate keys new makes it, and a gate reads it as \
            keys.NAME.set), or the folder with it. No command prints a secret or a private key.
            """,
        subcommands: [New.self, Rotate.self, List.self, Export.self, API.self, Development.self]
    )
}

extension KeysCommand {
    struct API: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "api",
            abstract: "Create a key for a caller of the gate's API, or of its operator page.",
            discussion: """
                Prints the key for the caller, which is not stored, and the lines for the gate's configuration, which \
                have only its SHA-256.
                """
        )

        @Argument(help: "The caller's name in logs.")
        var name: String

        @Option(
            help: ArgumentHelp(
                "The caller's scopes: playback, verify, catalogue, revoke, grant, tvs, edge; for the operator page: read, revoke.",
                valueName: "scope"
            )
        )
        var scope: [String] = ["playback"]

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            let known = Scope.allCases.map(\.rawValue)
            guard let wrong = scope.first(where: { !known.contains($0) }) else { return }
            throw ValidationError("--scope: \(wrong) is no scope; known: \(known.joined(separator: ", "))")
        }

        func run() throws {
            let key = APIKey()
            if json {
                let members: [JSON.Member] = [
                    ("name", .string(name)), ("key", .string(key.text)), ("sha256", .string(key.digest)),
                    ("scopes", .array(scope.map { .string($0) })),
                ]
                Terminal.output.write(JSON.object(members).line + "\n")
                return
            }
            Terminal.output.write(
                """
                For the caller:
                  Authorization: Bearer \(key.text)
                For the gate's configuration, below \(scope.contains("read") ? "admin" : "api").keys:
                  - name: \(JSON.string(name).line)
                    sha256: "\(key.digest)"
                    scopes: [\(scope.joined(separator: ", "))]

                """
            )
        }
    }
}
