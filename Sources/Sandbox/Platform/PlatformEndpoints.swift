// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import MediaResources
internal import Platform
internal import XML

/// Single sign-on by a platform: a viewer signs in once on a device, and applications get profiles without a login of their
/// own. `/sandbox/platform/sign-in` replaces the platform.
extension SandboxCore {
    /// The only partner in the documentation.
    private static let partner = "Apple"

    var platformEndpoints: [Endpoint] {
        [
            Endpoint(.post, path: "/sandbox/platform/sign-in", operation: .login, dialect: .plain, answer: signIn),
            Endpoint(
                .get,
                path: "/api/v1/:requestor/profile-requests/:mvpd",
                operation: .profiles,
                dialect: .v1,
                answer: profileRequest
            ),
            Endpoint(.post, path: "/api/v1/tokens/authn", operation: .profiles, dialect: .v1, answer: exchangeV1),
            Endpoint(
                .post,
                path: "/api/v2/:provider/sessions/sso/:partner",
                operation: .sessions,
                dialect: .v2,
                answer: sessionV2
            ),
            Endpoint(
                .post,
                path: "/api/v2/:provider/profiles/sso/:partner",
                operation: .profiles,
                dialect: .v2,
                answer: exchangeV2
            ),
        ]
    }

    // MARK: On the platform

    /// Signs a viewer in and returns the SAML response that a platform would pass to an application. It can be used once.
    private func signIn(_ call: EndpointRequest) async throws -> Response {
        guard let provider = call.parameter("mvpd").flatMap(configuration.provider),
            provider.description.supportsPlatformSSO
        else { throw EndpointError(400, message: "mvpd must be an MVPD with enablePlatformServices: true.") }
        guard let user = user(call) else { throw EndpointError(401, message: "The user name or password is wrong.") }
        let ticket = Ticket(purpose: .platform, subject: user.name, target: provider.id)
        let secret = try await store.issue(ticket, at: call.now)
        let response = try Self.saml("Response", children: [XMLElement("Assertion", text: secret)])
        let expires = call.now.advanced(byMilliseconds: provider.authenticationLifetime).millisecondsSince1970
        return .json([
            "SAMLResponse": .string(Base64.encode([UInt8](response.utf8))), "mvpd": .string(provider.id),
            "platformMappingId": .optional(provider.description.platformMappingID),
            "expirationDate": .string("\(expires)"),
        ])
    }

    private static func saml(_ name: String, children: [XMLElement]) throws -> String {
        try XMLElement(name, namespace: "urn:oasis:names:tc:SAML:2.0:protocol", children: children)
            .document(prefix: "samlp")
    }

    private static func request(_ requestor: Requestor) throws -> String {
        let fields = [XMLElement("Issuer", text: requestor.id), XMLElement("ID", text: RandomText.uuid)]
        return try saml("AuthnRequest", children: fields)
    }

    /// Consumes the SAML response of a platform in a request, and logs its user in.
    ///
    /// - Parameter id: The provider's id on the platform; `nil` for any.
    private func exchange(_ caller: Caller, id: String?) async throws -> StoredProfile {
        let call = caller.call
        let text = call.parameter("SAMLResponse") ?? ""
        guard text.utf8.count <= 16 * 1024, let bytes = Base64.decode([UInt8](text.utf8)),
            let response = try? XMLElement(reading: bytes.span), response.name == "Response",
            let secret = response.first("Assertion")?.text,
            let ticket = try await store.consumeTicket(secret, for: .platform, at: call.now),
            let user = configuration.user(ticket.subject)?.user,
            let provider = ticket.target.flatMap(configuration.provider)
        else {
            let code = StatusCode.invalidParameterSAMLResponse
            throw call.isV2 ? EndpointError.v2(code) : EndpointError.v1(.badRequest, message: code.explanation)
        }
        if let id, provider.description.platformMappingID != id {
            throw EndpointError.v2(.invalidHeaderProviderIDMismatch)
        }
        _ = try caller.provider(provider.id)
        return try await authenticate(
            user,
            on: caller.device,
            requestor: caller.requestor.id,
            provider: provider,
            kind: .appleSSO,
            at: call.now
        )
    }

