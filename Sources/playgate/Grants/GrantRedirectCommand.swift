// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Encodings
import Keys
import Platform
import RequestTargets
import URISigning

extension GrantCommand {
    struct Redirect: ParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "redirect",
            abstract: "Redirect a request with a signed URI to another content delivery network.",
            discussion: """
                Verifies the signed URI of a request (RFC 9246), and prints the URL of --to with the token for the other \
                network, which is signed by a key of one's own. Subject, times, identity, address and renewal are copied. The new \
                token opens the same folder at the other host if the old one opens a folder that has the URL, otherwise the URL \
                alone. Exits with 1 if the token is refused.

                  playgate grant redirect --keys upstream.json --issuer upstream --url "$url" \\
                    --to https://downstream.example/live/tnt/master.m3u8 --signing-keys keys.json --kid pg-2026-11 --as playgate
                """
        )

        @OptionGroup var token: TokenArgument

        @OptionGroup(title: "The keys of the request's token")
        var keys: GrantKeyOptions

        @OptionGroup(title: "The request's token")
        var signing: SignedURIOptions

        @Option(help: ArgumentHelp("A name of this recipient, for tokens with an audience.", valueName: "name"))
        var audience: [String] = []

        @OptionGroup(title: "The request")
        var facts: GrantFactOptions

        @Option(help: ArgumentHelp("The URL at the other network.", valueName: "url"))
        var to: URLArgument

        @Option(
            help: ArgumentHelp("The key set with the key to sign with; that of --keys by default.", valueName: "file"),
            completion: .file()
        )
        var signingKeys: String?

        @Option(help: ArgumentHelp("The id of the key to sign with.", valueName: "id"))
        var kid: String

        @Option(
            name: .customLong("as"),
            help: ArgumentHelp("The issuer of the new token; that of --issuer by default.", valueName: "name")
        )
        var name: String?

        @Option(help: ArgumentHelp("A recipient of the new token; may be repeated.", valueName: "name"))
        var recipient: [String] = []

        @Option(help: ArgumentHelp("Redirect at this time, \(TimeArgument.help); now by default.", valueName: "time"))
        var at: TimeArgument?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json }

        func validate() throws {
            try keys.demand()
            guard facts.url != nil else { throw ValidationError("--url is missing: the URL of the request") }
            guard to.uri?.absolute != nil else { throw ValidationError("--to takes a whole URL of http or https") }
            guard let issuer = name ?? keys.issuer, 1...256 ~= issuer.utf8.count else {
                throw ValidationError("--as or --issuer is missing: the issuer of the new token")
            }
        }

        func run() throws {
            guard let url = facts.url, let target = to.uri, let issuer = name ?? keys.issuer else { return }
            let now = at?.time ?? .now()
            let checker = try GrantChecker(
                try GrantKeySet(keys.keys, for: .uriSigning),
                issuer: keys.issuer,
                audience: audience,
                format: .uriSigning,
                options: signing
            )
            let (bare, tokens) = url.cutting(signing.package)
            let isGiven = token.token != nil || token.tokenFile != nil
            let presented = isGiven || tokens.isEmpty ? [try token.read()] : tokens
            let answer = try checker.check(presented, for: try facts.facts(bare), at: now)
            guard answer.isValid, let grant = answer.grant as? URISigningGrant, let uri = bare.uri else {
                if json {
                    Terminal.output.write(answer.json.line + "\n")
                } else {
                    Terminal.error.write(answer.report(at: now))
                }
                throw ExitCode.refused
            }
            let made = try redirected(grant, from: uri, to: target, as: issuer, at: now)
            let address = signing.package.inQuery(made, of: to.text.prefix { $0 != "#" })
            let members: [JSON.Member] = [
                ("url", .string(address)), ("token", .string(made)), ("expires", .time(grant.expires)),
                ("assumed", .array(answer.assumptions.map { .string($0.rawValue) })),
            ]
            Terminal.output.write(json ? JSON.object(members).line + "\n" : address + "\n")
        }

        private func redirected(
            _ grant: URISigningGrant,
            from uri: RequestURI,
            to target: RequestURI,
            as issuer: String,
            at now: Timestamp
        ) throws(CommandFailure) -> String {
            let key = try GrantKeySet(signingKeys ?? keys.keys, for: .uriSigning).signingKey(kid, of: issuer)
            do throws(URISigningIssueError) {
                return try URISigningIssuer(key: key).redirect(
                    grant,
                    from: uri,
                    to: target,
                    audience: recipient,
                    at: now
                )
            } catch { throw CommandFailure(error.words, code: error.rawValue) }
        }
    }
}
