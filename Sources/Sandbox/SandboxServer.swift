// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird
internal import Logging
internal import NIOCore
package import Platform
internal import ServiceLifecycle
internal import UnixSignals

/// The stand-in for an entitlement service.
package struct SandboxServer: Sendable {
    private let core: SandboxCore
    private let logger: Logger

    /// Where the state is.
    package enum State: Sendable {
        /// In memory: it ends with the service.
        case memory
        /// In a file, which only its owner can read.
        case file(String)
    }

    /// Opens the state.
    ///
    /// - Parameters:
    ///   - configuration: What is played.
    ///   - keys: What is signed with.
    ///   - state: Where the state is.
    ///   - isVerbose: Whether each request is a line on standard error.
    ///   - clock: Tells the time.
    /// - Throws: ``SandboxError`` where the state cannot be opened.
    package init(
        _ configuration: SandboxConfiguration,
        keys: SandboxKeys,
        state: State = .memory,
        isVerbose: Bool = false,
        clock: @escaping @Sendable () -> Timestamp = { .now() }
    ) throws(SandboxError) {
        let path: String? = if case .file(let path) = state { path } else { nil }
        let store: Store
        do { store = try Store(path: path) } catch {
            throw SandboxError("\(path ?? "memory"): cannot be opened as state; remove it or name another file")
        }
        core = SandboxCore(
            configuration: configuration,
            keys: keys,
            store: store,
            control: Control(configuration),
            clock: clock
        )
        var logger = Logger(label: "playgate-sandbox", factory: { StreamLogHandler.standardError(label: $0) })
        logger.logLevel = isVerbose ? .info : .warning
        self.logger = logger
    }

    /// For how long requests in hand may take to finish when the service ends: somebody may have sent half of one.
    package static let patience = Duration.seconds(10)

    /// When a connection is closed on which nothing comes, not even the rest of a request.
    private static let idleTimeout = TimeAmount.seconds(60)

    /// Serves until the process is told to end (SIGTERM, SIGINT); requests in hand are finished, if they do not take long.
    ///
    /// - Parameters:
    ///   - host: The address to listen on.
    ///   - port: The port; 0 for any that is free.
    ///   - onListening: Gets the port once there is one.
    /// - Throws: ``SandboxError`` where nobody can listen there.
    package func run(
        host: String,
        port: Int,
        onListening: @escaping @Sendable (Int) -> Void
    ) async throws(SandboxError) {
        let application = application(host: host, port: port, onListening: onListening)
        let group = group(application, patience: Self.patience, hearsSignals: true)
        do { try await group.run() } catch is CancellationError {
            // Its patience was at an end.
        } catch { throw SandboxError("\(host):\(port): cannot serve there: \(error)") }
    }

    /// Serves on a free port of this machine while `body` runs, which gets the service's address.
    ///
    /// - Parameter patience: For how long requests in hand may take to finish then.
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
                throw SandboxError("the service has ended before it listened")
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
                try await dispatcher.respond(request, context, endpoint)
            }
        }
        // The router answers HEAD as it answers GET, which may change things: a link that is only looked at must not.
        let open = Set(PublicEndpoints(core: core).all.map(\.path))
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
            RegistrationEndpoints(core: core).all, ControlEndpoints(core: core).all,
            PublicEndpoints(core: core).all, LoginEndpoints(core: core).all, LogoutEndpoints(core: core).all,
            V2SessionEndpoints(core: core).all, V2ProfileEndpoints(core: core).all,
            V2DecisionEndpoints(core: core).all, V1AuthenticationEndpoints(core: core).all,
            V1AuthorizationEndpoints(core: core).all, RegistrationCodeEndpoints(core: core).all,
            LegacyEndpoints(core: core).all, SAMLPagesEndpoints(core: core).all, PlatformEndpoints(core: core).all,
            ConcurrencyEndpoints(core: core).all,
        ].flatMap(\.self)
    }
}
