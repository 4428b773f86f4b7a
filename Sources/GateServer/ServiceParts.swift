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
internal import Telemetry

#if GRPC
    internal import GateGRPC
#endif

/// The parts of a running service, put together: store, gate, reloader and listeners.
struct ServiceParts {
    package let store: any GrantStore
    let reloader: Reloader
    package let keySets: KeySetKeeper
    /// The revocations as grants know them; `nil` if there is no key for their tags.
    package let mirror: RevocationMirror?
    /// The listeners, in the order in which they start.
    package private(set) var listeners: [any Service] = []

    private let configuration: GateConfiguration
    private let environment: GateServer.ServiceEnvironment
    private let logger: Logger
    private let loops: any EventLoopGroup
    private let live: LiveGate
    private let registry = PrometheusRegistry()
    package let metrics: DecisionMetrics
    /// The decisions for the operator page.
    private let window: DecisionWindow
    private let inFlight: ConcurrencyLimit
    /// The connections to the origin of manifests; `nil` without a manifest listener.
    package let origin: OriginClient?
    /// The spans on their way to a collector; `nil` if none are made.
    package let spans: SpanSender?
    private let reloads = ReloadCounts()
    private let certificates = ListenerCertificates()
    package let budget = ByteBudget(32 << 20)
    private let reporter: PeerReporter
    private let journal: RevocationJournal

