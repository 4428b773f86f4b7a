// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Encodings
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import SPOPServer
import Synchronization

@testable import EdgeChecks
@testable import EdgeListener
@testable import HTTPServer
@testable import PlaybackGate

/// A gate that allows every check, and delivers a grant for each path that contains `renew`, by the code of the real one.
final class GrantingGate: Sendable {
    private let channel: any Channel
    private let heads = Heads()

    private final class Heads: Sendable { let value = Mutex([HTTPRequestHead]()) }

    /// The checks that it has answered.
    var checks: [HTTPRequestHead] { heads.value.withLock { $0 } }

    static let token = "2D3RhEOhAQWhBFBncm.Kb3BlbiBzZXNhbWU-_"
    static let cookie =
        "CTA-Common-Access-Token=\(token); Path=/live/tnt/; Max-Age=300; Secure; HttpOnly; SameSite=None"

    /// The port on 127.0.0.1; 0 for a unix socket.
    var port: Int { channel.localAddress?.port ?? 0 }

    /// Listens on a unix socket, or on TCP if there is no path, for sub-requests or for HAProxy's offload.
    init(_ path: String?, isOffload: Bool) throws {
        let heads = heads
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if isOffload { return try channel.pipeline.syncOperations.addHandler(Self.offload(heads)) }
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answerer(heads))
                }
            }
        channel =
            if let path { try bootstrap.bind(unixDomainSocketPath: path).wait() } else {
                try bootstrap.bind(host: "127.0.0.1", port: 0).wait()
            }
    }

    deinit { channel.close(promise: nil) }

    private static func offload(_ heads: Heads) -> SPOPConnectionHandler<Notified> {
        let limits = HTTPLimits(
            connections: 16,
            connectionsPerPeer: 16,
            headerBytes: 32768,
            bodyBytes: 1024,
            requestTimeout: .seconds(10),
            idleTimeout: .seconds(60)
        )
        return SPOPConnectionHandler(
            Notified(heads: heads),
            limits: SPOPLimits(limits),
            budget: ByteBudget(1 << 20),
            onEnd: { _ in }
        )
    }

    /// Answers the notifications of HAProxy in the same way.
    private struct Notified: SPOPService {
        let heads: Heads

        func reply(to messages: consuming SPOPMessages, on connection: HTTPConnection) -> Reply<SPOEAnswer> {
            let request = SPOERequest(messages)
            let fields = request?.fields ?? HTTPFields([:])
            let headers = HTTPHeaders(fields.indices.map { (String(fields.name($0)), String(fields.value($0))) })
            let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/", headers: headers)
            heads.value.withLock { $0.append(head) }
            let answer = GrantingGate.answer(isRenewed: headers[":path"].contains { $0.contains("renew") })
            return .now(.first(answer, request?.variables ?? .all))
        }
    }

    private static func answer(isRenewed: Bool) -> EdgeAnswer {
        var answer = EdgeAnswer(
            decision: .allow(Decision.Allowance(reason: .unprotected, subject: .nothing)),
            trace: TraceID.new(),
            tokenSources: 0,
            sources: [],
            keeping: .none,
            session: SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16")
        )
        if isRenewed { answer.grant = DeliveredGrant(token: token, cookie: cookie) }
        return answer
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let heads: Heads
        private var isRenewed = false

        init(_ heads: Heads) { self.heads = heads }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                heads.value.withLock { $0.append(head) }
                let targets = head.headers["x-original-uri"] + head.headers["x-forwarded-uri"] + [head.uri]
                isRenewed = targets.contains { $0.contains("renew") }
            case .body: break
            case .end: answer(context)
            }
        }

        /// Writes an answer, as its own code does, in the form that NIO's encoder needs.
        private func answer(_ context: ChannelHandlerContext) {
            let answer = GrantingGate.answer(isRenewed: isRenewed)
            var buffer = ByteBuffer()
            buffer.write(atMost: answer.limit + HTTPCommonFields.limit) { writer in
                let closing = HTTPCommonFields(date: HTTPDate(), closesConnection: false)
                answer.write(into: &writer, isHead: false, closing: closing)
            }
            var head = HTTPResponseHead(version: .http1_1, status: .ok)
            for line in String(buffer: buffer).split(separator: "\r\n").dropFirst() {
                let parts = line.split(separator: ": ", maxSplits: 1, omittingEmptySubsequences: false)
                head.headers.add(name: String(parts[0]), value: parts.count > 1 ? String(parts[1]) : "")
            }
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
