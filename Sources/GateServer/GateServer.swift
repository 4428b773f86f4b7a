// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import ConfigurationReading
internal import CoreMetrics
internal import EdgeChecks
package import GateConfiguration
internal import HTTPServer
package import KeySources
internal import Logging
internal import ManifestListener
internal import MediaTokens
internal import Metrics
internal import NIOCore
package import Platform
internal import PlaybackGate
internal import ReplayStores
internal import ServiceLifecycle
internal import Telemetry
package import UnixSignals

internal import class NIOPosix.MultiThreadedEventLoopGroup
package import struct SystemPackage.FileDescriptor

/// The gate service: a gate and its listeners, from a configuration file.
///
/// SIGTERM and SIGINT drain it and end ``run()``; SIGHUP reloads its files.
public struct GateServer: Sendable {
    package let configuration: GateConfiguration
    let builder: GateLoader

    /// Reads a configuration and the files that it names. Opens no store and no listener.
    ///
    /// - Parameter path: The path of the configuration file.
    /// - Throws: `ConfigurationError` with all problems.
    public init(configurationFile path: String) throws(ConfigurationError) {
        try self.init(configurationFile: path, at: .now())
    }

    /// Reads a configuration and the files that it names, as of `now`.
    package init(configurationFile path: String, at now: Timestamp) throws(ConfigurationError) {
        configuration = try GateConfiguration(file: path)
        builder = try GateLoader(configuration, at: now)
        // The listeners of one section have their files in common.
        let edge = configuration.edge.map { ($0.listeners + $0.offloads).prefix(1) } ?? []
        let manifest = configuration.manifest?.listeners.prefix(1) ?? []
        if let listener = configuration.edge?.grpc.first { _ = try listener.settings(speaking: "h2") }
        for listener in [configuration.api.listener, configuration.admin] + edge + manifest {
            _ = try listener.settings()
        }
    }

    /// The JSON Schema of a configuration file, in one line: each key as the reader knows it.
    ///
    /// - Throws: `ConfigurationError` if the descriptions of keys cannot be read.
    public static func configurationSchema() throws(ConfigurationError) -> String { try SettingsSchema().line }

    /// The summary of the configuration, for people.
    public var summary: Summary {
        Summary(
            keys: builder.trust.keys.count,
            entries: builder.catalogue.count,
            api: configuration.api.listener.address.description,
            admin: configuration.admin.address.description,
            edges: configuration.edge?.listeners.map(\.address.description) ?? [],
            offloads: configuration.edge?.offloads.map(\.address.description) ?? [],
            grpc: configuration.edge?.grpc.map(\.address.description) ?? [],
            manifests: configuration.manifest?.listeners.map(\.address.description) ?? [],
            warnings: builder.warnings,
            advice: configuration.advice
        )
    }

    /// A summary of a configuration.
    public struct Summary: Hashable, Sendable {
        /// The number of trusted keys.
        public let keys: Int
        /// The number of entries in the catalogue.
        public let entries: Int
        /// The address of the API listener.
        public let api: String
        /// The address of the admin listener.
        public let admin: String
        /// The addresses of the edge listener; empty if there is none.
        public let edges: [String]
        /// The addresses of the listener for HAProxy's stream processing offload; empty if there is none.
        public let offloads: [String]
        /// The addresses of the listener for Envoy's checks over gRPC; empty if there is none.
        public let grpc: [String]
        /// The addresses of the manifest listener; empty if there is none.
        public let manifests: [String]
        /// Warnings for the operator that do not prevent operation.
        public let warnings: [String]
        /// Settings that work, and that production would not want.
        public let advice: [String]
    }

    /// Serves until SIGTERM or SIGINT.
    ///
    /// - Throws: `ConfigurationError` if the store cannot be opened or a TLS certificate cannot be used; other errors if
    ///   an address cannot be bound.
    public func run() async throws {
        try await run(ServiceEnvironment(log: .standardError, signals: [.sigterm, .sigint], clock: { .now() }))
    }

    /// The environment of the service, which tests replace.
    package struct ServiceEnvironment: Sendable {
        /// The file that log lines are written to.
        package var log: FileDescriptor
        /// The signals that start a graceful shutdown.
        package var signals: [UnixSignal]
        /// The source of the current time.
        package var clock: @Sendable () -> Timestamp
        /// Called with the name and the address of each listener, once it listens.
        package var onListening: @Sendable (String, String) -> Void
        /// Waits for this number of milliseconds of ``clock``, or until its task is cancelled.
        package var sleep: @Sendable (Int64) async -> Void = { try? await Task.sleep(for: .milliseconds($0)) }
        /// The age above which the cache of revocations is too old to allow playbacks.
        package var greatestRevocationAge = RevocationCache.greatestAge
        /// Returns the fetcher of a key set instead of the configured one.
        package var keySetFetcher: @Sendable (any KeySetFetcher) -> any KeySetFetcher = { $0 }

        /// Creates an environment.
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

    /// Serves in `environment` until a graceful shutdown.
    package func run(_ environment: ServiceEnvironment) async throws {
        let sink = LogSink(environment.log)
        defer { sink.flush() }
        let logger = makeLogger(sink)
        // One event loop per core that this process may use, which may be fewer than the machine has: by its affinity, or by
        // the CPU quota of its container, which NIO reads.
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: min(usableCores(), System.coreCount))
        let outcome = await Result { try await serve(in: environment, sink: sink, logger: logger, loops: loops) }
        try? await loops.shutdownGracefully()
        try outcome.get()
        logger.info("stopped")
    }

