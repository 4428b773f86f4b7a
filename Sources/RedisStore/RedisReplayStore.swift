// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Platform

#if Redis
    internal import MediaTokens
    public import ReplayStores

    /// A replay store that several gates share: Redis 6.2 or later.
    ///
    /// Each use is one round trip and one atomic script, so two gates never both allow a token that may be consumed once. If
    /// the connection is lost, uses fail at once, and the store reconnects in the background with exponential back-off. Redis
    /// must not evict keys (`maxmemory-policy noeviction`), because evicted uses are forgotten.
    ///
    /// Run ``run(report:)`` for as long as the store is in use.
    public final class RedisReplayStore: ReplayStore {
        public let name = "redis"

        private let settings: RedisSettings
        private let keys: RedisKeys
        private let counters = RedisCounters()
        private let servers: any RedisServers
        /// The same servers, if they are one at a time.
        private let primary: RedisPrimary?
        package let deadline = StoreDeadline()

        /// Creates a store. It connects when ``run(report:)`` runs.
        public init(_ settings: RedisSettings) {
            self.settings = settings
            keys = settings.keys
            servers =
                switch settings.servers {
                case .one(let address):
                    RedisPrimary(at: address, settings: settings, deadline: deadline, counters: counters)
                case .sentinels(let sentinels):
                    RedisPrimary(of: sentinels, settings: settings, deadline: deadline, counters: counters)
                case .cluster(let seeds):
                    RedisCluster(seeds: seeds, settings: settings, deadline: deadline, counters: counters)
                }
            primary = servers as? RedisPrimary
        }

        /// Maintains an open connection until the task is cancelled.
        ///
        /// - Parameter report: A closure that is called with `nil` for every new connection, and with every error.
        public func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {
            await servers.run(report: report)
        }

        /// The deadline of a reply. (After `SCRIPT FLUSH`, one answer needs two replies.)
        public var longestWait: Duration? { settings.hasOneReply ? deadline.limit : nil }

        public func limitWaits(to limit: Duration) { deadline.limit = limit }

        public var gauges: [StoreGauge] {
            var gauges: [StoreGauge] = []
            if case .one = settings.servers {
            } else {
                let failovers = StoreGauge(
                    name: "playgate_store_failovers_total",
                    help: "Connections to another primary than before: each may have lost the last writes.",
                    value: Double(counters.failovers.value),
                    isCounter: true
                )
                gauges.append(failovers)
            }
            if settings.wait != nil {
                let unacknowledged = StoreGauge(
                    name: "playgate_store_unacknowledged_total",
                    help: "Writes that too few replicas acknowledged in time, and whose playbacks were refused.",
                    value: Double(counters.unacknowledged.value),
                    isCounter: true
                )
                gauges.append(unacknowledged)
            }
            if let share = counters.memory.largest {
                let memory = StoreGauge(
                    name: "playgate_store_memory_ratio",
                    help: "The share of its memory that Redis uses, from 0 to 1; a full one refuses uses.",
                    value: share
                )
                gauges.append(memory)
            }
            return gauges
        }

        // MARK: ReplayStore

        public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            // A revocation that arrives between the two calls is later than this use.
            if keys.areSpread, case .revoked(let kind) = try await revocation(of: use) { return .revoked(kind) }
            return try RedisUses.outcome(of: await servers.reply(to: RedisUses.use(use, under: keys)), use)
        }

        public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            if keys.areSpread { return try await revocation(of: use) }
            let call = RedisUses.use(use, isRecorded: false, under: keys)
            return try RedisUses.outcome(of: await servers.reply(to: call), use)
        }

        /// If keys are spread, a use needs several calls.
        public var supportsCallbacks: Bool { primary != nil && !keys.areSpread }

        public func requestOutcome(
            of use: TokenUse,
            isConsumed: Bool,
            receive: @escaping @Sendable (UseOutcome?) -> Void
        ) {
            guard let primary, supportsCallbacks else { return receive(nil) }
            primary.send(RedisUses.use(use, isRecorded: isConsumed, under: keys)) { result in
                receive(try? RedisUses.outcome(of: result.get(), use))
            }
        }

        /// Asks for all revocations of a token at once, each where its key is.
        private func revocation(of use: TokenUse) async throws(ReplayStoreError) -> UseOutcome {
            let examinations = RedisUses.examinations(of: use, under: keys)
            let results = await withTaskGroup(of: (Int, Result<RedisReply, ReplayStoreError>).self) { group in
                for (index, examination) in examinations.enumerated() {
                    group.addTask {
                        do throws(ReplayStoreError) {
                            return (index, .success(try await self.servers.reply(to: examination.call)))
                        } catch { return (index, .failure(error)) }
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            for (index, result) in results.sorted(by: { $0.0 < $1.0 }) where try RedisUses.isRevoked(result.get()) {
                return .revoked(examinations[index].kind)
            }
            return .notRevoked
        }

        public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
            for call in RedisRevocations.record(revocation, under: keys, at: now) {
                guard case .integer(1) = try await servers.reply(to: call) else {
                    throw ReplayStoreError(.unavailable, reason: "Redis did not record the revocation")
                }
            }
        }

        public func lift(_ key: SHA256Digest, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
            var wasRevoked = false
            for call in RedisRevocations.lift(key, under: keys) {
                let reply = try await servers.reply(to: call)
                guard case .integer(let number) = reply, 0...1 ~= number else { throw .unexpected(reply) }
                if number == 1 { wasRevoked = true }
            }
            return wasRevoked
        }

        public func check() async throws(ReplayStoreError) { try await servers.check() }

        // MARK: Grants

        public func insert(
            _ identity: SHA256Digest,
            until expires: Timestamp,
            at now: Timestamp
        ) async throws(ReplayStoreError) -> GrantUseOutcome {
            try RedisUses.grantOutcome(
                of: await servers.reply(to: RedisUses.grant(identity, until: expires, under: keys))
            )
        }

        public func acquire(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
            let outcome = try RedisLeases.outcome(
                of: await servers.reply(to: RedisLeases.bind(lease, under: keys, at: now))
            )
            guard keys.areSpread, outcome == .taken || outcome == .renewed else { return outcome }
            let before = try RedisLeases.set(
                in: await servers.reply(to: RedisLeases.acquire(lease, under: keys, at: now))
            )
            if let before, before != RedisLeases.setKey(of: lease, under: keys) {
                _ = try await servers.reply(to: RedisLeases.leave(before, by: lease.session))
            }
            return outcome
        }

        public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
            var reply = try await servers.reply(to: RedisLeases.free(session, under: keys))
            if keys.areSpread {
                guard let set = try RedisLeases.set(in: reply) else { return false }
                reply = try await servers.reply(to: RedisLeases.leave(set, by: session))
            }
            guard case .integer(let number) = reply else { throw .unexpected(reply) }
            return number == 1
        }

        public func note(
            _ renewal: GrantRenewal,
            at now: Timestamp
        ) async throws(ReplayStoreError) -> RenewalOutcome {
            try RedisRenewals.outcome(of: await servers.reply(to: RedisRenewals.note(renewal, under: keys, at: now)))
        }

        public var isShared: Bool { true }

        public func exchange(
            _ batch: [UInt8],
            after position: String?
        ) async throws(ReplayStoreError) -> PlaybackReports {
            let call = RedisReports.exchange(batch, after: position, under: keys)
            return try RedisReports.batches(in: await servers.reply(to: call))
        }

        public func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
            let position = RedisRevocations.Position(cursor, connection: try servers.connectionNumber())
            return try RedisRevocations.changes(
                in: await servers.reply(to: RedisRevocations.list(after: position, keys)),
                after: position
            )
        }
    }
#endif
