// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if GRPC
    internal import GRPCNIOTransportHTTP2Posix
    internal import HTTPServer
    internal import NIOCore
    internal import NIOPosix
    internal import Platform

    /// Binds the listener's socket, with the limits on connections and the TLS of the other listeners.
    struct GRPCListenerFactory: HTTP2ServerTransport.ListenerFactory {
        private let settings: ListenerSettings
        let eventLoopGroup: any EventLoopGroup
        private let connectionLimit: ConnectionLimit
        private let onListening: @Sendable (ListenerAddress) -> Void

        init(
            settings: ListenerSettings,
            eventLoopGroup: any EventLoopGroup,
            connectionLimit: ConnectionLimit,
            _ onListening: @escaping @Sendable (ListenerAddress) -> Void
        ) {
            self.settings = settings
            self.eventLoopGroup = eventLoopGroup
            self.connectionLimit = connectionLimit
            self.onListening = onListening
        }

        typealias Connection = HTTP2ServerTransport.ConnectionConfigurator.ConnectionChannel

        func makeListeningChannel(
            listenerConfigurator: HTTP2ServerTransport.ListenerConfigurator,
            connectionConfigurator: HTTP2ServerTransport.ConnectionConfigurator
        ) async throws -> NIOAsyncChannel<Connection, Never> {
            let (connectionLimit, tls) = (connectionLimit, settings.tls)
            let bootstrap = ServerBootstrap(group: eventLoopGroup)
                .serverChannelOption(.backlog, value: 1024)
                .serverChannelInitializer { channel in
                    listenerConfigurator.configure(channel: channel).flatMapThrowing {
                        try channel.pipeline.syncOperations.addHandler(connectionLimit.makeHandler())
                    }
                }
            let server = try await bind(bootstrap) { channel in
                channel.eventLoop.makeCompletedFuture { try tls?.addHandler(to: channel.pipeline.syncOperations) }
                    .flatMap {
                        connectionConfigurator.configure(
                            channel: channel,
                            tls: tls == nil ? .none : .configured(requireALPN: true)
                        )
                    }
            }
            onListening(settings.address.of(server.channel))
            return server
        }

        private func bind(
            _ bootstrap: ServerBootstrap,
            initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Connection>
        ) async throws -> NIOAsyncChannel<Connection, Never> {
            switch settings.address {
            case .tcp(let host, let port):
                return
                    try await bootstrap.serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                    .bind(host: host, port: port, childChannelInitializer: initializer)
            case .descriptor(let number):
                return try await bootstrap.bind(NIOBSDSocket.Handle(number), childChannelInitializer: initializer)
            case .unix(let path):
                await settings.removeStaleSocket(path, group: eventLoopGroup)
                let server = try await bootstrap.bind(
                    unixDomainSocketPath: path,
                    childChannelInitializer: initializer
                )
                try settings.setAttributes(ofSocket: path)
                return server
            }
        }
    }
#endif
