// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore
internal import NIOHTTP1
package import Platform
internal import ServiceLifecycle

/// A listener that hands requests to a service.
package struct HTTPListener: Service {
    private let listener: SocketListener

    /// Creates a listener of HTTP/1.1.
    ///
    /// - Parameters:
    ///   - group: The event loops that answer.
    ///   - connectionLimit: The slots for connections.
    ///   - budget: The bytes for large requests that are not whole.
    ///   - onListening: Called with the address, once it listens.
    package init(
        _ settings: ListenerSettings,
        responder: any HTTPService,
        group: any EventLoopGroup,
        connectionLimit: ConnectionLimit,
        budget: ByteBudget,
        clock: @escaping @Sendable () -> Timestamp,
        onListening: @escaping @Sendable (ListenerAddress) -> Void
    ) {
        let limits = HTTPTimeLimits(settings.limits)
        let (tls, flushes) = (settings.tls, PendingWritesByLoop(group))
        var decoding = NIOHTTPDecoderLimitConfiguration()
        decoding.maxHeaderFieldSize = settings.limits.headerBytes
        decoding.maxHeaderListSize = settings.limits.headerBytes
        decoding.maxHeaderFieldCount = 100
        listener = SocketListener(
            settings,
            group: group,
            connectionLimit: connectionLimit,
            // A small size bounds the memory of a client that pipelines.
            receiveBuffers: AdaptiveRecvByteBufferAllocator(minimum: 1024, initial: 2048, maximum: 4096),
            onListening: onListening
        ) { [decoding] channel in
            let pipeline = channel.pipeline.syncOperations
            try tls?.addHandler(to: pipeline)
            let connection = HTTPConnectionHandler(
                responder,
                limits: limits,
                budget: budget,
                flushes: flushes.queue(of: channel.eventLoop),
                slot: connectionLimit.slot(of: channel),
                clock: clock
            )
            try pipeline.addHandler(ArrivalHandler(connection, limits: decoding))
            let decoder = HTTPRequestDecoder(limitConfiguration: decoding)
            try pipeline.addHandler(ByteToMessageHandler(decoder))
            try pipeline.addHandler(connection)
        }
    }

    /// Listens until graceful shutdown. Then it accepts no more connections, and closes the existing ones as they become
    /// idle.
    package func run() async throws { try await listener.run() }
}
