// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import GateService

/// The command line.
@main
struct Playgate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playgate",
        abstract: "May this viewer play this resource now?",
        discussion: """
            Verifies the short-lived, signed media tokens of TV providers' entitlement services, matches the resources \
            that they are good for, and runs the gate that player backends ask before they serve.

            Exit codes: 0 yes, 1 refused, 2 could not run, 64 wrong usage.
            """,
        version: "playgate \(GateVersion.current)",
        subcommands: [
            VerifyCommand.self, InspectCommand.self, MintCommand.self, KeysCommand.self, ResourceCommand.self,
            CatalogueCommand.self, ServeCommand.self, CheckCommand.self, ViewCommand.self,
        ]
    )

    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            Terminal.error.write("playgate: \(failure.message)\n")
            Self.exit(withError: ExitCode(2))
        } catch {
            Self.exit(withError: error)
        }
    }
}

/// What keeps a command from running: exit code 2. The message says what to do.
struct CommandFailure: Error {
    let message: String

    init(_ message: String) { self.message = message }
}

extension ExitCode {
    /// The answer is no.
    static let refused = ExitCode(1)
}
