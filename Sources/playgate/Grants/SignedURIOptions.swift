// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import Keys
import RequestTargets
import URISigning

/// The options for checks of signed URIs (RFC 9246).
struct SignedURIOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The attribute of the URL that holds the token.", valueName: "name"))
    var attribute = PackageAttribute.standardName

    @Option(help: ArgumentHelp("The part of a URL that a pattern of the token must match.", valueName: "part"))
    var match = PatternMatchArgument.whole

    @Option(
        help: ArgumentHelp("A JWK Set with the keys that decrypt cdniip and sub (A128KW, dir …).", valueName: "file"),
        completion: .file()
    )
    var decrypt: String?

    @Option(help: ArgumentHelp("The encoded JOSE header of tokens that have none.", valueName: "text"))
    var jwtHeader: String?

    @Option(help: ArgumentHelp("A claim that tokens may lack; may be repeated.", valueName: "claim"))
    var optional: [OptionalClaimArgument] = []

    func validate() throws {
        if PackageAttribute(attribute) == nil {
            throw ValidationError("--attribute takes 1 to 64 letters, digits, - or _")
        }
        if let jwtHeader {
            do throws(JOSERefusal) { _ = try JWSHeader(jwtHeader) } catch {
                throw ValidationError(
                    "--jwt-header takes an encoded JOSE header with the algorithm of a key (\(error.rawValue))"
                )
            }
        }
    }

    var package: PackageAttribute { PackageAttribute(attribute) ?? .standard }

    /// Returns the keys of --decrypt.
    func decryptionKeys() throws(CommandFailure) -> [EncryptionKey] {
        guard let decrypt else { return [] }
        return try Self.keys(decrypt)
    }

    /// Reads the keys for encryption of a file.
    static func keys(_ path: String) throws(CommandFailure) -> [EncryptionKey] {
        let file = try InputFile(path)
        defer { file.close() }
        let bytes = try file.bytes(limit: KeySetReading.maximumSize)
        do throws(KeySetError) { return try EncryptionKey.read(jwkSet: bytes) } catch {
            throw CommandFailure("\(path): \(error)", code: error.code.rawValue)
        }
    }

    /// Returns the rules for tokens of an issuer.
    func rules(_ issuer: String) -> AcceptedSigner {
        var accepted = AcceptedSigner(issuer)
        accepted.match = URIPatternMatch(rawValue: match.rawValue) ?? .whole
        accepted.headers = jwtHeader.flatMap { try? JWSHeader($0) }.map { [$0] } ?? []
        accepted.isNameOptional = optional.contains(.issuer)
        accepted.requiresExpiration = !optional.contains(.expiration)
        accepted.requiresContainer = !optional.contains(.container)
        return accepted
    }
}

/// A position of a pattern's match in a URL.
enum PatternMatchArgument: String, ExpressibleByArgument, CaseIterable {
    case whole, start, search
}

/// A claim that an issuer's tokens may lack.
enum OptionalClaimArgument: String, ExpressibleByArgument, CaseIterable {
    case issuer = "iss"
    case expiration = "exp"
    case container = "cdniuc"
}

extension URLArgument {
    /// Returns the URL without the tokens in it, and those tokens.
    func cutting(_ attribute: PackageAttribute) -> (url: URLArgument, tokens: [String]) {
        let cut = attribute.cut(target)
        var url = self
        url.target = cut.target
        return (url, cut.packages.map(String.init))
    }
}

/// The options for a signed URI that is issued.
struct SignedURIIssueOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The scheme of the URLs: https, http or any.", valueName: "scheme"))
    var scheme = SchemeArgument.https

    @Option(help: ArgumentHelp("The one URL that the grant opens, instead of --scope.", valueName: "url"))
    var exact: URLArgument?

    @Option(help: ArgumentHelp("The digest for --exact: sha-256, sha-384 or sha-512.", valueName: "name"))
    var digest = DigestArgument.sha256

    @Option(
        help: ArgumentHelp(
            "The number of path segments of the cookie of renewed grants; those of --scope by default.",
            valueName: "number"
        )
    )
    var depth: Int?

    @Option(
        help: ArgumentHelp("A JWK Set whose first key encrypts --address and --subject.", valueName: "file"),
        completion: .file()
    )
    var encrypt: String?

    @Option(help: ArgumentHelp("A subject, which is encrypted.", valueName: "text"))
    var subject: String?

    @Option(help: ArgumentHelp("Print this URL with the grant in it, instead of the grant.", valueName: "url"))
    var sign: String?

    @Option(help: "The place of the grant in the URL of --sign.")
    var carrier = CarrierArgument.query

    @Option(help: ArgumentHelp("The attribute of the URL that holds the grant.", valueName: "name"))
    var attribute = PackageAttribute.standardName

    @Flag(help: "Leave the JOSE header out of the grant; the recipients must know it.")
    var omitHeader = false

    func validate() throws {
        if PackageAttribute(attribute) == nil {
            throw ValidationError("--attribute takes 1 to 64 letters, digits, - or _")
        }
        if let depth, !(0...64 ~= depth) { throw ValidationError("--depth takes 0 to 64") }
        if let sign, URLArgument(argument: sign) == nil { throw ValidationError("--sign takes a URL") }
    }

    /// Returns a URL with a token in it.
    func signed(_ url: String, with token: String) -> String {
        let attribute = PackageAttribute(attribute) ?? .standard
        let withoutFragment = url.prefix { $0 != "#" }
        switch carrier {
        case .query: return attribute.inQuery(token, of: withoutFragment)
        case .path: return attribute.inPath(token, of: withoutFragment)
        }
    }
}

/// A scheme of URLs, or any.
enum SchemeArgument: String, ExpressibleByArgument, CaseIterable {
    case https, http, any

    var scheme: RequestURI.Scheme? { RequestURI.Scheme(rawValue: rawValue) }
}

/// A position of a token in a URL.
enum CarrierArgument: String, ExpressibleByArgument, CaseIterable {
    case query, path
}

/// A function of a digest.
enum DigestArgument: String, ExpressibleByArgument, CaseIterable {
    case sha256 = "sha-256"
    case sha384 = "sha-384"
    case sha512 = "sha-512"

    var function: URISigningClaims.HashFunction { .init(rawValue: rawValue) ?? .sha256 }
}
