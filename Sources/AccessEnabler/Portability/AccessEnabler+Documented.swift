// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// For portability: the documented calls with their documented signatures, as Swift imports them from Objective-C. They start
// in the order of the calls, return at once, and answer through the delegate. The functions of the same names that are async
// return their results.

internal import Encodings
internal import Entitlements

extension AccessEnabler {
    /// Creates a client: the documented `init:`. Set its ``delegate`` next.
    ///
    /// - Parameters:
    ///   - softwareStatement: The statement that identifies the application to services.
    ///   - storage: The storage of logins and authorizations; by default ``FileTokenStorage/standard(for:)``, so that a login
    ///     outlives the application, or memory if the platform has no folder for it.
    public init(_ softwareStatement: String!, storage: (any TokenStorage)? = nil) {
        let statement = softwareStatement ?? ""
        self.init(
            softwareStatement: statement,
            storage: storage ?? FileTokenStorage.standard(for: statement) ?? MemoryTokenStorage()
        )
    }

    /// Sets options by name: the documented `setOptions:`. Options that are not named retain their values.
    public nonisolated func setOptions(_ options: [AnyHashable: Any]!) {
        let values = Self.texts(options)
        begin { $0.options.set(values) }
    }

    /// Sets the requestor, at these services if there are any, each a URL or a ``ServiceProvider``: the documented
    /// `setRequestor:` and `setRequestor:serviceProviders:`.
    public nonisolated func setRequestor(_ requestorID: String!, serviceProviders urls: [Any]! = nil) {
        let services = urls?.map { url in
            let text = "\(url)"
            return url as? ServiceProvider ?? ServiceProvider(url: text.hasSuffix("/") ? String(text.dropLast()) : text)
        }
        begin { await $0.setRequestor(requestorID ?? "", serviceProviders: services ?? [.production]) }
    }

    /// Reports if the viewer is authenticated: the documented `checkAuthentication`.
    public nonisolated func checkAuthentication() { begin { await $0.checkAuthentication() } }

    /// Authenticates the viewer: the documented `getAuthentication`, `getAuthentication:withData:` and
    /// `getAuthentication:withData:andFilter:`. The filter has ``TV_PROVIDERS`` and ``FEATURED_TV_PROVIDERS`` for the
    /// platform's picker.
    public nonisolated func getAuthentication(
        _ forceAuthn: Bool = false,
        withData data: [AnyHashable: Any]! = nil,
        andFilter filter: [AnyHashable: Any]! = nil
    ) {
        let data = Self.texts(data)
        let lists = [TV_PROVIDERS, FEATURED_TV_PROVIDERS].map { Self.texts(filter?[$0] as? [Any]) }
        let chosen = filter == nil ? nil : ProviderFilter(providers: lists[0], featured: lists[1])
        begin { await $0.getAuthentication(force: forceAuthn, data: data, filter: chosen) }
    }

    /// Authenticates the viewer, with a filter for the platform's picker: the documented `getAuthentication:`.
    public nonisolated func getAuthentication(_ filter: [AnyHashable: Any]!) {
        getAuthentication(false, andFilter: filter)
    }

    /// Selects the provider, or none (`nil`): the documented `setSelectedProvider:`.
    public nonisolated func setSelectedProvider(_ mvpdID: String!) { begin { await $0.setSelectedProvider(mvpdID) } }

    /// Continues a login or a logout: the documented `handleExternalURL:`.
    public nonisolated func handleExternalURL(_ url: String!) { begin { await $0.handleExternalURL(url ?? "") } }

    /// Delivers the selected provider: the documented `getSelectedProvider`.
    public nonisolated func getSelectedProvider() { begin { await $0.getSelectedProvider() } }

    /// Logs the viewer out: the documented `logout`.
    public nonisolated func logout() { begin { await $0.logout() } }

    /// Delivers those of the resources that the viewer may see: the documented `checkPreauthorizedResources:` and
    /// `checkPreauthorizedResources:cache:`.
    public nonisolated func checkPreauthorizedResources(_ resources: [Any]!, cache: Bool = true) {
        let resources = Self.texts(resources)
        begin { await $0.checkPreauthorizedResources(resources, cache: cache) }
    }

    /// Passes decisions about resources to a callback: the documented `preauthorize:didCompleteWith:`.
    public nonisolated func preauthorize(
        _ request: PreauthorizeRequest,
        didCompleteWith callback: AccessEnablerCallback<PreauthorizeResponse>
    ) {
        begin {
            switch await $0.preauthorize(request) {
            case .response(let value): await callback.onResponse(value)
            case .failure(let value): await callback.onFailure(value)
            }
        }
    }

