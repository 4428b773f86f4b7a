// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore
internal import NIOExtras
package import NIOHTTP1
package import Platform

/// One connection of a listener: its requests go to the service one after the other, and its answers back in order.
///
/// Answers that are there at once are gathered and written together, after all that was read. While an answer is waited
/// for, or the client does not take those that are there, what comes in waits too, and no more is read: a client cannot
/// make us keep more than it could send at once.
///
/// Source: RFC 9112 §9.
package final class HTTPConnectionHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundIn = Never
    package typealias OutboundOut = ByteBuffer

    private let service: any HTTPService
    private let flushes: PendingWrites
    private let limits: HTTPTimeLimits
    private let budget: ByteBudget
    private let clock: @Sendable () -> Timestamp

    private var context: ChannelHandlerContext?
    private var connection: HTTPConnection?
    private var deadline: ClientDeadline?
    private var executor: EventLoopExecutor?

    /// The request that comes in.
    private var head: HTTPRequestHead?
    private var body: ByteBuffer?
    private var bodySize = 0
    private var bodyLimit = 0
    private var admission: HTTPAdmission?
    /// Whether bytes of a request have come, and its end has not. A connection begins with its first request.
    private var isArriving = true
    /// Whether a head has come, and its end has not.
    private var isReceiving = false
    /// How many bytes have come of the request that is not answered yet, and how many of them the budget has given.
    private var unfinished = 0
    private var borrowed = 0
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
    /// Whether the last answer is being written.
    private var isFinishing = false

    /// What came in while an answer is waited for, or while the client takes none.
    private var waiting = CircularBuffer<HTTPServerRequestPart>()
    private var isReadHeld = false
    /// Whether parts are being looked at: writing an answer may make the channel writable in the midst of it.
    private var isWorking = false

    private var output = HTTPOutput()

    /// How long a client may take to close its end after its last answer, and how long it may send another request on an
    /// idle connection when the listener ends.
    private static let farewell = TimeAmount.milliseconds(500)

    /// How much of a body is read past that nobody wants.
    private static let discardLimit = 1 << 20

    /// How many bytes of answers are gathered before they are written.
    private static let outputLimit = 16 * 1024

    /// How many parts of requests wait at most: for a client that does not take its answers, and for an answer. Clients
    /// that send more requests ahead are cut off.
    private static let waitingLimit = 64
    private static let pendingLimit = 256

    /// How many bytes every request may have that is not whole, before it needs some of the budget.
    private static let allowance = 4096

    package init(
        _ service: any HTTPService,
        _ limits: HTTPTimeLimits,
        budget: ByteBudget,
        flushes: PendingWrites,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.service = service
        self.flushes = flushes
        self.limits = limits
        self.budget = budget
        self.clock = clock
    }

    // MARK: The channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = HTTPConnection(context.channel)
        deadline = ClientDeadline(context.channel)
        if context.channel.isActive { deadline?.expect(within: limits.request) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        deadline?.cancel()
        settle()
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        deadline?.expect(within: limits.request)
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        deadline?.cancel()
        isOver = true
        waiting.removeAll()
        settle()
        context.fireChannelInactive()
    }

    /// Takes notice of bytes that are about to be parsed; false if there is no room for them.
    package func takesBytes(_ count: Int) -> Bool {
        if isOver { return true }
        if !isArriving { beginArriving() }
        // Bodies that are not kept take no room.
        if isReceiving, isAnswered { return true }
        unfinished += count
        let missing = unfinished - borrowed - Self.allowance
        guard missing > 0 else { return true }
        guard budget.take(missing) else { return false }
        borrowed += missing
        return true
    }

    private func beginArriving() {
        isArriving = true
        if !isPending { deadline?.expect(within: limits.request) }
    }

    /// Gives back what the budget has given.
    private func settle() {
        unfinished = 0
        guard borrowed > 0 else { return }
        budget.release(borrowed)
        borrowed = 0
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        if isPending || !waiting.isEmpty || !context.channel.isWritable {
            let limit = isPending ? Self.pendingLimit : Self.waitingLimit
            if waiting.count >= limit { return cutOff(context) }
            if !isOver { waiting.append(part) }
        } else {
            isWorking = true
            receive(part, context)
            isWorking = false
        }
    }

    /// Ends the connection with what is answered or waited for: the client has sent too much ahead.
    private func cutOff(_ context: ChannelHandlerContext) {
        isOver = true
        waiting.removeAll()
        flush(context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        if !output.isEmpty { flushes.add(self) }
        context.fireChannelReadComplete()
    }

    package func read(context: ChannelHandlerContext) {
        if canRead(context) {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            receiveWaiting(context)
            expectNextStep()
            flush(context)
            resumeReading(context)
        } else {
            // A client that asks and does not read its answers.
            deadline?.expect(within: limits.request)
        }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
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
        if isPending || !waiting.isEmpty { return }
        isOver = true
        flush(context)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // Of malformed bytes; behind the first ones, all that the client sends is malformed.
        guard error is HTTPParserError || error is ByteToMessageDecoderError else { return context.close(promise: nil) }
        let isOverAlready = isOver
        isOver = true
        // What is waited for or was answered is written, and nothing more.
        if isPending { return }
        if isOverAlready || (isReceiving && isAnswered) { return flush(context) }
        prepareOutput(isHead: false)
        let closing = output.closing
        output.write(atMost: 96 + HTTPCommonFields.limit) { writer in
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
            (isReceiving, isArriving) = (false, false)
            if !isAnswered, let head { answer(head, context) }
            if !isPending {
                settle()
                expectNextStep()
            }
            head = nil
            body = nil
            admission = nil
        }
    }

    /// Goes on with the parts that waited, until one has to wait again.
    private func receiveWaiting(_ context: ChannelHandlerContext) {
        if isWorking { return }
        isWorking = true
        defer { isWorking = false }
        while !isPending, context.channel.isWritable, let part = waiting.popFirst() { receive(part, context) }
        // The client has closed its end behind its last request.
        if isInputClosed, !isPending, waiting.isEmpty { isOver = true }
    }

    private func begin(_ head: HTTPRequestHead, _ context: ChannelHandlerContext) {
        self.head = head
        body = nil
        bodySize = 0
        isReceiving = true
        isAnswered = false
        if !isArriving { beginArriving() }
        let facts = HTTPFramingFacts(head)
        isClientsLast = facts.isLast
        guard let connection, case .body(let limit, let admission) = service.receive(head, connection) else {
            return answer(head, context)
        }
        (bodyLimit, self.admission) = (limit, admission)
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
        guard let head else { return }
        if bodySize > bodyLimit { return answerTooLarge(head, context) }
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
        let request = HTTPRequest(
            head: head,
            body: body,
            isTooLarge: isTooLarge,
            admission: admission,
            connection: connection
        )
        body = nil
        prepareOutput(isHead: head.method == .HEAD)
        if let find = service.answer(request, into: &output) {
            return wait(for: find, isHead: head.method == .HEAD, context)
        }
        if closesAfterAnswer || output.closing.closesConnection { isOver = true }
        // Before the next request is looked at: a client that takes no answers gets no more of them.
        if output.count >= Self.outputLimit { flush(context) }
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
        if !isReceiving { settle() }
        expectNextStep()
        receiveWaiting(context)
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
    package func flush() { if let context { flush(context) } }

    private func flush(_ context: ChannelHandlerContext) {
        guard isOver, !isPending else {
            if !output.isEmpty { context.writeAndFlush(wrapOutboundOut(output.take()), promise: nil) }
            return
        }
        if isFinishing { return }
        isFinishing = true
        waiting.removeAll()
        // The client must take what is there, and no longer than it may take for a request.
        deadline?.expect(within: limits.request)
        let bytes = output.isEmpty ? ByteBuffer() : output.take()
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(bytes), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in self.finish() }
    }

    /// Ends the connection once all is written. Where the client still sends, only our end: its system would throw the
    /// answer away with the rest.
    private func finish() {
        guard let context else { return }
        deadline?.expect(within: Self.farewell)
        context.close(mode: isReceiving ? .output : .all, promise: nil)
    }

    /// What the client has to do next, and by when.
    private func expectNextStep() {
        if isPending || isOver { return }
        if isArriving {
            deadline?.expect(within: limits.request)
        } else {
            deadline?.expect(within: isDraining ? Self.farewell : limits.idle)
        }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, canRead(context) else { return }
        isReadHeld = false
        context.read()
    }

    private func canRead(_ context: ChannelHandlerContext) -> Bool { context.channel.isWritable && waiting.isEmpty }
}
