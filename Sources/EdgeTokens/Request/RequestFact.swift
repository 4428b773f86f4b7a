// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A fact about a request that an edge states, and that a restriction in a token may need.
public enum RequestFact: String, Hashable, Sendable, CaseIterable {
    /// The scheme of the client's connection.
    case scheme
    /// The host that the client asked for.
    case host
    /// The port that the client asked for.
    case port
    /// The method of the client's request.
    case method
    /// The client's address.
    case clientAddress = "client_address"
    /// The number of the client's autonomous system.
    case clientASN = "client_asn"
    /// The header fields of the client's request.
    case headers
    /// The protocol that was negotiated by ALPN.
    case alpn
    /// The client's TLS key.
    case clientKey = "client_key"
    /// The codes of the client's country and subdivision.
    case countries
    /// The client's position.
    case position
}
