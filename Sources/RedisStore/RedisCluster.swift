// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import ReplayStores
    internal import Synchronization

    /// The primaries of a Redis Cluster, each with a connection.
    ///
    /// The map of slots is read from any server that answers: at the start, each second, and whenever a slot has moved
    /// or a connection ends. A call follows at most five redirections.
    final class RedisCluster: RedisServers {
        private let seeds: [RedisSettings.Address]
        private let settings: RedisSettings
        private let deadline: StoreDeadline
        private let counters: RedisCounters
        private let state = Mutex(State())

        private struct State {
            var map: RedisSlotMap?
            var nodes: [RedisSettings.Address: RedisNode] = [:]
            /// The connections that are being made, each of which many calls may wait for.
            var coming: [RedisSettings.Address: Task<Result<RedisNode, ReplayStoreError>, Never>] = [:]
            /// The times at which servers were last in the map or used by a redirection.
            var used: [RedisSettings.Address: ContinuousClock.Instant] = [:]
            /// Grows with each connection and each end of one: earlier results may be lost.
            var number = 0
            var reason = "not connected yet"

            var fault: ReplayStoreError {
                ReplayStoreError(.unavailable, reason: "a part of the Redis Cluster is not connected: \(reason)")
            }
        }

        /// The time after which a connection to a server that is not in the map and not used is closed: longer than a call.
        private static let idleLimit = Duration.seconds(10)
        private static let mostRedirections = 5
        private static let interval = Duration.seconds(1)
        private static let shortestPause = Duration.milliseconds(50)

        init(
            seeds: [RedisSettings.Address],
            settings: RedisSettings,
            deadline: StoreDeadline,
            counters: RedisCounters
        ) {
            self.seeds = seeds
            self.settings = settings
            self.deadline = deadline
            self.counters = counters
        }

        // MARK: Calls

        func reply(to call: RedisScript.Invocation) async throws(ReplayStoreError) -> RedisReply {
            let slot = call.slot
            var node = try node(of: slot)
            var isAsking = false
            for count in 0...Self.mostRedirections {
                let reply = try await withRedisReply { node.send(call, asking: isAsking, receive: $0) }
                guard case .error(let text) = reply else { return reply }
                if let redirection = RedisRedirection(text, from: node.link.address) {
                    if redirection.isForGood {
                        state.withLock { $0.map?.move(redirection.slot, to: redirection.address) }
                    }
                    isAsking = !redirection.isForGood
                    node = try await self.node(at: redirection.address)
                } else if text.hasPrefix("TRYAGAIN") {
                    // The keys of the call are on two servers, while their slot migrates.
                    try? await Task.sleep(for: .milliseconds(5 << count))
                    (node, isAsking) = (try self.node(of: slot), false)
                } else {
                    // A server that is no longer a primary receives no other call.
                    if text.hasPrefix("READONLY") || text.hasPrefix("LOADING") { node.link.close() }
                    throw ReplayStoreError(.unavailable, reason: "Redis refused: \(text)")
                }
            }
            throw ReplayStoreError(.unavailable, reason: "the slot of a key migrates for too long")
        }

        func connectionNumber() throws(ReplayStoreError) -> Int {
            try state.withLock { (state) throws(ReplayStoreError) in
                guard state.map != nil else { throw state.fault }
                return state.number
            }
        }

        func check() async throws(ReplayStoreError) {
            let (map, nodes, fault) = state.withLock { ($0.map, $0.nodes, $0.fault) }
            guard let map, map.isComplete else { throw fault }
            var unproven = Set(map.primaries.compactMap(\.self))
            guard unproven.allSatisfy({ nodes[$0] != nil }) else { throw fault }
            // Each primary has a part of the keys of these numbers.
            for number in 0..<Self.mostProbes where !unproven.isEmpty {
                let probe = RedisUses.probe(number, under: settings.keys)
                guard let primary = map.primaries[probe.slot], unproven.remove(primary) != nil else { continue }
                try RedisUses.demandProof(in: await reply(to: probe))
            }
        }

        /// The numbers among which a key for each primary is looked for: those of 1,000 primaries and more.
        private static let mostProbes = 20_000

        private func node(of slot: Int) throws(ReplayStoreError) -> RedisNode {
            try state.withLock { (state) throws(ReplayStoreError) in
                guard let primary = state.map?.primaries[slot], let node = state.nodes[primary] else {
                    throw state.fault
                }
                return node
            }
        }

        /// Returns a connection to a server, which is made if there is none.
        private func node(at address: RedisSettings.Address) async throws(ReplayStoreError) -> RedisNode {
            let (present, coming) = state.withLock { state in
                state.used[address] = .now
                if let node = state.nodes[address] { return (RedisNode?.some(node), state.coming[address]) }
                let coming = state.coming[address] ?? Task { await self.connect(to: address) }
                state.coming[address] = coming
                return (nil, coming)
            }
            if let present { return present }
            guard let coming else { throw ReplayStoreError(.unavailable, reason: "\(address) is not connected") }
            return try await coming.value.get()
        }

        private func connect(to address: RedisSettings.Address) async -> Result<RedisNode, ReplayStoreError> {
            do throws(ReplayStoreError) {
                let node = try await RedisNode.connect(
                    to: address,
                    settings: settings,
                    deadline: deadline,
                    mustBePrimary: true,
                    unacknowledged: counters.unacknowledged
                )
                state.withLock { state in
                    state.coming[address] = nil
                    state.nodes[address] = node
                    state.number += 1
                }
                forgetWhenClosed(node)
                return .success(node)
            } catch {
                state.withLock { $0.coming[address] = nil }
                return .failure(error)
            }
        }

        private func forgetWhenClosed(_ node: RedisNode) {
            node.link.whenClosed { [weak self] in
                self?.counters.memory.note(nil, of: node.link.address)
                self?.state.withLock { state in
                    guard state.nodes[node.link.address]?.number == node.number else { return }
                    state.nodes[node.link.address] = nil
                    state.number += 1
                    state.reason = "the connection to \(node.link.address) closed"
                }
            }
        }

        // MARK: Connecting

        func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {
            var (pause, isUp) = (Self.shortestPause, false)
            while !Task.isCancelled {
                do throws(ReplayStoreError) {
                    try await refresh()
                    if !isUp { report(nil) }
                    (isUp, pause) = (true, Self.shortestPause)
                    try? await Task.sleep(for: Self.interval)
                } catch {
                    state.withLock { $0.reason = error.reason }
                    if !Task.isCancelled { report(error) }
                    isUp = false
                    // Jitter prevents gates that lost the same server from reconnecting in step.
                    try? await Task.sleep(for: pause * Double.random(in: 0.5...1))
                    pause = min(pause * 2, .milliseconds(500))
                }
            }
            for node in state.withLock({ $0.nodes.values.map(\.self) }) { node.link.close() }
        }

        /// Reads the map, and connects to each primary in it.
        ///
        /// - Throws: If no server has a map, or a primary cannot be reached. The others are used all the same.
        private func refresh() async throws(ReplayStoreError) {
            let map = try await readMap()
            let primaries = Set(map.primaries.compactMap(\.self))
            let (lost, idle) = state.withLock { state in
                // A primary instead of one whose connection has ended is a failover; a slot that migrates is none.
                let before = Set(state.map?.primaries.compactMap(\.self) ?? [])
                let lost = before.subtracting(primaries).filter { state.nodes[$0] == nil }
                state.map = map
                for primary in primaries { state.used[primary] = .now }
                // A server without slots yet is not in the map, and calls about slots that migrate to it use it.
                let idle = state.used.filter { $0.value + Self.idleLimit < .now }.keys
                for address in idle { state.used[address] = nil }
                return (lost.count, idle.compactMap { state.nodes[$0] })
            }
            if lost > 0 { counters.failovers.add(lost) }
            for node in idle { node.link.close() }
            var fault: ReplayStoreError?
            for primary in primaries {
                do throws(ReplayStoreError) {
                    let node = try await node(at: primary)
                    // To connect again tells why, and refuses until it is mended.
                    if await node.mayForget(counters) { node.link.close() }
                } catch { fault = error }
            }
            if let fault { throw fault }
            if !map.isComplete {
                throw ReplayStoreError(.unavailable, reason: "the cluster has slots without a primary")
            }
        }

        /// Asks the servers that are connected, and then the seeds, for the map.
        private func readMap() async throws(ReplayStoreError) -> RedisSlotMap {
            var fault = ReplayStoreError(.unavailable, reason: "no server of the cluster is known")
            for node in state.withLock({ $0.nodes.values.map(\.self) }) {
                do throws(ReplayStoreError) { return try await node.link.readSlotMap() } catch { fault = error }
            }
            for seed in seeds {
                do throws(ReplayStoreError) {
                    let link = try await RedisLink.open(seed, tls: settings.tls, patience: settings.patience)
                    defer { link.close() }
                    try await link.login(as: settings.user, password: settings.password)
                    return try await link.readSlotMap()
                } catch { fault = error }
            }
            throw fault
        }
    }

    extension RedisLink {
        fileprivate func readSlotMap() async throws(ReplayStoreError) -> RedisSlotMap {
            let reply = try await send(RedisCommand("CLUSTER", "SLOTS"))
            if case .error(let text) = reply {
                throw ReplayStoreError(.misconfigured, reason: "\(address) refused CLUSTER SLOTS: \(text)")
            }
            guard let map = RedisSlotMap(reply, from: address) else { throw .unexpected(reply) }
            return map
        }
    }
#endif
