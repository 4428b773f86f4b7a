// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
internal import HTTPServer
internal import PlaybackGate

/// The facts of a client's request that restrictions in grants may need, besides those of ``EdgeRequest``.
///
/// Only a check that needs them reads them, and only from a trusted peer. Each fact is parsed when it is asked for.
struct EdgeFacts {
    /// A fact about a request. A check that needs a malformed one is invalid (`edge_request_invalid`).
    enum Fact<Value> {
        /// The edge does not say.
        case unknown
        case known(Value)
        /// The edge says something that is no such fact.
        case malformed

        init(_ value: Value?) { self = value.map { .known($0) } ?? .malformed }
    }

    /// The host that the client requested.
    struct Authority: Equatable {
        /// The host in canonical form, without a port.
        let host: Substring
        /// The port; `nil` if it is the scheme's default one, or was not stated.
        fileprivate(set) var port: UInt16?

        static func == (one: Self, other: Self) -> Bool {
            one.port == other.port && one.host.utf8.elementsEqual(other.host.utf8)
        }
    }

    /// The header fields of the check, which contain those of the client that the edge passes.
    let fields: HTTPFields
    private let target: Substring
    /// The numbers of the fields that state the facts. Their values are cut out when they are asked for.
    private var places = Places()

    private struct Places {
        var url, scheme, host, client, alpn, key, number, geo, position: Int?
    }

    /// Finds the fields of the facts; `nil` if one of them is repeated.
    ///
    /// - Parameters:
    ///   - target: The original target, as ``EdgeRequest`` has it.
    ///   - names: The names of the fields.
    init?(_ fields: HTTPFields, target: Substring, _ names: EdgeDialect.FactHeaders) {
        self.fields = fields
        self.target = target
        for index in fields.indices where !take(index, names) { return nil }
    }

    /// Keeps the value of a field that states a fact. Returns false if the field is repeated.
    private mutating func take(_ index: Int, _ names: EdgeDialect.FactHeaders) -> Bool {
        if fields.isField(index, names.host) { return places.host.fill(index) }
        if fields.isField(index, names.scheme) { return places.scheme.fill(index) }
        if fields.isField(index, names.client) { return places.client.fill(index) }
        if let wanted = names.url, fields.isField(index, wanted) { return places.url.fill(index) }
        // The rest is the same in all dialects.
        if fields.isField(index, "x-original-alpn") { return places.alpn.fill(index) }
        if fields.isField(index, "x-original-client-key") { return places.key.fill(index) }
        if fields.isField(index, "x-original-asn") { return places.number.fill(index) }
        if fields.isField(index, "x-original-geo") { return places.geo.fill(index) }
        if fields.isField(index, "x-original-position") { return places.position.fill(index) }
        return true
    }

    private func text(_ place: Int?) -> Substring? { place.map(fields.value) }

    // MARK: URI

    /// The scheme of the client's connection.
    var scheme: Fact<RequestURI.Scheme> {
        let stated = text(places.scheme).fact { RequestURI.Scheme(stated: $0) }
        guard let url = text(places.url) else { return stated }
        guard let whole = WholeURL(url, target: target) else { return .malformed }
        switch stated {
        case .unknown: return .known(whole.scheme)
        case .known(let scheme): return scheme == whole.scheme ? stated : .malformed
        case .malformed: return .malformed
        }
    }

    /// The host that the client requested, and its port if that is not the scheme's.
    var authority: Fact<Authority> { authority(scheme) }

    /// Returns the ``authority`` of a request of such a ``scheme``.
    func authority(_ told: Fact<RequestURI.Scheme>) -> Fact<Authority> {
        let scheme: RequestURI.Scheme?
        switch told {
        case .unknown: scheme = nil
        case .known(let known): scheme = known
        case .malformed: return .malformed
        }
        let stated = text(places.host).fact { Authority($0, scheme) }
        guard let url = text(places.url) else { return stated }
        guard let whole = WholeURL(url, target: target) else { return .malformed }
        switch stated {
        case .unknown: return .known(whole.authority)
        // The host of a request may be stated without its port, as nginx does with `$host`.
        case .known(let authority):
            let isSame = authority.host.utf8.elementsEqual(whole.authority.host.utf8)
            return isSame && (authority.port == nil || authority == whole.authority)
                ? .known(whole.authority) : .malformed
        case .malformed: return .malformed
        }
    }

    // MARK: Client

    /// The client's address: neither a list, nor with a zone or port.
    var clientAddress: Fact<IPAddress> { text(places.client).fact { IPAddress($0) } }

    /// The number of the client's autonomous system, 1 to 2³² - 1.
    var clientASN: Fact<UInt32> {
        text(places.number).fact { text in
            guard 1...10 ~= text.utf8.count, text.utf8.allSatisfy(\.isASCIIDigit), let number = UInt32(text), number > 0
            else { return nil }
            return number
        }
    }

