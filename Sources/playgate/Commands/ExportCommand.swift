// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import GateService
import Platform

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the policy for edges that check requests by themselves.",
        discussion: """
            Writes catalogue, trust, keys and profiles as strict JSON, as GET /v1/policy has them. The policy contains the \
            symmetric keys of grants: only the owner may read the file that --output names, and redirected output has the mode \
            that the shell gives it. Revocations, and key sets that are fetched, are in the policy of a running gate alone. See \
            docs/embedding.md.
            """
    )

    @Option(help: ArgumentHelp("The configuration file (YAML).", valueName: "file"))
    var config: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; standard output by default.", valueName: "file")
    )
    var output: String?

    @Option(
        name: .customLong("good-for"),
        help: ArgumentHelp("The time for which edges may use it, such as 12h; from 5s to 30d.", valueName: "duration")
    )
    var goodFor = "1h"

    func validate() throws {
        guard let life = Duration(text: goodFor), Duration.seconds(5)...(.seconds(30 * 86_400)) ~= life else {
            throw ValidationError("--good-for: \(goodFor) is no duration from 5s to 30d")
        }
    }

    func run() throws {
        let policy: [UInt8]
        do throws(ConfigurationError) {
            let life = Duration(text: goodFor) ?? .seconds(3600)
            policy = try GateServer(configurationFile: config).policy(goodFor: life, at: .now())
        } catch { throw CommandFailure("\(error)") }
        guard let output else {
            Terminal.output.write(String(decoding: policy, as: UTF8.self))
            return
        }
        do throws(FileFault) { try output.replaceFile(with: policy) } catch {
            throw CommandFailure("\(output): \(error.reason)")
        }
    }
}
