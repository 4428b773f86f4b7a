// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The login of a viewer in a browser: to the provider's page, and back to the application.
struct LoginEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.get, "/api/v1/authenticate", .authenticate, .page, authenticateV1),
            Endpoint(.get, "/api/v2/authenticate/:provider/:code", .authenticate, .page, authenticateV2),
            Endpoint(.get, "/sandbox/idp/login", .login, .page, form),
            Endpoint(.post, "/sandbox/idp/login", .login, .page, submit),
            Endpoint(.post, "/sandbox/idp/cancel", .login, .page, cancel),
        ]
    }

    // MARK: Start of a login

    private func authenticateV2(_ call: EndpointRequest) async throws -> Response {
        guard let requestor = core.configuration.requestor(call.segment("provider")) else {
            throw EndpointError.v2(.invalidParameterServiceProvider)
        }
        guard let session = try await core.store.session(call.segment("code"), at: call.now),
            session.requestor == requestor.id
        else { throw EndpointError.v2(.invalidParameterCode) }
        guard session.state == .open, let provider = session.provider, session.redirect != nil else {
            throw EndpointError.v2(.invalidAuthenticationSession)
        }
        guard core.configuration.provider(provider, of: requestor) != nil else {
            throw EndpointError.v2(.invalidIntegration)
        }
        return try await begin(session, call)
    }

    private func authenticateV1(_ call: EndpointRequest) async throws -> Response {
        guard let requestor = call.parameter("requestor_id", "requestor").flatMap(core.configuration.requestor) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        let named = call.parameter("mso_id", "mvpd")
        guard let provider = named.flatMap({ core.configuration.provider($0, of: requestor) }) else {
            throw EndpointError.v1(.unknownIntegration)
        }
        guard let code = call.parameter("reg_code"),
            var session = try await core.store.session(code, at: call.now), session.requestor == requestor.id,
            session.state == .open
        else {
            throw EndpointError.v1(.badRequest, message: "The registration code is missing, unknown, used or expired.")
        }
        if let redirect = call.parameter("redirect_url") {
            let client = try await session.client.asyncFlatMap { try await core.store.client($0) }
            let registered = client?.redirectURIs ?? []
            guard let target = RedirectTarget.allowed(redirect, registered: registered, host: call.host) else {
                throw EndpointError.v1(.badRequest, message: StatusCode.invalidParameterRedirectURL.explanation)
            }
            session.redirect = session.redirect ?? target
        }
        try session.begin(provider)
        session.domain = session.domain ?? call.parameter("domain_name").map { String($0.prefix(255)) }
        guard try await core.store.update(session) else {
            throw EndpointError.v1(.badRequest, message: "The registration code was used by another request.")
        }
        return try await begin(session, call)
    }

    private func begin(_ session: LoginSession, _ call: EndpointRequest) async throws -> Response {
        let ticket = Ticket(
            purpose: .login,
            subject: session.code,
            target: session.redirect,
            provider: session.provider
        )
        let secret = try await core.store.issue(ticket, at: call.now)
        return .redirect(to: "/sandbox/idp/login?ticket=\(secret)")
    }

    // MARK: Pages of the provider

    private func form(_ call: EndpointRequest) async throws -> Response {
        let secret = call.query.first("ticket") ?? ""
        guard let ticket = try await core.store.ticket(secret, for: .login, at: call.now),
            let (_, provider) = try await session(of: ticket, at: call.now)
        else { return Self.stale }
        return page(provider, secret).response()
    }

    private func submit(_ call: EndpointRequest) async throws -> Response {
        guard let ticket = try await core.store.take(call.form.first("ticket") ?? "", for: .login, at: call.now),
            let (session, provider) = try await session(of: ticket, at: call.now)
        else { return Self.stale }
        let desk = LoginService(core: core)
        guard let user = desk.user(call) else {
            // The ticket is consumed, so a further attempt needs a new one.
            let secret = try await core.store.issue(ticket, at: call.now)
            let problem = "The user name or password is wrong. Try again."
            return page(provider, secret, error: problem).response(status: .unauthorized)
        }
        guard try await desk.finish(session, user, provider: provider, at: call.now) else { return Self.stale }
        guard let target = ticket.target else {
            return LoginPages.done("You are logged in. Go back to your device.").response()
        }
        return .redirect(to: target)
    }

    private func cancel(_ call: EndpointRequest) async throws -> Response {
        guard let ticket = try await core.store.take(call.form.first("ticket") ?? "", for: .login, at: call.now),
            var (session, _) = try await session(of: ticket, at: call.now)
        else { return Self.stale }
        session.state = .cancelled
        _ = try await core.store.update(session)
        guard let target = ticket.target else {
            return LoginPages.done("You are not logged in. Go back to your device.").response()
        }
        return .redirect(to: target)
    }

    private func page(_ provider: SandboxConfiguration.Provider, _ secret: String, error: String? = nil) -> Page {
        LoginPages.form(
            provider,
            action: "/sandbox/idp/login",
            hidden: ["ticket": secret],
            error: error,
            cancel: "/sandbox/idp/cancel"
        )
    }

    private func session(
        of ticket: Ticket,
        at now: Timestamp
    ) async throws -> (LoginSession, SandboxConfiguration.Provider)? {
        guard let session = try await core.store.session(ticket.subject, at: now), session.state == .open,
            session.provider == ticket.provider, let provider = session.provider.flatMap(core.configuration.provider)
        else { return nil }
        return (session, provider)
    }

    private static var stale: Response { LoginPages.stale.response(status: .badRequest) }
}

extension LoginSession {
    /// Sets the provider that a browser names. A provider that is already set cannot be changed, because the code is visible
    /// on a screen.
    mutating func begin(_ chosen: SandboxConfiguration.Provider) throws(EndpointError) {
        guard provider == nil || provider == chosen.id else {
            throw .v1(.badRequest, message: "The registration code is for another provider.")
        }
        provider = chosen.id
    }
}

extension Optional {
    /// Returns the result of an asynchronous `transform`, like `flatMap`.
    func asyncFlatMap<Value>(_ transform: (Wrapped) async throws -> Value?) async rethrows -> Value? {
        if let self { try await transform(self) } else { nil }
    }
}
