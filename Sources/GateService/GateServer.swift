// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import ConfigurationReading
internal import GateStores
internal import Logging
package import MediaTokens
internal import Metrics
internal import NIOCore
internal import PlaybackGate
internal import ServiceLifecycle
package import UnixSignals

internal import class NIOPosix.MultiThreadedEventLoopGroup
package import struct SystemPackage.FileDescriptor

/// The service: a gate with listeners around it, from a configuration file.
///
/// SIGTERM and SIGINT drain it and end ``run()``; SIGHUP makes it read its files again.
public struct GateServer: Sendable {
    private let configuration: GateConfiguration
    private let assembly: GateBuilder

    /// Reads a configuration and what it names. Opens no store and listens nowhere.
    ///
    /// - Parameter path: The configuration file.
    /// - Throws: ``ConfigurationError`` with everything that is wrong.
    public init(configurationFile path: String) throws(ConfigurationError) {
        try self.init(configurationFile: path, at: .now())
    }

    package init(configurationFile path: String, at now: Timestamp) throws(ConfigurationError) {
        configuration = try GateConfiguration(file: path)
        assembly = try GateBuilder(configuration, at: now)
        for listener in [configuration.api.listener, configuration.admin, configuration.edge?.listener].compactMap({
            $0
        }) {
            if let tls = listener.tls { _ = try tls.context() }
        }
    }

    /// What the configuration comes to, for a person.
    public var summary: Summary {
        Summary(
            keys: assembly.trust.keys.count,
            entries: assembly.catalogue.count,
            api: configuration.api.listener.address.description,
            admin: configuration.admin.address.description,
            edge: configuration.edge?.listener.address.description,
            warnings: assembly.warnings
        )
    }

    /// What a configuration comes to.
    public struct Summary: Hashable, Sendable {
        /// The number of trusted keys.
        public let keys: Int
        /// The number of entries of the catalogue.
        public let entries: Int
        /// Where the API listens.
        public let api: String
        /// Where the admin listener listens.
        public let admin: String
        /// Where the edge listener listens; nil where there is none.
        public let edge: String?
        /// What keeps nothing from working, and should be known.
        public let warnings: [String]
    }

    /// Serves until the process is told to end.
    ///
    /// - Throws: ``ConfigurationError`` where the store cannot be opened; other errors where an address cannot be
    ///   listened on.
    public func run() async throws {
        try await run(ServiceEnvironment(log: .standardError, signals: [.sigterm, .sigint], clock: { .now() }))
    }

    /// What the service has around it; tests have other things there.
    package struct ServiceEnvironment: Sendable {
        package var log: FileDescriptor
        package var signals: [UnixSignal]
        package var clock: @Sendable () -> Timestamp
        /// Is told the name of a listener and its address, once it listens.
        package var onListening: @Sendable (String, String) -> Void

        package init(
            log: FileDescriptor,
            signals: [UnixSignal] = [],
            clock: @escaping @Sendable () -> Timestamp,
            onListening: @escaping @Sendable (String, String) -> Void = { _, _ in }
        ) {
            self.log = log
            self.signals = signals
            self.clock = clock
            self.onListening = onListening
        }
    }

