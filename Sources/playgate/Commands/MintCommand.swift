// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Cryptography
import Encodings
import MediaTokens

struct MintCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mint",
        abstract: "Issue a media token for tests and staging.",
        discussion: "Prints the token in Base64, as entitlement services return it, or unencoded with --raw."
    )

    @Option(help: ArgumentHelp("A PEM file with the private key to sign with.", valueName: "file"), completion: .file())
    var key: String

    @Option(help: ArgumentHelp("The requestor that the token is for.", valueName: "id"))
    var requestor: String

    @Option(
        help: ArgumentHelp(
            "The resource of the token; @FILE reads it from a file.",
            valueName: "resource"
        )
    )
    var resource: String

    @Option(help: ArgumentHelp("The TV provider.", valueName: "id"))
    var mvpd = "SandboxMVPD"

    @Option(help: ArgumentHelp("The provider behind a proxy provider; none by default.", valueName: "id"))
    var proxyMVPD: String?

    @Option(help: ArgumentHelp("The viewer's session; a random one by default.", valueName: "guid"))
    var sessionGUID: String?

    @Option(help: ArgumentHelp("The time to live of the token.", valueName: "duration"))
    var ttl = DurationArgument(milliseconds: 420_000)

    @Option(help: ArgumentHelp("The time of issue, \(TimeArgument.help); now by default.", valueName: "time"))
    var issuedAt: TimeArgument?

    @Option(help: ArgumentHelp("The name of the root element.", valueName: "name"))
    var root = RootArgument.authToken

    @Flag(help: "Issue a JWS, by a key of P-256 or Ed25519.")
    var jws = false

    @Flag(help: "Print the token unencoded, not in Base64.")
    var raw = false

    func run() throws {
        let claims = TokenClaims(
            requestorID: requestor,
            resourceID: try InputFile.argument(resource),
            mvpdID: mvpd,
            proxyMVPDID: proxyMVPD,
            userSessionGUID: sessionGUID ?? Self.randomGUID(),
            timeToLiveMilliseconds: ttl.milliseconds
        )
        do {
            let token = try issue(claims, at: issuedAt?.time ?? .now())
            Terminal.output.write((raw ? token.raw : token.serialized) + "\n")
        } catch { throw CommandFailure("\(error)") }
    }

    private func issue(_ claims: TokenClaims, at time: Timestamp) throws -> IssuedToken {
        jws
            ? try JWSIssuer(file: key).issue(claims, at: time)
            : try Issuer(key: SigningKey(file: key), root: root.root).issue(claims, at: time)
    }

    /// Returns 32 random hexadecimal digits, the form in real tokens.
    private static func randomGUID() -> String {
        let digits = Array("0123456789abcdef")
        return String((0..<32).map { _ in digits[Int.random(in: 0..<16)] })
    }
}

/// The element name of a token on the command line.
enum RootArgument: String, ExpressibleByArgument, CaseIterable {
    case authToken
    case shortAuthorizationToken

    var root: Issuer.Root {
        switch self {
        case .authToken: .authToken
        case .shortAuthorizationToken: .shortAuthorizationToken
        }
    }
}
