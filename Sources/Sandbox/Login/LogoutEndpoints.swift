// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// The steps of a logout in a browser. The profile is removed before the last step, in which a provider would end its own
/// session.
struct LogoutEndpoints: Sendable {
    let core: SandboxCore

    var all: [Endpoint] {
        [
            Endpoint(.get, "/adobe-services/logout", .logout, .page, begin),
            Endpoint(.get, "/sandbox/idp/logout", .logout, .page, finish),
        ]
    }

    /// Returns the address at which a browser logs out at a provider.
    func url(
        _ provider: SandboxConfiguration.Provider,
        requestor: String,
        redirect: String,
        _ call: EndpointRequest
    ) async throws -> String {
        let ticket = Ticket(purpose: .logout, subject: provider.id, target: redirect)
        let secret = try await core.store.issue(ticket, at: call.now)
        return """
            \(call.origin)/adobe-services/logout?noflash=true&mso_id=\(provider.id.percentEncoded)\
            &requestor_id=\(requestor.percentEncoded)&ticket=\(secret)&redirect_url=\(redirect.percentEncoded)
            """
    }

    private func begin(_ call: EndpointRequest) async throws -> Response {
        if let secret = call.query.first("ticket") {
            guard try await core.store.ticket(secret, for: .logout, at: call.now) != nil else { return Self.stale }
            return .redirect(to: "/sandbox/idp/logout?ticket=\(secret)")
        }
        let redirect = try call.parameter("redirect_url").map { url in
            guard let target = RedirectTarget.allowed(url, registered: [], host: call.host) else {
                throw EndpointError.v2(.invalidParameterRedirectURL)
            }
            return target
        }
        // A device that calls directly names itself. A browser that was redirected here has a ticket.
        if let requestor = call.parameter("requestor_id"), let device = call.deviceName {
            let provider = call.parameter("mso_id")
            _ = try await core.store.removeProfiles(of: Device(device), requestor: requestor, provider: provider)
        }
        let ticket = Ticket(purpose: .logout, subject: call.parameter("mso_id") ?? "", target: redirect)
        let secret = try await core.store.issue(ticket, at: call.now)
        return .redirect(to: "/sandbox/idp/logout?ticket=\(secret)")
    }

    private func finish(_ call: EndpointRequest) async throws -> Response {
        guard let ticket = try await core.store.take(call.query.first("ticket") ?? "", for: .logout, at: call.now)
        else {
            return Self.stale
        }
        guard let target = ticket.target else { return LoginPages.done("You are logged out.").response() }
        return .redirect(to: target)
    }

    private static var stale: Response { LoginPages.stale.response(status: .badRequest) }
}
