// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An origin server that responds with the request that it received: the request line, then one line for each header field.
/// Caches may store its responses. Responses for paths that contain `hostile` also have what an edge must not pass on.
package final class RecordingOrigin: Sendable {
    private let channel: any Channel
    private let counter = Counter()

    /// The port on 127.0.0.1 on which it listens.
    package let port: Int

    package init() throws {
        let counter = counter
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answerer(counter))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    /// The number of requests that it has answered.
    package var requests: Int { counter.value.withLock { $0 } }

    private final class Counter: Sendable { let value = Mutex(0) }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let counter: Counter
        private var head: HTTPRequestHead?

        init(_ counter: Counter) { self.counter = counter }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body: break
            case .end: if let head { answer(head, context) }
            }
        }

        private func answer(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
            counter.value.withLock { $0 += 1 }
            var text = "\(head.method) \(head.uri)\n"
            for (name, value) in head.headers { text += "\(name.lowercased()): \(value)\n" }
            var headers: HTTPHeaders = [
                "Content-Length": "\(text.utf8.count)", "Content-Type": "text/plain", "Cache-Control": "max-age=60",
            ]
            if head.uri.contains("hostile") {
                headers.replaceOrAdd(name: "Cache-Control", value: "public, s-maxage=600, max-age=7")
                headers.add(name: "Expires", value: "Fri, 01 Jan 2038 00:00:00 GMT")
                headers.add(name: "Set-Cookie", value: "media-token=origin; Path=/")
                headers.add(name: "Access-Control-Allow-Origin", value: "*")
                headers.add(name: "Access-Control-Expose-Headers", value: "*")
            }
            let answer = HTTPResponseHead(version: .http1_1, status: .ok, headers: headers)
            context.write(wrapOutboundOut(.head(answer)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
