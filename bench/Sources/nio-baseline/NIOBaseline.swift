// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore
internal import NIOHTTP1
internal import NIOPosix

/// A minimal HTTP server on NIO: its parser, its encoder, and a handler that answers every request with 200. Prints its port.
///
/// Usage: `nio-baseline [LOOPS [NANOSECONDS]]`: one event loop by default, and no time of computing for each request.
@main enum NIOBaseline {
    static func main() async throws {
        let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
        let loops = numbers.first ?? 1
        let work = Work(nanoseconds: numbers.dropFirst().first ?? 0)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: loops)
        let server = try await ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 1024)
            .childChannelOption(.socketOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(SayYes(work))
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
    private let work: Work
    private var state: UInt64 = 1

    init(_ work: Work) { self.work = work }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard case .end = unwrapInboundIn(data) else { return }
        work.spend(&state)
        context.write(wrapOutboundOut(.head(head)), promise: nil)
        context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
    }
}

/// Computing for a time of the processor: a server that does so at each request is as busy as one that checks something, and stalls
/// for nothing of its own.
private struct Work {
    private let turns: Int

    /// Finds out how often to compute.
    init(nanoseconds: Int) {
        guard nanoseconds > 0 else {
            turns = 0
            return
        }
        // The least of many measurements: the others were interrupted.
        let (probe, clock) = (Work(turns: 100_000), ContinuousClock())
        var state: UInt64 = 1
        let least = (0..<50).map { _ in clock.measure { probe.spend(&state) } }.min() ?? .zero
        let each = Double(least.components.attoseconds) / 1e9 / Double(probe.turns)
        turns = Int(Double(nanoseconds) / max(each, 0.01))
        // The result is looked at, or the compiler would leave the measured loops out.
        precondition(state != 0)
    }

    private init(turns: Int) { self.turns = turns }

    func spend(_ state: inout UInt64) {
        for _ in 0..<turns { state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
    }
}
