// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import NIOHTTP1
internal import Platform

/// The service's REST API v1, with its registration codes.
struct RESTv1: EntitlementInterface {
    let connection: ServiceConnection
    let requestor: String
    let device: String
    let clock: @Sendable () -> Timestamp

    var handsOutTokens: Bool { true }

    private var common: [(String, String)] { [("requestor", requestor), ("deviceId", device)] }

    private func request(_ path: String..., query: [(String, String)] = []) -> ServiceRequest {
        ServiceRequest(path: ["api", "v1"] + path, query: common + query)
    }

    func configuration() async throws(ServiceFailure) -> ServiceConfiguration {
        var request = ServiceRequest(path: ["api", "v1", "config", requestor])
        request.accept = "application/xml"
        return try await connection.send(request).xml { bytes throws(EntitlementBodyError) in
            try ServiceConfiguration(xml: bytes)
        }
    }

    func beginLogin(_ login: LoginRequest) async throws(ServiceFailure) -> LoginStep {
        if login.mvpd.isTempPass {
            try await beginTemporaryAccess(login)
            return .done
        }
        var request = ServiceRequest(method: .POST, path: ["reggie", "v1", requestor, "regcode"])
        request.isRepeatable = false
        request.form = common + [("format", "json"), ("mvpd", login.mvpd.id)]
        let registered = try await connection.value(RegistrationCode.self, for: request)
        guard registered.code.isRegistrationCode else {
            throw .unreadable("the registration code is malformed", httpStatus: 200)
        }
        var query = [("reg_code", registered.code), ("requestor_id", requestor), ("mso_id", login.mvpd.id)]
        if let data = login.data.json { query.append(("generic_data", data)) }
        // The redirect URL must be the last parameter.
        query += [
            ("domain_name", login.domain), ("noflash", "true"), ("no_iframe", "true"),
            ("redirect_url", login.redirectURL),
        ]
        return .navigate(
            url: try browserURL(ServiceRequest(path: ["api", "v1", "authenticate"], query: query)),
            code: registered.code,
            expires: registered.expires.map(Timestamp.init(millisecondsSince1970:))
        )
    }

    /// The members of a registration code that the client needs.
    private struct RegistrationCode: Decodable, Sendable {
        let code: String
        /// Milliseconds since 1970, as a number or a string.
        let expires: Int64?

