// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An origin whose answers a test writes.
final class ScriptedOrigin: Sendable {
    /// An answer.
    struct Script: Sendable {
        var status = HTTPResponseStatus.ok
        var headers: [(String, String)] = []
        var body: [UInt8] = []
        /// The step after which nothing more is sent.
        var pause: Step?
        /// True if the connection ends before the body is complete.
        var breaks = false

        enum Step { case request, head, firstByte }

        init(_ body: [UInt8] = [], type: String? = "application/vnd.apple.mpegurl", headers: [(String, String)] = []) {
            self.body = body
            self.headers = headers
            if let type { self.headers.append(("Content-Type", type)) }
        }

        init(_ text: String, type: String? = "application/vnd.apple.mpegurl", headers: [(String, String)] = []) {
            self.init([UInt8](text.utf8), type: type, headers: headers)
        }

        init(status: HTTPResponseStatus, _ headers: [(String, String)] = []) {
            self.status = status
            self.headers = headers
        }
    }

    private final class State: Sendable {
        let heads = Mutex([HTTPRequestHead]())
        let bodies = Mutex([String]())
        let open = Mutex(0)
        let script: @Sendable (HTTPRequestHead) -> Script
        init(_ script: @escaping @Sendable (HTTPRequestHead) -> Script) { self.script = script }
    }

    private let channel: any Channel
    private let state: State

    /// The requests so far.
    var heads: [HTTPRequestHead] { state.heads.withLock { $0 } }
    /// The bodies of the requests so far.
    var bodies: [String] { state.bodies.withLock { $0 } }
    /// The number of open connections.
    var connections: Int { state.open.withLock { $0 } }
    var port: Int { channel.localAddress?.port ?? 0 }
    var url: String { "http://127.0.0.1:\(port)" }

    /// Listens on a free port.
    ///
    /// - Parameter script: Returns the answer to a request.
    init(_ script: @escaping @Sendable (HTTPRequestHead) -> Script) throws {
        let state = State(script)
        self.state = state
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    state.open.withLock { $0 += 1 }
                    channel.closeFuture.whenComplete { _ in state.open.withLock { $0 -= 1 } }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answerer(state))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
    }

    /// Serves texts by their paths, without the query; others are not found.
    convenience init(_ texts: [String: String]) throws {
        try self.init { head in
            let path = String(head.uri.prefix { $0 != "?" })
            guard let text = texts[path] else { return Script(status: .notFound) }
            return Script(text, type: path.hasSuffix(".mpd") ? "application/dash+xml" : "application/vnd.apple.mpegurl")
        }
    }

    deinit { channel.close(promise: nil) }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let state: State
        private var head: HTTPRequestHead?
        private var received = ""

        init(_ state: State) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): (self.head, received) = (head, "")
            case .body(let part): received += String(buffer: part)
            case .end: if let head { respond(to: head, in: context) }
            }
        }

        private func respond(to head: HTTPRequestHead, in context: ChannelHandlerContext) {
            state.bodies.withLock { $0.append(received) }
            state.heads.withLock { $0.append(head) }
            let script = state.script(head)
            guard script.pause != .request else { return }
            var headers = HTTPHeaders(script.headers)
            if !headers.contains(name: "content-length"), !headers.contains(name: "transfer-encoding") {
                headers.add(name: "Content-Length", value: "\(script.body.count)")
            }
            let answer = HTTPResponseHead(version: .http1_1, status: script.status, headers: headers)
            context.writeAndFlush(wrapOutboundOut(.head(answer)), promise: nil)
            guard script.pause != .head, head.method != .HEAD else { return end(for: head, in: context) }
            let isPart = script.pause == .firstByte || script.breaks
            let body = isPart ? Array(script.body.prefix(1)) : script.body
            context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: body)))), promise: nil)
            if script.breaks { return context.close(promise: nil) }
            if script.pause == nil { end(for: head, in: context) }
        }

        private func end(for head: HTTPRequestHead, in context: ChannelHandlerContext) {
            if head.method == .HEAD || state.script(head).pause == nil {
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            }
        }
    }
}
