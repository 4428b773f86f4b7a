// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// Dynamic client registration.
///
/// Source: RFC 7591 and RFC 6749 §4.4, as far as the product's documentation describes them.
extension SandboxCore {
    /// The lifetime of an access token in seconds.
    private static let lifetime = 21_600

    var registrationEndpoints: [Endpoint] {
        [
            Endpoint(.post, path: "/o/client/register", operation: .register, dialect: .registration, answer: register),
            Endpoint(.post, path: "/o/client/token", operation: .token, dialect: .registration, answer: token),
        ]
    }

    private func register(_ call: EndpointRequest) async throws -> Response {
        let body = try? JSONReader.read(call.body.span, limits: JSONLimits(depth: 4, members: 32, elements: 32))
        let redirect = body?["redirect_uri"]?.text
        let isAbsent = body?["redirect_uri"].map { $0 == .null } ?? true
        guard let text = body?["software_statement"]?.text, redirect != nil || isAbsent else {
            throw RegistrationError.invalidRequest
        }
        guard let statement = SoftwareStatement(text) else { throw RegistrationError.invalidSoftwareStatement }
        if configuration.requestors.contains(where: { $0.unapprovedStatements.contains(text) }) {
            throw RegistrationError.unapprovedSoftwareStatement
        }
        if let redirect {
            let domains = configuration.requestors.flatMap(\.domains)
            guard RedirectTarget.mayBeRegistered(redirect, domains: domains) else {
                throw RegistrationError.invalidRedirectURI
            }
        }
        let secret = RandomText.secret
        let client = Client(
            id: RandomText.uuid,
            statement: statement.digest,
            audiences: statement.audiences,
            redirectURIs: redirect.map { [$0] } ?? []
        )
        try await store.add(client, secret: secret, at: call.now)
        let registration = ClientRegistration(
            clientID: client.id,
            clientSecret: secret,
            redirectURIs: client.redirectURIs,
            issued: call.now
        )
        return try .json(registration, status: .created)
    }

    private func token(_ call: EndpointRequest) async throws -> Response {
        guard let kind = call.parameter("grant_type") else { throw RegistrationError.invalidRequest }
        guard kind == "client_credentials" else { throw RegistrationError.unsupportedGrantType }
        guard let id = call.parameter("client_id"), let secret = call.parameter("client_secret") else {
            throw RegistrationError.invalidRequest
        }
        guard let client = try await store.client(id, secret: secret) else {
            throw RegistrationError.invalidClient
        }
        let token = RandomText.secret
        let expires = call.now.advanced(byMilliseconds: Int64(Self.lifetime) * 1000)
        try await store.addAccessToken(token, of: client, expires: expires, at: call.now)
        let answer = AccessToken(id: RandomText.uuid, accessToken: token, created: call.now, expiresIn: Self.lifetime)
        return try .json(answer, status: .created)
    }
}

/// A software statement: the JWT that an application registers with. The sandbox does not verify its signature.
struct SoftwareStatement: Sendable {
    /// The SHA-256 of the statement. The statement itself is not stored.
    let digest: [UInt8]
    /// The audiences in its `aud` claim.
    let audiences: [String]

    /// Parses a statement of up to 16 KiB.
    ///
    /// - Returns: `nil` if `text` is not three Base64url parts, the second of which is a JSON object.
    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard text.utf8.count <= 16 * 1024, parts.count == 3, !parts[2].isEmpty,
            Base64.decode([UInt8](parts[0].utf8)) != nil, let claims = JSON(base64Object: parts[1]),
            Base64.decode([UInt8](parts[2].utf8)) != nil
        else { return nil }
        digest = SHA256.digest(text)
        audiences = claims["aud"]?.text.map { [$0] } ?? claims["aud"]?.values?.compactMap(\.text) ?? []
    }
}
