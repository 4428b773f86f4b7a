// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOEmbedded

@testable import HTTPServer

/// A client's connection to a listener's handlers, without a socket, and what they write to it.
final class EmbeddedConnection {
    /// The bytes of the answers.
    private(set) var answers: [UInt8] = []
    let channel = EmbeddedChannel()

    /// Small limits, which inputs reach.
    static let limits = HTTPLimits(
        connections: 1,
        connectionsPerPeer: 1,
        headerBytes: 1024,
        bodyBytes: 64,
        requestTimeout: .seconds(10),
        idleTimeout: .seconds(10)
    )

    /// Connects, with the handlers that `add` puts into the pipeline.
    func open(_ add: (ChannelPipeline.SynchronousOperations) throws -> Void) {
        do {
            try add(channel.pipeline.syncOperations)
            try channel.connect(to: SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        } catch { demand(false, or: "no channel: \(error)") }
    }

    func send(_ bytes: ArraySlice<UInt8>) {
        guard channel.isActive else { return }
        _ = try? channel.writeInbound(ByteBuffer(bytes: bytes))
        collect()
    }

    /// Closes the client's side, if the listener tells that from the end of the connection.
    func closeInput() {
        guard channel.isActive else { return }
        channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        collect()
    }

    func close() {
        _ = try? channel.finish(acceptAlreadyClosed: true)
        collect()
    }

    private func collect() {
        channel.embeddedEventLoop.run()
        while let buffer = try? channel.readOutbound(as: ByteBuffer.self) { answers += buffer.readableBytesView }
    }
}
