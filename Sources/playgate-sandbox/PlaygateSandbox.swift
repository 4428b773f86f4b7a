// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ArgumentParser
internal import CommandLineSupport

/// The command line of the sandbox.
@main
struct PlaygateSandbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playgate-sandbox",
        abstract: "A test entitlement service. Not for production.",
        discussion: """
            Implements the documented wire formats with your own keys, to develop and test an integration on \
            one machine: registration, login, authorization, media tokens.

            Try it: playgate-sandbox serve --pages examples/demo-tv, then open http://127.0.0.1:8070 and log in as alice, \
            bob or carol; the password is the user name.

            Exit codes: 0 success, 1 refused (view), 2 could not run, 64 wrong usage.
            """,
        subcommands: [ServeCommand.self, CheckCommand.self, ConfigCommand.self, ViewCommand.self]
    )

    static func main() async { await runToEnd(as: "playgate-sandbox") }
}
