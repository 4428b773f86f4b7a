// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ArgumentParser
internal import CommandLineSupport
internal import ConfigurationReading
internal import Sandbox

struct CheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Check a sandbox configuration without running the sandbox.",
        discussion: "Prints every problem with file, line and key, and exits with 2 if there is one."
    )

    @Argument(help: ArgumentHelp("The configuration file (YAML).", valueName: "file"), completion: .file())
    var file: String

    func run() throws {
        do throws(ConfigurationError) { _ = try SandboxConfiguration(file: file) } catch {
            throw CommandFailure("\(error)")
        }
        Terminal.output.write("\(file): valid\n")
    }
}

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Print the default configuration, as a template."
    )

    func run() { Terminal.output.write(SandboxConfiguration.defaultText) }
}
