// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import NIOHTTP1

/// The service's REST API v2.
///
/// Its only parameter for the application's data is the identity for temporary access. The other data have a parameter
/// of their own, with its name in v1, so that they are never dropped.
struct RESTv2: EntitlementInterface {
    let connection: ServiceConnection
    let requestor: String
    /// The REST API v1, which serves the platform's single sign-on for both interfaces.
    let legacy: RESTv1

    var handsOutTokens: Bool { false }

    private func request(_ path: String...) -> ServiceRequest { ServiceRequest(path: ["api", "v2", requestor] + path) }

    func configuration() async throws(ServiceFailure) -> ServiceConfiguration {
        try await connection.value(ServiceConfiguration.self, for: request("configuration"))
    }

    func beginLogin(_ login: LoginRequest) async throws(ServiceFailure) -> LoginStep {
        var request = request("sessions")
        request.method = .POST
        request.isRepeatable = false
        request.form = [("mvpd", login.mvpd.id), ("domainName", login.domain), ("redirectUrl", login.redirectURL)]
        if let data = login.data.json { request.form?.append(("generic_data", data)) }
        let session = try await connection.value(AuthenticationSession.self, for: request)
        if session.action == .authorize { return .done }
        guard session.action == .authenticate, let url = session.url.flatMap({ connection.browserURL($0) }),
            let code = session.code, code.isRegistrationCode
        else {
            throw .unreadable("the session response has an unknown action, or no valid URL or code", httpStatus: 200)
        }
        return .navigate(url: url, code: code, expires: session.notAfter)
    }

    func viewer(_ mvpd: String?, code: String?) async throws(ServiceFailure) -> KnownViewer? {
        let profiles: [String: Profile]
        if let code {
            profiles = try await connection.value(Profiles.self, for: request("profiles", "code", code)).profiles
        } else if let mvpd {
            profiles = try await connection.value(Profiles.self, for: request("profiles", mvpd)).profiles
        } else {
            profiles = try await connection.value(Profiles.self, for: request("profiles")).profiles
        }
        guard
            let (id, profile) = mvpd.flatMap({ id in profiles[id].map { (id, $0) } })
                ?? (mvpd == nil ? profiles.min { $0.key < $1.key }.map { ($0.key, $0.value) } : nil)
        else { return nil }
        return KnownViewer(
            mvpd: id,
            // An encrypted value differs in every response, so it cannot identify a viewer.
            userID: profile.attributes["userID"].flatMap { $0.state == .encrypted ? nil : $0.value.text } ?? "",
            expires: profile.notAfter,
            kind: profile.kind
        )
    }

    func platformRequest(_ mvpd: String) async throws(ServiceFailure) -> String {
        try await legacy.platformRequest(mvpd)
    }

    func exchange(_ assertion: String, mvpd: String) async throws(ServiceFailure) {
        try await legacy.exchange(assertion, mvpd: mvpd)
    }

    func preauthorize(_ call: PreauthorizeQuery) async throws(ServiceFailure) -> PreauthorizeResponse {
        var request = request("decisions", "preauthorize", call.mvpd)
        request.method = .POST
        if !call.usesRemoteCache { request.query.append(("remoteCache", "false")) }
        request.json = try Self.body(call.resources)
        let answer = try await connection.value(AuthorizationDecisions.self, for: request)
        guard answer.decisions.allSatisfy({ $0.mvpd == call.mvpd && $0.serviceProvider == requestor }) else {
            throw .unreadable("the decisions are for another provider or requestor", httpStatus: 200)
        }
        return PreauthorizeResponse(
            decisions: answer.decisions.map {
                PreauthorizeResponse.Decision(
                    id: $0.resource,
                    isAuthorized: $0.isAuthorized,
                    error: $0.error
                )
            }
        )
    }

    func authorize(_ call: AuthorizeRequest) async throws(ServiceFailure) -> Authorized {
        var request = request("decisions", "authorize", call.mvpd)
        request.method = .POST
        if let data = call.data.json { request.query.append(("generic_data", data)) }
        request.json = try Self.body([call.resource])
        return try await connection.send(request) { answer throws(ServiceFailure) in try decision(in: answer, for: call)
        }
    }

