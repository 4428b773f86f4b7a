// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The address of a key set: an `https` URL from a configuration, never from a token.
public struct KeySetAddress: Hashable, Sendable {
    /// The URL in normal form: host in lower case, and a path.
    public let url: String
    /// The host: a name, or an address without brackets.
    public let host: String
    /// The largest size of a URL in bytes.
    public static let maximumSize = 2048

    /// Creates an address.
    ///
    /// - Parameter text: An absolute URL without user information and fragment. `http` is accepted for loopback addresses
    ///   only.
    /// - Throws: ``KeySetAddressError``.
    public init(_ text: String) throws(KeySetAddressError) {
        let scheme = ["https://", "http://"].first { text.utf8.starts(with: $0.utf8) }
        guard let scheme else { throw .notHTTPS }
        guard text.utf8.count <= Self.maximumSize, text.utf8.allSatisfy({ 0x21..<0x7F ~= $0 }) else { throw .malformed }
        let rest = text.utf8.dropFirst(scheme.utf8.count)
        let end = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let target = Substring(rest[end...])
        guard !target.utf8.contains(where: { "#\"<>\\^`{|}".utf8.contains($0) }),
            let authority = URIAuthority(Substring(rest[..<end]))
        else { throw .malformed }
        let named = String(authority.host)
        let isBracketed = named.utf8.first == UInt8(ascii: "[")
        host = isBracketed ? String(named.dropFirst().dropLast()) : named
        guard scheme == "https://" || ["127.0.0.1", "::1", "localhost"].contains(host) else { throw .notHTTPS }
        let port = authority.port.map { ":\($0)" } ?? ""
        url = scheme + named + port + (target.utf8.first == UInt8(ascii: "/") ? "" : "/") + target
    }
}

/// A notation of key sets. The media type of an answer says which one it has.
public enum KeySetNotation: String, Hashable, Sendable, CaseIterable {
    /// A JWK Set in JSON (RFC 7517 §5).
    case jwkSet = "jwk"
    /// A COSE key set in CBOR (RFC 9052 §7).
    case coseKeySet = "cose"

    /// The media types that are accepted.
    private var mediaTypes: [String] {
        switch self {
        case .jwkSet: ["application/jwk-set+json", "application/json"]
        case .coseKeySet: ["application/cose-key-set"]
        }
    }

    /// The value of `Accept` in requests.
    static var accepted: String { allCases.flatMap(\.mediaTypes).joined(separator: ", ") }

    /// Creates the notation of a media type; `nil` for another type.
    init?(mediaType: String) {
        guard let notation = Self.allCases.first(where: { $0.mediaTypes.contains(mediaType) }) else { return nil }
        self = notation
    }
}

/// A reason why a text is no address of a key set.
public enum KeySetAddressError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The scheme is not `https`, or `http` with another host than this machine.
    case notHTTPS
    /// The text is no URL, has user information or a fragment, or is longer than 2,048 bytes.
    case malformed

    /// A sentence for the author of a configuration.
    public var description: String {
        switch self {
        case .notHTTPS: "must be an https URL; http is for this machine only (127.0.0.1, [::1], localhost)"
        case .malformed: "must be a URL without user information and fragment, such as https://keys.example/jwks.json"
        }
    }
}
