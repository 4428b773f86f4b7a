// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Telemetry

/// The command line of Playgate.
@main
struct Playgate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playgate",
        abstract: "Verify media tokens, and run the gate that decides if a playback may start.",
        discussion: """
            Verifies the short-lived, signed media tokens of TV providers' entitlement services, matches their resources, \
            and runs the gate that player backends and edges call before they serve. Issues, verifies, explains and \
            renews the grants that players carry through a playback.

            Exit codes: 0 yes, 1 refused, 2 could not run, 64 wrong usage. With JSON output, a failure with 2 prints an \
            object with a code (error) and a message.
            """,
        version: "playgate \(GateVersion.current)",
        subcommands: [
            VerifyCommand.self, InspectCommand.self, MintCommand.self, KeysCommand.self, ResourceCommand.self,
            CatalogueCommand.self, GrantCommand.self, ManifestCommand.self, ServeCommand.self, CheckCommand.self,
            ConfigCommand.self,
            HealthCommand.self, TopCommand.self, RevocationsCommand.self, LeaksCommand.self, ExportCommand.self,
            VersionCommand.self,
        ]
    )

    static func main() async { await runToEnd(as: "playgate") }
}
