// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import GateService

/// The command line of Playgate.
@main
struct Playgate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playgate",
        abstract: "May this viewer play this resource now?",
        discussion: """
            Verifies the short-lived, signed media tokens of TV providers' entitlement services, matches the resources \
            that they are good for, and runs the gate that player backends ask before they serve.

            Exit codes: 0 yes, 1 refused, 2 could not run, 64 wrong usage. Where a command answers in JSON, 2 comes with \
            an object that has a code (error) and a message.
            """,
        version: "playgate \(GateVersion.current)",
        subcommands: [
            VerifyCommand.self, InspectCommand.self, MintCommand.self, KeysCommand.self, ResourceCommand.self,
            CatalogueCommand.self, ServeCommand.self, CheckCommand.self,
        ]
    )

    static func main() async { await runToEnd(as: "playgate") }
}
