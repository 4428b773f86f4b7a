// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A host in canonical form: lower case, without a port and without the trailing dot of the root.
///
/// Source: RFC 9110 §7.2, RFC 3986 §3.2.2; accepts a subset.
public struct HostName: Hashable, Sendable {
    /// The host, such as `live.example.com` or `[2001:db8::1]`.
    public let text: Substring

    /// The maximum size of a host, in bytes.
    public static let maximumSize = URIAuthority.maximumHostSize

    /// Parses a host as a client or an edge sends it; `nil` if it is invalid.
    ///
    /// - Parameter requested: A name or an address, with or without a port.
    public init?(_ requested: Substring) {
        guard let authority = URIAuthority(requested) else { return nil }
        text = authority.host
    }

    /// Byte equality.
    public static func == (left: HostName, right: HostName) -> Bool { ByteKey(left.text) == ByteKey(right.text) }

    public func hash(into hasher: inout Hasher) { hasher.combine(ByteKey(text)) }
}
