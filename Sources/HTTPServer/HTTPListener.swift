// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Logging
package import NIOCore
internal import NIOExtras
internal import NIOHTTP1
internal import NIOPosix
package import Platform
internal import ServiceLifecycle

/// The settings of a listener.
package struct ListenerSettings: Sendable {
    package let address: ListenerAddress
    /// The mode of a unix socket, such as 0o660; `nil` leaves that to the umask.
    package let socketMode: Int?
    /// The number of the group of a unix socket; `nil` leaves it to the system.
    package let socketGroup: UInt32?
    package let limits: HTTPLimits
    package let tls: ServerTLS?

    package init(
        address: ListenerAddress,
        socketMode: Int?,
        socketGroup: UInt32?,
        limits: HTTPLimits,
        tls: ServerTLS?
    ) {
        self.address = address
        self.socketMode = socketMode
        self.socketGroup = socketGroup
        self.limits = limits
        self.tls = tls
    }
}

/// A listener that hands requests to a service.
package struct HTTPListener: Service {
    private let listener: ListenerSettings
    private let responder: any HTTPService
    private let group: any EventLoopGroup
    private let logger: Logger
    private let clock: @Sendable () -> Timestamp
    private let onListening: @Sendable (ListenerAddress) -> Void
    private let places: ConnectionPlaces
    private let budget: ByteBudget

    /// - Parameters:
    ///   - group: The event loops that answer.
    ///   - places: The places for connections.
    ///   - budget: The bytes for large requests that are not whole.
    ///   - onListening: Is told where it listens, once it does.
    package init(
        _ listener: ListenerSettings,
        _ responder: any HTTPService,
        group: any EventLoopGroup,
        logger: Logger,
        places: ConnectionPlaces,
        budget: ByteBudget,
        clock: @escaping @Sendable () -> Timestamp,
        onListening: @escaping @Sendable (ListenerAddress) -> Void
    ) {
        self.listener = listener
        self.responder = responder
        self.group = group
        self.logger = logger
        self.places = places
        self.budget = budget
        self.clock = clock
        self.onListening = onListening
    }

    /// Listens until graceful shutdown. Then it accepts no more connections, and closes the existing ones as they become
    /// idle.
    package func run() async throws {
        let quiescing = ServerQuiescingHelper(group: group)
        let server = try await bind(quiescing)
        onListening(address(of: server))
        do { try await gracefulShutdown() } catch {
            try? await server.close()
            throw error
        }
        let drained = group.any().makePromise(of: Void.self)
        quiescing.initiateShutdown(promise: drained)
        try await drained.futureResult.get()
    }

    private static let receiveBuffers = AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: 4096)
    private static let pendingOutput = ChannelOptions.Types.WriteBufferWaterMark(low: 4 * 1024, high: 16 * 1024)

    private func bind(_ quiescing: ServerQuiescingHelper) async throws -> any Channel {
        let bootstrap = bootstrap(quiescing)
        switch listener.address {
        case .tcp(let host, let port): return try await tuned(bootstrap).bind(host: host, port: port).get()
        case .descriptor(let number): return try await bootstrap.withBoundSocket(NIOBSDSocket.Handle(number)).get()
        case .unix(let path):
            try await removeStaleSocket(path)
            let channel = try await bootstrap.bind(unixDomainSocketPath: path).get()
            if let group = listener.socketGroup { try path.setFileGroup(group) }
            if let mode = listener.socketMode { try path.setFileMode(mode) }
            return channel
        }
    }

    private func bootstrap(_ quiescing: ServerQuiescingHelper) -> ServerBootstrap {
        let connections = listener.limits.connections
        let places = places
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.maxMessagesPerRead, value: UInt(min(16, max(1, connections / 64))))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                    try pipeline.addHandler(places.makeHandler())
                }
            }
            // A client may close its end after its last request and wait for the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            // The sizes are small: they bound the memory of a client that pipelines or does not read.
            .childChannelOption(.recvAllocator, value: Self.receiveBuffers)
            .childChannelOption(.writeBufferWaterMark, value: Self.pendingOutput)
            .childChannelInitializer(connectionInitializer())
    }

    /// Returns a function that adds the handlers of a connection.
    private func connectionInitializer() -> @Sendable (any Channel) -> EventLoopFuture<Void> {
        let (tls, limits, responder, clock) = (listener.tls, HTTPTimeLimits(listener.limits), responder, clock)
        let (budget, flushes) = (budget, PendingWritesByLoop(group))
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = listener.limits.headerBytes
        decoding.maxHeaderListSize = listener.limits.headerBytes
        decoding.maxHeaderFieldCount = 100
        return { [decoding] channel in
            channel.eventLoop.makeCompletedFuture {
                let pipeline = channel.pipeline.syncOperations
                try tls?.addHandler(to: pipeline)
                let connection = HTTPConnectionHandler(
                    responder,
                    limits,
                    budget: budget,
                    flushes: flushes.queue(of: channel.eventLoop),
                    clock: clock
                )
                try pipeline.addHandler(ArrivalHandler(connection, decoding))
                let decoder = HTTPRequestDecoder(limitConfiguration: decoding)
                try pipeline.addHandler(ByteToMessageHandler(decoder))
                try pipeline.addHandler(connection)
            }
        }
    }

    /// Sets the options of TCP sockets.
    private func tuned(_ bootstrap: ServerBootstrap) -> ServerBootstrap {
        bootstrap.serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Connections inherit this. By default the system would buffer megabytes for a client that reads nothing.
            .serverChannelOption(.socketOption(.so_sndbuf), value: 64 * 1024)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
    }

    /// Removes the socket that a killed process left behind. A socket with a listener stays.
    private func removeStaleSocket(_ path: String) async throws {
        let probe = ClientBootstrap(group: group).connectTimeout(.seconds(1))
        if let channel = try? await probe.connect(unixDomainSocketPath: path).get() {
            try? await channel.close()
        } else {
            path.removeSocket()
        }
    }

    private func address(of server: any Channel) -> ListenerAddress {
        guard case .tcp(let host, let port) = listener.address else { return listener.address }
        return .tcp(host: host, port: server.localAddress?.port ?? port)
    }
}
