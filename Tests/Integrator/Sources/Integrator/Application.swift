// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import AccessEnabler

/// An application with the documented callbacks, as Swift imports their Objective-C signatures. It notes them all.
public class Application: EntitlementDelegate, EntitlementStatus {
    /// The documented end of a login and a logout.
    public nonisolated static var end: String { ADOBEPASS_REDIRECT_URL }

    public let accessEnabler: AccessEnabler
    /// The callbacks, in their order.
    public private(set) var events: [String] = []
    /// The last media token, for the gate.
    public private(set) var mediaToken: String?
    /// Opens a page, and returns the URL at which it ended; `nil` if the viewer went back.
    private let browser: (String) async -> String?
    private var provider: String?
    private var waiting: (name: String, resume: () -> Void)?

    public convenience init(softwareStatement: String, browser: @escaping (String) async -> String?) {
        self.init(AccessEnabler(softwareStatement), browser: browser)
    }

    public init(_ accessEnabler: AccessEnabler, browser: @escaping (String) async -> String?) {
        self.accessEnabler = accessEnabler
        self.browser = browser
        accessEnabler.delegate = self
    }

    // MARK: Callbacks

    public func setRequestorComplete(_ status: Int32) {
        note("setRequestorComplete", status == ACCESS_ENABLER_STATUS_SUCCESS ? "success" : "error")
    }

    public func setAuthenticationStatus(_ status: Int32, errorCode code: String!) {
        note("setAuthenticationStatus", status == ACCESS_ENABLER_STATUS_ERROR ? "error" : "success", name(of: code))
    }

    public func displayProviderDialog(_ mvpds: [Any]!) {
        let providers = mvpds as? [MVPD] ?? []
        note("displayProviderDialog", providers.first.map { "\($0.ID) \($0.displayName)" } ?? "nobody")
        accessEnabler.setSelectedProvider(providers.first { $0.ID == provider }?.ID)
    }

    public func navigate(toUrl url: String!) { open(url, callback: "navigateToUrl") }

    public func navigate(toUrl url: String!, useSVC: Bool) { open(url, callback: "navigateToUrl useSVC:\(useSVC)") }

    public func setToken(_ token: String!, forResource resource: String!) {
        mediaToken = token
        note("setToken", resource)
    }

    public func tokenRequestFailed(_ resource: String!, errorCode code: String!, errorDescription description: String!)
    {
        note("tokenRequestFailed", resource, name(of: code), description)
    }

    public func selectedProvider(_ mvpd: MVPD!) {
        let isSupported = mvpd?.boardingStatus == "SUPPORTED"
        note("selectedProvider", mvpd?.ID ?? "nil", "\(mvpd?.enablePlatformServices ?? false) \(isSupported)")
    }

    public func setMetadataStatus(
        _ metadata: Any!,
        encrypted: Bool,
        forKey key: Int32,
        andArguments arguments: [AnyHashable: Any]!
    ) {
        let known = [
            METADATA_AUTHENTICATION: "authentication", METADATA_AUTHORIZATION: "authorization",
            METADATA_DEVICE_ID: "device", METADATA_USER_META: "user",
        ]
        let subject = arguments[METADATA_RESOURCE_ID_KEY] ?? arguments[METADATA_USER_META_KEY] ?? "-"
        let isEcho = arguments[METADATA_OPCODE_KEY] as? Int32 == key
        note("setMetadataStatus", known[key] ?? "\(key)", "\(subject)", "\(isEcho)", metadata.map { "\($0)" } ?? "nil")
    }

    public func preauthorizedResources(_ resources: [Any]!) {
        note("preauthorizedResources", (resources as? [String] ?? []).joined(separator: ","))
    }

    public func sendTrackingData(_ data: [Any]!, forEventType event: Int32) {
        let kinds = [
            TRACKING_AUTHENTICATION: "authentication", TRACKING_AUTHORIZATION: "authorization",
            TRACKING_GET_SELECTED_PROVIDER: "selection",
        ]
        note("sendTrackingData", kinds[event] ?? "\(event)", (data as? [String])?.first ?? "")
    }

    public func presentTvProviderDialog(_ viewController: Any!) { note("presentTvProviderDialog") }

    public func dismissTvProviderDialog(_ viewController: Any!) { note("dismissTvProviderDialog") }

    public func status(_ statusDictionary: [AnyHashable: Any]!) {
        let words = ["errorId", "level"].map { statusDictionary[$0] as? String ?? "-" }
        note("status", words[0], words[1])
    }

    // MARK: Helpers

    private func open(_ url: String, callback name: String) {
        note(name)
        Task {
            if let end = await browser(url) { returned(to: end) } else { leave() }
        }
    }

    private func returned(to url: String) { accessEnabler.handleExternalURL(url) }

    private func leave() { accessEnabler.setSelectedProvider(nil) }

    private func name(of code: String) -> String {
        let names = [
            USER_AUTHENTICATED: "USER_AUTHENTICATED", USER_NOT_AUTHENTICATED_ERROR: "USER_NOT_AUTHENTICATED_ERROR",
            PROVIDER_NOT_SELECTED_ERROR: "PROVIDER_NOT_SELECTED_ERROR",
            PROVIDER_NOT_AVAILABLE_ERROR: "PROVIDER_NOT_AVAILABLE_ERROR",
            GENERIC_AUTHENTICATION_ERROR: "GENERIC_AUTHENTICATION_ERROR",
            USER_NOT_AUTHORIZED_ERROR: "USER_NOT_AUTHORIZED_ERROR",
            GENERIC_AUTHORIZATION_ERROR: "GENERIC_AUTHORIZATION_ERROR",
        ]
        return names[code] ?? code
    }

