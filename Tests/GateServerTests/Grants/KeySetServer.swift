// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server with one key set, which a test replaces.
final class KeySetServer: Sendable {
    private let channel: any Channel
    private let shared: Shared

    fileprivate final class Shared: Sendable {
        let answer: Mutex<(status: HTTPResponseStatus, body: String, count: Int)>
        let requests = Atomic<Int>(0)

        init(_ body: String) { answer = Mutex((.ok, body, 0)) }
    }

    /// The URL of the set.
    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/jwks.json" }
    /// The number of requests.
    var requests: Int { shared.requests.load(ordering: .relaxed) }

    /// The number of requests since the set was published.
    var requestsOfPresentSet: Int { shared.answer.withLock { $0.count } }

    init(_ set: String) async throws {
        let shared = Shared(set)
        self.shared = shared
        channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(shared))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    deinit { channel.close(promise: nil) }

    func publish(_ set: String, status: HTTPResponseStatus = .ok) { shared.answer.withLock { $0 = (status, set, 0) } }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let shared: Shared

        init(_ shared: Shared) { self.shared = shared }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data) else { return }
            shared.requests.add(1, ordering: .relaxed)
            let (status, body, _) = shared.answer.withLock { answer in
                answer.count += 1
                return answer
            }
            let fields = HTTPHeaders([("Content-Type", "application/json"), ("Content-Length", "\(body.utf8.count)")])
            context.write(
                wrapOutboundOut(.head(.init(version: .http1_1, status: status, headers: fields))),
                promise: nil
            )
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: body)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
