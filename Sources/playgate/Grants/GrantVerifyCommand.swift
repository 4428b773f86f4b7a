// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import CommonAccessTokens
import EdgeTokens
import Encodings
import Platform
import RequestTargets
import URISigning

extension GrantCommand {
    struct Verify: AsyncParsableCommand, JSONAnswering {
        static let configuration = CommandConfiguration(
            commandName: "verify",
            abstract: "Verify a grant for a request, or a file of grants.",
            discussion: """
                Reads a grant from standard input, --token-file or the command line, which other users of the machine can \
                see in the list of processes. Every restriction of the grant is evaluated; one that needs a fact which no \
                option states refuses it. What only a store can tell (first use, revocation) is assumed, and the output \
                says so.

                With --batch FILE, verifies one grant per line, each with an optional tab and its URL, and prints one JSON \
                object per line.

                  playgate grant verify --keys keys.json --token-file grant.txt \\
                    --issuer playgate --url https://cdn.example/live/tnt/1.m4s

                With --format uri-signing, the token is cut out of the URL, if none is given.
                """
        )

        @OptionGroup var token: TokenArgument

        @Option(help: "The format of the grant.")
        var format = GrantFormatName.cat

        @OptionGroup(title: "Keys")
        var keys: GrantKeyOptions

        @OptionGroup(title: "Signed URIs (--format uri-signing)")
        var signing: SignedURIOptions

        @Option(
            help: ArgumentHelp(
                "A name of this recipient, for grants with an audience; may be repeated.",
                valueName: "name"
            )
        )
        var audience: [String] = []

        @OptionGroup(title: "The request")
        var facts: GrantFactOptions

        @OptionGroup(title: "Vendors' formats")
        var vendor: GrantVendorOptions

        @Option(
            help: ArgumentHelp(
                "The folder that the edge signs, for templates of secure-link with {scope}.",
                valueName: "path"
            )
        )
        var scope: String?

        @Option(help: ArgumentHelp("Verify at this time, \(TimeArgument.help); now by default.", valueName: "time"))
        var at: TimeArgument?

        @Option(
            help: ArgumentHelp("Verify one grant per line of this file; - is standard input.", valueName: "file"),
            completion: .file()
        )
        var batch: String?

        @Option(
            help: ArgumentHelp(
                "The number of lines to verify at once with --batch; all cores by default.",
                valueName: "number"
            )
        )
        var jobs: Int?

        @Flag(help: "Print a JSON object.")
        var json = false

        var answersInJSON: Bool { json || batch != nil }

        func validate() throws {
            try validateFormat()
            if batch == nil, facts.url == nil {
                throw ValidationError(
                    "--url is missing: a grant is verified for a request; playgate grant explain needs none"
                )
            }
            if batch != nil, token.token != nil || token.tokenFile != nil {
                throw ValidationError("--batch and a token are mutually exclusive")
            }
            if batch == nil, format == .cat { try token.demandInput(besides: keys.keys) }
            if signing.optional.contains(.issuer), keys.issuer == nil {
                throw ValidationError("--optional iss requires --issuer: the token does not name one")
            }
            if batch == "-", keys.keys == "-" {
                throw ValidationError("--batch and --keys cannot both be standard input")
            }
            if let jobs, jobs < 1 { throw ValidationError("--jobs takes a number from 1") }
            if jobs != nil, batch == nil { throw ValidationError("--jobs requires --batch") }
        }

        func run() async throws {
            if let vendor = format.vendor { return try runVendor(vendor) }
            if let batch {
                var job = GrantBatch(checker: try checker(), options: facts, fixedTime: at?.time)
                if format == .uriSigning { job.attribute = signing.package }
                guard try await job.run(batch, jobs: jobs) else { throw ExitCode.refused }
                return
            }
            let now = at?.time ?? .now()
            let answer = try checkGiven(at: now)
            Terminal.output.write(json ? answer.json.line + "\n" : answer.report(at: now))
            guard answer.isValid else { throw ExitCode.refused }
        }

        private func checker() throws(CommandFailure) -> GrantChecker {
            try GrantChecker(
                try GrantKeySet(keys.keys, for: format),
                issuer: keys.issuer,
                audience: audience,
                format: format,
                options: signing
            )
        }

        /// Checks the token, or for signed URIs those of the URL if none is given.
        private func checkGiven(at now: Timestamp) throws(CommandFailure) -> GrantAnswer {
            guard format == .uriSigning, let url = facts.url else { return try check(token.read(), at: now) }
            let (bare, tokens) = url.cutting(signing.package)
            let isGiven = token.token != nil || token.tokenFile != nil
            let presented = isGiven || tokens.isEmpty ? [try token.read()] : tokens
            return try checker().check(presented, for: try facts.facts(bare), at: now)
        }

