// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import EdgeListener
internal import GateAPI
internal import GateAdmin
internal import GateConfiguration
internal import HTTPServer
internal import KeySources
internal import Logging
internal import ManifestListener
internal import NIOCore
internal import Platform
internal import PlaybackGate
internal import ReplayStores
internal import SPOPServer
internal import ServiceLifecycle
internal import SharedGrants
internal import Telemetry

#if GRPC
    internal import GateGRPC
#endif

/// The parts of a running service, put together: store, gate, reloader and listeners.
struct ServiceParts {
    let store: any ReplayStore
    let reloader: Reloader
    let keySets: KeySetKeeper
    /// The revocations in the form for grants; `nil` if there is no key for their tags.
    let revocationCache: RevocationCache?
    /// The listeners, in the order in which they start.
    private(set) var listeners: [any Service] = []

    private let configuration: GateConfiguration
    private let environment: GateServer.ServiceEnvironment
    private let logger: Logger
    private let loops: any EventLoopGroup
    let live: CurrentGate
    private let registry = PrometheusRegistry()
    let metrics: DecisionMetrics
    /// The decisions for the operator page.
    private let window: DecisionWindow
    private let inFlight: ConcurrencyLimit
    /// The connections to the origin of manifests; `nil` without a manifest listener.
    let origin: OriginClient?
    /// The spans on their way to a collector; `nil` if none are made.
    let spans: SpanSender?
    private let reloads = ReloadCounts()
    private let certificates = ListenerCertificates()
    let budget = ByteBudget(32 << 20)
    private let reporter: PeerReporter
    let journal: RevocationJournal
    /// The watch for shared grants.
    let leaks: LeakWatch
    let checkingEdges = CheckingEdges()

    /// - Throws: ``ConfigurationError`` if the store cannot be opened or a certificate cannot be used.
    init(
        _ configuration: GateConfiguration,
        builder: GateLoader,
        environment: GateServer.ServiceEnvironment,
        sink: LogSink,
        logger: Logger,
        loops: any EventLoopGroup
    ) throws(ConfigurationError) {
        (self.configuration, self.environment, self.logger, self.loops) = (configuration, environment, logger, loops)
        store = try ReplayStoreFactory.make(for: configuration, loops: loops)
        keySets = KeySetKeeper(
            clock: environment.clock,
            sleep: environment.sleep,
            fetcher: environment.keySetFetcher,
            logger: logger
        )
        keySets.adopt(builder.remotes)
        leaks = LeakWatch(observer: LeakLog(logger: logger, factory: registry))
        leaks.set(configuration.leaks.action, handover: configuration.leaks.handover)
        leaks.set(renditions: configuration.leaks.renditions)
        let grants = builder.grants?.authority(
            keySets: keySets,
            metrics: registry,
            leaks: leaks,
            greatestAge: environment.greatestRevocationAge
        )
        (revocationCache, metrics) = (grants?.revocationCache, DecisionMetrics(factory: registry, store: store.name))
        (inFlight, reporter) = (ConcurrencyLimit(configuration.advanced.concurrency), PeerReporter(logger: logger))
        origin = configuration.manifest.map { OriginClient($0, loops: loops) }
        window = DecisionWindow(isStarted: !configuration.adminCallers.isEmpty)
        let tracers: [DecisionTracer]
        (tracers, spans) = Self.tracing(
            settings: configuration.traces,
            registry: registry,
            logger: logger,
            loops: loops
        )
        journal = RevocationJournal(logger: logger, sessions: SessionHash(configuration.log))
        let observer = Self.observer(
            for: configuration.log,
            sink: sink,
            sessions: journal.sessions,
            others: [metrics, window] + tracers
        )
        let snapshot = CurrentGate.Snapshot(
            gate: builder.gate(
                configuration,
                store: store,
                grants: grants,
                starter: builder.starts?.starter(keySets: keySets),
                observer: observer
            ),
            configuration: configuration,
            publishedKeys: builder.grants?.published,
            licensed: builder.licensed,
            files: builder.files,
            loaded: environment.clock()
        )
        live = CurrentGate(snapshot)
        reloader = Reloader(
            live,
            builder: builder,
            keySets: keySets,
            leaks: leaks,
            certificates: certificates,
            observer: observer,
            metrics: registry,
            logger: logger,
            counts: reloads,
            clock: environment.clock
        )
        try addListeners(sink)
    }

