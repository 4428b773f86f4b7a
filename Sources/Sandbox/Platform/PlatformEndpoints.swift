// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import MediaTokens
internal import Platform
internal import XML

/// Single sign-on by a platform: a viewer signs in once on a device, and applications get profiles without a login of their
/// own. `/sandbox/platform/sign-in` takes the place of the platform.
struct PlatformEndpoints: Sendable {
    let core: SandboxCore

    /// The only partner in the documentation.
    private static let partner = "Apple"

    var all: [Endpoint] {
        [
            Endpoint(.post, "/sandbox/platform/sign-in", .login, .plain, signIn),
            Endpoint(.get, "/api/v1/:requestor/profile-requests/:mvpd", .profiles, .v1, profileRequest),
            Endpoint(.post, "/api/v1/tokens/authn", .profiles, .v1, exchangeV1),
            Endpoint(.post, "/api/v2/:provider/sessions/sso/:partner", .sessions, .v2, sessionV2),
            Endpoint(.post, "/api/v2/:provider/profiles/sso/:partner", .profiles, .v2, exchangeV2),
        ]
    }

    // MARK: On the platform

    /// Signs a viewer in and returns the SAML response that a platform would pass to an application. It can be used once.
    private func signIn(_ call: EndpointRequest) async throws -> Response {
        guard let provider = call.parameter("mvpd").flatMap(core.configuration.provider),
            provider.description.supportsPlatformSSO
        else { throw EndpointError(400, "mvpd must be an MVPD with enablePlatformServices: true.") }
        guard let user = LoginService(core: core).user(call) else {
            throw EndpointError(401, "The user name or password is wrong.")
        }
        let secret = try await core.store.issue(
            Ticket(purpose: .platform, subject: user.name, target: provider.id),
            at: call.now
        )
        let response = XMLElement(
            "Response",
            namespace: "urn:oasis:names:tc:SAML:2.0:protocol",
            children: [XMLElement("Assertion", text: secret)]
        )
        let expires = call.now.advanced(byMilliseconds: provider.authenticationLifetime).millisecondsSince1970
        return .json(
            .object([
                ("SAMLResponse", .string(Base64.encode([UInt8](try response.document(prefix: "samlp").utf8)))),
                ("mvpd", .string(provider.id)),
                ("platformMappingId", .optional(provider.description.platformMappingID)),
                ("expirationDate", .string("\(expires)")),
            ])
        )
    }

    /// Consumes a SAML response of the platform and returns its user and provider.
    private func take(
        _ text: String?,
        at now: Timestamp
    ) async throws -> (user: SandboxConfiguration.User, provider: SandboxConfiguration.Provider)? {
        guard let text, text.utf8.count <= 16 * 1024, let bytes = Base64.decode([UInt8](text.utf8)),
            let response = try? XMLElement(reading: bytes.span), response.name == "Response",
            let secret = response.first("Assertion")?.text,
            let ticket = try await core.store.take(secret, for: .platform, at: now),
            let user = core.configuration.user(ticket.subject)?.user,
            let provider = ticket.target.flatMap(core.configuration.provider)
        else { return nil }
        return (user, provider)
    }

    private func request(_ requestor: SandboxConfiguration.Requestor) throws -> String {
        let request = XMLElement(
            "AuthnRequest",
            namespace: "urn:oasis:names:tc:SAML:2.0:protocol",
            children: [XMLElement("Issuer", text: requestor.id), XMLElement("ID", text: RandomText.uuid)]
        )
        return try request.document(prefix: "samlp")
    }

    // MARK: REST API v1

    private func profileRequest(_ call: EndpointRequest) async throws -> Response {
        guard let requestor = core.configuration.requestor(call.segment("requestor")) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        _ = try await core.caller(call, for: requestor)
        guard let provider = core.configuration.provider(call.segment("mvpd"), of: requestor),
            provider.description.supportsPlatformSSO
        else { throw EndpointError.v1(.unknownIntegration) }
        return .xml(try request(requestor))
    }

    private func exchangeV1(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V1Caller(call, core)
        guard let (user, provider) = try await take(call.parameter("SAMLResponse"), at: call.now) else {
            throw EndpointError.v1(.badRequest, message: StatusCode.invalidParameterSAMLResponse.explanation)
        }
        guard core.configuration.provider(provider.id, of: caller.requestor) != nil else {
            throw EndpointError.v1(.unknownIntegration)
        }
        try await LoginService(core: core).authenticate(
            user,
            on: caller.device,
            requestor: caller.requestor.id,
            provider: provider,
            kind: .appleSSO,
            at: call.now
        )
        return .empty(.noContent)
    }

    // MARK: REST API v2

    /// Begins single sign-on, or a regular login if single sign-on is not possible.
    private func sessionV2(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V2Caller(call, core)
        guard call.segment("partner") == Self.partner else { throw EndpointError.v2(.invalidParameterPartner) }
        var reason = "pfs_fallback"
        if let status = PartnerStatus(call), status.fault(at: call.now) == nil,
            let id = status.provider
        {
            let provider = core.configuration.providers(of: caller.requestor)
                .first { $0.description.platformMappingID == id }
            if let provider, provider.description.supportsPlatformSSO {
                return .json(
                    .object([
                        ("actionName", .string("partner_profile")), ("actionType", .string("direct")),
                        ("reasonType", .string("none")),
                        ("url", .string("/api/v2/\(caller.requestor.id)/profiles/sso/\(Self.partner)")),
                        (
                            "authenticationRequest",
                            .object([
                                ("type", .string("SAML")),
                                (
                                    "request",
                                    .string(Base64.encode([UInt8](try request(caller.requestor).utf8)))
                                ),
                                ("attributesNames", .array([.string("userID")])),
                            ])
                        ),
                        ("sessionId", .string(RandomText.uuid)), ("mvpd", .string(provider.id)),
                        ("serviceProvider", .string(caller.requestor.id)),
                    ])
                )
            }
            reason = "configuration_fallback"
        }
        return try await V2SessionEndpoints(core: core).begin(call, reason: reason)
    }

    private func exchangeV2(_ call: EndpointRequest) async throws -> Response {
        let caller = try await V2Caller(call, core)
        guard call.segment("partner") == Self.partner else { throw EndpointError.v2(.invalidParameterPartner) }
        guard let status = PartnerStatus(call) else {
            throw EndpointError.v2(.invalidHeaderPermissionAccessNotPresent)
        }
        if let fault = status.fault(at: call.now) { throw EndpointError.v2(fault) }
        guard let (user, provider) = try await take(call.parameter("SAMLResponse"), at: call.now) else {
            throw EndpointError.v2(.invalidParameterSAMLResponse)
        }
        guard provider.description.platformMappingID == status.provider else {
            throw EndpointError.v2(.invalidHeaderProviderIDMismatch)
        }
        _ = try caller.provider(provider.id, core)
        let profile = try await LoginService(core: core).authenticate(
            user,
            on: caller.device,
            requestor: caller.requestor.id,
            provider: provider,
            kind: .appleSSO,
            at: call.now
        )
        return try .json(V2ProfileEndpoints(core: core).profiles([profile], at: call.now), status: .created)
    }
}
