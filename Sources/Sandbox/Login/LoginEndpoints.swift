// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird
internal import Platform

/// The login of a viewer in a browser: to the provider's page, and back to the application by a redirect, or by forms that
/// pass the viewer on, as in SAML.
extension SandboxCore {
    var loginEndpoints: [Endpoint] {
        [
            Endpoint(
                .get,
                path: "/api/v1/authenticate",
                operation: .authenticate,
                dialect: .page,
                answer: authenticateV1
            ),
            Endpoint(
                .get,
                path: "/api/v2/authenticate/:provider/:code",
                operation: .authenticate,
                dialect: .page,
                answer: authenticateV2
            ),
            Endpoint(.get, path: "/sandbox/idp/login", operation: .login, dialect: .page) { call in
                try await form(in: call, secret: call.query.first("ticket"), for: .login)
            },
            Endpoint(.post, path: "/sandbox/idp/login", operation: .login, dialect: .page) {
                try await submit($0, for: .login)
            },
            Endpoint(.post, path: "/sandbox/idp/cancel", operation: .login, dialect: .page, answer: cancel),

            Endpoint(
                .get,
                path: "/adobe-services/authenticate/saml",
                operation: .authenticate,
                dialect: .page,
                answer: authenticateBySAML
            ),
            Endpoint(.post, path: "/sandbox/saml/idp", operation: .login, dialect: .page) { call in
                try await form(in: call, secret: call.form.first("SAMLRequest"), for: .samlLogin)
            },
            Endpoint(.post, path: "/sandbox/saml/login", operation: .login, dialect: .page) {
                try await submit($0, for: .samlLogin)
            },
            Endpoint(.post, path: "/sp/saml/SAMLAssertionConsumer", operation: .login, dialect: .page, answer: consume),
        ]
    }

    // MARK: Start of a login

    private func authenticateV2(_ call: EndpointRequest) async throws -> Response {
        let requestor = try requestor(call)
        guard let session = try await store.session(call.segment("code"), of: requestor.id, at: call.now) else {
            throw EndpointError.v2(.invalidParameterCode)
        }
        guard session.state == .open, let provider = session.provider, session.redirect != nil else {
            throw EndpointError.v2(.invalidAuthenticationSession)
        }
        _ = try self.provider(provider, of: requestor, in: call)
        return .redirect(to: "/sandbox/idp/login?ticket=\(try await ticket(for: .login, of: session, in: call))")
    }

    private func authenticateV1(_ call: EndpointRequest) async throws -> Response {
        let (session, _) = try await begin(call, redirect: call.parameter("redirect_url"))
        return .redirect(to: "/sandbox/idp/login?ticket=\(try await ticket(for: .login, of: session, in: call))")
    }

    private func authenticateBySAML(_ call: EndpointRequest) async throws -> Response {
        // `redirect_url` is ignored, because no page of this flow redirects to it.
        let (session, provider) = try await begin(call, redirect: nil)
        return LoginPages.relay(
            "Continue to \(provider.description.displayName)",
            action: "/sandbox/saml/idp",
            hidden: [
                "SAMLRequest": try await ticket(for: .samlLogin, of: session, in: call), "RelayState": session.code,
            ]
        ).response()
    }

    /// Begins a login with a registration code. A provider that is already set cannot be changed, because the code is visible
    /// on a screen.
    private func begin(_ call: EndpointRequest, redirect: String?) async throws -> (LoginSession, Provider) {
        func refusal(_ message: String) -> EndpointError { .v1(.badRequest, message: message) }
        let requestor = try requestor(call)
        let provider = try provider(call.parameter("mso_id", "mvpd"), of: requestor, in: call)
        let code = call.parameter("reg_code") ?? ""
        guard var session = try await store.session(code, of: requestor.id, at: call.now), session.state == .open
        else { throw refusal("The registration code is missing, unknown, used or expired.") }
        if let redirect {
            let client = try await session.client.asyncFlatMap { try await store.client($0) }
            let message = StatusCode.invalidParameterRedirectURL.explanation
            let target = try call.redirect(to: redirect, registered: client?.redirectURIs ?? [], or: refusal(message))
            session.redirect = session.redirect ?? target
        }
        guard session.provider == nil || session.provider == provider.id else {
            throw refusal("The registration code is for another provider.")
        }
        session.provider = provider.id
        session.domain = session.domain ?? call.parameter("domain_name").map { String($0.prefix(255)) }
        guard try await store.update(session) else {
            throw refusal("The registration code was used by another request.")
        }
        return (session, provider)
    }

    private func ticket(
        for purpose: Ticket.Purpose,
        of session: LoginSession,
        in call: EndpointRequest
    ) async throws -> String {
        let target = purpose == .login ? session.redirect : nil
        let ticket = Ticket(purpose: purpose, subject: session.code, target: target, provider: session.provider)
        return try await store.issue(ticket, at: call.now)
    }

    // MARK: Pages of the provider

