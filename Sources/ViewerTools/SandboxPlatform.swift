// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import AccessEnabler
package import Entitlements
internal import NIOHTTP1
internal import Synchronization

/// The single sign-on of a platform, with the sandbox as the platform: `/sandbox/platform/sign-in`.
///
/// It sends the password unencrypted only to this machine.
package final class SandboxPlatform: PlatformSignOn {
    private let service: String
    private let login: (user: String, password: String)
    private let choose: @Sendable ([MVPD]) -> String?
    private let provider = Mutex<String?>(nil)

    /// Creates a platform.
    ///
    /// - Parameters:
    ///   - service: The URL of the sandbox, without a path.
    ///   - login: The user's name and password.
    ///   - choose: Chooses a provider of the platform's picker, featured ones first. An id that is not in the list stands for
    ///     a provider that the platform does not list; `nil` leaves the picker.
    package init(
        service: String,
        login: (user: String, password: String),
        choose: @escaping @Sendable ([MVPD]) -> String?
    ) {
        self.service = service
        self.login = login
        self.choose = choose
    }

    package func currentProvider() async -> String? { provider.withLock { $0 } }

    package func present(_ mvpds: [MVPD], featured: [MVPD]) async -> PlatformSignOnOutcome {
        let listed = featured + mvpds.filter { !featured.contains($0) }
        guard let choice = choose(listed) else { return .cancelled }
        guard listed.contains(where: { $0.id == choice }) else { return .otherProvider }
        return .signedOn(mvpd: choice)
    }

    package func assertion(_ mvpd: MVPD, request: String) async -> String? {
        guard let address = WebAddress(service), address.isSecure || address.isOfThisMachine else { return nil }
        var signIn = ServiceRequest(method: .POST, path: ["sandbox", "platform", "sign-in"], isAuthorized: false)
        signIn.form = [("mvpd", mvpd.id), ("username", login.user), ("password", login.password)]
        let answer = try? await HTTPTransport().send(signIn, to: service, within: .seconds(20))
        guard let answer, answer.status == 200,
            let members = try? EntitlementBody.read([String: String?].self, json: answer.body),
            let response = members["SAMLResponse"] ?? nil
        else { return nil }
        provider.withLock { $0 = mvpd.id }
        return response
    }
}
