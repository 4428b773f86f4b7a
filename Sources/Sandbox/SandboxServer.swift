// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
package import Platform
internal import ServiceLifecycle
internal import UnixSignals

/// The state that all endpoints share.
struct SandboxCore: Sendable {
    let configuration: SandboxConfiguration
    let keys: SandboxKeys
    let store: Store
    let control: Control
    /// The pages of an application that the service also serves.
    let pages: [ApplicationPages.File]
    let clock: @Sendable () -> Timestamp
    let issuer = MediaTokenIssuer()
    let decisions = DecisionCache()
}

/// A test entitlement service over HTTP, with test keys and deliberate failures.
package struct SandboxServer: Sendable {
    private let core: SandboxCore
    private let logger: Logger

    /// The location of the state.
    package enum State: Sendable {
        /// Memory: the state is lost when the service ends.
        case memory
        /// A file that only its owner can read.
        case file(String)
    }

    /// Creates a server and opens its state.
    ///
    /// - Parameters:
    ///   - configuration: The requestors, providers and households that it serves.
    ///   - keys: The keys that it signs tokens with.
    ///   - state: The location of the state.
    ///   - pages: The pages of an application to serve at `/`; `nil` for none.
    ///   - isVerbose: True to log each request as a line on standard error.
    ///   - clock: Returns the current time.
    /// - Throws: ``SandboxError`` if the state cannot be opened.
    package init(
        _ configuration: SandboxConfiguration,
        keys: SandboxKeys,
        state: State = .memory,
        pages: ApplicationPages? = nil,
        isVerbose: Bool = false,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) throws(SandboxError) {
        let path: String? = if case .file(let path) = state { path } else { nil }
        let store: Store
        do { store = try Store(path: path) } catch {
            throw SandboxError("\(path ?? "memory"): the state cannot be opened; remove the file or name another one")
        }
        core = SandboxCore(
            configuration: configuration,
            keys: keys,
            store: store,
            control: Control(configuration),
            pages: pages?.files ?? [],
            clock: clock
        )
        var logger = Logger(label: "playgate-sandbox", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = isVerbose ? .info : .warning
        self.logger = logger
    }

    /// The time limit for requests in flight at shutdown. A client may have sent only half of a request.
    package static let patience = Duration.seconds(10)

    /// The time after which an idle connection is closed, even in the middle of a request.
    private static let idleTimeout = TimeAmount.seconds(60)

    /// Serves until the process receives SIGTERM or SIGINT. Requests in flight then have ``patience`` to finish.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port, or 0 for any free port.
    ///   - onListening: Called with the port once the server listens.
    /// - Throws: ``SandboxError`` if the server cannot listen at that address.
    package func run(
        host: String,
        port: Int,
        onListening: @escaping @Sendable (Int) -> Void
    ) async throws(SandboxError) {
        let application = application(host: host, port: port, onListening: onListening)
        let group = group(application, patience: Self.patience, hearsSignals: true)
        do { try await group.run() } catch is CancellationError {
            // Requests were still in flight after `patience`.
        } catch { throw SandboxError("\(host):\(port): cannot listen at this address: \(error)") }
    }

    /// Serves on a free loopback port while `body` runs, and passes the base URL to it.
    ///
    /// - Parameter patience: The time limit for requests in flight after `body` returns.
    package func withServer<Value: Sendable>(
        patience: Duration = patience,
        _ body: @Sendable (_ url: String) async throws -> Value
    ) async throws -> Value {
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let application = application(host: "127.0.0.1", port: 0) { continuation.yield($0) }
        let group = group(application, patience: patience, hearsSignals: false)
        return try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { continuation.finish() }
                do { try await group.run() } catch is CancellationError {}
            }
            guard let port = await ports.first(where: { _ in true }) else {
                try await tasks.waitForAll()
                throw SandboxError("the server stopped before it listened")
            }
            let outcome: Result<Value, any Error>
            do { outcome = .success(try await body("http://127.0.0.1:\(port)")) } catch { outcome = .failure(error) }
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            return try outcome.get()
        }
    }

    private func group(_ service: some Service, patience: Duration, hearsSignals: Bool) -> ServiceGroup {
        var configuration = ServiceGroupConfiguration(
            services: [service],
            gracefulShutdownSignals: hearsSignals ? [.sigterm, .sigint] : [],
            logger: logger
        )
        configuration.maximumGracefulShutdownDuration = patience
        return ServiceGroup(configuration: configuration)
    }

    private func application(
        host: String,
        port: Int,
        onListening: @escaping @Sendable (Int) -> Void
    ) -> some ApplicationProtocol {
        let router = Router(context: SandboxContext.self, options: .autoGenerateHeadEndpoints)
        router.add(
            middleware: StandInMiddleware(names: ServiceNames(listeningOn: host, more: core.configuration.hosts))
        )
        let dispatcher = Dispatcher(core: core)
        for endpoint in endpoints {
            router.on(RouterPath(endpoint.path), method: endpoint.method) { request, context in
                try await dispatcher.respond(to: request, in: context, at: endpoint)
            }
        }
        // The router answers HEAD with the GET handler, which may change state. HEAD must be safe, so it gets 405 here.
        let open = Set(core.publicEndpoints.map(\.path))
        for endpoint in endpoints where endpoint.method == .get && !open.contains(endpoint.path) {
            router.on(RouterPath(endpoint.path), method: .head) { _, _ in
                Response(status: .methodNotAllowed, headers: [.allow: "GET"])
            }
        }
        return Application(
            router: router,
            server: .http1(configuration: .init(idleTimeout: Self.idleTimeout)),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port)),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? port) },
            logger: logger
        )
    }

    private var endpoints: [Endpoint] {
        [
            core.registrationEndpoints, core.controlEndpoints, core.publicEndpoints, core.loginEndpoints,
            core.logoutEndpoints, core.v2SessionEndpoints, core.v2ProfileEndpoints, core.v2DecisionEndpoints,
            core.v1AuthenticationEndpoints, core.v1AuthorizationEndpoints, core.registrationCodeEndpoints,
            core.legacyEndpoints, core.platformEndpoints, core.concurrencyEndpoints,
        ].flatMap(\.self)
    }
}
