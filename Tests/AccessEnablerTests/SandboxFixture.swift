// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Entitlements
import GateTestSupport
import MediaTokens
import NIOHTTP1
import Platform
import Sandbox
import Synchronization
import Testing

@testable import AccessEnabler

/// A sandbox that runs during a test, and its clients.
struct SandboxFixture: Sendable {
    let url: String
    let clock: TestClock
    let keys: SandboxKeys

    /// Created once, because key generation is slow.
    private static let keys = Result { () throws(any Error) in try SandboxKeys.development(at: GateSample.time) }

    static func with(
        _ configuration: String? = nil,
        state: SandboxServer.State = .memory,
        clock: TestClock = TestClock(),
        body: @Sendable (SandboxFixture) async throws -> Void
    ) async throws {
        let keys = try keys.get()
        let text = configuration ?? SandboxConfiguration.defaultText
        let configuration = try SandboxConfiguration(text, file: ConfigurationFile(path: "test.yaml"))
        let server = try SandboxServer(configuration, keys: keys, state: state, clock: { clock.now })
        try await server.withServer { url in try await body(SandboxFixture(url: url, clock: clock, keys: keys)) }
    }

    /// Creates a client of this service.
    func client(
        _ application: Application? = Application(),
        interface: ServiceProvider.Interface = .v2,
        requestor: String? = "REF30",
        storage: any TokenStorage = MemoryTokenStorage(),
        options: AccessEnablerOptions = AccessEnablerOptions(),
        platform: (any PlatformSignOn)? = nil,
        statement: String = Self.statement,
        delays: Delays = Delays(),
        retry: RetryPolicy = RetryPolicy(),
        timeout: Duration = .seconds(20),
        intercept: @escaping @Sendable (ServiceRequest) async -> ServiceAnswer? = { _ in nil }
    ) async -> AccessEnabler {
        let enabler = AccessEnabler(
            softwareStatement: statement,
            options: options,
            storage: storage,
            delegate: application,
            platform: platform,
            settings: ConnectionSettings(http: HTTPTransport(intercept: intercept), retry: retry, timeout: timeout) {
                delays.note($0)
            },
            clock: { clock.now }
        )
        application?.use(enabler)
        if let requestor { await enabler.setRequestor(requestor, serviceProviders: [provider(interface)]) }
        return enabler
    }

    /// The storage of a client whose viewer has logged in.
    func storage(of user: String) async -> MemoryTokenStorage {
        let storage = MemoryTokenStorage()
        _ = await client(Application(.provider("SandboxMVPD"), user: user), storage: storage).getAuthentication()
        return storage
    }

    func provider(_ interface: ServiceProvider.Interface = .v2) -> ServiceProvider {
        ServiceProvider(url: url, interface: interface)
    }

    /// Creates a client with an authenticated viewer.
    func viewer(
        _ user: String,
        at mvpd: String = "SandboxMVPD",
        interface: ServiceProvider.Interface = .v2,
        options: AccessEnablerOptions = AccessEnablerOptions(),
        storage: any TokenStorage = MemoryTokenStorage(),
        delays: Delays = Delays(),
        exchanges: Exchanges = Exchanges()
    ) async throws -> (enabler: AccessEnabler, application: Application) {
        let application = Application(.provider(mvpd), user: user)
        let enabler = await client(
            application,
            interface: interface,
            storage: storage,
            options: options,
            delays: delays,
            intercept: exchanges.pass
        )
        let status = await enabler.getAuthentication()
        _ = try #require(status.viewer, "\(status)")
        await enabler.finishCallbacks()
        application.forget()
        return (enabler, application)
    }

    /// A software statement that the sandbox accepts: an unsigned JWT.
    static let statement = "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ0ZXN0cyJ9.c3RhbmQtaW4"

    /// Sets switches of the service.
    func control(_ json: String) async throws {
        var request = ServiceRequest(method: .POST, path: ["sandbox", "control"], isAuthorized: false)
        request.json = [UInt8](json.utf8)
        let answer = try await HTTPTransport().send(request, to: url, within: .seconds(20))
        try #require(answer.status == 204, "\(answer.status) \(String(decoding: answer.body, as: UTF8.self))")
    }

    /// Returns a verifier for the service's tokens.
    func verifier(_ requestor: String = "REF30") throws -> Verifier {
        let trust = try TrustStore([.pem(keys.certificate, name: "sandbox")], at: GateSample.time)
        return try Verifier(trust: trust, policy: VerificationPolicy(requestors: [requestor]))
    }
}

/// The requests of a client, and answers instead of the service's.
final class Exchanges: Sendable {
    typealias Answer = (path: String, status: Int, headers: HTTPHeaders, body: String)

    private let requests = Mutex<[ServiceRequest]>([])
    private let answers: [Answer]

    /// Creates a record. The first answer with a path that occurs in a request's is used; others go to the service.
    init(_ answers: [Answer] = []) { self.answers = answers }

    func pass(_ request: ServiceRequest) -> ServiceAnswer? {
        requests.withLock { $0.append(request) }
        guard let answer = answers.first(where: { request.target.contains($0.path) }) else { return nil }
        return ServiceAnswer(status: answer.status, headers: answer.headers, body: [UInt8](answer.body.utf8))
    }

    /// Returns the requests whose path has this text.
    func all(_ path: String = "") -> [ServiceRequest] {
        requests.withLock { $0.filter { $0.target.contains(path) } }
    }

    func forget() { requests.withLock { $0 = [] } }
}

extension ServiceRequest {
    /// Returns a header field of the request.
    func header(_ name: String) -> String? { headers.last { $0.0 == name }?.1 }

    /// Returns a parameter of the query or the form.
    func parameter(_ name: String) -> String? { (query + (form ?? [])).last { $0.0 == name }?.1 }
}

/// The delays that a client would have waited.
final class Delays: Sendable {
    private let noted = Mutex<[Duration]>([])
    private let pass: @Sendable (Duration) -> Void

    /// Creates a record, and passes the time if a clock must advance.
    init(_ pass: @escaping @Sendable (Duration) -> Void = { _ in }) { self.pass = pass }

    var all: [Duration] { noted.withLock { $0 } }

    func note(_ delay: Duration) {
        noted.withLock { $0.append(delay) }
        pass(delay)
    }
}

/// Holds requests with a name in their path until it is opened, and reports when a request waits.
actor Turnstile {
    private let name: String
    private var isClosed = false
    private var waiting: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []

    init(_ name: String) { self.name = name }

    func close() { isClosed = true }

    func open() {
        isClosed = false
        for continuation in waiting { continuation.resume() }
        waiting = []
    }

    func pass(_ request: ServiceRequest) async {
        guard isClosed, request.path.contains(name) else { return }
        await withCheckedContinuation { continuation in
            waiting.append(continuation)
            for watcher in watchers { watcher.resume() }
            watchers = []
        }
    }

    /// Waits until a request waits.
    func hasWaiter() async {
        if waiting.isEmpty { await withCheckedContinuation { watchers.append($0) } }
    }
}
