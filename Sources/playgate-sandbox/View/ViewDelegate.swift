// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import CommandLineSupport
internal import Encodings
internal import Entitlements
internal import Synchronization
internal import ViewerTools

/// The application of `playgate-sandbox view`: it chooses the provider, and acts as the browser if it has a login.
final class ViewDelegate: AccessEnablerDelegate {
    private let provider: String?
    private let login: (user: String, password: String)?
    private let redirectURL: String
    /// True if the user must not be asked.
    private let isSilent: Bool
    private let state = Mutex(State())

    private struct State {
        weak var enabler: AccessEnabler?
        var choice: String?
        var fault: String?
        var isLoggingIn = false
    }

    init(provider: String?, login: (user: String, password: String)?, redirectURL: String, isSilent: Bool) {
        self.isSilent = isSilent
        self.provider = provider
        self.login = login
        self.redirectURL = redirectURL
    }

    func use(_ enabler: AccessEnabler) { state.withLock { $0.enabler = enabler } }

    /// The chosen provider.
    var choice: String? { state.withLock { $0.choice } }

    /// The reason why the delegate cancelled the login, if it did.
    var fault: String? { state.withLock { $0.fault } }

    func displayProviderDialog(_ mvpds: [MVPD]) async {
        state.withLock { $0.isLoggingIn = true }
        let choice = provider ?? (isSilent ? nil : Self.ask(mvpds))
        let names = mvpds.map(\.id).joined(separator: ", ")
        if let choice, mvpds.contains(where: { $0.id == choice }) {
            state.withLock { $0.choice = choice }
        } else {
            state.withLock {
                $0.fault =
                    choice.map { "unknown provider \($0); known: \(names)" }
                    ?? "no provider was chosen; give --provider with one of: \(names)"
            }
        }
        await state.withLock { $0.enabler }?.setSelectedProvider(choice)
    }

    func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async {
        state.withLock { $0.isLoggingIn = false }
    }

    func status(_ status: AdvancedStatus) async {
        guard status.errorID == AdvancedStatus.DocumentedID.volatileStorage.rawValue else { return }
        Terminal.error.write(
            "playgate-sandbox: \((status.message ?? "logins cannot be stored").printable(limit: 400))\n"
        )
    }

    func navigateToURL(_ url: String, useSVC: Bool) async {
        let (enabler, isLoggingIn) = state.withLock { ($0.enabler, $0.isLoggingIn) }
        do throws(FormBrowser.Fault) {
            let end = try await reach(url)
            guard await enabler?.handleExternalURL(end) == true else {
                throw FormBrowser.Fault(description: "the login ended at a URL other than the redirect URL")
            }
        } catch {
            state.withLock { $0.fault = error.description }
            // Cancel a login; complete a logout as far as it came.
            if isLoggingIn {
                await enabler?.setSelectedProvider(nil)
            } else {
                await enabler?.handleExternalURL(redirectURL)
            }
        }
    }

    /// Follows the login or logout to the redirect URL, by the form or in the user's browser.
    private func reach(_ url: String) async throws(FormBrowser.Fault) -> String {
        if let login {
            return try await FormBrowser(redirectURL: redirectURL).visit(
                url,
                user: login.user,
                password: login.password
            )
        }
        guard !isSilent else { throw FormBrowser.Fault(description: "a login is required; give --user and --password") }
        Terminal.error.write(
            "Open this URL in a browser, and press Return after the login:\n\n    \(url.printable(limit: 8192))\n\n"
        )
        guard readLine() != nil else { throw FormBrowser.Fault(description: "standard input is closed; give --user") }
        return redirectURL
    }

    /// Asks for the provider on the terminal; `nil` if standard input is no terminal or no provider is chosen.
    private static func ask(_ mvpds: [MVPD]) -> String? {
        guard Terminal.input.isInteractive else { return nil }
        for (number, mvpd) in mvpds.enumerated() {
            Terminal.error.write(
                "  \(number + 1)  \(mvpd.displayName.printable(limit: 60)) (\(mvpd.id.printable(limit: 60)))\n"
            )
        }
        Terminal.error.write("The number of your TV provider: ")
        guard let number = readLine().flatMap({ Int($0) }), mvpds.indices.contains(number - 1) else { return nil }
        return mvpds[number - 1].id
    }
}
