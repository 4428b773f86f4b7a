// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import PlaybackGate

    /// The handler of a connection to Redis: commands out, replies in, in the same order.
    ///
    /// Commands are pipelined. All outstanding requests fail at once if the connection ends or the oldest reply is overdue.
    final class RedisConnectionHandler: ChannelDuplexHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundIn = RedisRequest
        typealias OutboundOut = ByteBuffer

        private var waiting = CircularBuffer<(promise: EventLoopPromise<RedisReply>, since: NIODeadline)>()
        private let reader: RedisReplyReader?
        private let patience: TimeAmount
        private var watch: RepeatedTask?

        /// The maximum number of outstanding replies.
        static let waitingLimit = 10_000

        /// Creates a handler.
        ///
        /// - Parameter patience: The maximum wait for the oldest reply before the connection is closed.
        init(patience: TimeAmount) {
            self.patience = patience
            reader = RedisReplyReader()
        }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            let handler = NIOLoopBound(self, eventLoop: context.eventLoop)
            watch = context.eventLoop.scheduleRepeatedTask(initialDelay: patience, delay: patience) { _ in
                handler.value.closeIfStuck(channel)
            }
            context.fireChannelActive()
        }

        private func closeIfStuck(_ channel: any Channel) {
            guard let oldest = waiting.first, oldest.since + patience < .now() else { return }
            channel.close(mode: .all, promise: nil)
        }

        func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
            let request = unwrapOutboundIn(data)
            guard waiting.count < Self.waitingLimit else {
                request.promise.fail(
                    ReplayStoreError(.unavailable, "\(Self.waitingLimit) requests are waiting for replies")
                )
                return
            }
            waiting.append((request.promise, .now()))
            context.write(wrapOutboundOut(ByteBuffer(bytes: request.command.bytes)), promise: promise)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let buffer = unwrapInboundIn(data)
            do throws(RedisReplyReader.Malformed) {
                guard let reader else { throw RedisReplyReader.Malformed(reason: "out of memory") }
                try unsafe buffer.withReplyBytes { bytes throws(RedisReplyReader.Malformed) in
                    try unsafe reader.feed(bytes)
                }
                while let reply = try reader.next() {
                    guard let first = waiting.popFirst() else {
                        throw RedisReplyReader.Malformed(reason: "a reply without a request")
                    }
                    first.promise.succeed(reply)
                }
            } catch {
                fail("a reply from Redis cannot be parsed: \(error.reason)")
                context.close(promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) {
            watch?.cancel()
            fail("the connection to Redis closed")
            context.fireChannelInactive()
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            fail("the connection to Redis failed: \(error)")
            context.close(promise: nil)
        }

        private func fail(_ reason: String) {
            let failed = waiting
            waiting.removeAll()
            for entry in failed { entry.promise.fail(ReplayStoreError(.unavailable, reason)) }
        }
    }

    /// A command, and the promise of its reply.
    struct RedisRequest: Sendable {
        let command: RedisCommand
        let promise: EventLoopPromise<RedisReply>
    }

    extension ByteBuffer {
        fileprivate func withReplyBytes<Failure: Error>(
            _ body: (UnsafeRawBufferPointer) throws(Failure) -> Void
        ) throws(Failure) {
            // NIO's closure supports untyped errors only.
            let result: Result<Void, Failure> = unsafe withUnsafeReadableBytes { bytes in
                do throws(Failure) { return .success(try unsafe body(bytes)) } catch { return .failure(error) }
            }
            try result.get()
        }
    }
#endif
