// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Entitlements

extension SandboxCore {
    /// The application that asks, as its access token says, for a requestor in REST API v2.
    ///
    /// - Throws: ``EndpointError`` where it may not.
    func caller(_ call: EndpointRequest, for requestor: SandboxConfiguration.Requestor) async throws -> Client {
        guard let token = call.bearer, let client = try await store.client(withAccessToken: token, at: call.now) else {
            if call.dialect == .v2 { throw EndpointError.v2(.invalidAccessTokenClientApplication) }
            throw EndpointError(
                401,
                "Unauthorized: the access token is missing, unknown or expired.",
                action: .applicationRegistration
            )
        }
        guard isBound(client, to: requestor) else {
            if call.dialect == .v2 { throw EndpointError.v2(.invalidAccessTokenServiceProvider) }
            throw EndpointError(
                401,
                "Unauthorized: the access token is for another requestor.",
                action: .applicationRegistration
            )
        }
        return client
    }

    /// Whether an application works for a requestor: its statement names no other, and the requestor has no list that it is
    /// not on.
    private func isBound(_ client: Client, to requestor: SandboxConfiguration.Requestor) -> Bool {
        if let statements = requestor.statements {
            return statements.contains { SHA256.digest($0) == client.statement }
        }
        let named = client.audiences.filter { configuration.requestor($0) != nil }
        return named.isEmpty || named.contains(requestor.id)
    }
}
