// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import ReplayStores
    internal import Synchronization

    /// The servers behind a store.
    protocol RedisServers: Sendable {
        /// Calls a script on the server that has its keys.
        ///
        /// - Throws: If no server can run it now, or the server refuses it.
        func reply(to call: RedisScript.Invocation) async throws(ReplayStoreError) -> RedisReply

        /// The number of the connections: after a change, records that were read before may be lost.
        func connectionNumber() throws(ReplayStoreError) -> Int

        /// Finds out whether the servers can record uses.
        func check() async throws(ReplayStoreError)

        /// Maintains the connections until the task is cancelled.
        func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async
    }

    /// One server at a time: that of a fixed address, or the primary that sentinels name.
    final class RedisPrimary: RedisServers {
        private let settings: RedisSettings
        private let deadline: StoreDeadline
        private let counters: RedisCounters
        private let location: Location
        private let link = Mutex<Link>(.down("not connected yet"))

        private enum Location {
            case fixed(RedisSettings.Address)
            case named(RedisSentinels)
        }

        private enum Link {
            case up(RedisNode)
            case down(String)
        }

        /// Creates the connection to the server at `address`.
        init(
            at address: RedisSettings.Address,
            settings: RedisSettings,
            deadline: StoreDeadline,
            counters: RedisCounters
        ) {
            location = .fixed(address)
            self.settings = settings
            self.deadline = deadline
            self.counters = counters
        }

        /// Creates the connection to the primary that `sentinels` name.
        init(
            of sentinels: RedisSettings.Sentinels,
            settings: RedisSettings,
            deadline: StoreDeadline,
            counters: RedisCounters
        ) {
            location = .named(RedisSentinels(sentinels, tls: settings.tls))
            self.settings = settings
            self.deadline = deadline
            self.counters = counters
        }

        func reply(to call: RedisScript.Invocation) async throws(ReplayStoreError) -> RedisReply {
            try await withRedisReply { send(call, receive: $0) }
        }

        /// Calls a script, and then `receive` with the reply or the error, as ``reply(to:)`` does.
        func send(_ call: RedisScript.Invocation, receive: @escaping RedisReceiver) {
            let node: RedisNode
            do throws(ReplayStoreError) { node = try self.node() } catch { return receive(.failure(error)) }
            node.send(call) { result in
                guard case .success(.error(let text)) = result else { return receive(result) }
                // Reconnect: after a new look-up, the address may no longer lead to a replica or to a server that loads
                // its data. Before version 7, the code of an error of a script is inside its text.
                let codes = ["READONLY", "LOADING", "MASTERDOWN"]
                if codes.contains(where: { text.hasPrefix($0) || text.contains("-\($0)") }) { node.link.close() }
                receive(.failure(ReplayStoreError(.unavailable, reason: "Redis refused: \(text)")))
            }
        }

        func connectionNumber() throws(ReplayStoreError) -> Int { try node().number }

        func check() async throws(ReplayStoreError) {
            try RedisUses.demandProof(in: await reply(to: RedisUses.probe(0, under: settings.keys)))
        }

        private func node() throws(ReplayStoreError) -> RedisNode {
            switch link.withLock({ $0 }) {
            case .up(let node): return node
            case .down(let reason): throw ReplayStoreError(.unavailable, reason: "Redis is not connected: \(reason)")
            }
        }

        // MARK: Connecting

        func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {
            var (pause, last) = (Self.shortestPause, RedisSettings.Address?.none)
            while !Task.isCancelled {
                do throws(ReplayStoreError) {
                    let node = try await connect()
                    if let last, last != node.link.address { counters.failovers.add() }
                    last = node.link.address
                    link.withLock { $0 = .up(node) }
                    report(nil)
                    pause = Self.shortestPause
                    await watch(node)
                    counters.memory.note(nil, of: node.link.address)
                    link.withLock { $0 = .down("the connection closed") }
                    if !Task.isCancelled {
                        report(ReplayStoreError(.unavailable, reason: "the connection to Redis closed"))
                    }
                } catch {
                    link.withLock { $0 = .down(error.reason) }
                    if !Task.isCancelled { report(error) }
                }
                // Jitter prevents gates that lost the same server from reconnecting in step.
                let jittered = pause * Double.random(in: 0.5...1)
                try? await Task.sleep(for: jittered)
                pause = min(pause * 2, longestPause)
            }
        }

        private static let shortestPause = Duration.milliseconds(50)

        /// Sentinels know of a new primary within seconds.
        private var longestPause: Duration {
            switch location {
            case .fixed: .seconds(2)
            case .named: .milliseconds(500)
            }
        }

        private func connect() async throws(ReplayStoreError) -> RedisNode {
            let address: RedisSettings.Address
            let mustBePrimary: Bool
            switch location {
            case .fixed(let fixed): (address, mustBePrimary) = (fixed, false)
            case .named(let sentinels): (address, mustBePrimary) = (try await sentinels.primary(), true)
            }
            return try await RedisNode.connect(
                to: address,
                settings: settings,
                deadline: deadline,
                mustBePrimary: mustBePrimary,
                unacknowledged: counters.unacknowledged
            )
        }

        /// Waits until the connection ends, and ends it as soon as the sentinels name another primary, or the server may forget
        /// uses.
        private func watch(_ node: RedisNode) async {
            await withTaskGroup(of: Void.self) { group in
                if case .named(let sentinels) = location {
                    group.addTask(name: "watch the sentinels") {
                        while (try? await Task.sleep(for: Self.watchInterval)) != nil {
                            // Without an answer, the primary is still the one that was named last.
                            guard let named = try? await sentinels.primary(), named != node.link.address else {
                                continue
                            }
                            node.link.close()
                        }
                    }
                }
                group.addTask(name: "watch the memory") { [counters] in
                    while (try? await Task.sleep(for: Self.watchInterval)) != nil {
                        // To connect again tells why, and refuses until it is mended.
                        if await node.mayForget(counters) { node.link.close() }
                    }
                }
                await node.link.waitUntilClosed()
                group.cancelAll()
            }
        }

        private static let watchInterval = Duration.seconds(1)
    }

    /// The counters of the servers of a store.
    struct RedisCounters: Sendable {
        /// Connections to another primary than before.
        let failovers = RedisCounter()
        /// Writes that too few replicas acknowledged.
        let unacknowledged = RedisCounter()
        /// The shares of their memory that servers use.
        let memory = RedisMemory()
    }

    /// The shares of their memory that the servers of a store use, as they said last.
    final class RedisMemory: Sendable {
        private let shares = Mutex<[RedisSettings.Address: Double]>([:])

        /// The largest share, from 0 to 1; `nil` if no server has a limit.
        var largest: Double? { shares.withLock { $0.values.max() } }

        /// Notes the share of a server; `nil` for one without a limit, or one that is gone.
        func note(_ share: Double?, of address: RedisSettings.Address) {
            shares.withLock { $0[address] = share }
        }
    }
#endif
