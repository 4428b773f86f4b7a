// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOPosix
import Synchronization

/// A server that does what a test requests, on a free port of 127.0.0.1, byte by byte.
final class KeyServer: Sendable {
    /// The behaviour after a request.
    enum Behaviour: Sendable {
        /// Sends these bytes, and closes.
        case send(String)
        /// Sends these bytes, and nothing more.
        case stall(String)
        /// Sends this head, and then zeros for as long as they are taken, up to 1 GB.
        case flood(String)
    }

    private let channel: any Channel
    private let received = Received()

    fileprivate final class Received: Sendable {
        let requests = Mutex<[String]>([])
        let sent = Atomic<Int>(0)
        let (stalls, stall) = AsyncStream.makeStream(of: Void.self)
    }

    var port: Int { channel.localAddress?.port ?? 0 }
    /// The requests.
    var requests: [String] { received.requests.withLock { $0 } }
    /// The number of bytes of a flood that were written.
    var sent: Int { received.sent.load(ordering: .relaxed) }

    /// Waits until it has sent all that it will, or the task is cancelled.
    func stalled() async { for await _ in received.stalls { return } }

    init(_ behaviour: Behaviour) async throws {
        let received = received
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Handler(behaviour: behaviour, received: received))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let behaviour: Behaviour
        private let received: Received
        private var request = ""

        init(behaviour: Behaviour, received: Received) {
            self.behaviour = behaviour
            self.received = received
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            request += String(buffer: unwrapInboundIn(data))
            guard request.hasSuffix("\r\n\r\n") else { return }
            received.requests.withLock { $0.append(request) }
            request = ""
            switch behaviour {
            case .send(let text):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text)), promise: nil)
                context.close(promise: nil)
            case .stall(let text):
                let received = received
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: text))).whenComplete { _ in
                    received.stall.yield()
                }
            case .flood(let head):
                context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: head)), promise: nil)
                flood(context)
            }
        }

        func channelWritabilityChanged(context: ChannelHandlerContext) {
            if case .flood = behaviour, context.channel.isWritable { flood(context) }
        }

        private func flood(_ context: ChannelHandlerContext) {
            let zeros = ByteBuffer(repeating: UInt8(ascii: "0"), count: 16 << 10)
            while context.channel.isActive, context.channel.isWritable,
                received.sent.load(ordering: .relaxed) < 1 << 30
            {
                received.sent.add(zeros.readableBytes, ordering: .relaxed)
                context.writeAndFlush(wrapOutboundOut(zeros), promise: nil)
            }
        }
    }
}