    private static func observer(
        for log: GateConfiguration.Log,
        sink: LogSink,
        sessions: SessionHash,
        others: [any DecisionObserver]
    ) -> DecisionObservers {
        var observers = others
        // Decision lines have the level info, so higher log levels exclude them.
        if log.level.isAtMost(.info) {
            let lines = DecisionLog(sink, format: log.format, sessions: sessions, logsChecks: log.checks == .all)
            observers.insert(lines, at: 0)
        }
        return DecisionObservers(observers)
    }

    private static func tracing(
        settings: GateConfiguration.Traces?,
        registry: PrometheusRegistry,
        logger: Logger,
        loops: any EventLoopGroup
    ) -> (tracers: [DecisionTracer], sender: SpanSender?) {
        guard let settings else { return ([], nil) }
        let counters = DecisionTracer.Counters(factory: registry)
        let tracer = DecisionTracer(share: settings.share, limit: settings.limit, counters)
        let collector = SpanCollector(settings, loops: loops)
        return (
            [tracer],
            SpanSender(
                tracer: tracer,
                counters: counters,
                collector: collector,
                service: settings.service,
                logger: logger
            )
        )
    }

    private mutating func addListeners(_ sink: LogSink) throws(ConfigurationError) {
        let api = slots(for: "api", listener: configuration.api.listener)
        let admin = slots(for: "admin", listener: configuration.admin)
        let edges = (configuration.edge?.listeners ?? []).map {
            (listener: $0, connectionLimit: slots(for: "edge", listener: $0))
        }
        let offloads = (configuration.edge?.offloads ?? []).map {
            (listener: $0, connectionLimit: slots(for: "spoe", listener: $0))
        }
        let manifests = (configuration.manifest?.listeners ?? [])
            .map { (listener: $0, connectionLimit: slots(for: "manifest", listener: $0)) }
        let grpc = (configuration.edge?.grpc ?? []).map {
            (listener: $0, connectionLimit: slots(for: "grpc", listener: $0))
        }
        let all = [api, admin] + (edges + offloads + grpc + manifests).map(\.connectionLimit)
        let state = readiness(all)
        let gauges = gauges(of: all, sink: sink)
        let adminResponder = AdminResponder(
            live: live,
            reload: { [reloader] in await reloader.reload(because: "POST /reload") },
            registry: registry,
            gauges: gauges,
            state: state,
            page: operatorPage(gauges: gauges, state: state),
            clock: environment.clock
        )
        let apiResponder = APIResponder(
            configuration.api,
            helpURL: configuration.advanced.helpURL,
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            requests: StatusCounters(factory: registry, listener: "api"),
            revocationCache: revocationCache,
            journal: journal,
            leaks: leaks,
            edges: checkingEdges,
            clock: environment.clock
        )
        listeners = [
            try listener(for: configuration.admin, responder: adminResponder, slots: admin),
            try listener(for: configuration.api.listener, responder: apiResponder, slots: api),
        ]
        try addEdges(edges, offloads: offloads, grpc: grpc, state: state)
        try addManifests(manifests)
    }

    func readiness(_ connectionLimits: [ConnectionLimit]) -> Readiness {
        Readiness(
            live: live,
            keySets: keySets,
            connectionLimits: connectionLimits,
            reloads: reloads,
            clock: environment.clock
        )
    }

    func operatorPage(gauges: ServiceGauges, state: Readiness) -> OperatorPage {
        OperatorPage(
            live: live,
            window: window,
            gauges: gauges,
            state: state,
            revocationCache: revocationCache,
            leaks: leaks,
            edges: checkingEdges,
            isSecure: configuration.admin.tls != nil,
            journal: journal,
            clock: environment.clock
        )
    }

    typealias LimitedListeners = [(listener: GateConfiguration.Listener, connectionLimit: ConnectionLimit)]