        /// Checks a token.
        func check(_ token: String, at now: Timestamp) throws(CommandFailure) -> GrantAnswer {
            try facts.demandURLWithout(token)
            var known: GrantChecker.Selected?
            return try checker().check(token, for: try facts.facts(facts.url), at: now, known: &known)
        }
    }
}

extension GrantFactOptions {
    /// Throws if the URL holds the token: restrictions are for the URL that is left without it.
    func demandURLWithout(_ token: String) throws(CommandFailure) {
        guard let url, token.utf8.count >= 16, url.text.contains(token) else { return }
        throw CommandFailure(
            "--url holds the token; give the URL as it is without the parameter or path segment of the token",
            code: "url_holds_token"
        )
    }
}

/// The verification of a file of grants, one on a line.
struct GrantBatch: Sendable {
    let checker: GrantChecker
    let options: GrantFactOptions
    /// The time of verification; `nil` for the time at which each block is verified.
    let fixedTime: Timestamp?
    /// The attribute that holds the token in the URL of a line; `nil` if it is not looked for.
    var attribute: PackageAttribute?

    /// The largest URL of a line, in bytes: a target, and a scheme and host before it.
    private static let maximumURLSize = RequestURI.maximumSize + 512

    /// Verifies the file at `path`, or standard input for `-`. Returns true if every grant is valid.
    func run(_ path: String, jobs: Int?) async throws -> Bool {
        let tokenSize = attribute == nil ? CATVerifier.maximumSize : URISigningVerifier.maximumSize
        let lines = BatchLines(tokenSize: tokenSize, resourceSize: Self.maximumURLSize)
        // Files of options are read once.
        let facts = try options.facts(options.url)
        let base = try options.facts(nil)
        let counts = try await LineBatch.run(on: path, lines: lines, jobs: jobs) { lines in
            try verify(lines, facts: facts, base: base)
        }
        Terminal.error.write(Self.summary(counts))
        return counts.keys.allSatisfy { $0 == Self.valid }
    }

    private static let valid = "valid"

    private func verify(
        _ lines: LineBatch.Lines,
        facts: RequestFacts?,
        base: RequestFacts?
    ) throws -> LineBatch.Block {
        let now = fixedTime ?? .now()
        var block = LineBatch.Block()
        block.output.reserveCapacity(lines.text.count)
        var known: GrantChecker.Selected?
        try lines.forEach { number, line in
            if let answer = try signedURL(in: line, base: base, at: now) {
                return block.add(answer.refusal?.code.rawValue ?? Self.valid, line: number, members: answer.members)
            }
            let tab = line.firstIndex(of: UInt8(ascii: "\t"))
            let token = String(decoding: line[..<(tab ?? line.endIndex)], as: UTF8.self)
            var facts = facts
            if let tab {
                facts = Self.facts(
                    from: base,
                    url: String(decoding: line[(tab + 1)...], as: UTF8.self),
                    options: options
                )
            } else if options.url == nil {
                let verdict: [JSON.Member] = [
                    ("valid", .bool(false)), ("code", .string("url_missing")), ("claim", .null),
                ]
                return block.add("url_missing", line: number, members: verdict)
            }
            let answer = try checker.check(token, for: facts, at: now, known: &known)
            block.add(answer.refusal?.code.rawValue ?? Self.valid, line: number, members: answer.members)
        }
        return block
    }

    /// Checks a line that is one URL with a token in it; `nil` for any other line.
    private func signedURL(
        in line: ArraySlice<UInt8>,
        base: RequestFacts?,
        at now: Timestamp
    ) throws -> GrantAnswer? {
        guard let attribute, line.starts(with: "http".utf8), !line.contains(UInt8(ascii: "\t")),
            let (url, tokens) = URLArgument(argument: String(decoding: line, as: UTF8.self))?.cutting(attribute),
            !tokens.isEmpty
        else { return nil }
        guard var facts = base, let uri = url.uri else { return try checker.check(tokens, for: nil, at: now) }
        facts.uri = uri
        facts.method = (options.method ?? "GET")[...]
        return try checker.check(tokens, for: facts, at: now)
    }

    /// Returns the facts with the URL of a line; `nil` if it is none.
    private static func facts(from base: RequestFacts?, url text: String, options: GrantFactOptions) -> RequestFacts? {
        guard text.utf8.count <= maximumURLSize, var facts = base, let uri = URLArgument(argument: text)?.uri else {
            return nil
        }
        facts.uri = uri
        facts.method = (options.method ?? "GET")[...]
        return facts
    }

    private static func summary(_ counts: [String: Int]) -> String {
        let rows = counts.sorted { ($0.key == valid ? "" : $0.key) < ($1.key == valid ? "" : $1.key) }.map {
            code,
            count in
            "  \(code)\(String(repeating: " ", count: max(1, 26 - code.count)))\(count)\n"
        }
        return "\(counts.values.reduce(0, +)) grants\n" + rows.joined()
    }
}
