// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import NIOCore
internal import ServiceLifecycle

/// A listener for HAProxy's stream processing offload protocol, SPOP 2.0, that hands notifications to a service.
package struct SPOPListener: Service {
    private let listener: SocketListener

    /// Creates a listener. A frame has at most as many bytes as `limits.headerBytes` of the settings.
    ///
    /// - Parameters:
    ///   - group: The event loops that answer.
    ///   - connectionLimit: The slots for connections.
    ///   - budget: The bytes for large frames that are not whole.
    ///   - onEnd: Called when a connection ends by a DISCONNECT frame.
    ///   - onListening: Called with the address, once it listens.
    package init(
        _ settings: ListenerSettings,
        service: some SPOPService,
        group: any EventLoopGroup,
        connectionLimit: ConnectionLimit,
        budget: ByteBudget,
        onEnd: @escaping @Sendable (SPOPEnd) -> Void,
        onListening: @escaping @Sendable (ListenerAddress) -> Void
    ) {
        let (tls, limits) = (settings.tls, SPOPLimits(settings.limits))
        listener = SocketListener(
            settings,
            group: group,
            connectionLimit: connectionLimit,
            // Notifications follow each other on few connections.
            receiveBuffers: AdaptiveRecvByteBufferAllocator(minimum: 2048, initial: 4096, maximum: 32768),
            onListening: onListening
        ) { channel in
            let pipeline = channel.pipeline.syncOperations
            try tls?.addHandler(to: pipeline)
            try pipeline.addHandler(SPOPConnectionHandler(service, limits: limits, budget: budget, onEnd: onEnd))
        }
    }

    /// Listens until graceful shutdown. Then it accepts no more connections, and ends the existing ones by a DISCONNECT frame
    /// once their notifications are answered.
    package func run() async throws { try await listener.run() }
}

/// The limits of a connection.
package struct SPOPLimits: Sendable {
    /// The most bytes of a frame, without its length.
    package let frameSize: Int
    /// The most notifications without an answer. The connection is not read while there are as many.
    package let outstanding: Int
    /// The time from the connection to the end of the first frame, or from the first byte of a frame to its last.
    package let frame: TimeAmount
    /// The time from one frame to the next.
    package let idle: TimeAmount

    package init(_ limits: HTTPLimits) {
        let times = HTTPTimeLimits(limits)
        (frame, idle) = (times.request, times.idle)
        frameSize = limits.headerBytes
        outstanding = 128
    }
}
