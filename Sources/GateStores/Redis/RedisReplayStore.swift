// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

#if Redis
    public import MediaTokens
    internal import NIOCore
    internal import NIOPosix
    public import PlaybackGate
    internal import Synchronization

    /// A replay store that several gates share: Redis 6.2 or later.
    ///
    /// Each use is one round trip and one atomic script, so two gates never both allow a token that may be consumed once. If
    /// the connection is lost, uses fail at once, and the store reconnects in the background with exponential back-off from
    /// 50 ms to 2 s. Redis must not evict keys (`maxmemory-policy noeviction`), because evicted uses are forgotten.
    ///
    /// Run ``run(report:)`` for as long as the store is in use.
    public final class RedisReplayStore: GrantStore {
        public let name = "redis"

        private let settings: RedisSettings
        private let group: any EventLoopGroup
        private let link = Mutex<Link>(.down("not connected yet"))

        private enum Link {
            case up(Connection)
            case down(String)
        }

        private struct Connection {
            let channel: any Channel
            let digests: [RedisScript: String]
            /// The number of the connection: one after another may lead to a server that has lost records.
            let number: Int
        }

        private static let connections = Atomic<Int>(0)

        /// Creates a store. It connects when ``run(report:)`` runs.
        public init(_ settings: RedisSettings) {
            self.settings = settings
            group = MultiThreadedEventLoopGroup.singleton
        }

        // MARK: ReplayStore

        public func record(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            let call = RedisUses.use(use, prefix: settings.keyPrefix)
            return try RedisUses.outcome(of: await reply(to: call), use)
        }

        public func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            let call = RedisUses.use(use, isRecorded: false, prefix: settings.keyPrefix)
            return try RedisUses.outcome(of: await reply(to: call), use)
        }

        public func revoke(_ revocation: Revocation, at now: Timestamp) async throws(ReplayStoreError) {
            let call = RedisRevocations.record(revocation, prefix: settings.keyPrefix, at: now)
            guard case .integer(1) = try await reply(to: call) else {
                throw ReplayStoreError(.unavailable, "Redis did not record the revocation")
            }
        }

        public func check() async throws(ReplayStoreError) {
            guard case .text(let text) = try await send(RedisCommand("PING")), text == [UInt8]("PONG".utf8) else {
                throw ReplayStoreError(.unavailable, "Redis did not answer PING with PONG")
            }
        }

        // MARK: Grants

        public func insert(
            _ identity: SHA256Digest,
            until expires: Timestamp,
            at now: Timestamp
        ) async throws(ReplayStoreError) -> GrantUseOutcome {
            let call = RedisUses.grant(identity, until: expires, prefix: settings.keyPrefix)
            return try RedisUses.grantOutcome(of: await reply(to: call))
        }

        public func take(_ lease: StreamLease, at now: Timestamp) async throws(ReplayStoreError) -> LeaseOutcome {
            try RedisLeases.outcome(of: await reply(to: RedisLeases.take(lease, prefix: settings.keyPrefix, at: now)))
        }

        public func free(_ session: SessionID, at now: Timestamp) async throws(ReplayStoreError) -> Bool {
            let reply = try await reply(to: RedisLeases.free(session, prefix: settings.keyPrefix))
            guard case .integer(let number) = reply else { throw .unexpected(reply) }
            return number == 1
        }

        public func revocations(after cursor: RevocationCursor?) async throws(ReplayStoreError) -> RevocationChanges {
            let place = RedisRevocations.Place(cursor, connection: try connection().number)
            let reply = try await reply(to: RedisRevocations.list(after: place, prefix: settings.keyPrefix))
            return try RedisRevocations.changes(in: reply, after: place)
        }

        // MARK: Commands

        /// Calls the script by its digest, and by its text if Redis no longer has it.
        private func reply(to call: RedisScript.Invocation) async throws(ReplayStoreError) -> RedisReply {
            let connection = try connection()
            let digest = connection.digests[call.script] ?? ""
            let reply = try await Self.send(call.command(digest: digest), on: connection.channel)
            guard case .error(let text) = reply else { return reply }
            if text.hasPrefix("NOSCRIPT") {
                let again = try await Self.send(call.command(), on: connection.channel)
                if case .error(let text) = again { throw ReplayStoreError(.unavailable, "Redis refused: \(text)") }
                return again
            }
            // Reconnect: after a new look-up, the address may no longer lead to a replica or to a server that loads its
            // data.
            if text.hasPrefix("READONLY") || text.hasPrefix("LOADING") || text.hasPrefix("MASTERDOWN") { drop() }
            throw ReplayStoreError(.unavailable, "Redis refused: \(text)")
        }

        private func send(_ command: RedisCommand?) async throws(ReplayStoreError) -> RedisReply {
            try await Self.send(command, on: try connection().channel)
        }

        private func connection() throws(ReplayStoreError) -> Connection {
            switch link.withLock({ $0 }) {
            case .up(let connection): return connection
            case .down(let reason): throw ReplayStoreError(.unavailable, "Redis is not connected: \(reason)")
            }
        }

        private static func send(
            _ command: RedisCommand?,
            on channel: any Channel
        ) async throws(ReplayStoreError) -> RedisReply {
            guard let command else { throw ReplayStoreError(.unavailable, "out of memory for a command") }
            let promise = channel.eventLoop.makePromise(of: RedisReply.self)
            let request = RedisRequest(command: command, promise: promise)
            channel.writeAndFlush(request).whenFailure { promise.fail($0) }
            do { return try await promise.futureResult.get() } catch let error as ReplayStoreError { throw error } catch
            {
                throw ReplayStoreError(.unavailable, "the connection to Redis failed: \(error)")
            }
        }

        private func drop() {
            if case .up(let connection) = link.withLock({ $0 }) { connection.channel.close(mode: .all, promise: nil) }
        }

        // MARK: Connecting

        /// Keeps a connection open until the task is cancelled.
        ///
        /// - Parameter report: A closure that is called with `nil` for every new connection, and with every error.
        public func run(report: @escaping @Sendable (ReplayStoreError?) -> Void) async {
            var pause = Duration.milliseconds(50)
            while !Task.isCancelled {
                do throws(ReplayStoreError) {
                    let channel = try await connect()
                    report(nil)
                    pause = .milliseconds(50)
                    // Wait until either side closes the connection.
                    await withTaskCancellationHandler {
                        try? await channel.closeFuture.get()
                    } onCancel: {
                        channel.close(mode: .all, promise: nil)
                    }
                    link.withLock { $0 = .down("the connection closed") }
                    if !Task.isCancelled { report(ReplayStoreError(.unavailable, "the connection to Redis closed")) }
                } catch {
                    link.withLock { $0 = .down(error.reason) }
                    if !Task.isCancelled { report(error) }
                }
                // Jitter keeps gates that lost the same server from reconnecting in step.
                let jittered = pause * Double.random(in: 0.5...1)
                try? await Task.sleep(for: jittered)
                pause = min(pause * 2, .seconds(2))
            }
        }

        private func connect() async throws(ReplayStoreError) -> any Channel {
            let channel: any Channel
            do { channel = try await bootstrap() } catch {
                throw ReplayStoreError(.unavailable, "\(settings.address) cannot be reached: \(error)")
            }
            do throws(ReplayStoreError) {
                let digests = try await greet(channel)
                let number = Self.connections.add(1, ordering: .relaxed).newValue
                link.withLock { $0 = .up(Connection(channel: channel, digests: digests, number: number)) }
                return channel
            } catch {
                channel.close(mode: .all, promise: nil)
                throw error
            }
        }

        private func bootstrap() async throws -> any Channel {
            let (tls, patience) = (try RedisTLS(settings), settings.patience)
            let bootstrap = ClientBootstrap(group: group)
                .connectTimeout(settings.connectTimeout)
                .channelOption(.socketOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try tls?.addHandler(to: channel.pipeline.syncOperations)
                        try channel.pipeline.syncOperations.addHandler(RedisConnectionHandler(patience: patience))
                    }
                }
            return switch settings.address {
            case .tcp(let host, let port): try await bootstrap.connect(host: host, port: port).get()
            case .unix(let path):
                try await bootstrap.channelOption(.socketOption(.tcp_nodelay), value: 0)
                    .connect(unixDomainSocketPath: path).get()
            }
        }

        /// Authenticates, checks the settings of the server, and loads the scripts. Returns their digests.
        private func greet(_ channel: any Channel) async throws(ReplayStoreError) -> [RedisScript: String] {
            if let password = settings.password {
                let words = ["AUTH"] + (settings.user.map { [$0] } ?? []) + [password.text]
                try await expectOK(RedisCommand(words.map { [UInt8]($0.utf8) }), "login", channel)
            }
            if settings.database != 0 {
                try await expectOK(RedisCommand("SELECT", "\(settings.database)"), "selection of the database", channel)
            }
            try await checkEviction(channel)
            var digests: [RedisScript: String] = [:]
            for script in RedisScript.allCases {
                switch try await Self.send(script.load, on: channel) {
                case .text(let digest): digests[script] = String(decoding: digest, as: UTF8.self)
                case .error(let reason):
                    throw ReplayStoreError(.misconfigured, "Redis refused to load a script: \(reason)")
                default: throw ReplayStoreError(.misconfigured, "Redis refused to load a script")
                }
            }
            return digests
        }

        private func expectOK(
            _ command: RedisCommand?,
            _ what: String,
            _ channel: any Channel
        ) async throws(ReplayStoreError) {
            switch try await Self.send(command, on: channel) {
            case .text(let text) where text == [UInt8]("OK".utf8): return
            case .error(let reason): throw ReplayStoreError(.misconfigured, "Redis refused the \(what): \(reason)")
            default: throw ReplayStoreError(.misconfigured, "Redis refused the \(what)")
            }
        }

        /// Checks that the server evicts no keys, which would forget uses. The check passes if the server does not permit
        /// `INFO`.
        private func checkEviction(_ channel: any Channel) async throws(ReplayStoreError) {
            guard case .text(let bytes) = try await Self.send(RedisCommand("INFO", "memory"), on: channel) else {
                return
            }
            var facts: [Substring: Substring] = [:]
            let info = String(decoding: bytes, as: UTF8.self)
            for line in info.split(whereSeparator: \.isNewline) {
                guard let colon = line.firstIndex(of: ":") else { continue }
                facts[line[..<colon]] = line[line.index(after: colon)...]
            }
            guard let limit = facts["maxmemory"], limit != "0", let policy = facts["maxmemory_policy"] else { return }
            guard policy == "noeviction" else {
                throw ReplayStoreError(
                    .misconfigured,
                    "Redis evicts keys (maxmemory-policy \(policy)) and would lose consumed tokens: set it to noeviction"
                )
            }
        }
    }
#endif
