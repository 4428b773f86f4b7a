// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore
internal import NIOExtras
internal import NIOPosix
internal import Platform
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

/// A listening socket that hands accepted connections to the handlers of a protocol.
package struct SocketListener: Service {
    private let listener: ListenerSettings
    private let group: any EventLoopGroup
    private let connectionLimit: ConnectionLimit
    private let receiveBuffers: AdaptiveRecvByteBufferAllocator
    private let onListening: @Sendable (ListenerAddress) -> Void
    private let addHandlers: @Sendable (any Channel) throws -> Void

    /// Creates a listener.
    ///
    /// - Parameters:
    ///   - group: The event loops of its connections.
    ///   - connectionLimit: The slots for connections.
    ///   - receiveBuffers: The buffers that input is read into.
    ///   - onListening: Called with the address, once it listens.
    ///   - addHandlers: Adds the handlers of a connection, on its event loop.
    package init(
        _ listener: ListenerSettings,
        group: any EventLoopGroup,
        connectionLimit: ConnectionLimit,
        receiveBuffers: AdaptiveRecvByteBufferAllocator,
        onListening: @escaping @Sendable (ListenerAddress) -> Void,
        addHandlers: @escaping @Sendable (any Channel) throws -> Void
    ) {
        self.listener = listener
        self.group = group
        self.connectionLimit = connectionLimit
        self.receiveBuffers = receiveBuffers
        self.onListening = onListening
        self.addHandlers = addHandlers
    }

    /// Listens until graceful shutdown. Then it accepts no more connections, and closes the existing ones as they become
    /// idle.
    package func run() async throws {
        let quiescing = ServerQuiescingHelper(group: group)
        let server: any Channel
        do { server = try await bind(quiescing) } catch let error as IOError {
            throw ListeningError(address: listener.address, number: error.errnoCode)
        }
        onListening(listener.address.of(server))
        do { try await gracefulShutdown() } catch {
            try? await server.close()
            throw error
        }
        let drained = group.any().makePromise(of: Void.self)
        quiescing.initiateShutdown(promise: drained)
        try await drained.futureResult.get()
    }

    private static let pendingOutput = ChannelOptions.Types.WriteBufferWaterMark(low: 4 * 1024, high: 16 * 1024)

    private func bind(_ quiescing: ServerQuiescingHelper) async throws -> any Channel {
        let bootstrap = bootstrap(quiescing)
        switch listener.address {
        case .tcp(let host, let port): return try await tuned(bootstrap).bind(host: host, port: port).get()
        case .descriptor(let number): return try await bootstrap.withBoundSocket(NIOBSDSocket.Handle(number)).get()
        case .unix(let path):
            await listener.removeStaleSocket(path, group: group)
            let channel = try await bootstrap.bind(unixDomainSocketPath: path).get()
            try listener.setAttributes(ofSocket: path)
            return channel
        }
    }

    private func bootstrap(_ quiescing: ServerQuiescingHelper) -> ServerBootstrap {
        let connections = listener.limits.connections
        let (connectionLimit, addHandlers) = (connectionLimit, addHandlers)
        return ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .serverChannelOption(.maxMessagesPerRead, value: UInt(min(16, max(1, connections / 64))))
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.addHandler(quiescing.makeServerChannelHandler(channel: channel))
                    try pipeline.addHandler(connectionLimit.makeHandler())
                }
            }
            // A client may close its end after its last request and wait for the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.recvAllocator, value: receiveBuffers)
            // A small size bounds the memory of a client that does not read.
            .childChannelOption(.writeBufferWaterMark, value: Self.pendingOutput)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try addHandlers(channel) }
            }
    }

    /// Sets the options of TCP sockets.
    private func tuned(_ bootstrap: ServerBootstrap) -> ServerBootstrap {
        bootstrap.serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Connections inherit this. By default the system would buffer megabytes for a client that reads nothing.
            .serverChannelOption(.socketOption(.so_sndbuf), value: 64 * 1024)
    }
}

extension ListenerSettings {
    /// Removes the socket that a killed process left behind. A socket with a listener stays.
    package func removeStaleSocket(_ path: String, group: any EventLoopGroup) async {
        let probe = ClientBootstrap(group: group).connectTimeout(.seconds(1))
        if let channel = try? await probe.connect(unixDomainSocketPath: path).get() {
            try? await channel.close()
        } else {
            path.removeSocket()
        }
    }

    /// Sets the group and the mode of a socket that is bound.
    package func setAttributes(ofSocket path: String) throws {
        if let socketGroup { try path.setFileGroup(socketGroup) }
        if let socketMode { try path.setFileMode(socketMode) }
    }
}

extension ListenerAddress {
    /// Returns the address that a server has got: with the port that the system chose for port 0.
    package func of(_ server: any Channel) -> ListenerAddress {
        guard case .tcp(let host, let port) = self else { return self }
        return .tcp(host: host, port: server.localAddress?.port ?? port)
    }
}
