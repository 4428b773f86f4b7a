// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import CoreMetrics
internal import Cryptography
internal import Dispatch
internal import EdgeListener
internal import Encodings
internal import GateConfiguration
internal import HTTPServer
internal import KeySources
internal import Logging
internal import MediaTokens
internal import Platform
internal import PlaybackGate
internal import RedisStore
internal import ServiceLifecycle
internal import SharedGrants
internal import Synchronization
internal import Telemetry
internal import UnixSignals

/// Reloads the configuration and the files that it names: on SIGHUP, on request, and when files change.
///
/// A reload is atomic. After an error the previous configuration stays active. The store, the log, and the listeners
/// except their certificates do not change; a restart is needed to change them.
final class Reloader: Service {
    private let live: CurrentGate
    private let observer: any DecisionObserver
    private let metrics: any MetricsFactory
    private let logger: Logger
    private let counts: ReloadCounts
    /// The objects that the active gate was made of, from which one with other keys is made. The lock serializes reloads: one
    /// that began earlier must not end later.
    private let builder: Mutex<GateLoader>

    private let clock: @Sendable () -> Timestamp
    private let keySets: KeySetKeeper
    private let leaks: LeakWatch
    private let certificates: ListenerCertificates
    /// The address at which the API listens, whatever reloads say.
    private let boundAPI: ListenerAddress

    init(
        _ live: CurrentGate,
        builder: GateLoader,
        keySets: KeySetKeeper,
        leaks: LeakWatch,
        certificates: ListenerCertificates,
        observer: any DecisionObserver,
        metrics: any MetricsFactory,
        logger: Logger,
        counts: ReloadCounts,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.live = live
        boundAPI = live.current.configuration.api.listener.address
        self.builder = Mutex(builder)
        self.keySets = keySets
        self.leaks = leaks
        self.certificates = certificates
        self.clock = clock
        self.observer = observer
        self.metrics = metrics
        self.logger = logger
        self.counts = counts
    }

    func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(name: "reload on SIGHUP") {
                for await _ in await UnixSignalsSequence(trapping: .sighup).cancelOnGracefulShutdown() {
                    await self.reload(because: "SIGHUP")
                }
            }
            group.addTask(name: "reload on change") { await self.watch() }
            group.addTask(name: "key sets") { await self.keySets.run { self.useFetchedKeys() } }
        }
    }

    /// Activates a gate with the present keys of fetched sets, at once and without reading any file.
    private func useFetchedKeys() {
        builder.withLock { builder in
            let present = live.current
            let keys = keySets.keys
            var grants = present.gate.grants
            if let authority = grants, let parts = builder.grants {
                let verifiers = parts.verifiers(with: keys)
                grants = GrantService(authority, verifier: verifiers.cat, signedURIs: verifiers.signedURIs)
            }
            var starter = present.gate.starter
            if let working = starter, let verifier = builder.starts?.verifier(with: keys) {
                starter = PlaybackStarter(working, verifier: verifier)
            }
            let gate = builder.gate(
                present.configuration,
                store: present.gate.store,
                grants: grants,
                starter: starter,
                observer: observer
            )
            live.replace(with: present.with(gate))
        }
    }

    private func watch() async {
        let configuration = live.current.configuration
        guard configuration.watch != .nothing else { return }
        let interval = configuration.advanced.watchInterval
        let isWhole = configuration.watch == .configuration
        await cancelWhenGracefulShutdown {
            var watch = FileWatch<FileStamps>()
            while (try? await Task.sleep(for: interval)) != nil {
                let present = self.live.current
                let all = FileStamps(present.configuration)
                let (seen, active) = isWhole ? (all, present.files) : (all.ofNamedFiles, present.files.ofNamedFiles)
                guard watch.look(seen, active: active, inForce: present.number, at: .now) else { continue }
                if await self.reload(because: "files changed", rereading: isWhole) != nil {
                    watch.refuse(seen, inForce: present.number, until: .now + interval * 30)
                }
            }
        }
    }

    /// Reloads everything on a background thread, because a large feed needs seconds.
    ///
    /// - Parameter rereads: True to read the configuration file again; false to read only the files that it names.
    /// - Returns: The error; `nil` if the new configuration is active.
    @discardableResult
    func reload(because reason: String, rereading rereads: Bool = true) async -> ConfigurationError? {
        await withCheckedContinuation { continuation in
            DispatchQueue.global(qos: .utility).async {
                continuation.resume(returning: self.reloadNow(because: reason, rereading: rereads))
            }
        }
    }

    private func reloadNow(because reason: String, rereading rereads: Bool) -> ConfigurationError? {
        builder.withLock { active in
            do throws(ConfigurationError) {
                active = try replacePresent(because: reason, rereading: rereads)
                return nil
            } catch {
                counts.failed(error)
                for problem in error.problems {
                    logger.error(
                        "reload failed, the previous configuration stays active: \(problem)",
                        metadata: ["because": "\(reason)"]
                    )
                }
                return error
            }
        }
    }

    /// Reads the configuration, or the files that it names, again, and activates a gate with it.
    private func replacePresent(
        because reason: String,
        rereading rereads: Bool
    ) throws(ConfigurationError) -> GateLoader {
        let present = live.current
        let now = clock()
        let configuration =
            rereads
            ? try GateConfiguration(file: present.configuration.file.path)
            : try GateConfiguration(again: present.configuration)
        let builder = try GateLoader(configuration, at: now)
        try demandRestart(for: configuration, present: present)
        let certificates = try certificates.replacement(configuration)
        for path in try configuration.state.writeNewKeys() { logger.notice("made a key of streams: \(path)") }
        keySets.adopt(builder.remotes)
        let gate = builder.gate(
            configuration,
            store: present.gate.store,
            grants: present.gate.grants.flatMap {
                builder.grants?.authority(replacing: $0, keySets: keySets, leaks: leaks, metrics: metrics)
            },
            starter: builder.starts?.starter(keySets: keySets),
            observer: observer
        )
        live.replace(
            with: CurrentGate.Snapshot(
                gate: gate,
                configuration: configuration,
                publishedKeys: builder.grants?.published,
                licensed: builder.licensed,
                files: builder.files,
                loaded: now
            )
        )
        leaks.set(configuration.leaks.action, handover: configuration.leaks.handover)
        leaks.set(renditions: configuration.leaks.renditions)
        certificates.adopt()
        counts.succeeded()
        for warning in builder.warnings { logger.warning("\(warning)") }
        for part in configuration.fixedParts(differingFrom: present.configuration) {
            logger.warning("a change of \(part) takes effect after a restart")
        }
        logger.info(
            "reloaded",
            metadata: [
                "because": "\(reason)", "keys": "\(builder.trust.keys.count)",
                "entries": "\(builder.catalogue.count)",
            ]
        )
        return builder
    }
}