    private func form(in call: EndpointRequest, secret: String?, for purpose: Ticket.Purpose) async throws -> Response {
        let found = try await store.ticket(secret ?? "", for: purpose, at: call.now)
        let (ticket, _, provider) = try await session(of: found, call)
        return page(for: ticket, at: provider, secret: secret ?? "").response()
    }

    private func submit(_ call: EndpointRequest, for purpose: Ticket.Purpose) async throws -> Response {
        let found = try await store.consumeTicket(call.form.first("ticket") ?? "", for: purpose, at: call.now)
        let (ticket, session, provider) = try await session(of: found, call)
        guard let user = user(call) else {
            // The ticket is consumed, so a further attempt needs a new one.
            let next = try await store.issue(ticket, at: call.now)
            let problem = "The user name or password is wrong. Try again."
            return page(for: ticket, at: provider, secret: next, error: problem).response(status: .unauthorized)
        }
        if purpose == .samlLogin {
            let response = try await store.issue(
                Ticket(purpose: .samlResponse, subject: session.code, target: user.name, provider: provider.id),
                at: call.now
            )
            return LoginPages.relay(
                "Back to your application",
                action: "/sp/saml/SAMLAssertionConsumer",
                hidden: ["SAMLResponse": response, "RelayState": session.code]
            ).response()
        }
        return try await finish(session, of: user, at: provider, redirect: ticket.target, in: call)
    }

    /// Finishes a login by the response of a provider.
    private func consume(_ call: EndpointRequest) async throws -> Response {
        let secret = call.form.first("SAMLResponse") ?? ""
        let found = try await store.consumeTicket(secret, for: .samlResponse, at: call.now)
        let (ticket, session, provider) = try await session(of: found, call)
        guard let user = ticket.target.flatMap(configuration.user)?.user else { throw EndpointError.stale }
        return try await finish(session, of: user, at: provider, redirect: nil, in: call)
    }

    private func cancel(_ call: EndpointRequest) async throws -> Response {
        let found = try await store.consumeTicket(call.form.first("ticket") ?? "", for: .login, at: call.now)
        var (ticket, session, _) = try await session(of: found, call)
        session.state = .cancelled
        _ = try await store.update(session)
        return LoginPages.end(at: ticket.target, text: "You are not logged in. Go back to your device.")
    }

    /// Finishes a session: the device that began it gets a profile.
    private func finish(
        _ session: LoginSession,
        of user: User,
        at provider: Provider,
        redirect: String?,
        in call: EndpointRequest
    ) async throws -> Response {
        var session = session
        session.state = .done
        guard try await store.update(session) else { throw EndpointError.stale }
        try await authenticate(
            user,
            on: session.device,
            requestor: session.requestor,
            provider: provider,
            kind: .regular,
            at: call.now
        )
        return LoginPages.end(at: redirect, text: "You are logged in. Go back to your device.")
    }

    private func page(for ticket: Ticket, at provider: Provider, secret: String, error: String? = nil) -> Page {
        let isSAML = ticket.purpose == .samlLogin
        return LoginPages.form(
            provider,
            accounts: configuration.households.flatMap(\.users).filter { $0.password == $0.name }.map(\.name),
            action: isSAML ? "/sandbox/saml/login" : "/sandbox/idp/login",
            hidden: isSAML ? ["ticket": secret, "RelayState": ticket.subject] : ["ticket": secret],
            error: error,
            cancel: isSAML ? nil : "/sandbox/idp/cancel"
        )
    }

    /// Returns the open session of a ticket and its provider. In the SAML flow, the form must name the session too.
    ///
    /// - Throws: ``EndpointError/stale`` if there is none.
    private func session(of ticket: Ticket?, _ call: EndpointRequest) async throws -> (Ticket, LoginSession, Provider) {
        guard let ticket, ticket.purpose == .login || call.form.first("RelayState") == ticket.subject,
            let session = try await store.session(of: ticket, at: call.now),
            let provider = ticket.provider.flatMap(configuration.provider)
        else { throw EndpointError.stale }
        return (ticket, session, provider)
    }
}

extension SandboxCore {
    /// Returns the user with the name and password of a form. Passwords are checked here only.
    func user(_ call: EndpointRequest) -> User? {
        guard let name = call.form.first("username"), let password = call.form.first("password"),
            let user = configuration.user(name)?.user, user.password == password
        else { return nil }
        return user
    }

    /// Creates and stores a profile.
    @discardableResult
    func authenticate(
        _ user: User,
        on device: Device,
        requestor: String,
        provider: Provider,
        kind: Profile.Kind,
        at now: Timestamp
    ) async throws -> StoredProfile {
        let profile = StoredProfile(
            device: device,
            requestor: requestor,
            provider: provider.id,
            user: user.name,
            kind: kind,
            issued: now,
            expires: now.advanced(byMilliseconds: provider.authenticationLifetime),
            session: RandomText.uuid
        )
        try await store.add(profile, at: now)
        return profile
    }
}
