// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An origin server that responds with the request that it received: the request line, then one line for each header field,
/// and the body after an empty line if there is one.
/// Caches may store its responses. Responses for paths that contain `hostile` also have what an edge must not pass on; those that end in
/// `/live.mpd` may not be stored, and those that end in `/moved` lead to a folder on the host of the request, and `/within` to another file within nginx.
package final class RecordingOrigin: Sendable {
    private let channel: any Channel
    private let counter = Counter()
    private let stream = Stream()

    /// The port on 127.0.0.1 on which it listens.
    package let port: Int

    package init() throws {
        let (counter, stream) = (counter, stream)
        channel = try ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Answerer(counter: counter, stream: stream))
                }
            }
            .bind(host: "127.0.0.1", port: 0).wait()
        port = channel.localAddress?.port ?? 0
    }

    deinit { channel.close(promise: nil) }

    /// The number of requests that it has answered.
    package var requests: Int { counter.value.withLock { $0 } }

    /// Serves `files` by their paths from now on; others are not found.
    ///
    /// - Parameter onRequest: Called with the path of each request, before the answer.
    package func serve(_ files: [String: [UInt8]], onRequest: @escaping @Sendable (String) -> Void = { _ in }) {
        serve(onRequest: onRequest) { files[$0] }
    }

    /// Serves what `find` returns for a path from now on; other paths are not found.
    package func serve(
        onRequest: @escaping @Sendable (String) -> Void = { _ in },
        _ find: @escaping @Sendable (String) -> [UInt8]?
    ) {
        stream.value.withLock { $0 = (find, onRequest) }
    }

    /// Answers requests by POST with what `answer` returns for their paths and bodies from now on; others are not found.
    package func servePosts(_ answer: @escaping @Sendable (_ path: String, _ body: String) -> [UInt8]?) {
        stream.posts.withLock { $0 = answer }
    }

    private final class Counter: Sendable { let value = Mutex(0) }

    private final class Stream: Sendable {
        let posts = Mutex<(@Sendable (String, String) -> [UInt8]?)?>(nil)
        let value = Mutex<(find: @Sendable (String) -> [UInt8]?, onRequest: @Sendable (String) -> Void)?>(nil)
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let counter: Counter
        private let stream: Stream
        private var head: HTTPRequestHead?
        private var body = ""

        init(counter: Counter, stream: Stream) {
            self.counter = counter
            self.stream = stream
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head):
                self.head = head
                body = ""
            case .body(let bytes): body += String(buffer: bytes)
            case .end: if let head { respond(to: head, in: context) }
            }
        }

        private func respond(to head: HTTPRequestHead, in context: ChannelHandlerContext) {
            counter.value.withLock { $0 += 1 }
            if head.method == .POST, let answer = stream.posts.withLock({ $0 }) {
                return write(answer(head.uri, body), of: head.uri, in: context)
            }
            if let (find, onRequest) = stream.value.withLock({ $0 }) {
                onRequest(head.uri)
                return write(find(head.uri), of: head.uri, in: context)
            }
            var text = "\(head.method) \(head.uri)\n"
            for (name, value) in head.headers { text += "\(name.lowercased()): \(value)\n" }
            if !body.isEmpty { text += "\n\(body)" }
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
            var status = HTTPResponseStatus.ok
            if head.uri.hasSuffix("/moved") {
                status = .movedPermanently
                headers.add(name: "Location", value: "http://\(head.headers.first(name: "Host") ?? "")\(head.uri)/")
            }
            if head.uri.contains("/within") { headers.add(name: "X-Accel-Redirect", value: "/live/free/other.ts") }
            let answer = HTTPResponseHead(version: .http1_1, status: status, headers: headers)
            context.write(wrapOutboundOut(.head(answer)), promise: nil)
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        private func write(_ file: [UInt8]?, of uri: String, in context: ChannelHandlerContext) {
            let path = uri.prefix { $0 != "?" }
            let types = [
                ".m3u8": "application/vnd.apple.mpegurl", ".ts": "video/mp2t", ".mpd": "application/dash+xml",
                ".html": "text/html", ".js": "text/javascript",
            ]
            let headers: HTTPHeaders = [
                "Content-Length": "\(file?.count ?? 0)",
                "Cache-Control": path.hasSuffix("/live.mpd") ? "no-cache" : "max-age=60",
                "Content-Type": types.first { path.hasSuffix($0.key) }?.value ?? "video/mp4",
            ]
            let status: HTTPResponseStatus = file == nil ? .notFound : .ok
            context.write(
                wrapOutboundOut(.head(HTTPResponseHead(version: .http1_1, status: status, headers: headers))),
                promise: nil
            )
            context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: file ?? [])))), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }
    }
}
