// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import RequestTargets

/// The parameters of a profile for Bunny's token authentication.
public struct BunnyRules: Hashable, Sendable {
    /// The countries that are let in, as ISO 3166 codes; empty for all.
    public var countries: [String] = []
    /// The countries that are excluded.
    public var blockedCountries: [String] = []
    /// The largest rate of a download in kilobytes a second; `nil` for any.
    public var limit: Int?
    /// True to leave the URL's other parameters unsigned.
    public var ignoresParameters = false

    /// Creates the default rules.
    public init() {}
}

/// An issuer of Bunny's tokens with HMAC: `HS256-…`. The edge compares the decoded path.
public struct BunnyIssuer: VendorIssuer {
    /// The parameters.
    public let rules: BunnyRules
    private let key: HMACKey
    private let isShort: Bool

    /// Creates an issuer.
    ///
    /// - Throws: ``SigningError``.
    public init(_ secret: SigningSecret, rules: BunnyRules = BunnyRules()) throws(SigningError) {
        let codes = rules.countries + rules.blockedCountries
        guard codes.allSatisfy({ $0.utf8.count == 2 && $0.utf8.allSatisfy(\.isASCIIUppercase) }) else {
            throw SigningError(.value, value: "countries")
        }
        if let limit = rules.limit, !(1...1_000_000_000 ~= limit) { throw SigningError(.value, value: "limit") }
        // The service then evaluates no parameters but its own path.
        guard !rules.ignoresParameters || codes.isEmpty && rules.limit == nil else {
            throw SigningError(.value, value: "ignore-params")
        }
        key = try secret.key(.sha256)
        isShort = secret.isShort
        self.rules = rules
    }

    public var format: VendorFormat { .bunny }
    public var carriers: Set<SignedDelivery.Carrier> { [.query, .segment] }
    public var warnings: [SigningWarning] { isShort ? [.shortSecret] : [] }

    public func issue(_ request: SigningRequest) throws(SigningError) -> SignedDelivery {
        let signing = try Signing(request)
        let parameters = try parameters(signing)
        let address = try signing.request.client.map { (client) throws(SigningError) in try Self.packed(client) }
        // Nothing stands between path, expiry, address and parameters: what follows must not be read as part of another.
        try signing.path.demandEnd()
        if let first = parameters.first?.name.utf8.first, address == nil, first.isASCIIDigit {
            throw SigningError(.character, value: "query", character: Unicode.Scalar(first))
        }
        var message = Array(signing.path.decoded.utf8) + String(signing.expires).utf8
        message += address ?? []
        message += parameters.map { "\($0.name)=\($0.value)" }.joined(separator: "&").utf8
        let code = Base64.encodeURLSafe(try key.code(of: message))
        let token = "HS256-\(address == nil ? "" : "1-")\(code)"
        let parts =
            [token] + parameters.map { "\($0.name)=\($0.value.percentEncoded)" } + ["expires=\(signing.expires)"]
        let text = parts.joined(separator: "&")
        guard text.utf8.count <= SigningText.maximumSize else { throw SigningError(.size) }
        var delivery = SignedDelivery(format: format, token: token, expires: signing.expires)
        delivery.query = "token=\(text)"
        if signing.path.isFolder { delivery.path = "/bcdn_token=\(text)\(signing.path.raw)" }
        delivery.makeURL(signing, own: rules.ignoresParameters ? nil : "")
        return delivery
    }

    /// Returns the signed parameters with decoded values, sorted by name.
    private func parameters(_ signing: Signing) throws(SigningError) -> [(name: String, value: String)] {
        var values: [String: String] = [:]
        if rules.ignoresParameters {
            values["token_ignore_params"] = "true"
        } else {
            values = try own(signing)
            if !rules.countries.isEmpty { values["token_countries"] = rules.countries.joined(separator: ",") }
            if !rules.blockedCountries.isEmpty {
                values["token_countries_blocked"] = rules.blockedCountries.joined(separator: ",")
            }
            if let limit = rules.limit { values["limit"] = String(limit) }
        }
        if signing.path.isFolder { values["token_path"] = signing.path.decoded }
        return values.sorted { $0.key.utf8.lexicographicallyPrecedes($1.key.utf8) }.map { ($0.key, $0.value) }
    }

    /// Returns the other parameters of the URL.
    private func own(_ signing: Signing) throws(SigningError) -> [String: String] {
        guard !signing.request.query.isEmpty else { return [:] }
        // Requests below a folder have other parameters than its manifest.
        guard !signing.path.isFolder else { throw SigningError(.value, value: "query") }
        var values: [String: String] = [:]
        for pair in signing.request.query.split(separator: "&", omittingEmptySubsequences: false) {
            let mark = pair.firstIndex(of: "=") ?? pair.endIndex
            let name = String(pair[..<mark])
            let rest = mark < pair.endIndex ? pair[pair.index(after: mark)...] : ""
            try SigningText.demand(name, named: "query", allowing: SigningText.isName)
            // What stands for a blank here may stand for itself there.
            try SigningText.demand(String(rest), named: "query") { $0 != UInt8(ascii: "+") }
            guard !name.isEmpty, !Self.reserved.contains(name), !name.hasPrefix("token_"), values[name] == nil,
                let value = rest.percentDecoded, !value.utf8.contains(UInt8(ascii: "&"))
            else { throw SigningError(.value, value: "query") }
            values[name] = value
        }
        return values
    }

    private static let reserved: Set<String> = ["token", "expires", "limit", "bcdn_token"]

    /// Returns the bytes of the address; of IPv6, only the first half.
    private static func packed(_ client: ClientNetwork) throws(SigningError) -> [UInt8] {
        let address = client.address
        guard address.isIPv4 ? client.isAddress : client.length >= 64 else {
            throw SigningError(.value, value: "client")
        }
        let bytes = address.isIPv4 ? address.bytes : address.bytes.prefix(8) + [UInt8](repeating: 0, count: 8)
        // The bytes of some addresses are also digits of a later expiry, or a parameter: without the address, the token would be
        // one for everybody.
        guard let first = bytes.first, !first.isASCIIDigit, !bytes.contains(UInt8(ascii: "=")) else {
            throw SigningError(.value, value: "client")
        }
        return bytes
    }
}
