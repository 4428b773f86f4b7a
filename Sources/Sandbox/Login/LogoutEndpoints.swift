// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// The steps of a logout in a browser. The profile is removed before the last step, in which a provider would end its own
/// session.
extension SandboxCore {
    var logoutEndpoints: [Endpoint] {
        [
            Endpoint(.get, path: "/adobe-services/logout", operation: .logout, dialect: .page, answer: begin),
            Endpoint(.get, path: "/sandbox/idp/logout", operation: .logout, dialect: .page, answer: finish),
        ]
    }

    /// Returns the address at which a browser logs out at a provider.
    func logoutURL(
        of provider: Provider,
        for requestor: String,
        redirect: String,
        in call: EndpointRequest
    ) async throws -> String {
        let ticket = Ticket(purpose: .logout, subject: provider.id, target: redirect)
        let secret = try await store.issue(ticket, at: call.now)
        return """
            \(call.origin)/adobe-services/logout?noflash=true&mso_id=\(provider.id.percentEncoded)\
            &requestor_id=\(requestor.percentEncoded)&ticket=\(secret)&redirect_url=\(redirect.percentEncoded)
            """
    }

    private func begin(_ call: EndpointRequest) async throws -> Response {
        if let secret = call.query.first("ticket") {
            guard try await store.ticket(secret, for: .logout, at: call.now) != nil else {
                throw EndpointError.stale
            }
            return .redirect(to: "/sandbox/idp/logout?ticket=\(secret)")
        }
        let redirect = call.parameter("redirect_url")
        let registered = try await registered(redirect, in: call)
        let target = try call.redirect(to: redirect, registered: registered, or: .v2(.invalidParameterRedirectURL))
        // A device that calls directly names itself. A browser that was redirected here has a ticket.
        if let requestor = call.parameter("requestor_id"), let device = call.deviceName {
            let provider = call.parameter("mso_id")
            try await store.removeProfiles(of: Device(device), requestor: requestor, provider: provider)
        }
        let ticket = Ticket(purpose: .logout, subject: call.parameter("mso_id") ?? "", target: target)
        let secret = try await store.issue(ticket, at: call.now)
        return .redirect(to: "/sandbox/idp/logout?ticket=\(secret)")
    }

    /// Returns the redirect URI if an application of the requestor has registered it. A browser that a client of REST API v1
    /// sends here has no access token, so the application itself is unknown.
    private func registered(_ redirect: String?, in call: EndpointRequest) async throws -> [String] {
        guard let redirect, let requestor = call.parameter("requestor_id").flatMap(configuration.requestor) else {
            return []
        }
        let clients = try await store.clients(redirectURI: redirect)
        return clients.contains { isBound($0, to: requestor) } ? [redirect] : []
    }

    private func finish(_ call: EndpointRequest) async throws -> Response {
        let secret = call.query.first("ticket") ?? ""
        guard let ticket = try await store.consumeTicket(secret, for: .logout, at: call.now) else {
            throw EndpointError.stale
        }
        return LoginPages.end(at: ticket.target, text: "You are logged out.")
    }
}