    /// - Throws: ``ConfigurationError`` if the store cannot be opened or a certificate cannot be used.
    init(
        _ configuration: GateConfiguration,
        _ builder: GateBuilder,
        _ environment: GateServer.ServiceEnvironment,
        sink: LogSink,
        logger: Logger,
        loops: any EventLoopGroup
    ) throws(ConfigurationError) {
        (self.configuration, self.environment, self.logger, self.loops) = (configuration, environment, logger, loops)
        store = try ReplayStoreFactory.make(configuration, loops)
        keySets = KeySetKeeper(
            clock: environment.clock,
            sleep: environment.sleep,
            fetcher: environment.keySetFetcher,
            logger: logger
        )
        keySets.adopt(builder.grants?.remotes ?? [])
        let grants = builder.grants?.authority(keySets, registry, greatestAge: environment.greatestMirrorAge)
        (mirror, metrics) = (grants?.mirror, DecisionMetrics(factory: registry, store: store.name))
        (inFlight, reporter) = (ConcurrencyLimit(configuration.api.concurrency), PeerReporter(logger: logger))
        origin = configuration.manifest.map { OriginClient($0, loops: loops) }
        window = DecisionWindow(isStarted: !configuration.adminCallers.isEmpty)
        let tracers: [DecisionTracer]
        (tracers, spans) = Self.tracing(configuration.traces, registry, logger, loops)
        journal = RevocationJournal(logger: logger, sessions: SessionHash(configuration.log))
        let observer = Self.observer(configuration.log, sink, journal.sessions, [metrics, window] + tracers)
        let snapshot = LiveGate.Snapshot(
            gate: builder.gate(configuration, store: store, grants: grants, observer: observer),
            configuration: configuration,
            publishedKeys: builder.grants?.published,
            files: builder.files,
            loaded: environment.clock()
        )
        live = LiveGate(snapshot)
        reloader = Reloader(
            live,
            builder: builder,
            keySets: keySets,
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
        _ log: GateConfiguration.Log,
        _ sink: LogSink,
        _ sessions: SessionHash,
        _ others: [any DecisionObserver]
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
        _ settings: GateConfiguration.Traces?,
        _ registry: PrometheusRegistry,
        _ logger: Logger,
        _ loops: any EventLoopGroup
    ) -> (tracers: [DecisionTracer], sender: SpanSender?) {
        guard let settings else { return ([], nil) }
        let counters = DecisionTracer.Counters(factory: registry)
        let tracer = DecisionTracer(share: settings.share, limit: settings.limit, counters)
        let collector = SpanCollector(settings, loops: loops)
        return ([tracer], SpanSender(tracer, counters, collector, service: settings.service, logger: logger))
    }

    private mutating func addListeners(_ sink: LogSink) throws(ConfigurationError) {
        let api = places("api", configuration.api.listener)
        let admin = places("admin", configuration.admin)
        let edges = (configuration.edge?.listeners ?? []).map { (listener: $0, places: places("edge", $0)) }
        let offloads = (configuration.edge?.offloads ?? []).map { (listener: $0, places: places("spoe", $0)) }
        let manifests = (configuration.manifest?.listeners ?? [])
            .map { (listener: $0, places: places("manifest", $0)) }
        let grpc = (configuration.edge?.grpc ?? []).map { (listener: $0, places: places("grpc", $0)) }
        let all = [api, admin] + (edges + offloads + grpc + manifests).map(\.places)
        let state = readiness(all)
        let gauges = gauges(all, sink)
        let adminResponder = AdminResponder(
            live: live,
            reload: { [reloader] in await reloader.reload(because: "POST /reload") },
            registry: registry,
            gauges: gauges,
            state: state,
            page: operatorPage(gauges, state),
            clock: environment.clock
        )
        let apiResponder = APIResponder(
            configuration.api,
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            requests: StatusCounters(factory: registry, listener: "api"),
            mirror: mirror,
            journal: journal,
            clock: environment.clock
        )
        listeners = [
            try listener(configuration.admin, adminResponder, admin),
            try listener(configuration.api.listener, apiResponder, api),
        ]
        try addEdges(edges, offloads, grpc, state)
        try addManifests(manifests)
    }

    package func readiness(_ places: [ConnectionPlaces]) -> Readiness {
        Readiness(live: live, keySets: keySets, places: places, reloads: reloads, clock: environment.clock)
    }

    package func operatorPage(_ gauges: ServiceGauges, _ state: Readiness) -> OperatorPage {
        OperatorPage(
            live: live,
            window: window,
            gauges: gauges,
            state: state,
            mirror: mirror,
            isSecure: configuration.admin.tls != nil,
            journal: journal,
            clock: environment.clock
        )
    }

    package typealias Places = [(listener: GateConfiguration.Listener, places: ConnectionPlaces)]

    private mutating func addEdges(
        _ edges: Places,
        _ offloads: Places,
        _ grpc: Places,
        _ state: Readiness
    ) throws(ConfigurationError) {
        guard configuration.edge != nil else { return }
        let edgeResponder = EdgeResponder(
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            requests: EdgeCounters(factory: registry),
            clock: environment.clock
        )
        for edge in edges { listeners.append(try listener(edge.listener, edgeResponder, edge.places)) }
        try addOffloads(offloads, edgeResponder)
        #if GRPC
            let authority = EnvoyAuthority(responder: edgeResponder) { await state.faults().isEmpty }
            for edge in grpc {
                let listener = GRPCListener(
                    try certificates.settings(of: edge.listener, edge.places.listener, speaking: "h2"),
                    authority,
                    group: loops,
                    places: edge.places,
                    onListening: onListening(edge.places.listener)
                )
                listeners.append(listener)
            }
        #endif
    }

    package mutating func addOffloads(_ offloads: Places, _ checks: EdgeResponder) throws(ConfigurationError) {
        guard !offloads.isEmpty else { return }
        let (responder, counters) = (SPOEResponder(checks: checks), OffloadCounters(factory: registry))
        for offload in offloads {
            let listener = SPOPListener(
                try certificates.settings(of: offload.listener, offload.places.listener),
                responder,
                group: loops,
                places: offload.places,
                budget: budget,
                onEnd: { counters.count($0) },
                onListening: onListening(offload.places.listener)
            )
            listeners.append(listener)
        }
    }

    package func gauges(_ places: [ConnectionPlaces], _ sink: LogSink) -> ServiceGauges {
        ServiceGauges(
            inFlight: inFlight,
            reloads: reloads,
            sink: sink,
            places: places,
            mirror: mirror,
            keySets: keySets
        )
    }

    package mutating func addManifests(_ manifests: Places) throws(ConfigurationError) {
        guard let origin, let settings = configuration.manifest else { return }
        let responder = ManifestResponder(
            live: live,
            metrics: metrics,
            inFlight: inFlight,
            counters: ManifestCounters(factory: registry),
            origin: origin,
            fetches: ConcurrencyLimit(settings.fetches),
            isSecure: settings.listeners.first?.tls != nil,
            helpURL: configuration.api.helpURL,
            clock: environment.clock
        )
        for manifest in manifests { listeners.append(try listener(manifest.listener, responder, manifest.places)) }
    }

    private func places(_ name: String, _ listener: GateConfiguration.Listener) -> ConnectionPlaces {
        let (live, reporter) = (live, reporter)
        return ConnectionPlaces(
            name,
            listener.limits,
            factory: registry,
            standing: { peer in
                switch name {
                case "edge", "spoe", "grpc": live.standing(of: peer)
                // Who has no key yet is as good as anyone without one.
                case "api": live.current.configuration.api.callers == nil ? .trusted : .unknown
                default: .trusted
                }
            },
            report: { reporter.report($0, $1, listener: name) }
        )
    }

    private func listener(
        _ listener: GateConfiguration.Listener,
        _ responder: any HTTPService,
        _ places: ConnectionPlaces
    ) throws(ConfigurationError) -> HTTPListener {
        HTTPListener(
            try certificates.settings(of: listener, places.listener),
            responder,
            group: loops,
            places: places,
            budget: budget,
            clock: environment.clock,
            onListening: onListening(places.listener)
        )
    }

    /// Returns a function that tells where a listener listens.
    private func onListening(_ name: String) -> @Sendable (ListenerAddress) -> Void {
        let (logger, onListening) = (logger, environment.onListening)
        return { address in
            logger.info("listening", metadata: ["listener": "\(name)", "address": "\(address)"])
            onListening(name, "\(address)")
        }
    }
}
