// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import ConfigurationReading
internal import GateStores
internal import HTTPServer
internal import Logging
internal import MediaTokens
internal import Metrics
internal import NIOCore
package import Platform
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
            _ = try listener.settings()
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
        // One event loop per core that this process may use, which may be fewer than the machine has.
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: usableCores())
        let outcome = await Result { try await serve(environment, sink, logger, loops) }
        try? await loops.shutdownGracefully()
        try outcome.get()
        logger.info("stopped")
    }

    private func serve(
        _ environment: ServiceEnvironment,
        _ sink: LogSink,
        _ logger: Logger,
        _ loops: any EventLoopGroup
    ) async throws {
        let parts = try ServiceParts(configuration, assembly, environment, sink: sink, logger: logger, loops: loops)
        for warning in assembly.warnings { logger.warning("\(warning)") }
        if configuration.isShadow { logger.warning("shadow mode: refusals are logged and counted, and allowed") }
        logger.info(
            "starting",
            metadata: [
                "version": "\(GateVersion.current)", "store": "\(parts.store.name)",
                "keys": "\(assembly.trust.keys.count)", "entries": "\(assembly.catalogue.count)",
            ]
        )
        // Services shut down in reverse order: the last one first.
        var services: [any Service] = [StoreConnection(store: parts.store, logger: logger), parts.reloader]
        services += parts.listeners
        services.append(ShutdownDeadline(limit: configuration.shutdownGrace, logger: logger))
        var group = ServiceGroupConfiguration(
            services: services,
            gracefulShutdownSignals: environment.signals,
            logger: logger.quieter
        )
        group.maximumGracefulShutdownDuration = configuration.shutdownGrace * 0.8
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
    /// What `body` comes to.
    fileprivate init(_ body: () async throws -> Success) async {
        do { self = .success(try await body()) } catch { self = .failure(error) }
    }
}

extension Logger {
    /// For libraries, whose news is not that of who runs the gate.
    var quieter: Logger {
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