    // MARK: REST API v1

    private func profileRequest(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        let provider = try provider(call.segment("mvpd"), of: requestor, in: call)
        guard provider.description.supportsPlatformSSO else { throw EndpointError.v1(.unknownIntegration) }
        return .xml(try Self.request(requestor))
    }

    private func exchangeV1(_ call: EndpointRequest) async throws -> Response {
        _ = try await exchange(Caller(of: call, in: self), id: nil)
        return .empty(.noContent)
    }

    // MARK: REST API v2

    /// Begins single sign-on, or a regular login if single sign-on is not possible.
    private func sessionV2(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        let requestor = caller.requestor
        guard call.segment("partner") == Self.partner else { throw EndpointError.v2(.invalidParameterPartner) }
        guard let status = PartnerStatus(call), status.fault(at: call.now) == nil else {
            return try await beginSession(call, reason: "pfs_fallback")
        }
        let provider = configuration.providers(of: requestor)
            .first { $0.description.platformMappingID == status.provider }
        guard let provider, provider.description.supportsPlatformSSO else {
            return try await beginSession(call, reason: "configuration_fallback")
        }
        return .json([
            "actionName": "partner_profile", "actionType": "direct", "reasonType": "none",
            "url": .string("/api/v2/\(requestor.id)/profiles/sso/\(Self.partner)"),
            "authenticationRequest": [
                "type": "SAML", "request": .string(Base64.encode([UInt8](try Self.request(requestor).utf8))),
                "attributesNames": ["userID"],
            ],
            "sessionId": .string(RandomText.uuid), "mvpd": .string(provider.id),
            "serviceProvider": .string(requestor.id),
        ])
    }

    private func exchangeV2(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        guard call.segment("partner") == Self.partner else { throw EndpointError.v2(.invalidParameterPartner) }
        guard let status = PartnerStatus(call) else {
            throw EndpointError.v2(.invalidHeaderPermissionAccessNotPresent)
        }
        if let fault = status.fault(at: call.now) { throw EndpointError.v2(fault) }
        let profile = try await exchange(caller, id: status.provider ?? "")
        return try .json(profileBody([profile], at: call.now), status: .created)
    }
}

/// The status of the platform, from the header field `AP-Partner-Framework-Status`.
private struct PartnerStatus {
    private let access: String?
    /// The provider's id on the platform.
    let provider: String?
    private let expires: Timestamp?

    /// Parses the header field of a request.
    ///
    /// - Returns: `nil` if the header field is missing or malformed, or does not contain the permission.
    init?(_ call: EndpointRequest) {
        guard case .some(.some(let status)) = call.object(inHeader: "AP-Partner-Framework-Status"),
            case .object? = status["frameworkPermissionInfo"]
        else { return nil }
        access = status["frameworkPermissionInfo"]?["accessStatus"]?.text
        let info = status["frameworkProviderInfo"]
        provider = info?["id"]?.text
        expires = info?["expirationDate"]?.text.flatMap { Int64($0) }.map { Timestamp(millisecondsSince1970: $0) }
    }

    /// Returns the reason that this status is not accepted; `nil` if it is.
    func fault(at now: Timestamp) -> StatusCode? {
        switch access {
        case nil: return .invalidHeaderPermissionAccessNotPresent
        case "granted": break
        case "notDetermined": return .invalidHeaderPermissionAccessNotDetermined
        default: return .invalidHeaderPermissionAccessNotGranted
        }
        guard let provider, !provider.isEmpty else { return .invalidHeaderProviderIDNotDetermined }
        guard let expires, expires > now else { return .invalidHeaderProviderInfoExpired }
        return nil
    }
}
