// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Entitlements
internal import Platform

/// A client of entitlement services: it authenticates a viewer with a TV provider, and gets media tokens for the resources
/// that the viewer may play.
///
/// Create one for each application; it can be used concurrently. Every request has one result, which its function returns
/// and the callback of ``AccessEnablerDelegate`` receives. Requests wait until
/// `setRequestor` is complete, except ``preauthorize(_:)``.
///
/// ```swift
/// let enabler = AccessEnabler(softwareStatement: statement, delegate: application)
/// await enabler.setRequestor("REF30")
/// if await enabler.checkAuthentication().viewer == nil {
///     await enabler.getAuthentication()  // the delegate shows the picker and a browser
/// }
/// let answer = await enabler.checkAuthorization("TNT")  // pass the token to the gate
/// ```
public actor AccessEnabler {
    let statement: String
    let storage: any TokenStorage
    let platform: (any PlatformSignOn)?
    let callbacks: CallbackQueue
    /// The documented calls, which start in their order.
    nonisolated let calls = SerialQueue()
    let settings: ConnectionSettings
    let clock: @Sendable () -> Timestamp

    var options: AccessEnablerOptions
    var records = TokenRecords()
    var configuration = ConfigurationState.none
    var login: LoginFlow?
    var logoutFlow: LogoutFlow?
    var preauthorizations = PreauthorizationCache()
    /// The number of the authenticated viewer. It changes with every login, logout and change of the requestor, so a
    /// response for one viewer is not given to the next.
    var viewerNumber: UInt64 = 0
    /// The requestor that was set last, even if its configuration failed.
    var requestorID: String?
    /// The number of the last call that set the requestor.
    var latestRequestor: UInt64 = 0
    /// True if that call is not complete.
    var isRequestorPending = false
    private var lastNumber: UInt64 = 0
    /// The callers that wait for a configuration.
    var configurationWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var tokens: [String: AccessTokens] = [:]
    private var isLoaded = false
    /// True if the stored records could not be read. The client then does not overwrite them with its incomplete records.
    private var isVolatile = false
    private var saving: Task<Void, Never>?

    /// Creates a client. It sends no request yet.
    ///
    /// - Parameters:
    ///   - softwareStatement: The statement that identifies the application to services. A secret of the programmer.
    ///   - options: The initial options.
    ///   - storage: The storage for authentications and authorizations.
    ///   - delegate: The receiver of callbacks.
    ///   - platform: The platform's single sign-on, if there is one.
    ///   - retry: The policy for retries of requests.
    ///   - timeout: The time limit for one response of a service, as a whole.
    public init(
        softwareStatement: String,
        options: AccessEnablerOptions = AccessEnablerOptions(),
        storage: any TokenStorage = MemoryTokenStorage(),
        delegate: (any AccessEnablerDelegate)? = nil,
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
            settings: ConnectionSettings(http: HTTPTransport(), retry: retry, timeout: timeout) {
                try await Task.sleep(for: $0)
            },
            clock: { .now() }
        )
    }

    init(
        softwareStatement: String,
        options: AccessEnablerOptions,
        storage: any TokenStorage,
        delegate: (any AccessEnablerDelegate)?,
        platform: (any PlatformSignOn)?,
        settings: ConnectionSettings,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        statement = softwareStatement
        self.options = options
        self.storage = storage
        self.platform = platform
        self.clock = clock
        callbacks = CallbackQueue(delegate)
        self.settings = settings
    }

    /// Sets the options for all following requests: the documented `setOptions:`.
    public func setOptions(_ options: AccessEnablerOptions) { self.options = options }

    /// Returns the selected provider: the documented `getSelectedProvider`.
    @discardableResult
    public func getSelectedProvider() async -> MVPD? {
        let requestor = await configured()
        let mvpd = requestor.flatMap { requestor in
            records.requestors[requestor.id]?.provider.flatMap { requestor.mvpd($0) }
        }
        callbacks.call { await $0.selectedProvider(mvpd) }
        return mvpd
    }

    /// Waits until all pending callbacks have run, for use before an application ends. Do not call it in a callback: it
    /// would wait for itself.
    public func finishCallbacks() async {
        await calls.drain()
        await callbacks.drain()
    }

    // MARK: Shared state

    /// Returns a number that no other flow or waiter of this client has.
    func nextNumber() -> UInt64 {
        lastNumber += 1
        return lastNumber
    }

    /// Waits for the configuration; `nil` if it failed or the task is cancelled.
    func configured() async -> ConfiguredRequestor? {
        while configuration.isAwaited, !Task.isCancelled {
            let number = nextNumber()
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    // Cancelled before it could wait: no later call would wake it.
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

    /// Wakes the callers that wait for a configuration, in the order of their calls.
    func wakeAll() {
        let waiters = configurationWaiters.sorted { $0.key < $1.key }
        configurationWaiters = [:]
        for (_, waiter) in waiters { waiter.resume() }
    }

    /// Loads the stored records, once.
    func loadRecords() async {
        guard !isLoaded else { return }
        let found: TokenRecords
        do throws(TokenStorageError) { found = try await storage.load() } catch {
            callbacks.status(.volatileStorage, message: error.description)
            found = TokenRecords()
            isVolatile = true
        }
        // Another call may have loaded them in the meantime.
        guard !isLoaded else { return }
        isLoaded = true
        records = found
        if records.device == nil { records.device = (0..<16).map { _ in UInt8.random(in: 0...255) }.hexadecimal }
    }

    /// Saves the current records and waits for the end. Saves run one after another; cancelling the caller cancels none.
    func saveRecords() async {
        guard !isVolatile else { return }
        let (before, records, storage, callbacks) = (saving, records, storage, callbacks)
        let task = Task {
            await before?.value
            do throws(TokenStorageError) { try await storage.save(records) } catch {
                callbacks.status(.volatileStorage, message: error.description)
            }
        }
        saving = task
        await task.value
    }

    /// Removes the viewer of a provider, with the viewer's grants and cached preauthorizations.
    func forgetViewer(of requestor: String, mvpd: String) {
        records.forgetViewer(of: requestor, mvpd: mvpd)
        beginViewer()
    }

    /// Starts a new viewer number: another viewer, or none, is authenticated from now on.
    func beginViewer() {
        viewerNumber = nextNumber()
        preauthorizations.removeAll()
    }

    /// Creates the interface to a service.
    ///
    /// - Parameters:
    ///   - data: The application's data of this request, if the provider is temporary access, which identifies a viewer by it.
    ///   - retries: False if the caller repeats requests itself.
    func interface(
        _ provider: ServiceProvider,
        requestor: String,
        data: [String: String] = [:],
        redirectURL: String? = nil,
        retries: Bool = true
    ) -> any EntitlementInterface {
        let device = records.device ?? ""
        var headers = [("AP-Device-Identifier", "fingerprint \(Base64.encode([UInt8](device.utf8)))")]
        if let identity = data.base64JSON { headers.append(("AP-TempPass-Identity", identity)) }
        var settings = settings
        if !retries { settings.retry = .none }
        let connection = ServiceConnection(
            url: provider.url,
            settings: settings,
            tokens: accessTokens(of: provider.url, redirectingTo: redirectURL ?? options.redirectURL),
            headers: headers,
            options: options.forRequests
        )
        let legacy = RESTv1(connection: connection, requestor: requestor, device: device, clock: clock)
        switch provider.interface {
        case .v1: return legacy
        case .v2: return RESTv2(connection: connection, requestor: requestor, legacy: legacy)
        }
    }

    private func accessTokens(of url: String, redirectingTo redirectURL: String) -> AccessTokens {
        // A registration includes the redirect URL.
        let name = "\(url) \(redirectURL)"
        if let known = tokens[name] { return known }
        let record = redirectURL == options.redirectURL ? url : name
        let made = AccessTokens(
            url: url,
            statement: statement,
            redirectURL: redirectURL,
            registration: records.registrations[record],
            settings: settings,
            clock: clock,
            save: { [weak self] registration in await self?.save(registration, of: record) }
        )
        tokens[name] = made
        return made
    }

    private func save(_ registration: TokenRecords.Registration?, of url: String) async {
        records.registrations[url] = registration
        await saveRecords()
    }
}

/// The state of the configuration.
enum ConfigurationState {
    /// No requestor was set.
    case none
    /// Requests to the services are in flight.
    case underway
    /// The configuration is available.
    case ready(ConfiguredRequestor)
    /// No service gave a configuration.
    case failed(Status)

    /// True if the configuration is available.
    var isReady: Bool {
        if case .ready = self { return true }
        return false
    }

    /// True if the configuration may still arrive.
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
    /// The first domain of the programmer, keyed by service.
    let domains: [ServiceProvider: String]

    func mvpd(_ id: String) -> MVPD? { mvpds.first { $0.id.utf8.elementsEqual(id.utf8) } }
}

extension AccessEnabler: CustomReflectable {
    /// An empty `Mirror` for debuggers and `dump`, because the client holds secrets.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
