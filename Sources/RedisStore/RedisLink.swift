// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import NIOPosix
    internal import ReplayStores

    /// An open connection to a server that speaks Redis's protocol: a server of the store, or a sentinel.
    struct RedisLink: Sendable {
        let address: RedisSettings.Address
        private let channel: any Channel
        private let handler: NIOLoopBound<RedisConnectionHandler>

        /// Connects.
        ///
        /// - Parameters:
        ///   - patience: The maximum wait for the connection, and for a reply before the connection is closed.
        ///   - deadline: The deadline of a reply; `patience` by default.
        ///   - loop: The event loop of the connection; any by default.
        static func open(
            _ address: RedisSettings.Address,
            tls: RedisSettings.TLS?,
            patience: TimeAmount,
            deadline: StoreDeadline = StoreDeadline(),
            on loop: any EventLoop = MultiThreadedEventLoopGroup.singleton.any()
        ) async throws(ReplayStoreError) -> RedisLink {
            do {
                let tls = try tls.map { try RedisTLS($0, serverName: address.serverName) }
                let bootstrap = ClientBootstrap(group: loop)
                    .connectTimeout(patience)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            let handler = RedisConnectionHandler(patience: patience, deadline: deadline)
                            try tls?.addHandler(to: channel.pipeline.syncOperations)
                            try channel.pipeline.syncOperations.addHandler(handler)
                        }
                    }
                let channel =
                    switch address {
                    case .tcp(let host, let port): try await bootstrap.connect(host: host, port: port).get()
                    case .unix(let path): try await bootstrap.connect(unixDomainSocketPath: path).get()
                    }
                let handler = loop.submit {
                    let handler = try channel.pipeline.syncOperations.handler(type: RedisConnectionHandler.self)
                    return NIOLoopBound(handler, eventLoop: loop)
                }
                return RedisLink(address: address, channel: channel, handler: try await handler.get())
            } catch {
                throw ReplayStoreError(.unavailable, reason: "\(address) cannot be reached: \(error)")
            }
        }

        /// Sends a command, and returns its reply.
        ///
        /// - Parameters:
        ///   - isAsking: True for a command about a slot of a cluster that migrates to this server (`ASKING`).
        ///   - hasDeadline: True if the request fails if its reply is later than the deadline.
        func send(
            _ command: RedisCommand,
            asking isAsking: Bool = false,
            hasDeadline: Bool = false
        ) async throws(ReplayStoreError) -> RedisReply {
            try await withRedisReply { send(command, asking: isAsking, hasDeadline: hasDeadline, receive: $0) }
        }

        /// Sends a command, and calls a closure with its reply.
        func send(
            _ command: RedisCommand,
            asking isAsking: Bool = false,
            hasDeadline: Bool = false,
            receive: @escaping RedisReceiver
        ) {
            // On its event loop, a request wakes no other thread.
            guard channel.eventLoop.inEventLoop else {
                return channel.eventLoop.execute {
                    send(command, asking: isAsking, hasDeadline: hasDeadline, receive: receive)
                }
            }
            handler.value.send(command, asking: isAsking, hasDeadline: hasDeadline, receive: receive)
        }

        /// Sends a command that the server must answer with OK.
        func expectOK(to command: RedisCommand, what: String) async throws(ReplayStoreError) {
            switch try await send(command) {
            case .text(let text) where text == [UInt8]("OK".utf8): return
            case .error(let reason):
                throw ReplayStoreError(.misconfigured, reason: "Redis refused the \(what): \(reason)")
            default: throw ReplayStoreError(.misconfigured, reason: "Redis refused the \(what)")
            }
        }

        /// Authenticates; does nothing without a password.
        func login(as user: String?, password: RedisPassword?) async throws(ReplayStoreError) {
            guard let password else { return }
            let words = ["AUTH"] + (user.map { [$0] } ?? []) + [password.text]
            try await expectOK(to: RedisCommand(words), what: "login at \(address)")
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

    /// Waits for the reply that `ask` passes to its receiver.
    func withRedisReply(_ ask: (@escaping RedisReceiver) -> Void) async throws(ReplayStoreError) -> RedisReply {
        let result: Result<RedisReply, ReplayStoreError> = await withCheckedContinuation { continuation in
            ask { continuation.resume(returning: $0) }
        }
        return try result.get()
    }
#endif
