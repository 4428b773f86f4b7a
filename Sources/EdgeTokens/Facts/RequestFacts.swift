// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import RequestTargets

/// The facts of a client's request, as the edge reports them. A restriction that needs an unknown fact refuses the request.
public struct RequestFacts: Sendable {
    /// The URI of the request, with the tokens cut out.
    public var uri: RequestURI
    /// The method, in the client's case; `nil` if it is unknown.
    public var method: Substring?
    /// The facts that an edge reports, which are parsed when a restriction needs them.
    package var client: (any ClientFacts)?
    /// The facts that the caller supplies in parsed form; `nil` for none, so that a check of an edge copies only a
    /// reference.
    private var given: GivenFacts?

    private final class GivenFacts: Sendable {
        let headers: (any HeaderFields)?
        let address: IPAddress?
        let asn: UInt32?
        let alpn: TLSFact
        let key: TLSFact
        let countries: [String]?
        let position: Position?

        init(
            headers: (any HeaderFields)? = nil,
            address: IPAddress? = nil,
            asn: UInt32? = nil,
            alpn: TLSFact = .unknown,
            key: TLSFact = .unknown,
            countries: [String]? = nil,
            position: Position? = nil
        ) {
            self.headers = headers
            self.address = address
            self.asn = asn
            self.alpn = alpn
            self.key = key
            self.countries = countries
            self.position = position
        }
    }

    /// The header fields of the request; `nil` if they are unknown.
    public var headers: (any HeaderFields)? {
        get { given?.headers ?? client?.headers }
        set { give(headers: .some(newValue)) }
    }

    /// The address of the client; `nil` if it is unknown.
    public var clientAddress: IPAddress? {
        get { given?.address ?? client?.clientAddress }
        set { give(address: .some(newValue)) }
    }

    /// The number of the client's autonomous system; `nil` if it is unknown.
    public var clientASN: UInt32? {
        get { given?.asn ?? client?.clientASN }
        set { give(asn: .some(newValue)) }
    }

    /// The protocol id that the connection negotiated by ALPN (RFC 7301), such as `h2`.
    public var alpn: TLSFact {
        get { given.map(\.alpn).flatMap { $0 == .unknown ? nil : $0 } ?? client?.alpn ?? .unknown }
        set { give(alpn: newValue) }
    }

    /// The client's key of the TLS connection, as DER of a `SubjectPublicKeyInfo`.
    public var clientKey: TLSFact {
        get { given.map(\.key).flatMap { $0 == .unknown ? nil : $0 } ?? client?.clientKey ?? .unknown }
        set { give(key: newValue) }
    }

    /// The codes of the client's country and subdivision (ISO 3166), such as `US`, `USA` and `US-CA`; `nil` if they are unknown.
    public var countries: [String]? {
        get { given?.countries ?? client?.countries }
        set { give(countries: .some(newValue)) }
    }

    /// The position of the client; `nil` if it is unknown.
    public var position: Position? {
        get { given?.position ?? client?.position }
        set { give(position: .some(newValue)) }
    }

    private mutating func give(
        headers: (any HeaderFields)?? = nil,
        address: IPAddress?? = nil,
        asn: UInt32?? = nil,
        alpn: TLSFact? = nil,
        key: TLSFact? = nil,
        countries: [String]?? = nil,
        position: Position?? = nil
    ) {
        given = GivenFacts(
            headers: headers ?? given?.headers,
            address: address ?? given?.address,
            asn: asn ?? given?.asn,
            alpn: alpn ?? given?.alpn ?? .unknown,
            key: key ?? given?.key ?? .unknown,
            countries: countries ?? given?.countries,
            position: position ?? given?.position
        )
    }

    /// Creates the facts of a request.
    public init(uri: RequestURI, method: Substring? = nil, clientAddress: IPAddress? = nil) {
        self.uri = uri
        self.method = method
        if let clientAddress { given = GivenFacts(address: clientAddress) }
    }

    /// Returns an unknown fact that a restriction needs, with the reason.
    package func unknown(_ fact: RequestFact) -> UnknownFact {
        if fact == .query { return UnknownFact(fact, reason: .malformed) }
        return UnknownFact(fact, reason: client?.reason(of: fact) ?? .notReported)
    }

    /// A fact about the TLS connection.
    public enum TLSFact: Hashable, Sendable {
        /// The edge does not say.
        case unknown
        /// The connection has none.
        case none
        /// The value, in bytes.
        case value([UInt8])
    }
}

/// The header fields of a request.
public protocol HeaderFields: Sendable {
    /// Returns the values of the fields with `name`, compared without case, in the order of the request.
    func values(of name: String) -> [Substring]
}

/// Header fields in a list.
public struct HeaderList: HeaderFields, ExpressibleByDictionaryLiteral {
    private let fields: [(name: String, value: Substring)]

    /// Creates a list of header fields.
    public init(_ fields: [(name: String, value: String)]) {
        self.fields = fields.map { ($0.name.lowercased(), $0.value[...]) }
    }

    /// Creates a list of header fields; a name may occur repeatedly.
    public init(dictionaryLiteral elements: (String, String)...) { self.init(elements.map { ($0, $1) }) }

    public func values(of name: String) -> [Substring] {
        let name = name.lowercased()
        return fields.filter { $0.name == name }.map(\.value)
    }
}