extension Reloader {
    /// Refuses what would be unsafe before a restart.
    private func demandRestart(
        for configuration: GateConfiguration,
        present: CurrentGate.Snapshot
    ) throws(ConfigurationError) {
        // The new address may be a socket for a few, and the one in use one for everybody.
        if configuration.api.callers == nil, configuration.api.listener.address != boundAPI {
            throw ConfigurationError(
                configuration.api.listener.location,
                reason:
                    "a change of the address needs a restart; until then everybody could call the API at \(boundAPI)"
            )
        }
        guard let grants = present.configuration.grants else {
            // Its streams would consume tokens, and hand over no grant.
            guard let location = configuration.grants?.subjectKey.location else { return }
            throw ConfigurationError(location, reason: "a gate without grants gets them with a restart")
        }
        // A new key would refuse all that play now.
        let known = grants.keys.contains { $0.id == GateConfiguration.StreamDefaults.key }
        for key in configuration.state.newKeys where known || !key.signsGrants {
            throw ConfigurationError(
                configuration.file.location("stateFolder"),
                reason: "\(key.path) is gone: put it back; the one that was read before stays in use"
            )
        }
    }
}

extension GateConfiguration {
    /// Returns the names of the settings that need a restart and differ from those of `other`.
    fileprivate func fixedParts(differingFrom other: GateConfiguration) -> [String] {
        let (mine, its) = (fixed, other.fixed)
        return mine.keys.filter { mine[$0] != its[$0] }.sorted()
    }

    /// The settings that need a restart, as text. The rules of `replayStore` and the callers of the API change with a reload.
    private var fixed: [String: String] {
        [
            "replayStore": use.store.text, "api.listen": api.listener.text,
            "admin": admin.text,
            "edge.listen": edge.map { "\($0.listeners.map(\.text)) \($0.offloads.map(\.text)) \($0.grpc.map(\.text))" }
                ?? "none",
            "manifest.listen": manifest?.listeners.map(\.text).joined(separator: " ") ?? "none",
            "log": "\(log.format) \(log.level) \(log.checks) \(log.salt?.text ?? "")",
            "traces": traces?.text ?? "",
            "watch": watch.rawValue, "advanced": advanced.fixed,
            "grants.subjectKey": grants.map { SHA256.digest($0.subjectKey.value).hexadecimal } ?? "",
        ]
    }
}

extension GateConfiguration.Advanced {
    /// The settings that need a restart. Those of key sets, of policies and of caches do not.
    fileprivate var fixed: String {
        let manifests = "\(manifests.fetches) \(manifests.bytes) \(manifests.connect)"
        return "\(limits) \(concurrency) \(helpURL) \(manifests) \(shutdownGrace) \(watchInterval)"
    }
}

extension GateConfiguration.Traces {
    /// The settings, without secrets in clear.
    fileprivate var text: String {
        let fields = headers.map { "\($0.name) \(SHA256.digest($0.value.text).hexadecimal)" }
        return "\(endpoint) \(share) \(limit) \(service) \(fields)"
    }
}

extension GateConfiguration.Listener {
    /// The settings of the listener that need a restart, without their location in the file.
    fileprivate var text: String {
        "\(address) \(socketMode ?? 0) \(socketGroup?.value ?? "") \(tls != nil) \(limits)"
    }
}

extension GateConfiguration.Use.Store {
    /// The settings of the store, without their location in the file.
    fileprivate var text: String {
        switch self {
        case .sqlite(let file): return file.value
        case .memory: return "\(self)"
        #if Redis
            case .redis(let settings):
                var secrets = [settings.password?.text ?? ""]
                if case .sentinels(let sentinels) = settings.servers { secrets.append(sentinels.password?.text ?? "") }
                return "\(self) \(secrets.map { SHA256.digest($0).hexadecimal })"
        #endif
        }
    }
}
