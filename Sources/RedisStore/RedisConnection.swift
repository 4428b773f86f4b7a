// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    internal import NIOCore
    internal import Platform
    internal import ReplayStores

    /// The handler of a connection to Redis: commands out, replies in, in the same order.
    ///
    /// Commands are pipelined, and all of one turn of the event loop leave in one write. A request whose reply is overdue
    /// fails, and its reply is dropped when it arrives. All requests fail at once if the connection ends, or if the oldest
    /// reply is so late that the connection is closed.
    final class RedisConnectionHandler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private struct Request {
            /// `nil` if the request has failed, because its reply is overdue.
            var receive: RedisReceiver?
            let sent: NIODeadline
        }

        /// The requests whose replies have not arrived.
        private var waiting = CircularBuffer<Request>()
        /// The number of replies so far, which is the number of the first request that waits.
        private var replies = 0
        /// The requests that wait with a deadline, by their numbers, with the deadline when they were sent.
        private var limited = CircularBuffer<(number: Int, sent: NIODeadline, limit: Duration)>()
        /// The time of the next look at the deadlines.
        private var nextLook = NIODeadline.distantFuture
        private var outgoing = ByteBuffer()
        private var isFlushScheduled = false
        /// True after a failure: nothing that follows is sent or read.
        private var isOver = false
        private var context: ChannelHandlerContext?
        private let reader: RedisReplyReader?
        private let patience: TimeAmount
        private let deadline: StoreDeadline
        private var watch: RepeatedTask?

        /// The maximum number of outstanding replies.
        static let waitingLimit = 10_000

        /// Creates a handler.
        ///
        /// - Parameters:
        ///   - patience: The maximum wait for the oldest reply before the connection is closed.
        ///   - deadline: The maximum wait for a reply before its request fails.
        init(patience: TimeAmount, deadline: StoreDeadline) {
            self.patience = patience
            self.deadline = deadline
            reader = RedisReplyReader()
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func handlerRemoved(context: ChannelHandlerContext) {
            fail("the connection to Redis closed")
            self.context = nil
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
            guard let oldest = waiting.first, oldest.sent + patience < .now() else { return }
            channel.close(mode: .all, promise: nil)
        }

        // MARK: Requests

        /// Sends a command. The event loop of the connection calls this, and `receive` once.
        ///
        /// - Parameters:
        ///   - isAsking: True to send `ASKING` before it.
        ///   - hasDeadline: True if the request fails if its reply is later than the deadline.
        func send(
            _ command: RedisCommand,
            asking isAsking: Bool,
            hasDeadline: Bool,
            receive: @escaping RedisReceiver
        ) {
            guard !isOver, let context, context.channel.isActive else {
                return receive(.failure(ReplayStoreError(.unavailable, reason: "the connection to Redis closed")))
            }
            guard waiting.count + (isAsking ? 2 : 1) <= Self.waitingLimit else {
                let reason = "\(Self.waitingLimit) requests are waiting for replies"
                return receive(.failure(ReplayStoreError(.unavailable, reason: reason)))
            }
            let now = context.eventLoop.now
            // No other command comes between the two, and only the second reply matters.
            if isAsking {
                waiting.append(Request(receive: nil, sent: now))
                RedisCommand("ASKING").write(into: &outgoing)
            }
            if hasDeadline, let limit = deadline.limit { limited.append((replies + waiting.count, now, limit)) }
            waiting.append(Request(receive: receive, sent: now))
            watchDeadlines(context.eventLoop)
            command.write(into: &outgoing)
            guard !isFlushScheduled else { return }
            isFlushScheduled = true
            // After the other tasks of this turn, which may send more.
            context.eventLoop.assumeIsolated().execute { self.flush() }
        }

        private func flush() {
            isFlushScheduled = false
            guard !isOver, let context else { return }
            context.writeAndFlush(wrapOutboundOut(outgoing), promise: nil)
            // The memory of what is written serves again, unless it was a burst.
            if outgoing.capacity > Self.keptCapacity { outgoing = ByteBuffer() } else { outgoing.clear() }
        }

        /// The largest buffer that is retained, in bytes: for some eighty commands.
        private static let keptCapacity = 65_536

        /// Sees to it that overdue requests fail. Between two reloads all have the same deadline, so the oldest ends first.
        private func watchDeadlines(_ loop: any EventLoop) {
            guard let end = nextDeadline, end < nextLook else { return }
            nextLook = end
            loop.assumeIsolated().scheduleTask(deadline: end) {
                // A look that was meant to be later stays scheduled, and finds nothing.
                if self.nextLook == end { self.nextLook = .distantFuture }
                self.failOverdue(loop)
                self.watchDeadlines(loop)
            }
        }

        /// The deadline of the oldest request that has one and has not failed.
        private var nextDeadline: NIODeadline? {
            limited.first.map { $0.sent + .nanoseconds(deadline.limit(since: $0.limit).nanoseconds) }
        }

        private func failOverdue(_ loop: any EventLoop) {
            let now = loop.now
            while let end = nextDeadline, end <= now, let request = limited.popFirst() {
                let index = waiting.index(waiting.startIndex, offsetBy: request.number - replies)
                let receive = waiting[index].receive
                waiting[index].receive = nil
                receive?(.failure(ReplayStoreError(.deadline, reason: "Redis did not answer in time")))
            }
        }

        // MARK: Replies

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard !isOver else { return }
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
                    if limited.first?.number == replies { limited.removeFirst() }
                    replies += 1
                    first.receive?(.success(reply))
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

        /// Fails all requests, and those that follow. The connection is closed or closing.
        private func fail(_ reason: String) {
            isOver = true
            let failed = waiting
            waiting.removeAll()
            limited.removeAll()
            for request in failed { request.receive?(.failure(ReplayStoreError(.unavailable, reason: reason))) }
        }
    }

    /// A closure that is called once, with the reply to a request, or with the reason for which there is none.
    typealias RedisReceiver = @Sendable (Result<RedisReply, ReplayStoreError>) -> Void

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
