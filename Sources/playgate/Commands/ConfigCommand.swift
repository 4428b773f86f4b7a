// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Platform

struct ConfigCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config",
        abstract: "Begin a configuration of the gate.",
        subcommands: [Init.self]
    )
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
        var edge = Edge.nginx

        @Option(help: "The store of used tokens: memory for a trial, sqlite for one machine, redis for several.")
        var store = Store.sqlite

        @Argument(help: ArgumentHelp("The file to write; none prints.", valueName: "file"), completion: .file())
        var file: String?

        enum Edge: String, ExpressibleByArgument, CaseIterable { case nginx, none }
        enum Store: String, ExpressibleByArgument, CaseIterable { case memory, sqlite, redis }

        func run() throws {
            guard let file else { return Terminal.output.write(text) }
            let isNew: Bool
            do throws(FileFault) { isNew = try file.createFile(with: [UInt8](text.utf8)) } catch {
                throw CommandFailure("\(file): \(error.reason)")
            }
            guard isNew else { throw CommandFailure("\(file): is there already: name another file, or remove it") }
        }

        private var text: String {
            [Self.beginning, edgeText, storeText, Self.end].joined(separator: "\n")
        }

        private static let beginning = """
            # The configuration of a gate. Paths are relative to this folder. docs/how-to/operations.md describes every key.

            # The programmer whose media tokens are required.
            requestor: REF30

            # The certificate that signs media tokens. For a trial: playgate keys new --out keys
            trust:
              keys:
                - { file: keys/signer.pem, name: signer }

            # The streams: a media token starts one at its manifest, once. The grant of the start opens the rest of the folder.
            streams:
              - { folder: /live/tnt/, resource: TNT, manifest: master.m3u8, media: tnt-live }

            """

        private var edgeText: String {
            switch edge {
            case .nginx:
                """
                # For nginx, as docs/how-to/edges/nginx.md prints it. The group is that of nginx's processes, and one of the gate's.
                edge:
                  listen: unix:/run/playgate/edge.sock
                  socketMode: "0660"
                  socketGroup: www-data
                  tokens: [{ query: token }, { cookie: media-token }, { header: X-Media-Token }]

                """
            case .none: "# No edge asks: add the section edge for nginx and others.\n"
            }
        }

        private var storeText: String {
            switch store {
            case .memory:
                """
                # The record of used tokens. In memory it is lost with the process: name sqlite or redis before production.
                replayStore:
                  memory: { capacity: 1000000 }

                # The keys of streams, which the first start makes.
                stateFolder: state

                """
            case .sqlite:
                """
                # The record of used tokens. The keys of streams are made beside it at the first start.
                replayStore:
                  sqlite: { file: /var/lib/playgate/uses.sqlite }

                """
            case .redis:
                """
                # The record of used tokens, which all gates share.
                replayStore:
                  redis: { address: "127.0.0.1:6379" }

                # The keys of streams, the same for all gates: the first start makes them; copy the folder to the other gates.
                stateFolder: /var/lib/playgate

                """
            }
        }

        private static let end = """
            # For player backends. Who may open the socket may call; over the network, use keys: playgate keys api NAME
            api:
              listen: unix:/run/playgate/api.sock

            # Health and metrics, on this machine alone.
            admin:
              listen: 127.0.0.1:9090

            """
    }
}