        private enum Key: String, CodingKey { case code, expires }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: Key.self)
            code = try members.decode(String.self, forKey: .code)
            expires =
                (try? members.decode(Int64.self, forKey: .expires))
                ?? (try? members.decode(String.self, forKey: .expires)).flatMap { Int64($0) }
        }
    }

    private func beginTemporaryAccess(_ login: LoginRequest) async throws(ServiceFailure) {
        var request = ServiceRequest(method: .POST, path: ["api", "v1", "authenticate", "freepreview"])
        request.isRepeatable = false
        request.form = common + [("requestor_id", requestor), ("mso_id", login.mvpd.id), ("domain_name", login.domain)]
        if let data = login.data.json { request.form?.append(("generic_data", data)) }
        _ = try await connection.send(request)
    }

    func viewer(_ mvpd: String?, code: String?) async throws(ServiceFailure) -> KnownViewer? {
        if let code {
            // A device that shows a code first checks if the viewer has logged in with it.
            let check = ServiceRequest(path: ["api", "v1", "checkauthn", code], query: common)
            guard try await answerOfViewer(check) != nil else { return nil }
        }
        guard let answer = try await answerOfViewer(request("tokens", "authn")) else { return nil }
        let authentication = try answer.value(Authentication.self)
        guard authentication.requestor == requestor, mvpd == nil || authentication.mvpd == mvpd else { return nil }
        return KnownViewer(
            mvpd: authentication.mvpd,
            userID: authentication.userID,
            expires: authentication.expires,
            kind: .regular
        )
    }

    /// Requests the viewer; `nil` if there is none. The action decides, because the service also uses 403 for timeouts.
    private func answerOfViewer(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceAnswer? {
        do throws(ServiceFailure) { return try await connection.send(request) } catch {
            let isOldForm = error.status.code.isEmpty || error.kind == .unreadable
            if error.needsAuthentication { return nil }
            if isOldForm, [403, 404, 410, 412].contains(error.httpStatus) { return nil }
            throw error
        }
    }

    func platformRequest(_ mvpd: String) async throws(ServiceFailure) -> String {
        var request = ServiceRequest(path: ["api", "v1", requestor, "profile-requests", mvpd], query: common)
        request.accept = "*/*"
        return String(decoding: try await connection.send(request).body, as: UTF8.self)
    }

    func exchange(_ assertion: String, mvpd: String) async throws(ServiceFailure) {
        var request = request("tokens", "authn")
        request.method = .POST
        request.isRepeatable = false
        request.form = common + [("mvpd", mvpd), ("SAMLResponse", assertion)]
        _ = try await connection.send(request)
    }

    func preauthorize(_ call: PreauthorizeQuery) async throws(ServiceFailure) -> PreauthorizeResponse {
        var request = request("preauthorize")
        request.lists = [("resource", call.resources)]
        if !call.usesRemoteCache { request.query.append(("remoteCache", "false")) }
        return try await connection.value(PreauthorizeResponse.self, for: request)
    }

    func authorize(_ call: AuthorizeRequest) async throws(ServiceFailure) -> Authorized {
        let request = request("authorize", query: call.query)
        let authorization: Authorization
        do throws(ServiceFailure) { authorization = try await connection.value(Authorization.self, for: request) } catch
        {
            throw error.read(as: .authorization)
        }
        try check(
            requestor: authorization.requestor,
            resource: authorization.resource,
            mvpd: authorization.mvpd,
            against: call
        )
        let source: AuthorizationDecision.Source = call.isTemporary ? .tempPass : .mvpd
        return Authorized(source: source, expires: authorization.expires, token: nil)
    }

    func mediaToken(_ call: AuthorizeRequest) async throws(ServiceFailure) -> AuthorizedToken {
        let request = request("tokens", "media", query: call.query)
        let token: AuthorizedToken
        do throws(ServiceFailure) { token = try await connection.value(AuthorizedToken.self, for: request) } catch {
            throw error.read(as: .mediaToken)
        }
        try check(requestor: token.requestor, resource: token.resource, mvpd: token.mvpd, against: call)
        return token
    }

    private func check(
        requestor: String,
        resource: String,
        mvpd: String,
        against call: AuthorizeRequest
    ) throws(ServiceFailure) {
        guard requestor == self.requestor, resource.utf8.elementsEqual(call.resource.utf8), mvpd == call.mvpd
        else {
            throw .unreadable("the response is for another resource, provider or requestor", httpStatus: 200)
        }
    }

    func userMetadata(_ mvpd: String) async throws(ServiceFailure) -> UserMetadata {
        try await connection.value(UserMetadata.self, for: request("tokens", "usermetadata"))
    }

    func logout(_ mvpd: String, redirectURL: String) async throws(ServiceFailure) -> String? {
        var request = request("logout")
        request.method = .DELETE
        _ = try await connection.send(request)
        // The session at the provider must be ended in a browser.
        let query = [("requestor_id", requestor), ("mso_id", mvpd), ("redirect_url", redirectURL)]
        return try browserURL(ServiceRequest(path: ["adobe-services", "logout"], query: query))
    }

    private func browserURL(_ request: ServiceRequest) throws(ServiceFailure) -> String {
        guard let url = connection.browserURL(request.target) else {
            throw .unreadable("the URL for the browser is too long", httpStatus: 0)
        }
        return url
    }
}

extension AuthorizeRequest {
    fileprivate var query: [(String, String)] {
        [("resource", resource)] + (data.json.map { [("generic_data", $0)] } ?? [])
    }
}

extension ServiceFailure {
    /// The subject of a request, to interpret an error without a code.
    fileprivate enum Subject {
        case authorization, mediaToken
    }

    /// Translates an error of the old form, with a status and a message only, into the code and action of the new form.
    fileprivate func read(as subject: Subject) -> ServiceFailure {
        guard kind == .refused, status.code.isEmpty else { return self }
        let code: StatusCode? =
            switch (subject, httpStatus) {
            case (.authorization, 403): .authorizationDeniedByMVPD
            case (.mediaToken, 403), (.mediaToken, 404): .authorizationNotFound
            case (.mediaToken, 410): .authorizationExpired
            case (_, 412): .authenticationSessionMissing
            default: nil
            }
        guard let code, let action = code.documentation(.v1)?.action else { return self }
        var read = status
        read.code = code.rawValue
        read.action = action
        return ServiceFailure(read, httpStatus: httpStatus)
    }
}
