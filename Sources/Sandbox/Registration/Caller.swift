// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Entitlements

extension SandboxCore {
    /// Returns the application of a request, according to its access token, if it may act for `requestor`.
    ///
    /// - Throws: ``EndpointError`` if the token is missing, unknown, expired or for another requestor.
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

    /// True if an application may act for a requestor. A requestor with a list of statements accepts only those. Without a
    /// list, the statement must name this requestor or no known one.
    private func isBound(_ client: Client, to requestor: SandboxConfiguration.Requestor) -> Bool {
        if let statements = requestor.statements {
            return statements.contains { SHA256.digest($0) == client.statement }
        }
        let named = client.audiences.filter { configuration.requestor($0) != nil }
        return named.isEmpty || named.contains(requestor.id)
    }
}
