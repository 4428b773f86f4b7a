// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ArgumentParser

/// The command line of the stand-in service.
@main
struct PlaygateSandbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "playgate-sandbox",
        abstract: "A stand-in for an entitlement service: no TV provider, nobody's production system.",
        discussion: """
            Speaks the documented wire formats with keys of your own, so that an integration can be developed and tested on \
            one machine: registration, login, authorization, media tokens.

            Try it: playgate-sandbox serve, then open http://127.0.0.1:8070 and log in as alice, bob or carol; each \
            password is the name.

            Exit codes: 0 ended as told, 2 could not run, 64 wrong usage.
            """,
        subcommands: [ServeCommand.self, CheckCommand.self, ConfigCommand.self]
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
            Terminal.error.write("playgate-sandbox: \(failure.message)\n")
            Self.exit(withError: ExitCode(2))
        } catch {
            Self.exit(withError: error)
        }
    }
}

/// What keeps a command from running: exit code 2. The message says what to do.
struct CommandFailure: Error {
    let message: String
}
