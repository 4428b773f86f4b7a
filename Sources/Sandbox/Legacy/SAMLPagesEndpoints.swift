// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// A login over pages that pass the viewer on by forms, as in SAML: to the provider, through its login form, and back.
struct SAMLPagesEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.get, "/adobe-services/authenticate/saml", .authenticate, .page, begin),
            Endpoint(.get, "/adobe-services/1.0/authenticate", .authenticate, .page, begin),
            Endpoint(.post, "/sandbox/saml/idp", .login, .page, form),
            Endpoint(.post, "/sandbox/saml/login", .login, .page, submit),
            Endpoint(.post, "/sp/saml/SAMLAssertionConsumer", .login, .page, finish),
        ]
    }

    private func begin(_ call: EndpointRequest) async throws -> Response {
        guard let requestor = call.parameter("requestor_id").flatMap(core.configuration.requestor) else {
            throw EndpointError.v1(.invalidRequestor)
        }
        guard let provider = call.parameter("mso_id").flatMap({ core.configuration.provider($0, of: requestor) }) else {
            throw EndpointError.v1(.unknownIntegration)
        }
        guard let code = call.parameter("reg_code"),
            var session = try await core.store.session(code, at: call.now), session.requestor == requestor.id,
            session.state == .open
        else {
            throw EndpointError.v1(.badRequest, message: "The registration code is missing, unknown, used or expired.")
        }
        try session.begin(provider)
        // `redirect_url` is ignored, because no page of this flow redirects to it.
        guard try await core.store.update(session) else {
            throw EndpointError.v1(.badRequest, message: "The registration code was used by another request.")
        }
        let ticket = try await core.store.issue(
            Ticket(purpose: .samlLogin, subject: session.code, target: nil, provider: provider.id),
            at: call.now
        )
        return LoginPages.relay(
            "Continue to \(provider.description.displayName)",
            action: "/sandbox/saml/idp",
            hidden: ["SAMLRequest": ticket, "RelayState": session.code]
        ).response()
    }

    private func form(_ call: EndpointRequest) async throws -> Response {
        let secret = call.form.first("SAMLRequest") ?? ""
        guard let ticket = try await core.store.ticket(secret, for: .samlLogin, at: call.now),
            let (session, provider) = try await session(ticket, call)
        else { return Self.stale }
        return page(session, provider, secret).response()
    }

    private func submit(_ call: EndpointRequest) async throws -> Response {
        let secret = call.form.first("ticket") ?? ""
        guard let ticket = try await core.store.take(secret, for: .samlLogin, at: call.now),
            let (session, provider) = try await session(ticket, call)
        else { return Self.stale }
        guard let user = LoginService(core: core).user(call) else {
            let next = try await core.store.issue(ticket, at: call.now)
            return page(session, provider, next, error: "The user name or password is wrong. Try again.")
                .response(status: .unauthorized)
        }
        let response = try await core.store.issue(
            Ticket(purpose: .samlResponse, subject: session.code, target: user.name, provider: provider.id),
            at: call.now
        )
        return LoginPages.relay(
            "Back to your application",
            action: "/sp/saml/SAMLAssertionConsumer",
            hidden: ["SAMLResponse": response, "RelayState": session.code]
        ).response()
    }

    private func finish(_ call: EndpointRequest) async throws -> Response {
        let secret = call.form.first("SAMLResponse") ?? ""
        guard let ticket = try await core.store.take(secret, for: .samlResponse, at: call.now),
            let (session, provider) = try await session(ticket, call),
            let user = ticket.target.flatMap(core.configuration.user)?.user,
            try await LoginService(core: core).finish(session, user, provider: provider, at: call.now)
        else { return Self.stale }
        return LoginPages.done("You are logged in. Go back to your device.").response()
    }

    private func page(
        _ session: LoginSession,
        _ provider: SandboxConfiguration.Provider,
        _ ticket: String,
        error: String? = nil
    ) -> Page {
        LoginPages.form(
            provider,
            action: "/sandbox/saml/login",
            hidden: ["ticket": ticket, "RelayState": session.code],
            error: error,
            cancel: nil
        )
    }

    /// Returns the session of a ticket. The form must name the session too.
    private func session(
        _ ticket: Ticket,
        _ call: EndpointRequest
    ) async throws -> (LoginSession, SandboxConfiguration.Provider)? {
        guard call.form.first("RelayState") == ticket.subject,
            let session = try await core.store.session(ticket.subject, at: call.now), session.state == .open,
            session.provider == ticket.provider, let provider = session.provider.flatMap(core.configuration.provider)
        else { return nil }
        return (session, provider)
    }

    private static var stale: Response { LoginPages.stale.response(status: .badRequest) }
}
