// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import Entitlements
internal import Platform

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
    /// Names who is authenticated: it changes with every login, logout and change of the requestor. What was asked for one
    /// viewer is not given to the next.
    var viewerNumber: UInt64 = 0
    /// The requestor that was set last, whatever became of it.
    var requestorID: String?
    /// The number of the last call that has set the requestor.
    var latestRequestor: UInt64 = 0
    /// Whether that call is yet to be answered.
    var isRequestorPending = false
    private var lastNumber: UInt64 = 0
    /// Who waits for a configuration.
    var configurationWaiters: [UInt64: CheckedContinuation<Void, Never>] = [:]
    private var tokens: [String: AccessTokens] = [:]
    private var isLoaded = false
    /// Whether what was kept could not be read: then it is not replaced by what little is known here.
    private var isVolatile = false
    private var saving: Task<Void, Never>?

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
            http: HTTPTransport(),
            clock: { .now() },
            sleep: { try await Task.sleep(for: $0) }
        )
    }

    init(
        softwareStatement: String,
        options: AccessEnablerOptions,
        storage: any TokenStorage,
        delegate: (any EntitlementDelegate)?,
        platform: (any PlatformSignOn)?,
        retry: RetryPolicy,
        timeout: Duration,
        http: HTTPTransport,
        clock: @escaping @Sendable () -> Timestamp,
        sleep: @escaping @Sendable (Duration) async throws -> Void
    ) {
        statement = softwareStatement
        self.options = options
        self.storage = storage
        self.platform = platform
        self.clock = clock
        callbacks = CallbackQueue(delegate)
        settings = ConnectionSettings(http: http, retry: retry, timeout: timeout, sleep: sleep)
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

    /// Waits until the delegate was called with everything there is to tell by now: before an application ends. Not for use
    /// in a callback, which it would wait for.
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
            isVolatile = true
        }
        // Somebody else may have read it meanwhile.
        guard !isLoaded else { return }
        isLoaded = true
        records = found
        if records.device == nil { records.device = (0..<16).map { _ in UInt8.random(in: 0...255) }.hexadecimal }
    }

    /// Keeps what there is now, and waits until it is. Saves come one after another; who is cancelled cancels none.
    func saveRecords() async {
        guard !isVolatile else { return }
        let (before, records, storage, callbacks) = (saving, records, storage, callbacks)
        let task = Task {
            await before?.value
            do throws(TokenStorageError) { try await storage.save(records) } catch {
                callbacks.status(.volatileStorage, error.description)
            }
        }
        saving = task
        await task.value
    }

    /// Forgets the viewer of a provider, and whatever was asked for that viewer.
    func forgetViewer(_ requestor: String, _ mvpd: String) {
        records.forgetViewer(requestor, mvpd)
        beginViewer()
    }

    /// That another viewer, or nobody, is authenticated from now on.
    func beginViewer() {
        viewerNumber = nextNumber()
        preauthorizations.removeAll()
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
        if let address = options.deviceAddress?.addressValue { headers.append(("X-Forwarded-For", address)) }
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
        // An application is registered with where its logins end.
        let name = "\(url) \(options.redirectURL)"
        if let known = tokens[name] { return known }
        let made = AccessTokens(
            url: url,
            statement: statement,
            redirectURL: options.redirectURL,
            registration: records.registrations[url],
            settings: settings,
            clock: clock,
            keep: { [weak self] registration in await self?.keep(registration, of: url) }
        )
        tokens[name] = made
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

    /// Whether it is there.
    var isReady: Bool {
        if case .ready = self { return true }
        return false
    }

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

    /// This as the address of a device; nil where it cannot be one.
    fileprivate var addressValue: String? {
        !isEmpty && utf8.count <= 45 && utf8.allSatisfy { $0.isAddressCharacter } ? self : nil
    }
}

extension UInt8 {
    /// Whether this may stand in an address of IPv4 or IPv6.
    fileprivate var isAddressCharacter: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
            UInt8(ascii: "A")...UInt8(ascii: "F"), UInt8(ascii: "."), UInt8(ascii: ":"):
            true
        default: false
        }
    }
}

extension AccessEnabler: CustomReflectable {
    /// What a debugger and `dump` show: nothing, for there are secrets in it.
    public nonisolated var customMirror: Mirror { Mirror(self, children: []) }
}
