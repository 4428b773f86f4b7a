// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import AccessEnabler
internal import CommandLineSupport
internal import Encodings
internal import Entitlements
internal import Synchronization
internal import ViewerTools

/// The application of `playgate-sandbox view`: it chooses the provider, and acts as the browser if it has a login. The
/// results of requests come from the calls themselves.
final class ViewDelegate: AccessEnablerDelegate {
    private let report: ViewReport
    private let picker: ProviderPicker
    private let login: (user: String, password: String)?
    private let redirectURL: String
    /// Returns the URL at which a second screen logs in, with the code and the provider.
    private let secondScreen: @Sendable (_ code: String, _ provider: String) -> String
    private let state = Mutex(State())

    private struct State {
        weak var enabler: AccessEnabler?
        var choice = ""
        var fault: String?
    }

    init(
        report: ViewReport,
        picker: ProviderPicker,
        login: (user: String, password: String)?,
        redirectURL: String,
        secondScreen: @escaping @Sendable (_ code: String, _ provider: String) -> String
    ) {
        self.report = report
        self.picker = picker
        self.login = login
        self.redirectURL = redirectURL
        self.secondScreen = secondScreen
    }

    func use(_ enabler: AccessEnabler) { state.withLock { $0.enabler = enabler } }

    /// Returns the reason why the delegate cancelled a login or a logout since the last call, if it did.
    func removeFault() -> String? {
        state.withLock { state in
            defer { state.fault = nil }
            return state.fault
        }
    }

    func displayProviderDialog(_ mvpds: [MVPD]) async {
        let choice = picker.choose(mvpds)
        let enabler = state.withLock { $0.enabler }
        guard let mvpd = mvpds.first(where: { $0.id == choice }) else {
            let names = mvpds.map(\.id).joined(separator: ", ")
            let problem = choice.map { "unknown provider \($0)" } ?? "no provider was chosen; give --provider"
            return await cancel("\(problem); known: \(names)")
        }
        state.withLock { $0.choice = mvpd.id }
        let facts: [JSON.Member] = [("mvpd", .string(mvpd.id)), ("logoUrl", .optional(mvpd.logoURL))]
        report.step("provider", mark: .done, text: "\(mvpd.displayName) (\(mvpd.id))", members: facts)
        await enabler?.setSelectedProvider(mvpd.id)
    }

    func status(_ status: AdvancedStatus) async {
        switch AdvancedStatus.DocumentedID(rawValue: status.errorID) {
        case .volatileStorage:
            let message = (status.message ?? "logins cannot be stored").printable(limit: 400)
            Terminal.error.write("playgate-sandbox: \(message)\n")
        case .registrationCode: await show(code: status.message ?? "")
        default: break
        }
    }

    func navigateToURL(_ url: String, useSVC: Bool) async {
        let enabler = state.withLock { $0.enabler }
        do throws(FormBrowser.Fault) {
            let end = try await reach(url)
            guard await enabler?.handleExternalURL(end) == true else {
                throw FormBrowser.Fault(description: "the browser ended at a URL other than the redirect URL")
            }
        } catch { await cancel(error.description) }
    }

    /// Shows the code for a second screen, and acts as that screen if there is a login (flow E).
    private func show(code: String) async {
        let url = secondScreen(code, state.withLock { $0.choice })
        let facts: [JSON.Member] = [("code", .string(code)), ("url", .string(url))]
        report.step("second screen", mark: .done, text: "code \(code), at \(url)", members: facts)
        // Without a login and with a user, the user opens the URL on another device.
        guard login != nil || picker.isSilent else { return }
        do throws(FormBrowser.Fault) { _ = try await reach(url) } catch { await cancel(error.description) }
    }

    /// Ends the login or the logout that waits for a provider or a browser.
    private func cancel(_ fault: String) async {
        let enabler = state.withLock { state in
            state.fault = fault
            return state.enabler
        }
        await enabler?.setSelectedProvider(nil)
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
        guard !picker.isSilent else {
            throw FormBrowser.Fault(description: "a login is required; give --user and --password")
        }
        Terminal.error.write(
            "Open this URL in a browser, and press Return at its end:\n\n    \(url.printable(limit: 8192))\n\n"
        )
        guard readLine() != nil else { throw FormBrowser.Fault(description: "standard input is closed; give --user") }
        return redirectURL
    }
}
