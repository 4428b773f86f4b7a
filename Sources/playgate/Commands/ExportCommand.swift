// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import ConfigurationReading
import EdgeChecks
import GateServer
import Keys
import Platform
import PlaybackGate

struct ExportCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Write the policy for edges that check requests by themselves.",
        discussion: """
            Writes catalogue, trust, keys and profiles as strict JSON, as GET /v1/policy has them. The policy contains the \
            symmetric keys of grants: only the owner may read the file that --output names, and redirected output has the mode \
            that the shell gives it. Revocations, and key sets that are fetched, are in the policy of a running gate alone. See \
            docs/reference/policy.md.

            With --sign the policy is a JSON Web Signature, which edges check by the public keys that playgate keys export \
            writes. A signature hides nothing: keep the file as you keep one without it.
            """
    )

    @Option(help: ArgumentHelp("The configuration file (YAML).", valueName: "file"), completion: .file())
    var config: String

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The file to write; standard output by default.", valueName: "file"),
        completion: .file()
    )
    var output: String?

    @Option(
        name: .customLong("good-for"),
        help: ArgumentHelp("The time for which edges may use it, such as 12h; from 5s to 30d.", valueName: "duration")
    )
    var goodFor = "1h"

    @Option(
        help: ArgumentHelp(
            "Sign it by the key that signs now in this file of playgate keys new: a pair, such as for ES256.",
            valueName: "file"
        ),
        completion: .file()
    )
    var sign: String?

    func validate() throws {
        guard let life = Duration(text: goodFor), Duration.seconds(5)...(.seconds(30 * 86_400)) ~= life else {
            throw ValidationError("--good-for: \(goodFor) is no duration from 5s to 30d")
        }
    }

    func run() throws {
        let now = Timestamp.now()
        var policy: [UInt8]
        do throws(ConfigurationError) {
            let life = Duration(text: goodFor) ?? .seconds(3600)
            policy = try GateServer(configurationFile: config).policy(goodFor: life, at: now)
        } catch { throw CommandFailure("\(error)") }
        if let sign { policy = try Self.signed(policy, by: sign, at: now) }
        guard let output else {
            Terminal.output.write(String(decoding: policy, as: UTF8.self))
            return
        }
        do throws(FileFault) { try output.replaceFile(with: policy) } catch {
            throw CommandFailure("\(output): \(error.reason)")
        }
    }

    private static func signed(_ policy: [UInt8], by path: String, at now: Timestamp) throws(CommandFailure) -> [UInt8]
    {
        let file = try KeyRingFile(path)
        guard let index = file.signer(at: now) else {
            throw CommandFailure("\(file.path): no key signs now; see playgate keys list", code: "key_unusable")
        }
        do throws(KeySetError) {
            return [UInt8](try EdgeBundle.signed(policy, by: file.members[index].key).utf8)
        } catch { throw CommandFailure("\(file.path): \(error)", code: error.code.rawValue) }
    }
}
