// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessEnabler
import Entitlements
import Synchronization
import ViewerTools

/// An application that records its callbacks in order, and reacts as a test configures it.
final class Application: AccessEnablerDelegate {
    /// The reaction to a request for a provider.
    let choice: Choice
    /// The user who logs in when a browser is to be opened; `nil` leaves the browser closed.
    let user: String?
    let password: String
    private let state = Mutex(State())

    enum Choice: Sendable {
        case provider(String)
        /// Leaves the picker.
        case nobody
        /// Does nothing: the test reacts itself.
        case waits
    }

    private struct State {
        weak var enabler: AccessEnabler?
        var events: [String] = []
        var urls: [String] = []
        var tokens: [String] = []
        var codes: [String] = []
        var onEvent: [(String, @Sendable () -> Void)] = []
    }

    init(_ choice: Choice = .waits, user: String? = nil, password: String? = nil) {
        self.choice = choice
        self.user = user
        self.password = password ?? user ?? ""
    }

    func use(_ enabler: AccessEnabler) { state.withLock { $0.enabler = enabler } }

    /// The recorded callbacks.
    var events: [String] { state.withLock { $0.events } }
    /// Returns the recorded callbacks with a prefix.
    func events(_ name: String) -> [String] { events.filter { $0.hasPrefix(name) } }
    /// The URLs to open in browsers.
    var urls: [String] { state.withLock { $0.urls } }
    /// The media tokens.
    var tokens: [String] { state.withLock { $0.tokens } }
    /// The codes for second screens.
    var codes: [String] { state.withLock { $0.codes } }

    func forget() { state.withLock { $0.events = [] } }

    /// Waits for a callback with a prefix, or returns at once if there was one.
    func hears(_ name: String) async {
        await withCheckedContinuation { continuation in
            let isThere = state.withLock { state in
                if state.events.contains(where: { $0.hasPrefix(name) }) { return true }
                state.onEvent.append((name, { continuation.resume() }))
                return false
            }
            if isThere { continuation.resume() }
        }
    }

    private func note(_ event: String) {
        let woken = state.withLock { state in
            state.events.append(event)
            let woken = state.onEvent.filter { event.hasPrefix($0.0) }
            state.onEvent.removeAll { event.hasPrefix($0.0) }
            return woken
        }
        for (_, wake) in woken { wake() }
    }

    func setRequestorComplete(_ status: AccessEnablerStatus) async { note("setRequestorComplete \(status.rawValue)") }

    func setAuthenticationStatus(_ status: AccessEnablerStatus, errorCode: EntitlementErrorCode) async {
        note("setAuthenticationStatus \(status.rawValue) \(errorCode.rawValue)")
    }

    func displayProviderDialog(_ mvpds: [MVPD]) async {
        note("displayProviderDialog \(mvpds.map(\.id).joined(separator: " "))")
        let enabler = state.withLock { $0.enabler }
        switch choice {
        case .provider(let id): await enabler?.setSelectedProvider(id)
        case .nobody: await enabler?.setSelectedProvider(nil)
        case .waits: break
        }
    }

    func navigateToURL(_ url: String, useSVC: Bool) async {
        state.withLock { $0.urls.append(url) }
        note("navigateToURL\(useSVC ? " SVC" : "")")
        guard let user else { return }
        let enabler = state.withLock { $0.enabler }
        do {
            let end = try await FormBrowser(redirectURL: AccessEnablerOptions.documentedRedirectURL)
                .visit(url, user: user, password: password)
            await enabler?.handleExternalURL(end)
        } catch {
            note("browser: \(error)")
            await enabler?.setSelectedProvider(nil)
        }
    }

    func setToken(_ token: String, forResource resource: String) async {
        state.withLock { $0.tokens.append(token) }
        note("setToken \(resource)")
    }

    func tokenRequestFailed(_ resource: String, errorCode: EntitlementErrorCode, errorDescription: String) async {
        note("tokenRequestFailed \(resource) \(errorCode.rawValue)")
    }

    func selectedProvider(_ mvpd: MVPD?) async { note("selectedProvider \(mvpd?.id ?? "none")") }

    func setMetadataStatus(
        _ metadata: MetadataValue?,
        encrypted: Bool,
        forKey key: Int,
        andArguments arguments: [String: String]
    ) async {
        let text = arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
        note("setMetadataStatus \(encrypted) \(key) \(text)")
    }

    func preauthorizedResources(_ resources: [String]) async {
        note("preauthorizedResources \(resources.joined(separator: " "))")
    }

    func sendTrackingData(_ data: [String], forEventType event: TrackingEventType) async {
        note("sendTrackingData \(event.rawValue) \(data.joined(separator: "|"))")
    }

    func presentTvProviderDialog() async { note("presentTvProviderDialog") }

    func dismissTvProviderDialog() async { note("dismissTvProviderDialog") }

    func status(_ status: AdvancedStatus) async {
        if status.errorID == "REGCODE", let code = status.message { state.withLock { $0.codes.append(code) } }
        note("status \(status.errorID) \(status.level.rawValue)")
    }

    func logoutComplete(_ status: LogoutStatus) async { note("logoutComplete \(status.documentedStatus)") }
}
