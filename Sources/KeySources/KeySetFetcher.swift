// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A fetcher of key sets: one request and its answer, without a memory.
public protocol KeySetFetcher: Sendable {
    /// Requests a key set.
    ///
    /// - Parameter request: The address, and the known facts about the set.
    /// - Returns: The answer of the server, with any status, with at most 64 KiB of body; or the reason why there is
    ///   none.
    func fetch(_ request: KeySetRequest) async -> Result<KeySetResponse, KeySetFault>
}

/// A request for a key set.
public struct KeySetRequest: Hashable, Sendable {
    /// The address.
    public let address: KeySetAddress
    /// The entity tag of the set that is there, for `If-None-Match`; `nil` if there is none.
    public let entityTag: String?

    /// Creates a request.
    public init(_ address: KeySetAddress, entityTag: String? = nil) {
        self.address = address
        self.entityTag = entityTag
    }
}

/// The answer of a server to a request for a key set.
public struct KeySetResponse: Hashable, Sendable {
    /// The status code.
    public var status: Int
    /// The header fields in their order. Names are compared without case.
    public var headers: [Header]
    /// The body.
    public var body: [UInt8]

    /// A header field.
    public struct Header: Hashable, Sendable {
        /// The name.
        public let name: String
        /// The value.
        public let value: String

        /// Creates a header field.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// Creates an answer.
    public init(status: Int, headers: [Header] = [], body: [UInt8] = []) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// Returns the values of a header field.
    ///
    /// - Parameter name: The name in lower case.
    func values(_ name: String) -> [String] { headers.filter { $0.name.lowercased() == name }.map(\.value) }

    /// The media type in lower case, without parameters; `nil` if there is not exactly one.
    var mediaType: String? {
        let types = values("content-type")
        guard types.count == 1, let type = types[0].split(separator: ";").first else { return nil }
        return type.lowercased().filter { $0 != " " && $0 != "\t" }
    }

    /// The entity tag; `nil` if there is none, or more than 256 printable characters.
    var entityTag: String? {
        guard let tag = values("etag").first, 2...256 ~= tag.utf8.count,
            tag.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }), tag.utf8.last == UInt8(ascii: "\""),
            tag.hasPrefix("\"") || tag.hasPrefix("W/\"")
        else { return nil }
        return tag
    }
}
