// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if GRPC
    internal import GRPCCore
    internal import GRPCNIOTransportHTTP2Posix
    package import HTTPServer
    package import NIOCore
    internal import ServiceLifecycle

    /// A listener for Envoy's checks over gRPC: HTTP/2, in cleartext or by TLS.
    package struct GRPCListener: Service {
        private let settings: ListenerSettings
        private let authority: any CheckAuthority
        private let group: any EventLoopGroup
        private let connectionLimit: ConnectionLimit
        private let onListening: @Sendable (ListenerAddress) -> Void

        /// - Parameters:
        ///   - group: The event loops that read and write.
        ///   - connectionLimit: The slots for connections.
        ///   - onListening: Called with the address, once it listens.
        package init(
            _ settings: ListenerSettings,
            authority: any CheckAuthority,
            group: any EventLoopGroup,
            connectionLimit: ConnectionLimit,
            onListening: @escaping @Sendable (ListenerAddress) -> Void
        ) {
            self.settings = settings
            self.authority = authority
            self.group = group
            self.connectionLimit = connectionLimit
            self.onListening = onListening
        }

        /// The most checks at a time on a connection. Envoy opens another one beyond it.
        private static let maximumStreams = 256

        /// The most bytes of a message: Envoy sends the client's header fields, and further facts.
        private var maximumMessage: Int { 4 * settings.limits.headerBytes }

        /// Listens until graceful shutdown. Then it accepts no more connections, and tells the clients of the others to open no
        /// more streams (GOAWAY).
        package func run() async throws {
            let certificates = PeerCertificates()
            let factory = GRPCListenerFactory(
                settings: settings,
                eventLoopGroup: group,
                connectionLimit: connectionLimit,
                onListening
            )
            let transport = HTTP2ServerTransport.Custom(listenerFactory: factory, config: config(certificates))
            let server = GRPCServer(
                transport: transport,
                services: [
                    AuthorizationService(authority: authority, certificates: certificates),
                    HealthService(authority: authority),
                ]
            )
            try await withGracefulShutdownHandler {
                do { try await server.serve() } catch let error as RuntimeError where error.code == .serverIsStopped {
                    // The shutdown came before the start.
                }
            } onGracefulShutdown: {
                server.beginGracefulShutdown()
            }
        }

        private func config(
            _ certificates: PeerCertificates
        ) -> HTTP2ServerTransport.Custom<GRPCListenerFactory>.Config {
            var config = HTTP2ServerTransport.Custom<GRPCListenerFactory>.Config.defaults
            config.rpc.maxRequestPayloadSize = maximumMessage
            config.http2.maxConcurrentStreams = Self.maximumStreams
            config.connection.maxIdleTime = settings.limits.idleTimeout
            config.connection.maxGraceTime = settings.limits.requestTimeout
            // Envoy's connection_keepalive.
            config.connection.keepalive.clientBehavior = .init(
                minPingIntervalWithoutCalls: .seconds(1),
                allowWithoutCalls: true
            )
            // An answer is not held back for others.
            config.connection.flushCoalescing = nil
            let (authority, connectionLimit, hasTLS) = (authority, connectionLimit, settings.tls != nil)
            let limit = TimeAmount(settings.limits.requestTimeout)
            config.channelDebuggingCallbacks.onAcceptHTTP2Stream = { stream in
                if let connection = stream.parent {
                    if hasTLS { certificates.remember(connection) }
                    let address = connection.remoteAddress
                    let certificate = hasTLS ? address.flatMap { certificates.digest(of: $0) } : nil
                    if authority.trusts(GRPCPeer(address: address, certificate: certificate)) {
                        connectionLimit.slot(of: connection)?.prove()
                    } else {
                        // Frees the slot of an untrusted peer, whose request has been refused then.
                        connection.eventLoop.scheduleTask(in: limit) { connection.close(promise: nil) }
                    }
                }
                return stream.eventLoop.makeSucceededVoidFuture()
            }
            return config
        }
    }
#endif
