// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Entitlements
package import MediaTokens

/// A client of entitlement services: it authenticates a viewer with a TV provider, and gets media tokens for what the viewer
/// may play.
///
/// One for each application; it may be used from everywhere at once. Every question is answered once, by what its function
/// returns and by the callback of ``EntitlementDelegate`` that is documented for it. Questions that come before
/// ``setRequestor(_:serviceProviders:)`` is done wait for it, but for ``preauthorize(_:)``, which says so.
///
/// ```swift
/// let enabler = AccessEnabler(softwareStatement: statement, delegate: application)
/// await enabler.setRequestor("REF30")
/// if await enabler.checkAuthentication().viewer == nil {
///     await enabler.getAuthentication()  // the application shows the picker and a browser when it is called back
/// }
/// let answer = await enabler.checkAuthorization("TNT")  // and the token goes to the gate
/// ```
public actor AccessEnabler {
    let statement: String
    let storage: any TokenStorage
    let platform: (any PlatformSignOn)?
    let callbacks: CallbackQueue
    let settings: ConnectionSettings
    let clock: @Sendable () -> Timestamp

    var options: AccessEnablerOptions
    var records = TokenRecords()
    var configuration = ConfigurationState.none
    var login: LoginFlow?
    var logoutFlow: LogoutFlow?
    var preauthorizations = PreauthorizationCache()

    /// The number of the last call that has set the requestor.
    var latestRequestor: UInt64 = 0
    private var lastNumber: UInt64 = 0
    /// Who waits for a configuration.
    var configurationWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var tokens: [String: AccessTokens] = [:]
    private var isLoaded = false
    private var isSaving = false
    private var isUnsaved = false

    /// Makes a client. Asks nobody yet.
    ///
    /// - Parameters:
    ///   - softwareStatement: What tells services which application this is, as the programmer got it. A secret.
    ///   - options: As ``setOptions(_:)`` takes them.
    ///   - storage: Where it is kept who is authenticated.
    ///   - delegate: What is called back.
    ///   - platform: The platform's single sign-on, where there is one.
    ///   - retry: When services are asked again.
    ///   - timeout: How long one answer of a service may take in all.
    public init(
        softwareStatement: String,
        options: AccessEnablerOptions = AccessEnablerOptions(),
        storage: any TokenStorage = MemoryTokenStorage(),
        delegate: (any EntitlementDelegate)? = nil,
        platform: (any PlatformSignOn)? = nil,
        retry: RetryPolicy = RetryPolicy(),
        timeout: Duration = .seconds(10)
    ) {
        self.init(
            softwareStatement: softwareStatement,
            options: options,
            storage: storage,
            delegate: delegate,
            platform: platform,
            retry: retry,
            timeout: timeout,
            clock: { .now() },
            sleep: { try await Task.sleep(for: $0) }
        )
    }

    package init(
        softwareStatement: String,
        options: AccessEnablerOptions,
        storage: any TokenStorage,
        delegate: (any EntitlementDelegate)?,
        platform: (any PlatformSignOn)?,
        retry: RetryPolicy,
        timeout: Duration,
        clock: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        statement = softwareStatement
        self.options = options
        self.storage = storage
        self.platform = platform
        self.clock = clock
        callbacks = CallbackQueue(delegate)
        settings = ConnectionSettings(http: HTTPTransport(), retry: retry, timeout: timeout, sleep: sleep)
    }

    /// Sets what goes along with every call from now on: the documented `setOptions:`.
    public func setOptions(_ options: AccessEnablerOptions) { self.options = options }

    /// The provider that is chosen: the documented `getSelectedProvider`.
    @discardableResult
    public func getSelectedProvider() async -> MVPD? {
        let requestor = await configured()
        let mvpd = requestor.flatMap { requestor in
            records.requestors[requestor.id]?.provider.flatMap { requestor.mvpd($0) }
        }
        callbacks.call { await $0.selectedProvider(mvpd) }
        return mvpd
    }

    /// Waits until the delegate was called with everything there is to tell by now. For tests, and before an application ends.
    public func finishCallbacks() async { await callbacks.drain() }

    // MARK: What the parts of the client share

    /// A number that no other flow or waiter of this client has.
    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// The configuration, once there is one; nil where there is none to come, or the task is cancelled.
    func configured() async -> ConfiguredRequestor? {
        while configuration.isAwaited, !Task.isCancelled {
            let number = nextNumber()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    // Cancelled before it could wait: nobody would wake it.
                    if Task.isCancelled { continuation.resume() } else { configurationWaiters[number] = continuation }
                }
            } onCancel: {
                Task { await self.wake(number) }
            }
        }
        if case .ready(let requestor) = configuration { return requestor }
        return nil
    }

    private func wake(_ number: UInt64) { configurationWaiters.removeValue(forKey: number)?.resume() }

    /// Wakes those that wait for a configuration, in the order in which they came.
    func wakeAll() {
        let waiters = configurationWaiters.sorted { $0.key < $1.key }
        configurationWaiters = [:]
        for (_, waiter) in waiters { waiter.resume() }
    }

    /// Reads what was kept, once.
    func loadRecords() async {
        guard !isLoaded else { return }
        let found: TokenRecords
        do throws(TokenStorageError) { found = try await storage.load() } catch {
            callbacks.status(.volatileStorage, error.description)
            found = TokenRecords()
        }
        // Somebody else may have read it meanwhile.
        guard !isLoaded else { return }
        isLoaded = true
        records = found
        if records.device == nil { records.device = (0..<16).map { _ in UInt8.random(in: 0...255) }.hexadecimal }
    }

    /// Keeps what there is now. Saves come one after another, and the last has the last word.
    func saveRecords() async {
        isUnsaved = true
        guard !isSaving else { return }
        isSaving = true
        defer { isSaving = false }
        while isUnsaved {
            isUnsaved = false
            do throws(TokenStorageError) { try await storage.save(records) } catch {
                callbacks.status(.volatileStorage, error.description)
            }
        }
    }

    /// How to ask a service.
    ///
    /// - Parameter identity: The application's own words of the login, in Base64: temporary access that is promotional knows
    ///   a viewer by them, in every call.
    func interface(
        _ provider: ServiceProvider,
        requestor: String,
        identity: String? = nil
    ) -> any EntitlementInterface {
        let device = records.device ?? ""
        var headers = [("X-Device-Info", options.deviceInformation.base64JSON ?? "")].filter { !$0.1.isEmpty }
        headers.append(("AP-Device-Identifier", "fingerprint \(Base64.encode([UInt8](device.utf8)))"))
        if let identity { headers.append(("AP-TempPass-Identity", identity)) }
        // Header fields are lines: what would end one is not sent.
        if let visitor = options.visitorID?.fieldValue { headers.append(("AP-Visitor-Identifier", visitor)) }
        if let profile = options.applicationProfile?.fieldValue {
            headers.append(("AP-Application-Profile", profile))
        }
        let connection = ServiceConnection(
            url: provider.url,
            settings: settings,
            tokens: accessTokens(provider.url),
            headers: headers
        )
        let legacy = RESTv1(connection: connection, requestor: requestor, device: device, clock: clock)
        switch provider.interface {
        case .v1: return legacy
        case .v2: return RESTv2(connection: connection, requestor: requestor, legacy: legacy)
        }
    }

    private func accessTokens(_ url: String) -> AccessTokens {
        if let known = tokens[url] { return known }
        let made = AccessTokens(
            url: url,
            statement: statement,
            redirectURL: options.redirectURL,
            registration: records.registrations[url],
            settings: settings,
            clock: clock,
            keep: { [weak self] registration in await self?.keep(registration, of: url) }
        )
        tokens[url] = made
        return made
    }

    private func keep(_ registration: TokenRecords.Registration?, of url: String) async {
        records.registrations[url] = registration
        await saveRecords()
    }
}

/// How far the configuration is.
enum ConfigurationState {
    /// Nobody has set a requestor.
    case none
    /// Services are asked.
    case underway
    /// It is there.
    case ready(ConfiguredRequestor)
    /// No service gave one.
    case failed(Status)

    /// Whether there is one to come.
    var isAwaited: Bool {
        switch self {
        case .none, .underway: true
        case .ready, .failed: false
        }
    }
}

/// A requestor with its providers, each bound to the service that named it first.
struct ConfiguredRequestor {
    let id: String
    let mvpds: [MVPD]
    let services: [String: ServiceProvider]
    /// By service: the programmer's domain that it knows.
    let domains: [ServiceProvider: String]

    func mvpd(_ id: String) -> MVPD? { mvpds.first { $0.id.utf8.elementsEqual(id.utf8) } }
}

extension String {
    /// This as the value of a header field; nil where it cannot be one (RFC 9110 §5.5).
    fileprivate var fieldValue: String? {
        !isEmpty && utf8.allSatisfy { 0x20...0x7E ~= $0 } && utf8.count <= 1024 ? self : nil
    }
}
