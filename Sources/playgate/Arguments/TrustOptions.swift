// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Cryptography
import MediaResources
import MediaTokens
import Platform

/// The options of a verifier.
struct TrustOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("A PEM file with certificates or public keys to trust; may be repeated.", valueName: "file"),
        completion: .file()
    )
    var trust: [String] = []

    @Option(
        name: .customLong("trust-jws"),
        help: ArgumentHelp(
            "A PEM file with keys to trust for media tokens in JWS form (P-256, Ed25519); may be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var trustJWS: [String] = []

    @Option(
        help: ArgumentHelp(
            "A PEM file with certificates that trusted certificates must chain to; may be repeated.",
            valueName: "file"
        ),
        completion: .file()
    )
    var anchor: [String] = []

    @Option(help: ArgumentHelp("A requestor to accept tokens for; may be repeated.", valueName: "id"))
    var requestor: [String] = []

    @Option(
        help: ArgumentHelp(
            "A configuration whose section starts says whose access tokens start playbacks, instead of --trust.",
            valueName: "file"
        ),
        completion: .file()
    )
    var starts: String?

    @Option(help: ArgumentHelp("Verify at this time, \(TimeArgument.help); now by default.", valueName: "time"))
    var at: TimeArgument?

    @Option(help: ArgumentHelp("The tolerance for an issue time in the future, 0s to 120s.", valueName: "duration"))
    var earlyLeeway = DurationArgument(milliseconds: 60_000)

    @Option(help: ArgumentHelp("The tolerance after the expiry of a token, 0s to 120s.", valueName: "duration"))
    var lateLeeway = DurationArgument(milliseconds: 0)

    @Option(help: ArgumentHelp("The maximum time to live to accept, up to 24h.", valueName: "duration"))
    var maxTTL = DurationArgument(milliseconds: 900_000)

    @Option(
        name: .customLong("minimum-rsa-bits"),
        help: ArgumentHelp(
            "The smallest RSA key to accept: 2048 or more, or 1024 for old issuers.",
            valueName: "bits"
        )
    )
    var minimumRSABits = 2048

    @OptionGroup(title: "Matching")
    var matching: MatchingOptions

    func validate() throws {
        if starts != nil {
            guard trust.isEmpty, trustJWS.isEmpty, requestor.isEmpty else {
                throw ValidationError("--starts excludes --trust, --trust-jws and --requestor")
            }
            return
        }
        guard !requestor.isEmpty else { throw ValidationError("name the audience of the token with --requestor <id>") }
        guard !trust.isEmpty || !trustJWS.isEmpty else {
            throw ValidationError("name a trusted key with --trust <file>")
        }
        guard minimumRSABits == 1024 || 2048...8192 ~= minimumRSABits else {
            throw ValidationError("--minimum-rsa-bits takes 1024, or a number from 2048 to 8192")
        }
        do throws(PolicyError) { _ = try policy() } catch { throw ValidationError("\(error)") }
    }

    var now: Timestamp { at?.time ?? .now() }

    private var keySize: MinimumRSAKeySize { minimumRSABits == 1024 ? .legacy1024 : .atLeast(minimumRSABits) }

    private func policy() throws(PolicyError) -> VerificationPolicy {
        try VerificationPolicy(
            requestors: requestor,
            earlyLeeway: earlyLeeway.duration,
            lateLeeway: lateLeeway.duration,
            maximumTimeToLive: maxTTL.duration,
            minimumKeySize: keySize,
            matchOptions: matching.options
        )
    }

    /// Creates the verifier that the options describe.
    func verifier(at now: Timestamp) throws(CommandFailure) -> Verifier {
        let trusted: TrustStore
        do throws(TrustError) {
            trusted = try TrustStore(
                trust.map { .file($0) } + trustJWS.map { .file($0, tokens: .jws) },
                anchors: anchor.map { .file($0) },
                minimumKeySize: keySize,
                at: now
            )
        } catch { throw CommandFailure(error.description + error.hint, code: error.code.rawValue) }
        for key in trusted.keys {
            guard let obstacle = key.obstacle(at: now) else { continue }
            Terminal.error.write("\(key.source): the key \(key.name) \(obstacle), and is not used\n")
        }
        do throws(PolicyError) { return Verifier(trust: trusted, policy: try policy()) } catch {
            throw CommandFailure("\(error)")
        }
    }
}

extension TrustError {
    /// The remedy, if the reason does not imply it.
    fileprivate var hint: String {
        switch code {
        case .keyTooSmall: "\nIf the issuer still signs with a key of 1024 bits, use --minimum-rsa-bits 1024."
        default: ""
        }
    }
}

/// The options for differences between matching resources.
struct MatchingOptions: ParsableArguments {
    @Flag(help: "Compare resources only byte for byte.")
    var exactOnly = false
    @Flag(help: "Accept a token for a channel for every asset of the channel.")
    var channelCoversAssets = false
    @Flag(help: "Ignore ratings.")
    var ignoreRating = false
    @Flag(help: "Treat the schemes urn:v-chip and urn:vchip as equal.")
    var schemeAliases = false
    @Flag(help: "Ignore the case of ASCII letters in channel, title and guid.")
    var ignoreCase = false
    @Flag(help: "Treat each run of white space as one space in channel, title and guid.")
    var collapseWhitespace = false
    @Flag(
        inversion: .prefixedNo,
        help: "Accept http://video.search.yahoo.com/mrss/ as a namespace of Media RSS too."
    )
    var videoNamespaceAlias = true

    var options: MediaResource.MatchOptions {
        var options = MediaResource.MatchOptions()
        options.exactOnly = exactOnly
        options.channelCoversAssets = channelCoversAssets
        options.ignoreRating = ignoreRating
        options.schemeAliases = schemeAliases
        options.ignoreCase = ignoreCase
        options.collapseWhitespace = collapseWhitespace
        options.videoNamespaceAlias = videoNamespaceAlias
        return options
    }
}

/// The source of a token.
struct TokenArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The token, or - for standard input (the default).",
            discussion: """
                Other users of the machine can see the command line in the list of processes: prefer standard input \
                or --token-file for real tokens.
                """,
            valueName: "token"
        )
    )
    var token: String?

    @Option(help: ArgumentHelp("A file with the token.", valueName: "file"), completion: .file())
    var tokenFile: String?

    func validate() throws {
        if token != nil, tokenFile != nil { throw ValidationError("a token and --token-file are mutually exclusive") }
    }

    /// Reads a media token, and decodes it once if it is percent-encoded, as in a URL.
    func readMediaToken() throws(CommandFailure) -> String { String(try read()[...].percentDecodedToken) }

    func read() throws(CommandFailure) -> String {
        if let tokenFile { return try InputFile.text(tokenFile) }
        guard let token, token != "-" else { return try InputFile.text("-") }
        // No token is as short as the longest path.
        if token.utf8.count < 1024, FileStamp(token) != nil {
            throw CommandFailure("\(token) is a file: use --token-file \(token)")
        }
        return token
    }
}
