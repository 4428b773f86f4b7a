// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import GateConfiguration
import GateServer
import Platform

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Begin a configuration of the gate, and describe its keys.",
        subcommands: [Init.self, Schema.self]
    )
}

extension ConfigCommand {
    struct Schema: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "schema",
            abstract: "Print a JSON Schema of the configuration.",
            discussion: """
                The schema comes from the program's own reader: each key with its type, default and range. Editors complete and \
                check a file by it. For the YAML server of many editors, begin the file with:
                # yaml-language-server: $schema=gate.schema.json
                """
        )

        func run() throws {
            Terminal.output.write(try GateServer.configurationSchema() + "\n")
        }
    }
}

extension ConfigCommand {
    struct Init: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "init",
            abstract: "Write a configuration with comments, to be changed.",
            discussion: """
                Prints the file, or writes it if FILE is named and not there. Then: playgate keys new --out keys, beside the \
                file, makes development keys; playgate check FILE says what is wrong.
                """
        )

        @Option(help: "The edge in front of the origin: nginx, or none if only a player backend asks.")
        var edge = ConfigurationTemplate.Edge.nginx

        @Option(help: "The store of used tokens: memory for a trial, sqlite for one machine, redis for several.")
        var store = ConfigurationTemplate.Store.sqlite

        @Argument(help: ArgumentHelp("The file to write; none prints.", valueName: "file"), completion: .file())
        var file: String?

        func run() throws {
            let text = ConfigurationTemplate(edge: edge, store: store).text
            guard let file else { return Terminal.output.write(text) }
            let isNew: Bool
            do throws(FileFault) { isNew = try file.createFile(with: [UInt8](text.utf8)) } catch {
                throw CommandFailure("\(file): \(error.reason)")
            }
            guard isNew else { throw CommandFailure("\(file): is there already: name another file, or remove it") }
        }
    }
}

extension ConfigurationTemplate.Edge: ExpressibleByArgument {}
extension ConfigurationTemplate.Store: ExpressibleByArgument {}
