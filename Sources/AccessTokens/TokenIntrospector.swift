// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// Asks the server of an identity provider about opaque tokens (RFC 7662).
public protocol TokenIntrospector: Sendable {
    /// Returns an answer about a token that is still known, without waiting; `nil` if there is none.
    func known(_ token: Substring, at now: Timestamp) -> TokenIntrospection?

    /// Asks the server about a token, within its time limit.
    ///
    /// - Returns: The answer; `nil` if there is none in time that can be used.
    func introspect(_ token: Substring, at now: Timestamp) async -> TokenIntrospection?
}

/// The answer of a server about an opaque token.
public struct TokenIntrospection: Sendable {
    /// The issuer whose server has answered.
    public let issuer: String
    /// The body: a JSON object (RFC 7662 §2.2).
    public let body: [UInt8]

    /// Creates a value of its members.
    public init(issuer: String, body: [UInt8]) {
        (self.issuer, self.body) = (issuer, body)
    }
}
