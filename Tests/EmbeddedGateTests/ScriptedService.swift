// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import NIOCore
import NIOPosix
import Synchronization

/// A service on a unix socket whose bytes a test writes.
final class ScriptedService: Sendable {
    /// The bytes of an answer.
    struct Reply: Sendable {
        var text: String
        /// True if the connection ends after it.
        var closes = false

        init(_ text: String, closes: Bool = false) {
            self.text = text
            self.closes = closes
        }

        /// A response with a body of its length.
        init(status: Int, fields: [String] = [], body: String = "") {
            let lines = ["HTTP/1.1 \(status) X", "content-length: \(body.utf8.count)"] + fields
            self.init(lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }

        /// Nothing is answered, and the connection stays open.
        static let nothing = Reply("")
        /// The connection ends without an answer.
        static let end = Reply("", closes: true)
    }

    private final class State: Sendable {
        let requests = Mutex([String]())
        let connections = Mutex(0)
        let open = Mutex([ObjectIdentifier: any Channel]())
        let script: @Sendable (_ request: String, _ index: Int) -> Reply
        init(_ script: @escaping @Sendable (String, Int) -> Reply) { self.script = script }
    }

    private let channel: any Channel
    private let state: State

    /// The requests so far, with their heads.
    var requests: [String] { state.requests.withLock { $0 } }
    /// The number of connections that were accepted so far.
    var connections: Int { state.connections.withLock { $0 } }

    /// Listens on a unix socket.
    ///
    /// - Parameter script: Returns the answer to a request, by its head and its number, from 0 on.
    init(at path: String, script: @escaping @Sendable (_ request: String, _ index: Int) -> Reply) throws {
        let state = State(script)
        self.state = state
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let id = ObjectIdentifier(channel)
                    state.connections.withLock { $0 += 1 }
                    state.open.withLock { $0[id] = channel }
                    channel.closeFuture.whenComplete { _ in _ = state.open.withLock { $0.removeValue(forKey: id) } }
                    try channel.pipeline.syncOperations.addHandler(Answerer(state))
                }
            }
            .bind(unixDomainSocketPath: path).wait()
    }

    deinit {
        channel.close(promise: nil)
        closeAll()
    }

    /// Closes all connections.
    func closeAll() {
        for channel in state.open.withLock({ Array($0.values) }) { try? channel.close().wait() }
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private let state: State
        private var head = ""

        init(_ state: State) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            head += String(buffer: unwrapInboundIn(data))
            guard head.hasSuffix("\r\n\r\n") else { return }
            let request = head
            head = ""
            let index = state.requests.withLock { requests in
                requests.append(request)
                return requests.count - 1
            }
            let reply = state.script(request, index)
            guard !reply.text.isEmpty else {
                if reply.closes { context.close(promise: nil) }
                return
            }
            let written = context.writeAndFlush(wrapOutboundOut(ByteBuffer(string: reply.text)))
            let channel = context.channel
            if reply.closes { written.whenComplete { _ in channel.close(promise: nil) } }
        }
    }
}