    /// Returns the one decision of a response. A provider that does not answer is reported in a successful response.
    private func decision(
        in answer: ServiceAnswer,
        for call: AuthorizeRequest
    ) throws(ServiceFailure) -> Authorized {
        let decisions = try answer.value(AuthorizationDecisions.self).decisions
        guard decisions.count == 1, let decision = decisions.first,
            decision.resource.utf8.elementsEqual(call.resource.utf8), decision.mvpd == call.mvpd,
            decision.serviceProvider == requestor
        else {
            throw .unreadable("the decision is for another resource, provider or requestor", httpStatus: 200)
        }
        guard decision.isAuthorized else {
            guard let error = decision.error else {
                throw .unreadable("the denial has no error", httpStatus: 200)
            }
            throw ServiceFailure(error, httpStatus: 200)
        }
        guard let token = decision.token else { throw .unreadable("the permit has no media token", httpStatus: 200) }
        return Authorized(
            source: decision.source,
            expires: decision.notAfter,
            token: token
        )
    }

    /// Requests an authorization: every authorization of this interface includes a token.
    func mediaToken(_ call: AuthorizeRequest) async throws(ServiceFailure) -> AuthorizedToken {
        guard let token = try await authorize(call).token else {
            throw .unreadable("the permit has no media token", httpStatus: 200)
        }
        return token
    }

    func userMetadata(_ mvpd: String) async throws(ServiceFailure) -> UserMetadata {
        let profiles = try await connection.value(Profiles.self, for: request("profiles", mvpd)).profiles
        guard let profile = profiles[mvpd] else {
            throw ServiceFailure(
                Status(.authenticatedProfileMissing, by: .v2, message: "no viewer is authenticated")
                    ?? Status(status: 403, code: StatusCode.authenticatedProfileMissing.rawValue),
                httpStatus: 200
            )
        }
        return UserMetadata(
            updated: profile.notBefore,
            encrypted: profile.attributes.filter { $0.value.state == .encrypted }.map(\.key).sorted(),
            data: profile.attributes.mapValues(\.value)
        )
    }

    func logout(_ mvpd: String, redirectURL: String) async throws(ServiceFailure) -> String? {
        var request = request("logout", mvpd)
        request.query = [("redirectUrl", redirectURL)]
        let logouts = try await connection.value(Logouts.self, for: request).logouts
        guard let logout = logouts[mvpd], logout.actionType == "interactive" else { return nil }
        guard let url = logout.url.flatMap({ connection.browserURL($0) }) else {
            throw .unreadable("the logout URL is missing or not http or https", httpStatus: 200)
        }
        return url
    }

    private static func body(_ resources: [String]) throws(ServiceFailure) -> [UInt8] {
        do { return try EntitlementBody.json(["resources": resources]) } catch {
            throw .unreadable("the resources cannot be written as JSON", httpStatus: 0)
        }
    }
}

extension ServiceConnection {
    /// Returns a URL for a browser, from an absolute URL or a path of the service; `nil` for any other input. A service may
    /// open web pages only, and no other URL schemes of the device.
    func browserURL(_ target: String) -> String? {
        var full = target.hasPrefix("/") ? url + target : target
        if full.hasPrefix(url + "/") { full = options.adding(to: full) }
        let schemes = url.hasPrefix("https://") ? ["https://"] : ["https://", "http://"]
        guard full.utf8.count <= 8192, full.utf8.allSatisfy({ 0x21...0x7E ~= $0 }),
            schemes.contains(where: { full.lowercased().hasPrefix($0) })
        else { return nil }
        return full
    }
}

extension String {
    /// True if the text can be a code that a viewer types in.
    var isRegistrationCode: Bool {
        1...64 ~= utf8.count && utf8.allSatisfy(\.isASCIIAlphanumeric)
    }
}

extension MetadataValue {
    /// The text, if the value is one.
    var text: String? {
        if case .text(let text) = self { return text }
        return nil
    }
}
