// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The facts of a client's request, as the edge states them. A restriction that needs an unknown fact refuses the request.
public struct RequestFacts: Sendable {
    /// The URI of the request, with the tokens cut out.
    public var uri: RequestURI
    /// The method, in the client's case; `nil` if it is unknown.
    public var method: Substring?
    /// The address of the client; `nil` if it is unknown.
    public var clientAddress: IPAddress?
    /// The number of the client's autonomous system; `nil` if it is unknown.
    public var clientASN: UInt32?
    /// The header fields of the request; `nil` if they are unknown.
    public var headers: (any HeaderFields)?
    /// The protocol id that the connection negotiated by ALPN (RFC 7301), such as `h2`.
    public var alpn = TLSFact.unknown
    /// The client's key of the TLS connection, as DER of a `SubjectPublicKeyInfo`.
    public var clientKey = TLSFact.unknown
    /// The codes of the client's country and subdivision (ISO 3166), such as `US`, `USA` and `US-CA`; `nil` if they are unknown.
    public var countries: [String]?
    /// The position of the client; `nil` if it is unknown.
    public var position: Position?

    /// Creates the facts of a request.
    public init(uri: RequestURI, method: Substring? = nil, clientAddress: IPAddress? = nil) {
        self.uri = uri
        self.method = method
        self.clientAddress = clientAddress
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
