// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A fact about a request that an edge reports, and that a restriction in a token may need.
public enum RequestFact: String, Hashable, Sendable, CaseIterable {
    /// The scheme of the client's connection.
    case scheme
    /// The host that the client requested.
    case host
    /// The port that the client requested.
    case port
    /// The query of the target, in a form that all servers read alike.
    case query
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

/// An unknown fact that a restriction needs, with the reason.
public struct UnknownFact: Hashable, Sendable {
    /// The fact.
    public let fact: RequestFact
    /// The reason.
    public let reason: Reason

    /// The reason why a fact is not known.
    public enum Reason: String, Hashable, Sendable, CaseIterable {
        /// The edge does not report it.
        case notReported = "not_reported"
        /// The edge reports something else in its stead, such as `unknown`.
        case malformed
        /// The edge reports it more than once.
        case repeated
    }

    package init(_ fact: RequestFact, reason: Reason) {
        self.fact = fact
        self.reason = reason
    }
}
