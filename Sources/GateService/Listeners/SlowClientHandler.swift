// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import NIOCore
internal import NIOHTTPTypes

/// Closes a connection whose client takes too long: to send a request, or to send the next.
///
/// Between requests the client may be idle for a while. A connection that was never used, and a request that has begun,
/// must be complete within the shorter time, however many bytes trickle in.
final class SlowClientHandler: ChannelDuplexHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPRequestPart
    typealias InboundOut = HTTPRequestPart
    typealias OutboundIn = HTTPResponsePart
    typealias OutboundOut = HTTPResponsePart

    private let requestTimeout: TimeAmount
    private let idleTimeout: TimeAmount
    /// When the client is too slow; nil while it waits for us.
    private var deadline: NIODeadline?
    /// What looks at the deadline. There is one at a time, and it is not moved with every request: that costs more.
    private var timer: (fires: NIODeadline, task: Scheduled<Void>)?
    /// Requests that have begun and are not answered yet.
    private var unanswered = 0
    /// Whether a request has begun and is not whole: an answer may come before that.
    private var isReceiving = false
    /// Whether the client has said that this request is its last.
    private var isLast = false

    /// How long a client may take to close its end after its last request.
    private static let farewell = TimeAmount.seconds(1)

    init(requestTimeout: Duration, idleTimeout: Duration) {
        self.requestTimeout = TimeAmount(requestTimeout)
        self.idleTimeout = TimeAmount(idleTimeout)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        if context.channel.isActive { expect(within: requestTimeout, context) }
    }

    func channelActive(context: ChannelHandlerContext) {
        expect(within: requestTimeout, context)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        timer?.task.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { timer?.task.cancel() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head(let head):
            isLast = head.headerFields[.connection]?.lowercased() == "close"
            unanswered += 1
            isReceiving = true
            expect(within: requestTimeout, context)
        case .body: break
        case .end:
            isReceiving = false
            if unanswered > 0 { deadline = nil } else { expectNext(context) }
        }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = unwrapOutboundIn(data) {
            unanswered -= 1
            if unanswered == 0, !isReceiving { expectNext(context) }
        }
        context.write(data, promise: promise)
    }

    private func expectNext(_ context: ChannelHandlerContext) {
        expect(within: isLast ? Self.farewell : idleTimeout, context)
    }

    private func expect(within limit: TimeAmount, _ context: ChannelHandlerContext) {
        let deadline = NIODeadline.now() + limit
        self.deadline = deadline
        // A timer that fires earlier finds out by itself how much time is left.
        if let timer, timer.fires <= deadline { return }
        timer?.task.cancel()
        wake(at: deadline, context.channel)
    }

    private func wake(at time: NIODeadline, _ channel: any Channel) {
        let handler = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = (time, channel.eventLoop.scheduleTask(deadline: time) { handler.value.look(channel) })
    }

    private func look(_ channel: any Channel) {
        timer = nil
        guard let deadline else { return }
        if deadline <= .now() {
            channel.close(mode: .all, promise: nil)
        } else {
            wake(at: deadline, channel)
        }
    }
}
