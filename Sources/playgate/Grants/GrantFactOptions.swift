// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import CommandLineSupport
import EdgeTokens
import Encodings
import Keys
import RequestTargets

/// The options for the facts of a request.
struct GrantFactOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The URL of the request at the edge, without the token.", valueName: "url"))
    var url: URLArgument?

    @Option(help: ArgumentHelp("The method of the request; GET by default.", valueName: "method"))
    var method: String?

    @Option(help: ArgumentHelp("The client's address.", valueName: "address"))
    var client: AddressArgument?

    @Option(
        help: ArgumentHelp(
            "A header field of the request, 'Name: value'; may be repeated. Without any, the header is unknown.",
            valueName: "field"
        )
    )
    var header: [HeaderArgument] = []

    @Option(help: ArgumentHelp("The number of the client's autonomous system.", valueName: "number"))
    var asn: UInt32?

    @Option(help: ArgumentHelp("The protocol that ALPN negotiated, such as h2; none without one.", valueName: "id"))
    var alpn: String?

    @Option(
        help: ArgumentHelp(
            "A code of the client's country or subdivision, such as US or US-CA; may be repeated.",
            valueName: "code"
        )
    )
    var country: [String] = []

    @Option(help: ArgumentHelp("The client's position in degrees.", valueName: "latitude,longitude"))
    var position: PositionArgument?

    @Option(
        help: ArgumentHelp("A PEM file with the client's certificate or public key of TLS.", valueName: "file"),
        completion: .file()
    )
    var clientKey: String?

    /// Returns the facts for a URL; `nil` if it has no form that all servers read alike.
    ///
    /// - Parameter url: The URL; `nil` if it is unknown.
    func facts(_ url: URLArgument?) throws(CommandFailure) -> RequestFacts? {
        guard let uri = url.map(\.uri) ?? RequestURI("/") else { return nil }
        var facts = RequestFacts(uri: uri, method: (method ?? (url == nil ? nil : "GET")).map { $0[...] })
        facts.clientAddress = client?.address
        facts.clientASN = asn
        if !header.isEmpty { facts.headers = HeaderList(header.map { ($0.name, $0.value) }) }
        if let alpn { facts.alpn = alpn == "none" ? .none : .value([UInt8](alpn.utf8)) }
        facts.countries = country.isEmpty ? nil : country
        facts.position = position?.position
        if let clientKey { facts.clientKey = .value(try Self.keyInfo(clientKey)) }
        return facts
    }

    private static func keyInfo(_ path: String) throws(CommandFailure) -> [UInt8] {
        let text = try InputFile.text(path)
        do throws(KeySetError) { return try TokenKey.publicKeyInfo(pem: [UInt8](text.utf8)) } catch {
            throw CommandFailure("\(path): \(error)", code: error.code.rawValue)
        }
    }
}

/// A URL of http or https, or a path of an unknown host.
struct URLArgument: ExpressibleByArgument, Sendable {
    /// The URL as given.
    let text: String
    private let scheme: RequestURI.Scheme?
    private let authority: Substring?
    var target: Substring

    /// The path as given, before the query.
    var path: String { String(target.prefix { $0 != "?" }) }

    init?(argument: String) {
        text = argument
        let withoutFragment = argument.prefix { $0 != "#" }
        if withoutFragment.hasPrefix("/") {
            (scheme, authority, target) = (nil, nil, withoutFragment)
            return
        }
        guard let mark = withoutFragment.firstRange(of: "://"),
            let scheme = RequestURI.Scheme(rawValue: withoutFragment[..<mark.lowerBound].lowercased())
        else { return nil }
        let rest = withoutFragment[mark.upperBound...]
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        guard RequestURI("/", scheme: scheme, authority: authority) != nil else { return nil }
        let target = rest[authority.endIndex...]
        self.scheme = scheme
        self.authority = authority
        self.target = target.hasPrefix("/") ? target : "/" + target
    }

    /// The URL in normal form; `nil` if it has no form that all servers read alike.
    var uri: RequestURI? { RequestURI(target, scheme: scheme, authority: authority) }
}

/// An address of IPv4 or IPv6.
struct AddressArgument: ExpressibleByArgument, Sendable {
    let address: IPAddress

    init?(argument: String) {
        guard let address = IPAddress(argument) else { return nil }
        self.address = address
    }
}

/// A header field as in HTTP: name, colon, value.
struct HeaderArgument: ExpressibleByArgument, Sendable {
    let name: String
    let value: String

    init?(argument: String) {
        guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        name = String(argument[..<colon])
        guard !name.isEmpty, name.utf8.allSatisfy(\.isTokenCharacter) else { return nil }
        let rest = argument.utf8[argument.utf8.index(after: colon)...]
        guard rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x9 }) else { return nil }
        value = String(Substring(rest))
    }
}

/// A latitude and a longitude.
struct PositionArgument: ExpressibleByArgument, Sendable {
    let position: Position

    init?(argument: String) {
        let numbers = argument.split(separator: ",", omittingEmptySubsequences: false).map { Double($0) }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1],
            let position = Position(latitude: latitude, longitude: longitude)
        else { return nil }
        self.position = position
    }
}
