// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import NIOCore
internal import NIOExtras
internal import NIOHTTP1

/// One connection of a listener: its requests go to the service one after the other, and its answers back in order.
///
/// Answers that are there at once are gathered and written together, after all that was read. While an answer is waited
/// for, what comes in waits too, and no more is read: a client cannot make us keep more than it could send at once.
///
/// Source: RFC 9112 §9.
final class HTTPConnectionHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = Never
    typealias OutboundOut = ByteBuffer

    private let service: any HTTPService
    private let flushes: FlushQueue
    private let limits: HTTPTimeLimits
    private let clock: @Sendable () -> Timestamp

    private var context: ChannelHandlerContext?
    private var connection: HTTPConnection?
    private var deadline: ClientDeadline?
    private var executor: EventLoopExecutor?

    /// The request that comes in.
    private var head: HTTPRequestHead?
    private var body: ByteBuffer?
    private var bodySize = 0
    /// Whether a head has come, and its end has not.
    private var isReceiving = false
    /// Whether the request that comes in needs no answer any more.
    private var isAnswered = false
    /// Whether an answer is waited for.
    private var isPending = false
    /// Whether there is no request after this one, by the client's word.
    private var isClientsLast = false
    /// Whether the last answer is given: nothing that comes in is looked at.
    private var isOver = false
    /// Whether the client has closed its end.
    private var isInputClosed = false
    /// Whether the listener is about to end.
    private var isDraining = false

    /// What came in while an answer is waited for.
    private var waiting = CircularBuffer<HTTPServerRequestPart>()
    private var isReadHeld = false

    private var output = HTTPOutput()

    /// How long a client may take to close its end after its last answer, and how long it may send another request on an
    /// idle connection when the listener ends.
    private static let farewell = TimeAmount.milliseconds(500)

    /// How much of a body is read past that nobody wants.
    private static let discardLimit = 1 << 20

    init(
        _ service: any HTTPService,
        _ limits: HTTPTimeLimits,
        flushes: FlushQueue,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.service = service
        self.flushes = flushes
        self.limits = limits
        self.clock = clock
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = HTTPConnection(context.channel)
        deadline = ClientDeadline(context.channel)
        if context.channel.isActive { deadline?.expect(within: limits.request) }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        self.context = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        deadline?.expect(within: limits.request)
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        isOver = true
        context.fireChannelInactive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isPending {
            waiting.append(part)
        } else {
            receive(part, context)
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if !output.isEmpty { flushes.add(self) }
        context.fireChannelReadComplete()
    }

    func read(context: ChannelHandlerContext) {
        if context.channel.isWritable, !isPending || waiting.isEmpty {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            expectNextStep()
            resumeReading(context)
        } else {
            // A client that asks and does not read its answers.
            deadline?.expect(within: limits.request)
        }
        context.fireChannelWritabilityChanged()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isDraining = true
            // A request may be on its way: it is answered, and is the last.
            if !isReceiving, !isPending { deadline?.expect(within: Self.farewell) }
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            endInput(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// The client sends nothing more; what it has asked is answered.
    private func endInput(_ context: ChannelHandlerContext) {
        isInputClosed = true
        if isPending { return }
        isOver = true
        flush(context)
        context.close(promise: nil)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard error is HTTPParserError, !isOver else { return context.close(promise: nil) }
        isOver = true
        // While an answer is waited for, it is given, and nothing more.
        if isPending { return }
        if isReceiving, isAnswered { return finish(context) }
        prepareOutput(isHead: false)
        let closing = output.closing
        output.write(atMost: 96 + HTTPClosingFields.limit) { writer in
            writer.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nCache-Control: no-store\r\n")
            closing.write(into: &writer)
        }
        flush(context)
    }

    // MARK: Requests

    private func receive(_ part: HTTPServerRequestPart, _ context: ChannelHandlerContext) {
        guard !isOver else { return }
        switch part {
        case .head(let head): begin(head, context)
        case .body(let bytes): take(bytes, context)
        case .end:
            isReceiving = false
            if !isAnswered, let head { answer(head, context) }
            if !isPending { expectNextStep() }
            head = nil
            body = nil
        }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        self.head = head
        body = nil
        bodySize = 0
        isReceiving = true
        isAnswered = false
        deadline?.expect(within: limits.request)
        let facts = HTTPFramingFacts(head)
        isClientsLast = facts.isLast
        guard let limit = service.bodyLimit else { return answer(head, context) }
        if let length = facts.contentLength, length > limit { return answerTooLarge(head, context) }
        if facts.expectsContinue {
            output.write(atMost: 32) { $0.write("HTTP/1.1 100 Continue\r\n\r\n") }
        }
    }

    private func take(_ bytes: ByteBuffer, _ context: ChannelHandlerContext) {
        bodySize += bytes.readableBytes
        if isAnswered {
            if bodySize > Self.discardLimit { context.close(promise: nil) }
            return
        }
        guard let head, let limit = service.bodyLimit else { return }
        if bodySize > limit { return answerTooLarge(head, context) }
        if body == nil {
            body = bytes
        } else {
            body?.writeImmutableBuffer(bytes)
        }
    }

    private func answerTooLarge(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        // What follows is not read: the connection ends with this answer.
        isClientsLast = true
        body = nil
        answer(head, isTooLarge: true, context)
    }

    private func answer(_ head: HTTPRequestHead, isTooLarge: Bool = false, _ context: ChannelHandlerContext) {
        guard let connection else { return }
        isAnswered = true
        let request = HTTPRequest(head: head, body: body, isTooLarge: isTooLarge, connection: connection)
        body = nil
        prepareOutput(isHead: head.method == .HEAD)
        if let find = service.answer(request, into: &output) {
            wait(for: find, isHead: head.method == .HEAD, context)
        } else if closesAfterAnswer {
            isOver = true
        }
    }

    private func wait(for find: @escaping PendingAnswer, isHead: Bool, _ context: ChannelHandlerContext) {
        isPending = true
        deadline?.clear()
        let loop = context.eventLoop
        let executor = executor ?? EventLoopExecutor(loop)
        self.executor = executor
        let this = NIOLoopBound(self, eventLoop: loop)
        Task(executorPreference: executor) {
            let answer = await find()
            if loop.inEventLoop {
                this.value.complete(answer, isHead: isHead)
            } else {
                loop.execute { this.value.complete(answer, isHead: isHead) }
            }
        }
    }

    private func complete(_ answer: any HTTPAnswer, isHead: Bool) {
        isPending = false
        guard let context, context.channel.isActive else { return }
        let isBroken = isOver
        isOver = false
        if isBroken { isClientsLast = true }
        prepareOutput(isHead: isHead)
        output.write(answer)
        if closesAfterAnswer { isOver = true }
        expectNextStep()
        while !isPending, let part = waiting.popFirst() { receive(part, context) }
        if isInputClosed, !isPending { isOver = true }
        flush(context)
        resumeReading(context)
    }

    // MARK: Answers

    /// Whether the next answer is the connection's last.
    private var closesAfterAnswer: Bool { isClientsLast || isDraining || isOver }

    private func prepareOutput(isHead: Bool) {
        output.isHead = isHead
        output.closing.date.set(clock())
        output.closing.closesConnection = closesAfterAnswer
    }

    /// Writes what is gathered, if the connection is still there.
    func flush() { if let context { flush(context) } }

    private func flush(_ context: ChannelHandlerContext) {
        guard !output.isEmpty else { return }
        let isLast = isOver && !isPending
        context.writeAndFlush(wrapOutboundOut(output.take()), promise: nil)
        if isLast { finish(context) }
    }

    /// Ends the connection once all is written. Where the client still sends, only our end: its system would throw the
    /// answer away with the rest.
    private func finish(_ context: ChannelHandlerContext) {
        waiting.removeAll()
        deadline?.expect(within: Self.farewell)
        context.close(mode: isReceiving ? .output : .all, promise: nil)
    }

    /// What the client has to do next, and by when.
    private func expectNextStep() {
        if isPending || isOver { return }
        if isReceiving {
            deadline?.expect(within: limits.request)
        } else {
            deadline?.expect(within: isDraining ? Self.farewell : limits.idle)
        }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, context.channel.isWritable, !isPending || waiting.isEmpty else { return }
        isReadHeld = false
        context.read()
    }
}

/// How long a client may take.
struct HTTPTimeLimits: Sendable {
    /// From the connection, or the first byte of a request, to the last byte of the request.
    let request: TimeAmount
    /// From an answer to the next request.
    let idle: TimeAmount

    init(_ limits: GateConfiguration.Listener.Limits) {
        request = TimeAmount(limits.requestTimeout)
        idle = TimeAmount(limits.idleTimeout)
    }
}

/// What the head of a request says of its connection and its body.
struct HTTPFramingFacts {
    /// Whether the connection ends after this request.
    private(set) var isLast: Bool
    private(set) var contentLength: Int?
    private(set) var expectsContinue = false

    init(_ head: HTTPRequestHead) {
        // NIO reads no more requests after one that asks for another protocol, which is never granted.
        isLast = head.version != .http1_1 || head.method == .CONNECT
        for (name, value) in head.headers {
            switch name.utf8.count {
            case 6 where name.isSameField("expect"): expectsContinue = value.isSameField("100-continue")
            case 7 where name.isSameField("upgrade"): isLast = true
            case 10 where name.isSameField("connection"): if !value.isSameField("keep-alive") { isLast = true }
            case 14 where name.isSameField("content-length"): contentLength = Int(value)
            default: break
            }
        }
    }
}
