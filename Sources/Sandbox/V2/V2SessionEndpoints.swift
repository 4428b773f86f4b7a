// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The sessions of REST API v2, which are logins that begin on a device and continue in a browser, and the configuration of
/// a requestor.
extension SandboxCore {
    /// The lifetime of a session's code in milliseconds.
    private static let lifetime: Int64 = 30 * 60_000

    var v2SessionEndpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                path: "/api/v2/:provider/configuration",
                operation: .configuration,
                dialect: .v2,
                answer: showConfiguration
            ),
            Endpoint(.post, path: "/api/v2/:provider/sessions", operation: .sessions, dialect: .v2, answer: create),
            Endpoint(
                .post,
                path: "/api/v2/:provider/sessions/:code",
                operation: .sessions,
                dialect: .v2,
                answer: resume
            ),
            Endpoint(.get, path: "/api/v2/:provider/sessions/:code", operation: .sessions, dialect: .v2, answer: show),
            // These are the paths in the documentation's samples.
            Endpoint(
                .post,
                path: "/api/v2/sessions/:provider/:code",
                operation: .sessions,
                dialect: .v2,
                answer: resume
            ),
            Endpoint(.get, path: "/api/v2/sessions/:provider/:code", operation: .sessions, dialect: .v2, answer: show),
        ]
    }

    private func showConfiguration(_ call: EndpointRequest) async throws -> Response {
        let (requestor, _) = try await authorized(call)
        func info(_ name: String) -> String {
            guard case .some(.some(let info)) = call.object(inHeader: "X-Device-Info") else { return "unknown" }
            return info[name]?.text ?? "unknown"
        }
        return try .json(
            DeviceConfiguration(
                device: info("primaryHardwareType"),
                os: info("osName"),
                description: configuration.description(of: requestor, at: call.origin)
            )
        )
    }

    private func create(_ call: EndpointRequest) async throws -> Response {
        try await beginSession(call, reason: "none")
    }

    /// Begins a login.
    ///
    /// - Parameter reason: The reason for a regular login if another kind was requested.
    func beginSession(_ call: EndpointRequest, reason: String) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        var session = LoginSession(
            requestor: caller.requestor.id,
            device: caller.device,
            client: caller.client.id,
            created: call.now,
            expires: call.now.advanced(byMilliseconds: Self.lifetime)
        )
        try complete(&session, from: caller, registered: caller.client.redirectURIs)
        if let answer = try await direct(session, for: caller) { return try .json(answer) }
        try await store.add(session, at: call.now)
        return try .json(Self.authenticationSession(for: session, reason: reason))
    }

    /// Adds missing parameters to a session, from the same device or, with the code, from another.
    private func resume(_ call: EndpointRequest) async throws -> Response {
        let caller = try await Caller(of: call, in: self)
        var session = try await open(in: call, by: caller)
        let client = try await session.client.asyncFlatMap { try await store.client($0) }
        try complete(&session, from: caller, registered: client?.redirectURIs ?? [])
        guard try await store.update(session) else { throw EndpointError.v2(.invalidAuthenticationSession) }
        return try .json(Self.authenticationSession(for: session))
    }

    private func show(_ call: EndpointRequest) async throws -> Response {
        let session = try await open(in: call, by: Caller(of: call, in: self))
        let existing = [
            ("mvpd", session.provider), ("domainName", session.domain), ("redirectUrl", session.redirect),
            ("serviceProvider", session.requestor),
        ].compactMap { name, value in value.map { (name, JSON.string($0)) } }
        var members: [JSON.Member] = [("existingParameters", .object(existing))]
        if !session.missing.isEmpty { members.append(("missingParameters", .strings(session.missing))) }
        members += [
            ("device", ["type": "unknown"]), ("notBefore", .string("\(session.created.millisecondsSince1970)")),
            ("notAfter", .string("\(session.expires.millisecondsSince1970)")),
        ]
        return .json(.object(members))
    }

    private func open(in call: EndpointRequest, by caller: Caller) async throws -> LoginSession {
        let code = call.segment("code")
        guard let session = try await store.session(code, of: caller.requestor.id, at: call.now),
            session.state == .open
        else { throw EndpointError.v2(.invalidParameterCode) }
        return session
    }

    /// Copies the parameters of a request to a session. Parameters that are already set stay, so that a second screen cannot
    /// redirect the viewer.
    private func complete(_ session: inout LoginSession, from caller: Caller, registered: [String]) throws {
        let call = caller.call
        if let id = call.parameter("mvpd") {
            let provider = try caller.provider(id)
            guard session.provider == nil || session.provider == provider.id else {
                throw EndpointError.v2(.invalidAuthenticationSession)
            }
            session.provider = provider.id
        }
        session.domain = session.domain ?? call.parameter("domainName", "domain").map { String($0.prefix(255)) }
        let refusal = EndpointError.v2(.invalidParameterRedirectURL)
        let redirect = try call.redirect(to: call.parameter("redirectUrl"), registered: registered, or: refusal)
        session.redirect = session.redirect ?? redirect
    }

    /// Returns the answer if no login is needed; `nil` if one is.
    private func direct(_ session: LoginSession, for caller: Caller) async throws -> AuthenticationSession? {
        guard let provider = session.provider.flatMap(configuration.provider) else { return nil }
        let reason: String
        if provider.temporaryAccess != nil {
            reason = "temporary"
        } else if degradation(of: caller.requestor, at: provider) == .authNAll {
            reason = "degraded"
        } else {
            let profiles = try await store.profiles(of: caller.device, requestor: caller.requestor.id)
            guard
                let profile = profiles.first(where: { $0.provider == provider.id && !$0.isExpired(at: caller.call.now) }
                )
            else { return nil }
            reason = profile.kind == .regular ? "authenticated" : "authenticatedSSO"
        }
        return AuthenticationSession(
            action: .authorize,
            actionType: "direct",
            reasonType: reason,
            url: "/api/v2/\(caller.requestor.id)/decisions/authorize/\(provider.id)",
            sessionID: session.id,
            mvpd: provider.id,
            serviceProvider: caller.requestor.id
        )
    }

    private static func authenticationSession(
        for session: LoginSession,
        reason: String = "none"
    ) -> AuthenticationSession {
        let missing = session.missing
        return AuthenticationSession(
            action: missing.isEmpty ? .authenticate : .resume,
            actionType: missing.isEmpty ? "interactive" : "direct",
            reasonType: reason == "none" || missing.isEmpty ? reason : "missing_parameters_fallback",
            missingParameters: missing.isEmpty ? nil : missing,
            url: missing.isEmpty
                ? "/api/v2/authenticate/\(session.requestor)/\(session.code)"
                : "/api/v2/\(session.requestor)/sessions/\(session.code)",
            code: session.code,
            sessionID: session.id,
            mvpd: session.provider,
            serviceProvider: session.requestor,
            notBefore: session.created,
            notAfter: session.expires
        )
    }
}

/// A configuration in the form of REST API v2, which adds the type and the system of the device.
private struct DeviceConfiguration: Encodable {
    let device: String
    let os: String
    let description: ServiceConfiguration

    private enum Key: String, CodingKey { case device, clientType, os }

    func encode(to encoder: any Encoder) throws {
        var members = encoder.container(keyedBy: Key.self)
        try members.encode(device, forKey: .device)
        try members.encode("unknown", forKey: .clientType)
        try members.encode(os, forKey: .os)
        try description.encode(to: encoder)
    }
}

extension LoginSession {
    /// The names of the parameters that a login in a browser still requires.
    fileprivate var missing: [String] {
        [("mvpd", provider), ("domainName", domain), ("redirectUrl", redirect)].filter { $0.1 == nil }.map(\.0)
    }
}