    private func note(_ words: String...) {
        events.append(words.filter { !$0.isEmpty }.joined(separator: " "))
        guard let (name, resume) = waiting, words[0] == name else { return }
        waiting = nil
        resume()
    }

    /// Does a step, and waits for a callback.
    public func wait(for name: String, after step: @escaping () -> Void) async {
        await withCheckedContinuation { continuation in
            waiting = (name, { continuation.resume() })
            step()
        }
    }
}

extension Application {
    /// The whole of the cookbook, each step with the documented calls.
    public func journey(at service: String, provider: String) async {
        self.provider = provider
        await wait(for: "setRequestorComplete") { self.start(service) }
        await wait(for: "setAuthenticationStatus", after: checkAuthentication)
        await wait(for: "setAuthenticationStatus", after: getAuthentication)
        await wait(for: "selectedProvider", after: getSelectedProvider)
        await wait(for: "preauthorizedResources") { self.check(["TNT", "CNN"], cache: nil) }
        await wait(for: "preauthorizedResources") { self.check(["TNT", "CNN"], cache: false) }
        await wait(for: "setToken") { self.checkAuthorization("TNT", data: nil) }
        await wait(for: "setToken") { self.checkAuthorization("TNT", data: ["reason": "playback"]) }
        await wait(for: "setToken") { self.getAuthorization("TBS", data: nil) }
        await wait(for: "setToken") { self.getAuthorization("TBS", data: ["reason": "playback"]) }
        for request in metadataRequests {
            await wait(for: "setMetadataStatus") { self.getMetadata(request) }
        }
        await wait(for: "setAuthenticationStatus", after: logout)
    }

    private var metadataRequests: [[AnyHashable: Any]] {
        [
            [METADATA_OPCODE_KEY: METADATA_AUTHENTICATION],
            [METADATA_OPCODE_KEY: METADATA_AUTHORIZATION, METADATA_RESOURCE_ID_KEY: "TBS"],
            [METADATA_OPCODE_KEY: METADATA_DEVICE_ID],
            [METADATA_OPCODE_KEY: METADATA_USER_META, METADATA_USER_META_KEY: "zip"],
            [METADATA_OPCODE_KEY: "no opcode"],
        ]
    }

    func start(_ service: String) {
        accessEnabler.setOptions([
            "applicationProfile": "tv", "visitorID": "visitor-1", "handleSVC": true,
            "device_info": "eyJtb2RlbCI6InR2In0=", "campaign": "spring",
        ])
        accessEnabler.setRequestor("REF30", serviceProviders: [service + "/"])
    }

    func checkAuthentication() { accessEnabler.checkAuthentication() }

    func getAuthentication() { accessEnabler.getAuthentication() }

    func getSelectedProvider() { accessEnabler.getSelectedProvider() }

    func check(_ resources: [String], cache: Bool?) {
        if let cache {
            accessEnabler.checkPreauthorizedResources(resources, cache: cache)
        } else {
            accessEnabler.checkPreauthorizedResources(resources)
        }
    }

    func checkAuthorization(_ resource: String, data: [String: String]?) {
        guard let data else { return accessEnabler.checkAuthorization(resource) }
        accessEnabler.checkAuthorization(resource, withData: data)
    }

    func getAuthorization(_ resource: String, data: [String: String]?) {
        guard let data else { return accessEnabler.getAuthorization(resource) }
        accessEnabler.getAuthorization(resource, withData: data)
    }

    func getMetadata(_ request: [AnyHashable: Any]) { accessEnabler.getMetadata(request) }

    public func logout() { accessEnabler.logout() }

    /// The other forms of `getAuthentication`.
    public enum Login: CaseIterable, Sendable { case withData, filter, withDataAndFilter, list, withDataAndList }

    /// Logs in with another form of the call, and chooses this provider.
    public func logIn(_ form: Login, provider: String) {
        self.provider = provider
        let filter = [TV_PROVIDERS: ["PlatformMVPD", "SandboxMVPD"], FEATURED_TV_PROVIDERS: ["PlatformMVPD"]]
        switch form {
        case .withData: accessEnabler.getAuthentication(true, withData: ["email": "viewer@example.com"])
        case .filter: accessEnabler.getAuthentication(filter)
        case .withDataAndFilter: accessEnabler.getAuthentication(true, withData: [:], andFilter: filter)
        case .list, .withDataAndList: (self as any DeprecatedCalls).logIn(deprecated: form)
        }
    }
}

/// The calls that are deprecated in the documents. Through a protocol, they are called without a warning.
@MainActor public protocol DeprecatedCalls {
    func logIn(deprecated form: Application.Login)
    func setRequestorSigned(at services: [String])
}

extension Application: DeprecatedCalls {
    @available(*, deprecated)
    public func logIn(deprecated form: Login) {
        if form == .list {
            accessEnabler.getAuthentication(["PlatformMVPD"])
        } else {
            accessEnabler.getAuthentication(true, withData: nil, andFilter: ["PlatformMVPD"])
        }
    }

    @available(*, deprecated)
    public func setRequestorSigned(at services: [String]) {
        accessEnabler.setRequestor("REF30", signedRequestorID: "signed", serviceProviders: services)
        accessEnabler.setRequestor(
            "REF30",
            signedRequestorID: "signed",
            serviceProviders: services,
            secret: "",
            publicKey: ""
        )
    }

    /// Compiled and not run: the default service is that of production.
    @available(*, deprecated)
    func setRequestorOfProduction() {
        accessEnabler.setRequestor("REF30")
        accessEnabler.setRequestor("REF30", signedRequestorID: "signed")
        accessEnabler.setRequestor("REF30", signedRequestorID: "signed", secret: "", publicKey: "")
        accessEnabler.getAuthenticationToken()
    }
}
