// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import NIOPosix
    internal import PlaybackGate

    /// An open connection to a server that speaks Redis's protocol: a server of the store, or a sentinel.
    struct RedisLink: Sendable {
        let address: RedisSettings.Address
        private let channel: any Channel

        /// Connects.
        ///
        /// - Parameter patience: The maximum wait for the connection, and for a reply before the connection is closed.
        static func open(
            _ address: RedisSettings.Address,
            tls: RedisSettings.TLS?,
            patience: TimeAmount
        ) async throws(ReplayStoreError) -> RedisLink {
            do {
                let tls = try tls.map { try RedisTLS($0, serverName: address.serverName) }
                let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                    .connectTimeout(patience)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try tls?.addHandler(to: channel.pipeline.syncOperations)
                            try channel.pipeline.syncOperations.addHandler(RedisConnectionHandler(patience: patience))
                        }
                    }
                let channel =
                    switch address {
                    case .tcp(let host, let port): try await bootstrap.connect(host: host, port: port).get()
                    case .unix(let path): try await bootstrap.connect(unixDomainSocketPath: path).get()
                    }
                return RedisLink(address: address, channel: channel)
            } catch {
                throw ReplayStoreError(.unavailable, "\(address) cannot be reached: \(error)")
            }
        }

        /// Sends a command, and returns its reply.
        ///
        /// - Parameter isAsking: True for a command about a slot of a cluster that migrates to this server (`ASKING`).
        func send(
            _ command: RedisCommand?,
            asking isAsking: Bool = false
        ) async throws(ReplayStoreError) -> RedisReply {
            do { return try await reply(to: command, asking: isAsking).get() } catch let error as ReplayStoreError {
                throw error
            } catch {
                throw ReplayStoreError(.unavailable, "the connection to Redis failed: \(error)")
            }
        }

        /// Sends a command.
        func reply(to command: RedisCommand?, asking isAsking: Bool = false) -> EventLoopFuture<RedisReply> {
            let promise = channel.eventLoop.makePromise(of: RedisReply.self)
            guard let command, let asking = RedisCommand("ASKING") else {
                promise.fail(ReplayStoreError(.unavailable, "out of memory for a command"))
                return promise.futureResult
            }
            guard isAsking else {
                write(RedisRequest(command: command, promise: promise))
                return promise.futureResult
            }
            // On the event loop, no other command comes between the two. Only the second reply matters.
            channel.eventLoop.execute {
                write(RedisRequest(command: asking, promise: channel.eventLoop.makePromise()))
                write(RedisRequest(command: command, promise: promise))
            }
            return promise.futureResult
        }

        private func write(_ request: RedisRequest) {
            channel.writeAndFlush(request).whenFailure { request.promise.fail($0) }
        }

        /// Sends a command that the server must answer with OK.
        func expectOK(_ command: RedisCommand?, _ what: String) async throws(ReplayStoreError) {
            switch try await send(command) {
            case .text(let text) where text == [UInt8]("OK".utf8): return
            case .error(let reason): throw ReplayStoreError(.misconfigured, "Redis refused the \(what): \(reason)")
            default: throw ReplayStoreError(.misconfigured, "Redis refused the \(what)")
            }
        }

        /// Authenticates; does nothing without a password.
        func login(_ user: String?, _ password: RedisPassword?) async throws(ReplayStoreError) {
            guard let password else { return }
            let words = ["AUTH"] + (user.map { [$0] } ?? []) + [password.text]
            try await expectOK(RedisCommand(words.map { [UInt8]($0.utf8) }), "login at \(address)")
        }

        func close() { channel.close(mode: .all, promise: nil) }

        func whenClosed(_ body: @escaping @Sendable () -> Void) { channel.closeFuture.whenComplete { _ in body() } }

        /// Waits until either side closes the connection. If the task is cancelled, closes it.
        func waitUntilClosed() async {
            await withTaskCancellationHandler {
                try? await channel.closeFuture.get()
            } onCancel: {
                close()
            }
        }
    }
#endif
