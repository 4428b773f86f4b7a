// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import KeySources

/// The server of an identity provider that knows what its opaque tokens mean (RFC 7662), and the terms for its use.
public struct IntrospectionServer: Sendable {
    /// The identifier of the issuer.
    public let issuer: String
    /// The URL.
    public let address: KeySetAddress
    /// PEM with the certificate authorities of the server; `nil` for those of the system.
    public let authorities: [UInt8]?
    /// The longest wait for an answer.
    public let deadline: Duration
    /// The longest time for which an answer is used again; zero for never.
    public let life: Duration
    /// The value of `Authorization`.
    let credentials: String

    /// Creates a server.
    ///
    /// - Parameters:
    ///   - issuer: The identifier of the issuer.
    ///   - address: The URL.
    ///   - client: The id of this client at the server.
    ///   - secret: The secret of this client.
    ///   - authorities: PEM with the certificate authorities of the server; `nil` for those of the system.
    ///   - deadline: The longest wait for an answer.
    ///   - life: The longest time for which an answer is used again; zero for never.
    public init(
        issuer: String,
        address: KeySetAddress,
        client: String,
        secret: String,
        authorities: [UInt8]? = nil,
        deadline: Duration = .seconds(1),
        life: Duration = .seconds(30)
    ) {
        self.issuer = issuer
        self.address = address
        self.authorities = authorities
        self.deadline = deadline
        self.life = life
        credentials = BasicCredentials.value(client: client, secret: secret)
    }
}

extension IntrospectionServer: CustomStringConvertible, CustomReflectable {
    /// The issuer and the URL.
    public var description: String { "\(issuer) at \(address.url)" }
    /// A `Mirror` without children, so that reflection contains no part of a secret.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
