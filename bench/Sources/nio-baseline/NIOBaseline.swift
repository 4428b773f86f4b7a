// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A minimal HTTP server on NIO: its parser, its encoder, and a handler that answers every request with 200. Prints its port.
///
/// Usage: `nio-baseline [LOOPS]`: one event loop by default.
@main enum NIOBaseline {
    static func main() async throws {
        let loops = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(SayYes())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        print(server.localAddress?.port ?? 0)
        fflushAll()
        try await server.closeFuture.get()
    }

    private static func fflushAll() { _ = unsafe fflush(nil) }
}

private final class SayYes: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["Content-Length": "0"])

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}