    private mutating func addEdges(
        _ edges: LimitedListeners,
        offloads: LimitedListeners,
        grpc: LimitedListeners,
        state: Readiness
    ) throws(ConfigurationError) {
        guard configuration.edge != nil else { return }
        let edgeResponder = EdgeResponder(
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            requests: EdgeCounters(factory: registry),
            clock: environment.clock
        )
        for edge in edges {
            listeners.append(try listener(for: edge.listener, responder: edgeResponder, slots: edge.connectionLimit))
        }
        try addOffloads(offloads, checks: edgeResponder)
        #if GRPC
            let authority = EnvoyAuthority(responder: edgeResponder) { await state.faults().isEmpty }
            for edge in grpc {
                let listener = GRPCListener(
                    try certificates.settings(of: edge.listener, edge.connectionLimit.listener, speaking: "h2"),
                    authority: authority,
                    group: loops,
                    connectionLimit: edge.connectionLimit,
                    onListening: onListening(edge.connectionLimit.listener)
                )
                listeners.append(listener)
            }
        #endif
    }

    mutating func addOffloads(_ offloads: LimitedListeners, checks: EdgeResponder) throws(ConfigurationError) {
        guard !offloads.isEmpty else { return }
        let (responder, counters) = (SPOEResponder(checks: checks), OffloadCounters(factory: registry))
        for offload in offloads {
            let listener = SPOPListener(
                try certificates.settings(of: offload.listener, offload.connectionLimit.listener),
                service: responder,
                group: loops,
                connectionLimit: offload.connectionLimit,
                budget: budget,
                onEnd: { counters.count($0) },
                onListening: onListening(offload.connectionLimit.listener)
            )
            listeners.append(listener)
        }
    }

    func gauges(of connectionLimits: [ConnectionLimit], sink: LogSink) -> ServiceGauges {
        ServiceGauges(
            inFlight: inFlight,
            reloads: reloads,
            sink: sink,
            connectionLimits: connectionLimits,
            revocationCache: revocationCache,
            keySets: keySets
        )
    }

    mutating func addManifests(_ manifests: LimitedListeners) throws(ConfigurationError) {
        guard let origin, let settings = configuration.manifest else { return }
        let responder = ManifestResponder(
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            counters: ManifestCounters(factory: registry),
            origin: origin,
            fetches: ConcurrencyLimit(settings.limits.fetches),
            isSecure: settings.listeners.first?.tls != nil,
            helpURL: configuration.advanced.helpURL,
            clock: environment.clock
        )
        for manifest in manifests {
            listeners.append(
                try listener(for: manifest.listener, responder: responder, slots: manifest.connectionLimit)
            )
        }
    }

    private func slots(for name: String, listener: GateConfiguration.Listener) -> ConnectionLimit {
        let (live, reporter) = (live, reporter)
        return ConnectionLimit(
            listener: name,
            limits: listener.limits,
            factory: registry,
            standing: { peer in
                switch name {
                case "edge", "spoe", "grpc": live.standing(of: peer)
                // Who has no key yet is as good as anyone without one.
                case "api": live.current.configuration.api.callers == nil ? .trusted : .unknown
                default: .trusted
                }
            },
            report: { reporter.report($0, of: $1, listener: name) }
        )
    }

    private func listener(
        for listener: GateConfiguration.Listener,
        responder: any HTTPService,
        slots connectionLimit: ConnectionLimit
    ) throws(ConfigurationError) -> HTTPListener {
        HTTPListener(
            try certificates.settings(of: listener, connectionLimit.listener),
            responder: responder,
            group: loops,
            connectionLimit: connectionLimit,
            budget: budget,
            clock: environment.clock,
            onListening: onListening(connectionLimit.listener)
        )
    }

    /// Returns a function that reports the address of a listener.
    private func onListening(_ name: String) -> @Sendable (ListenerAddress) -> Void {
        let (logger, onListening) = (logger, environment.onListening)
        return { address in
            logger.info("listening", metadata: ["listener": "\(name)", "address": "\(address)"])
            onListening(name, "\(address)")
        }
    }
}
