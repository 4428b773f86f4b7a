// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Service
    internal import Keys
    package import Logging
    internal import Platform
    internal import ServiceLifecycle
    internal import Synchronization

    /// The sources of fetched key sets. A reload retains those whose configuration has not changed.
    package final class KeySetKeeper: Sendable {
        private let clock: @Sendable () -> Timestamp
        private let sleep: @Sendable (Int64) async -> Void
        private let fetcher: @Sendable (any KeySetFetcher) -> any KeySetFetcher
        private let logger: Logger
        private let entries = Mutex<[Entry]>([])
        /// The sources that are to be run.
        private let started: AsyncStream<KeySource>
        private let start: AsyncStream<KeySource>.Continuation

        private struct Entry: Sendable {
            let remote: Remote
            let source: KeySource
        }

        /// A key set to fetch.
        package struct Remote: Sendable {
            package let configuration: KeySource.Configuration
            package let networks: PermittedAddresses
            /// PEM with the certificate authorities of the server; `nil` for those of the system.
            package let authorities: [UInt8]?
            package let fetcher: any KeySetFetcher
            /// True if the address is that of the issuer's discovery document.
            package let isDiscovered: Bool

            /// Creates a value of its members.
            package init(
                configuration: KeySource.Configuration,
                networks: PermittedAddresses,
                authorities: [UInt8]?,
                fetcher: any KeySetFetcher,
                isDiscovered: Bool = false
            ) {
                self.isDiscovered = isDiscovered
                self.configuration = configuration
                self.networks = networks
                self.authorities = authorities
                self.fetcher = fetcher
            }

            /// The fetcher of the set, which reads its address from the discovery document if need be.
            package var completeFetcher: any KeySetFetcher { completed(fetcher) }

            func completed(_ fetcher: any KeySetFetcher) -> any KeySetFetcher {
                isDiscovered ? DiscoveringFetcher(fetcher, issuer: configuration.binding.issuer) : fetcher
            }

            /// True if both do the same.
            package func isSame(as other: Remote) -> Bool {
                configuration == other.configuration && networks == other.networks && authorities == other.authorities
                    && isDiscovered == other.isDiscovered
            }
        }

        ///   - clock: Returns the time.
        ///   - sleep: Waits for a number of milliseconds.
        ///   - fetcher: Returns what fetches instead of a fetcher: itself, but in tests.
        ///   - logger: Gets the outcome of each fetch.
        package init(
            clock: @escaping @Sendable () -> Timestamp,
            sleep: @escaping @Sendable (Int64) async -> Void,
            fetcher: @escaping @Sendable (any KeySetFetcher) -> any KeySetFetcher,
            logger: Logger
        ) {
            (self.clock, self.sleep, self.fetcher) = (clock, sleep, fetcher)
            self.logger = logger
            (started, start) = AsyncStream.makeStream()
        }

        /// Makes `remotes` the key sets to fetch. Sources of others stop.
        package func adopt(_ remotes: [Remote]) {
            entries.withLock { entries in
                var present = entries
                entries = remotes.map { remote in
                    if let index = present.firstIndex(where: { $0.remote.isSame(as: remote) }) {
                        return present.remove(at: index)
                    }
                    let entry = Entry(remote: remote, source: source(remote))
                    start.yield(entry.source)
                    return entry
                }
                for entry in present { entry.source.stop() }
            }
        }

        private func source(_ remote: Remote) -> KeySource {
            var logger = logger
            logger[metadataKey: "issuer"] = "\(remote.configuration.binding.issuer)"
            logger[metadataKey: "url"] = "\(remote.configuration.address.url)"
            let report = { @Sendable [logger] (event: KeySource.Event) in event.log(to: logger) }
            return KeySource(
                remote.configuration,
                fetcher: remote.completed(fetcher(remote.fetcher)),
                clock: clock,
                sleep: sleep,
                report: report
            )
        }

        /// Runs the sources until the task is cancelled or the service shuts down.
        package func run(onChange: @escaping @Sendable () -> Void) async {
            await cancelWhenGracefulShutdown { [started] in
                await withDiscardingTaskGroup { group in
                    for await source in started {
                        group.addTask(name: "key set") { await source.run { onChange() } }
                    }
                    group.cancelAll()
                }
            }
        }

        private var sources: [KeySource] { entries.withLock { $0.map(\.source) } }

        /// The keys of all sets.
        package var keys: [TokenKey] { sources.flatMap(\.keys) }

        /// Asks all sets for tokens of some formats for a key that none of them has. Returns true if one is being fetched that
        /// may bring it.
        package func ask(for id: KeyID, of isMeant: (TokenFormat) -> Bool, at now: Timestamp) -> Bool {
            var isAwaited = false
            for source in sources where isMeant(source.configuration.binding.format) {
                if source.ask(for: id, at: now) { isAwaited = true }
            }
            return isAwaited
        }

        /// Returns the state of each set, with its issuer.
        package func statuses(at now: Timestamp) -> [(issuer: String, status: KeySource.Status)] {
            sources.map { ($0.configuration.binding.issuer, $0.status(at: now)) }
        }

        /// Returns the issuers whose set is not there.
        package func missing(at now: Timestamp) -> [String] {
            statuses(at: now).filter { $0.status.keys.isEmpty }.map(\.issuer)
        }
    }

    extension KeySource.Event {
        fileprivate func log(to logger: Logger) {
            switch self {
            case .ended(let fetch):
                var metadata: Logger.Metadata = ["result": "\(fetch.outcome.name)", "keys": "\(fetch.keys)"]
                if let fault = fetch.fault { metadata["reason"] = "\(fault)" }
                switch fetch.outcome {
                case .unchanged: logger.debug("key set unchanged", metadata: metadata)
                case .fetched: logger.info("key set fetched", metadata: metadata)
                case .failed: logger.error("key set not fetched, the keys stay", metadata: metadata)
                }
                guard fetch.outcome == .fetched else { return }
                for entry in fetch.skipped.prefix(8) {
                    logger.warning("key \(entry.index + 1) of the set is not used: \(entry.reason)")
                }
            case .gone: logger.error("key set gone: no server confirmed it for too long")
            case .restored(let keys): logger.info("key set from before the restart", metadata: ["keys": "\(keys)"])
            case .notKept(let reason): logger.error("the copy of the key set \(reason)")
            }
        }
    }
#endif