    /// The codes of the client's country and subdivision (ISO 3166), such as `US` and `US-CA`, in upper case; 1 to 8.
    var countries: Fact<[String]> {
        text(places.geo).fact { RequestFacts.countries(stated: $0) }
    }

    /// The position of the client.
    var position: Fact<Position> {
        text(places.position).fact { Position(stated: $0) }
    }

    // MARK: TLS

    /// The protocol id that the connection negotiated by ALPN (RFC 7301), such as `h2`.
    var alpn: Fact<RequestFacts.TLSFact> {
        text(places.alpn).tlsFact { text in
            RequestFacts.isProtocolID(text.utf8.span) ? Array(text.utf8) : nil
        }
    }

    /// The client's key of the TLS connection: DER of a `SubjectPublicKeyInfo`.
    var clientKey: Fact<RequestFacts.TLSFact> {
        text(places.key).tlsFact { text in
            guard text.utf8.count <= Self.maximumKeySize, let bytes = Base64.decode(Array(text.utf8)),
                RequestFacts.isKeyInfo(bytes)
            else { return nil }
            return bytes
        }
    }

    /// The most characters of a client's key: RSA with 16,384 bits.
    private static let maximumKeySize = 4096
}

extension EdgeFacts.Fact: Equatable where Value: Equatable {}

extension EdgeDialect {
    /// The names of the header fields that state facts, in lower case, beside those that all dialects have in common.
    struct FactHeaders {
        let url: StaticString?
        let scheme: StaticString
        let host: StaticString
        let client: StaticString
    }

    var factHeaders: FactHeaders {
        let (url, scheme, client): (StaticString?, StaticString, StaticString) =
            switch self {
            case .nginx: ("x-original-url", "x-original-scheme", "x-original-client")
            case .forward: (nil, "x-forwarded-proto", "x-forwarded-for")
            case .envoy, .grpc: (nil, "x-forwarded-proto", "x-envoy-external-address")
            // Fields that `playgate.lua` sets, after it has removed those of the client.
            case .ats: (nil, "x-playgate-scheme", "x-playgate-client")
            case .spoe: (nil, ":scheme", ":client")
            }
        return FactHeaders(url: url, scheme: scheme, host: headers.host, client: client)
    }
}

/// The absolute form of a request, which must end in its target.
private struct WholeURL {
    let scheme: RequestURI.Scheme
    let authority: EdgeFacts.Authority

    init?(_ text: Substring, target: Substring) {
        let bytes = text.utf8
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            let scheme = RequestURI.Scheme(stated: text[..<colon]),
            bytes[colon...].starts(with: "://".utf8)
        else { return nil }
        let rest = bytes[bytes.index(colon, offsetBy: 3)...]
        guard let slash = rest.firstIndex(of: UInt8(ascii: "/")), rest[slash...].elementsEqual(target.utf8),
            let authority = EdgeFacts.Authority(Substring(rest[..<slash]), scheme)
        else { return nil }
        self.scheme = scheme
        self.authority = authority
    }
}

extension EdgeFacts.Authority {
    /// Parses a host with or without a port; `nil` if it is invalid.
    fileprivate init?(_ text: Substring, _ scheme: RequestURI.Scheme?) {
        guard let name = HostName(text) else { return nil }
        host = name.text
        guard let colon = text.utf8.lastIndex(of: UInt8(ascii: ":")), text.utf8.last != UInt8(ascii: "]") else {
            return
        }
        let digits = text[text.utf8.index(after: colon)...]
        // `HostName` accepts an empty port, as RFC 3986 does.
        guard !digits.isEmpty else { return }
        guard let number = UInt16(digits), number > 0 else { return nil }
        port = number == scheme?.defaultPort ? nil : number
    }
}

extension Int? {
    /// Stores the number of a field. Returns false if there is one.
    fileprivate mutating func fill(_ index: Int) -> Bool {
        guard self == nil else { return false }
        self = index
        return true
    }
}

extension Substring? {
    /// Parses the text of a fact. An empty one says nothing: edges send it in place of none.
    fileprivate func fact<Value>(_ parse: (Substring) -> Value?) -> EdgeFacts.Fact<Value> {
        guard let text = self?.trimmingBlanks, !text.isEmpty else { return .unknown }
        return EdgeFacts.Fact(parse(text))
    }

    /// Parses the text of a fact about TLS. An empty one says that there is none.
    fileprivate func tlsFact(_ parse: (Substring) -> [UInt8]?) -> EdgeFacts.Fact<RequestFacts.TLSFact> {
        guard let text = self?.trimmingBlanks else { return .unknown }
        return text.isEmpty ? .known(.none) : EdgeFacts.Fact(parse(text).map { .value($0) })
    }
}
