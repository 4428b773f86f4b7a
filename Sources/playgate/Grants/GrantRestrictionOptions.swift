// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommonAccessTokens
internal import EdgeTokens
import RequestTargets

/// The options for the restrictions of a new grant.
struct GrantRestrictionOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The folder that the grant opens with everything below it: /live/tnt/.", valueName: "path")
    )
    var scope: String?

    @Option(help: ArgumentHelp("The host of the URLs, without a port; any by default.", valueName: "name"))
    var host: String?

    @Option(help: ArgumentHelp("A method; GET and HEAD by default; may be repeated.", valueName: "method"))
    var method: [String] = []

    @Option(help: ArgumentHelp("A recipient; may be repeated. Recipients without this name refuse.", valueName: "name"))
    var audience: [String] = []

    @Option(
        help: ArgumentHelp(
            "A network of clients, at most /24 of IPv4 and /56 of IPv6 if the grant shows it; may be repeated.",
            valueName: "network"
        )
    )
    var address: [NetworkArgument] = []

    @Option(help: ArgumentHelp("The number of an autonomous system of clients; may be repeated.", valueName: "number"))
    var asn: [UInt32] = []

    @Option(help: ArgumentHelp("A code of a country or subdivision; may be repeated.", valueName: "code"))
    var country: [String] = []

    @Flag(help: "Make the grant good for one request. Parallel requests for segments break.")
    var once = false

    func validate() throws {
        if let scope { try Self.validate(scope: scope) }
        if let host, RequestURI("/", scheme: .https, authority: host[...])?.host != host[...] || host.isWithPort {
            throw ValidationError("--host takes a name in lower case or an address, without a port: cdn.example")
        }
        for name in method + audience + country where name.isEmpty || name.utf8.count > 256 {
            throw ValidationError("--method, --audience and --country take 1 to 256 bytes")
        }
        if asn.contains(0) { throw ValidationError("--asn takes a number from 1") }
    }

    private static func validate(scope: String) throws {
        guard scope.hasPrefix("/"), scope.hasSuffix("/"), RequestURI(scope[...])?.path == scope[...] else {
            throw ValidationError(
                "--scope takes a path in normal form that begins and ends with /, such as /live/a%20b/ (/live opens /live2)"
            )
        }
        if scope.utf8.contains(UInt8(ascii: ",")) || scope.utf8.count > 1024 {
            throw ValidationError("--scope takes at most 1024 bytes, and no comma")
        }
    }

    /// Throws if the grant would lack a scope or identify the client. Everybody can read its claims.
    func validateInClear() throws {
        guard scope != nil else { throw ValidationError("--scope is missing: the folder that the grant opens") }
        for network in address where network.isTooNarrow {
            throw ValidationError(
                "--address: /\(network.length) shows who the client is; give \(network.address.isIPv4 ? "/24" : "/56") at most"
            )
        }
    }

    /// The scope as a URL; `nil` if the host is not known.
    var scopeURL: String? { host.flatMap { host in scope.map { "https://\(host)\($0)" } } }

    /// Adds the restrictions to the claims of a grant.
    func restrict(_ claims: inout CATClaims) {
        if let host { claims.uri.append(.init(.host, match: .exact(host))) }
        if let scope { claims.uri.append(.init(.path, match: .prefix(scope))) }
        claims.methods = method.isEmpty ? ["GET", "HEAD"] : method
        claims.audience = audience
        claims.networks = address.map { .prefix($0.address, length: $0.length) } + asn.map { .system($0) }
        claims.countries = country
        claims.replay = once ? 1 : nil
    }
}

extension String {
    fileprivate var isWithPort: Bool {
        RequestURI("/", scheme: .https, authority: self[...]).map { !$0.hasDefaultPort } ?? true || hasSuffix(":443")
    }
}

/// A network as an address and the number of its leading bits: `203.0.113.0/24`.
struct NetworkArgument: ExpressibleByArgument {
    let address: IPAddress
    let length: Int

    init?(argument: String) {
        let parts = argument.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = IPAddress(parts[0]) else { return nil }
        let size = address.isIPv4 ? 32 : 128
        guard parts.count == 1 || parts[1].utf8.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) else {
            return nil
        }
        guard let length = parts.count == 1 ? size : Int(parts[1]), 0...size ~= length else { return nil }
        self.address = address
        self.length = length
    }

    /// True if the network reveals more of a client than a grant in clear text may.
    var isTooNarrow: Bool { length > (address.isIPv4 ? 24 : 56) }
}
