// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import GateService
import MediaTokens

struct KeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "keys",
        abstract: "Create keys of development issuers and of callers of the gate.",
        subcommands: [New.self, API.self]
    )

    struct New: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "new",
            abstract: "Create a development CA, a signing certificate and its key.",
            discussion: """
                Writes ca.pem (the certificate of the CA, whose key is discarded), signer.pem (to trust) and \
                signer.key (to sign with, mode 0600). Overwrites no file. Not for production, in which the issuer has \
                the key and you have its certificate.
                """
        )

        @Option(help: ArgumentHelp("The folder to write to; created if it is missing.", valueName: "folder"))
        var out: String

        @Option(help: "The size of the RSA keys, from 1024 to 8192.")
        var bits = 2048

        func validate() throws {
            guard 1024...8192 ~= bits else { throw ValidationError("--bits takes a number from 1024 to 8192") }
        }

        func run() throws {
            let folder = try NewFolder(out)
            let files = [("ca.pem", false), ("signer.pem", false), ("signer.key", true)]
            for (name, _) in files where folder.contains(name) {
                throw CommandFailure(
                    "\(folder.path(name)): already exists, and keys are never overwritten; remove it or name another folder"
                )
            }
            let keys: DevelopmentKeys
            do throws(TrustError) { keys = try DevelopmentKeys(bits: bits, at: .now()) } catch {
                throw CommandFailure("\(error)")
            }
            let contents = [keys.authorityCertificate, keys.signerCertificate, keys.signerKey]
            for ((name, isSecret), content) in zip(files, contents) {
                try folder.write(name, [UInt8](content.utf8), isSecret: isSecret)
                Terminal.output.write("\(folder.path(name))\n")
            }
        }
    }
}

extension KeysCommand {
    struct API: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "api",
            abstract: "Create a key for a caller of the gate's API.",
            discussion: """
                Prints the key for the caller, which is not stored, and the lines for the gate's configuration, which \
                have only its SHA-256.
                """
        )

        @Argument(help: "The caller's name in logs.")
        var name: String

        @Option(help: ArgumentHelp("The caller's scopes: playback, verify, catalogue, revoke.", valueName: "scope"))
        var scope: [String] = ["playback"]

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func run() throws {
            let key = APIKey()
            if json {
                let members: [JSON.Member] = [
                    ("name", .string(name)), ("key", .string(key.text)), ("sha256", .string(key.digest)),
                    ("scopes", .array(scope.map { .string($0) })),
                ]
                Terminal.output.write(JSON.object(members).line + "\n")
                return
            }
            Terminal.output.write(
                """
                For the caller:
                  Authorization: Bearer \(key.text)
                For the gate's configuration, below api.keys:
                  - name: \(JSON.string(name).line)
                    sha256: "\(key.digest)"
                    scopes: [\(scope.joined(separator: ", "))]

                """
            )
        }
    }
}