    /// Passes decisions about resources to a callback: the documented call in its other spelling, without a label.
    public nonisolated func preauthorize(
        _ request: PreauthorizeRequest,
        _ callback: AccessEnablerCallback<PreauthorizeResponse>
    ) { preauthorize(request, didCompleteWith: callback) }

    /// Gets a media token for an authenticated viewer: the documented `checkAuthorization:` and
    /// `checkAuthorization:withData:`.
    public nonisolated func checkAuthorization(_ resource: String!, withData data: [AnyHashable: Any]! = nil) {
        let data = Self.texts(data)
        begin { await $0.checkAuthorization(resource ?? "", data: data) }
    }

    /// Gets a media token, and authenticates the viewer first if needed: the documented `getAuthorization:` and
    /// `getAuthorization:withData:`.
    public nonisolated func getAuthorization(_ resource: String!, withData data: [AnyHashable: Any]! = nil) {
        let data = Self.texts(data)
        begin { await $0.getAuthorization(resource ?? "", data: data) }
    }

    /// Delivers metadata: the documented `getMetadata:`. The opcode is a constant such as ``METADATA_AUTHENTICATION``, or its
    /// name. An unknown opcode delivers `nil` for the key -1.
    public nonisolated func getMetadata(_ keyDictionary: [AnyHashable: Any]!) {
        guard let request = MetadataRequest(Self.texts(keyDictionary)) else {
            let arguments = Self.texts(keyDictionary)
            return callbacks.call {
                await $0.setMetadataStatus(nil, encrypted: false, forKey: -1, andArguments: arguments)
            }
        }
        begin { await $0.getMetadata(request) }
    }

    /// Starts a call after those that were started before.
    private nonisolated func begin(_ call: @escaping @Sendable (isolated AccessEnabler) async -> Void) {
        calls.add { await self.start(call) }
    }

    /// Runs a call up to the first point at which it waits.
    private func start(_ call: @escaping @Sendable (isolated AccessEnabler) async -> Void) {
        Task.immediate { await call(self) }
    }

    private static func texts(_ values: [AnyHashable: Any]?) -> [String: String] {
        var texts: [String: String] = [:]
        for (name, value) in values ?? [:] { texts["\(name)"] = "\(value)" }
        return texts
    }

    private static func texts(_ values: [Any]?) -> [String] { (values ?? []).map { "\($0)" } }
}

extension MetadataRequest {
    /// Reads the documented dictionary; `nil` if its opcode is unknown.
    fileprivate init?(_ keys: [String: String]) {
        let resource = keys[METADATA_RESOURCE_ID_KEY] ?? ""
        let all: [MetadataRequest] = [
            .authentication, .authorization(resource: resource), .deviceID,
            .userMetadata(key: keys[METADATA_USER_META_KEY] ?? ""),
        ]
        let opcode = keys[METADATA_OPCODE_KEY]
        guard
            let request = all.first(where: { "\($0.opcode)" == opcode || $0.arguments[METADATA_OPCODE_KEY] == opcode })
        else { return nil }
        self = request
    }
}

// MARK: Deprecated in the documents

extension AccessEnabler {
    /// Sets the requestor. The software statement replaced the signature and its keys, which are ignored.
    @available(*, deprecated, message: "use setRequestor(_:serviceProviders:)")
    public nonisolated func setRequestor(
        _ requestorID: String!,
        signedRequestorID: String!,
        serviceProviders: [Any]! = nil,
        secret: String! = nil,
        publicKey: String! = nil
    ) { setRequestor(requestorID, serviceProviders: serviceProviders) }

    /// Authenticates the viewer, with the ids of the providers for the platform's picker.
    @available(*, deprecated, message: "use a dictionary with TV_PROVIDERS")
    public nonisolated func getAuthentication(_ filter: [Any]!) {
        getAuthentication(false, andFilter: [TV_PROVIDERS: filter ?? []])
    }

    /// Authenticates the viewer, with the ids of the providers for the platform's picker.
    @available(*, deprecated, message: "use a dictionary with TV_PROVIDERS")
    public nonisolated func getAuthentication(
        _ force: Bool,
        withData data: [AnyHashable: Any]!,
        andFilter filter: [Any]!
    ) { getAuthentication(force, withData: data, andFilter: [TV_PROVIDERS: filter ?? []]) }

    /// Continues a login after the browser has reached the redirect URL.
    @available(*, deprecated, message: "use handleExternalURL(_:)")
    public nonisolated func getAuthenticationToken() { begin { await $0.handleExternalURL($0.options.redirectURL) } }
}