    private func serve(
        in environment: ServiceEnvironment,
        sink: LogSink,
        logger: Logger,
        loops: any EventLoopGroup
    ) async throws {
        for path in try configuration.state.writeNewKeys() { logger.notice("made a key of streams: \(path)") }
        let parts = try ServiceParts(
            configuration,
            builder: builder,
            environment: environment,
            sink: sink,
            logger: logger,
            loops: loops
        )
        for warning in builder.warnings { logger.warning("\(warning)") }
        if configuration.isShadow { logger.warning("shadow mode: refusals are logged and counted, and allowed") }
        logger.info(
            "starting",
            metadata: [
                "version": "\(GateVersion.current)", "store": "\(parts.store.name)",
                "keys": "\(builder.trust.keys.count)", "entries": "\(builder.catalogue.count)",
            ]
        )
        // Services shut down in reverse order: the last one first.
        var services: [any Service] = [StoreConnection(store: parts.store, logger: logger), parts.reloader]
        // After the listeners, which shut down first.
        if let spans = parts.spans { services.append(spans) }
        if let origin = parts.origin { services.append(OriginConnections(origin: origin)) }
        if let revocationCache = parts.revocationCache {
            services.append(
                RevocationRefresh(
                    revocationCache: revocationCache,
                    store: parts.store,
                    clock: environment.clock,
                    logger: logger
                )
            )
        }
        services.append(
            LeakService(leaks: parts.leaks, live: parts.live, journal: parts.journal, environment: environment)
        )
        // The first listener, of the administrator, is there from the start, and says why the others are not.
        services.append(parts.listeners[0])
        for listener in parts.listeners.dropFirst() {
            services.append(
                parts.revocationCache.map { ListenerAfterRefresh(revocationCache: $0, listener: listener) } ?? listener
            )
        }
        services.append(ShutdownDeadline(limit: configuration.advanced.shutdownGrace, logger: logger))
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: environment.signals,
            logger: logger.quieter
        )
        group.maximumGracefulShutdownDuration = configuration.advanced.shutdownGrace * 0.8
        try await ServiceGroup(configuration: group).run()
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
    /// Stores the value that `body` returns or the error that it throws.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension Logger {
    /// A logger for libraries, at level warning or above.
    var quieter: Logger {
        var logger = self
        if logger.logLevel < .warning { logger.logLevel = .warning }
        return logger
    }
}

/// The task that refreshes the cache of revocations.
private struct RevocationRefresh: Service {
    let revocationCache: RevocationCache
    let store: any ReplayStore
    let clock: @Sendable () -> Timestamp
    let logger: Logger

    func run() async throws {
        await cancelWhenGracefulShutdown {
            await revocationCache.run(store, clock: clock) { fault in
                if let fault {
                    logger.error("revocations cannot be read: \(fault)")
                } else {
                    logger.info("revocations are read again", metadata: ["store": "\(store.name)"])
                }
            }
        }
        try await gracefulShutdown()
    }
}

/// A listener that begins after the revocations have been read, because a gate without them refuses every grant. The
/// wait is short: without the store, requests without grants are decided as usual.
private struct ListenerAfterRefresh: Service {
    let revocationCache: RevocationCache
    let listener: any Service

    private static let limit = Duration.seconds(3)

    func run() async throws {
        let end = ContinuousClock.now + Self.limit
        await cancelWhenGracefulShutdown {
            while revocationCache.age() == nil, ContinuousClock.now < end, !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(5))
            }
        }
        try await listener.run()
    }
}

/// The connections to the origin of manifests, which are closed at the end.
private struct OriginConnections: Service {
    let origin: OriginClient

    func run() async throws {
        try? await gracefulShutdown()
        await origin.shutdown()
    }
}

/// The connection of a store that has one (Redis).
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

extension GateServer {
    /// Returns the policy of the configuration as `GET /v1/policy` has it, but without revocations and without fetched
    /// keys. No store and no connection is opened.
    ///
    /// - Parameters:
    ///   - goodFor: The time for which the policy may be used, from 5 s to 30 days.
    ///   - now: The present time.
    /// - Throws: `ConfigurationError` if a key of streams has no file yet.
    package func policy(goodFor: Duration, at now: Timestamp) throws(ConfigurationError) -> [UInt8] {
        if let key = configuration.state.newKeys.first {
            throw ConfigurationError(file: key.path, reason: "is not made yet: start the gate first")
        }
        let environment = ServiceEnvironment(log: .standardError, clock: { now })
        let keySets = KeySetKeeper(
            clock: environment.clock,
            sleep: environment.sleep,
            fetcher: environment.keySetFetcher,
            logger: Logger(label: "playgate") { _ in SwiftLogNoOpLogHandler() }
        )
        let gate = builder.gate(
            configuration,
            store: MemoryReplayStore(capacity: 1, leaseCapacity: 1),
            grants: builder.grants?.authority(keySets: keySets, metrics: NOOPMetricsHandler.instance),
            starter: nil,
            observer: NoObserver()
        )
        let range = EdgeBundle.goodForRange
        let life = min(max(goodFor, range.lowerBound), range.upperBound)
        return EdgeBundle(of: gate, revokedBy: nil, subjectKey: nil, goodFor: life, at: now).json()
    }
}