    package func run(_ environment: ServiceEnvironment) async throws {
        let sink = LogSink(environment.log)
        defer { sink.flush() }
        let logger = makeLogger(sink)
        let store = try UseStoreFactory.make(configuration)
        let registry = PrometheusRegistry()
        let metrics = DecisionMetrics(factory: registry, store: store.name)
        let salt = configuration.log.salt?.text ?? "\(TraceID.new())"
        var observers: [any DecisionObserver] = [metrics]
        // Lines of decisions are news, and not for those who want to hear of errors alone.
        if configuration.log.level.isAtMost(.info) {
            observers.insert(
                DecisionLog(
                    sink,
                    format: configuration.log.format,
                    salt: salt,
                    logsChecks: configuration.log.checks == .all
                ),
                at: 0
            )
        }
        let observer = DecisionObservers(observers)
        let gate = assembly.gate(configuration, store: store, observer: observer)
        let live = LiveGate(
            LiveGate.Snapshot(
                gate: gate,
                configuration: configuration,
                files: assembly.files,
                loaded: environment.clock()
            )
        )
        let reloads = ReloadCounts()
        let reloader = Reloader(
            live,
            observer: observer,
            logger: logger,
            counts: reloads,
            clock: environment.clock
        )
        let inFlight = ConcurrencyLimit(configuration.api.concurrency)

        // As many loops as this process may use cores, which may be fewer than the machine has.
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: usableCores())
        let announce = { @Sendable (listener: String, address: ListenerAddress) in
            logger.info("listening", metadata: ["listener": "\(listener)", "address": "\(address)"])
            environment.onListening(listener, "\(address)")
        }
        let budget = ByteBudget(32 << 20)
        let reporter = PeerReporter(logger: logger)
        let makePlaces = { (listener: String, limits: GateConfiguration.Listener.Limits) -> ConnectionPlaces in
            ConnectionPlaces(
                listener,
                limits,
                factory: registry,
                standing: { peer in listener == "edge" ? live.standing(of: peer) : .trusted },
                report: { reporter.report($0, $1, listener: listener) }
            )
        }
        let apiPlaces = makePlaces("api", configuration.api.listener.limits)
        let adminPlaces = makePlaces("admin", configuration.admin.limits)
        let edgePlaces = (configuration.edge?.listener.limits).map { makePlaces("edge", $0) }
        let allPlaces = [apiPlaces, adminPlaces] + (edgePlaces.map { [$0] } ?? [])
        let api = try HTTPListener(
            configuration.api.listener,
            APIResponder(
                configuration.api,
                live: live,
                metrics: metrics,
                inFlight: inFlight,
                requests: StatusCounters(factory: registry, listener: "api"),
                clock: environment.clock
            ),
            group: loops,
            logger: logger.quieter,
            places: apiPlaces,
            budget: budget,
            clock: environment.clock,
            onListening: { announce("api", $0) }
        )
        let admin = try HTTPListener(
            configuration.admin,
            AdminResponder(
                live: live,
                reloader: reloader,
                registry: registry,
                gauges: ServiceGauges(inFlight: inFlight, reloads: reloads, sink: sink, places: allPlaces),
                places: allPlaces,
                clock: environment.clock
            ),
            group: loops,
            logger: logger.quieter,
            places: adminPlaces,
            budget: budget,
            clock: environment.clock,
            onListening: { announce("admin", $0) }
        )
        var edge: HTTPListener?
        if let section = configuration.edge, let edgePlaces {
            edge = try HTTPListener(
                section.listener,
                EdgeResponder(
                    live: live,
                    metrics: metrics,
                    inFlight: inFlight,
                    requests: EdgeCounters(factory: registry),
                    clock: environment.clock
                ),
                group: loops,
                logger: logger.quieter,
                places: edgePlaces,
                budget: budget,
                clock: environment.clock,
                onListening: { announce("edge", $0) }
            )
        }
        for warning in assembly.warnings { logger.warning("\(warning)") }
        if configuration.isShadow { logger.warning("shadow mode: refusals are logged and counted, and allowed") }
        logger.info(
            "starting",
            metadata: [
                "version": "\(GateVersion.current)", "store": "\(store.name)", "keys": "\(assembly.trust.keys.count)",
                "entries": "\(assembly.catalogue.count)",
            ]
        )
        // They end in the reverse order: what stands last is told first.
        var services: [any Service] = [StoreConnection(store: store, logger: logger), reloader, admin, api]
        if let edge { services.append(edge) }
        services.append(ShutdownDeadline(limit: configuration.shutdownGrace, logger: logger))
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: environment.signals,
            logger: logger.quieter
        )
        group.maximumGracefulShutdownDuration = configuration.shutdownGrace * 0.8
        let outcome = await Result { try await ServiceGroup(configuration: group).run() }
        try? await loops.shutdownGracefully()
        try outcome.get()
        logger.info("stopped")
    }

    private func makeLogger(_ sink: LogSink) -> Logger {
        let level: Logger.Level =
            switch configuration.log.level {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
        let format = configuration.log.format
        return Logger(label: "playgate") { label in
            SinkLogHandler(sink: sink, format: format, label: label, logLevel: level)
        }
    }
}

extension Result where Failure == any Error {
    /// What `body` comes to.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension Logger {
    /// For libraries, whose news is not that of who runs the gate.
    fileprivate var quieter: Logger {
        var logger = self
        if logger.logLevel < .warning { logger.logLevel = .warning }
        return logger
    }
}

/// The connection of a store that has one.
private struct StoreConnection: Service {
    let store: any ReplayStore
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await store.run { fault in
                if let fault {
                    logger.error("replay store: \(fault)")
                } else {
                    logger.info("replay store connected", metadata: ["store": "\(store.name)"])
                }
            }
        }
        try await gracefulShutdown()
    }
}
