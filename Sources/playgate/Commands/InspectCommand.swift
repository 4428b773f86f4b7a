// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessTokens
import ArgumentParser
import CommandLineSupport
import Encodings
import MediaTokens

struct InspectCommand: ParsableCommand, JSONAnswering {
    static let configuration = CommandConfiguration(
        commandName: "inspect",
        abstract: "Show the content of a media token or an access token, WITHOUT verification."
    )

    @OptionGroup var token: TokenArgument

    @Flag(help: "Print a JSON object.")
    var json = false

    var answersInJSON: Bool { json }

    func run() throws {
        let text = try token.readMediaToken()
        if let token = UnverifiedAccessToken(text) {
            Terminal.output.write(json ? token.json.line + "\n" : Self.text(token))
            return
        }
        do throws(RefusalReason) {
            let token = try UnverifiedToken(reading: text)
            Terminal.output.write(json ? Self.json(token).line + "\n" : Self.text(token))
        } catch {
            let members = JSON.members(valid: false, error.status, code: error.rawValue)
            let object = JSON.object([("notice", .string("NOT VERIFIED"))] + members)
            Terminal.output.write(
                json ? object.line + "\n" : "NOT VERIFIED, and not parsable: \(error.rawValue)\n  \(error.meaning)\n"
            )
            throw ExitCode.refused
        }
    }

    private static func text(_ token: UnverifiedAccessToken) -> String {
        func rows(_ members: [JSON.Member]) -> String {
            members.map { name, value in
                let text = value.text ?? value.line
                let padding = String(repeating: " ", count: max(1, 20 - name.count))
                return "  \(name.printable(limit: 100))\(padding)\(text.printable(limit: 2000))\n"
            }.joined()
        }
        return Style.yellow("NOT VERIFIED") + ": the content of the token is not authenticated and can be forged.\n"
            + "header\n" + rows(token.header) + "claims\n" + rows(token.claims)
    }

    private static func json(_ token: UnverifiedToken) -> JSON {
        .object(
            [("notice", .string("NOT VERIFIED"))]
                + JSON.members(valid: false, nil, code: nil, token: token.content) + [
                    ("root", .string(token.root)), ("signatureBits", .number(Int64(token.signature.count * 8))),
                ]
        )
    }

    private static func text(_ token: UnverifiedToken) -> String {
        let title =
            Style.yellow("NOT VERIFIED") + ": the content of the token is not authenticated and can be forged.\n"
        return title + token.content.table + """
              root           \(token.root)
              signature      \(token.signature.count * 8) bits, not checked
              fingerprint    \(token.content.fingerprint.hexadecimal)

            """
    }
}
