// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
package import NIOCore
internal import NIOExtras
package import NIOHTTP1
package import Platform

/// A connection of a listener: passes its requests to the service one at a time, and writes the answers in order.
///
/// Answers that are available at once are gathered and written together, after all input is read. While an answer is
/// pending, or the client does not read its answers, input is queued and reading stops. Therefore the server holds no
/// more input than a client can send at once.
///
/// Source: RFC 9112 §9.
package final class HTTPConnectionHandler: ChannelDuplexHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundIn = Never
    package typealias OutboundOut = ByteBuffer

    let service: any HTTPService
    /// The service, if it answers every request at its head.
    let bodiless: (any BodilessService)?
    private let flushes: PendingWrites
    private let slot: ConnectionSlot?
    private let limits: HTTPTimeLimits
    let budget: ByteBudget
    private let clock: @Sendable () -> Timestamp

    var context: ChannelHandlerContext?
    var connection: HTTPConnection?
    var deadline: ClientDeadline?
    var executor: EventLoopExecutor?

    /// The request that is being received.
    private var head: HTTPRequestHead?
    private var body: ByteBuffer?
    private var bodySize = 0
    private var bodyLimit = 0
    private var admission: HTTPAdmission?
    /// True from the first byte of a request to its end. A connection begins with its first request.
    var isArriving = true
    /// True from the head of a request to its end.
    var isReceiving = false
    var unfinished = UnfinishedBytes()
    /// True if the request that is being received needs no further answer.
    var isAnswered = false
    /// True while an answer is pending.
    var isPending = false
    /// The task of the pending answer, if it ends with its client.
    var abandonable: Task<Void, Never>?
    /// True if the client sends no request after this one.
    var isClientsLast = false
    /// True after the last answer: further input is ignored.
    var isOver = false
    /// True if the client has closed its end.
    private var isInputClosed = false
    /// True if the listener is shutting down.
    private var isDraining = false
    /// True while the last answer is written.
    private var isFinishing = false
    /// The input that arrived while an answer is pending, or while the client does not read.
    var waiting = CircularBuffer<HTTPServerRequestPart>()
    private var isReadHeld = false
    /// True while parts are processed: writing an answer may make the channel writable in between.
    var isWorking = false
    /// The state of NIO's decoder, as its parts determine it.
    var decoder = DecoderState()
    var output = HTTPOutput()

    /// The time that a client has to close its end after its last answer, or to send another request on an idle connection
    /// after the listener starts to shut down.
    private static let farewell = TimeAmount.milliseconds(500)
    /// The most bytes of an unwanted body that are read and discarded.
    private static let discardLimit = 1 << 20
    /// The most bytes of answers that are gathered before they are written.
    private static let outputLimit = 16 * 1024
    /// The most queued parts of requests, while the client does not read its answers, and while an answer is pending.
    private static let waitingLimit = 64
    private static let pendingLimit = 256

    package init(
        _ service: any HTTPService,
        limits: HTTPTimeLimits,
        budget: ByteBudget,
        flushes: PendingWrites,
        slot: ConnectionSlot? = nil,
        clock: @escaping @Sendable () -> Timestamp
    ) {
        self.service = service
        self.slot = slot
        bodiless = service as? any BodilessService
        self.flushes = flushes
        self.limits = limits
        self.budget = budget
        self.clock = clock
    }

    // MARK: The channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = HTTPConnection(context.channel, slot: slot)
        deadline = ClientDeadline(context.channel)
        if context.channel.isActive { deadline?.expect(within: limits.request) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        deadline?.expect(within: limits.request)
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        isOver = true
        waiting.removeAll()
        context.fireChannelInactive()
    }

    private func end() {
        deadline?.cancel()
        abandonable?.cancel()
        unfinished = unfinished.settled(with: budget)
    }

    /// Counts bytes that are about to be parsed, and returns false if the budget has no room for them.
    package func reserve(_ count: Int) -> Bool {
        if isOver { return true }
        if !isArriving { beginArriving() }
        // Bodies that are discarded need no room.
        if isReceiving, isAnswered { return true }
        guard let sum = unfinished.adding(count, from: budget) else { return false }
        unfinished = sum
        return true
    }

    func beginArriving() {
        isArriving = true
        if !isPending { deadline?.expect(within: limits.request) }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let part = unwrapInboundIn(data)
        decoder.note(part)
        accept(part, in: context)
    }

    /// Receives a part of a request, or queues it.
    func accept(_ part: HTTPServerRequestPart, in context: ChannelHandlerContext) {
        if isPending || !waiting.isEmpty || !context.channel.isWritable {
            let limit = isPending ? Self.pendingLimit : Self.waitingLimit
            if waiting.count >= limit { return cutOff(context) }
            if !isOver { waiting.append(part) }
        } else {
            isWorking = true
            receive(part, in: context)
            isWorking = false
        }
    }

    /// Ends the connection after the answers so far and the pending one: the client pipelined too much.
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
            // The client sends requests and does not read the answers.
            deadline?.expect(within: limits.request)
        }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isDraining = true
            // A request may be on its way; it is answered as the last one.
            if !isReceiving, !isPending { deadline?.expect(within: Self.farewell) }
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            endInput(context)
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Ends the input: the client sends nothing more, and its requests so far are answered.
    private func endInput(_ context: ChannelHandlerContext) {
        isInputClosed = true
        abandonable?.cancel()
        if isPending || !waiting.isEmpty { return }
        isOver = true
        flush(context)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The bytes are malformed, and all bytes after them count as malformed.
        guard error is HTTPParserError || error is ByteToMessageDecoderError else { return context.close(promise: nil) }
        let isOverAlready = isOver
        isOver = true
        // A pending or gathered answer is written, and nothing more.
        if isPending { return }
        if isOverAlready || (isReceiving && isAnswered) { return flush(context) }
        prepareOutput(isHead: false)
        output.write(MalformedRequestAnswer())
        flush(context)
    }

    // MARK: Requests

    private func receive(_ part: HTTPServerRequestPart, in context: ChannelHandlerContext) {
        guard !isOver else { return }
        switch part {
        case .head(let head): begin(head, in: context)
        case .body(let bytes): append(bytes, in: context)
        case .end:
            (isReceiving, isArriving) = (false, false)
            if !isAnswered, let head { respond(to: head, in: context) }
            if !isPending {
                unfinished = unfinished.settled(with: budget)
                expectNextStep()
            }
            head = nil
            body = nil
            admission = nil
        }
    }

    /// Processes queued parts until one has to wait again.
    func receiveWaiting(_ context: ChannelHandlerContext) {
        if isWorking { return }
        isWorking = true
        defer { isWorking = false }
        while !isPending, context.channel.isWritable, let part = waiting.popFirst() { receive(part, in: context) }
        // The client closed its end after its last request.
        if isInputClosed, !isPending, waiting.isEmpty { isOver = true }
    }

    private func begin(_ head: HTTPRequestHead, in context: ChannelHandlerContext) {
        self.head = head
        body = nil
        bodySize = 0
        isReceiving = true
        isAnswered = false
        if !isArriving { beginArriving() }
        connection?.slot?.noteUse()
        let facts = HTTPFramingFacts(head)
        isClientsLast = facts.isLast
        guard let connection, case .body(let limit, let admission) = service.receive(head, on: connection) else {
            return respond(to: head, in: context)
        }
        (bodyLimit, self.admission) = (limit, admission)
        if let length = facts.contentLength, length > limit { return answerTooLarge(head, in: context) }
        if facts.expectsContinue {
            output.write(atMost: 32) { $0.write("HTTP/1.1 100 Continue\r\n\r\n") }
        }
    }

    private func append(_ bytes: ByteBuffer, in context: ChannelHandlerContext) {
        bodySize += bytes.readableBytes
        if isAnswered {
            if bodySize > Self.discardLimit { context.close(promise: nil) }
            return
        }
        guard let head else { return }
        if bodySize > bodyLimit { return answerTooLarge(head, in: context) }
        if body == nil {
            body = bytes
        } else {
            body?.writeImmutableBuffer(bytes)
        }
    }

    private func answerTooLarge(_ head: HTTPRequestHead, in context: ChannelHandlerContext) {
        // The rest of the body is not read: the connection ends with this answer.
        isClientsLast = true
        body = nil
        respond(to: head, isTooLarge: true, in: context)
    }

    private func respond(to head: HTTPRequestHead, isTooLarge: Bool = false, in context: ChannelHandlerContext) {
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
        finishAnswer(service.respond(to: request, into: &output), isHead: head.method == .HEAD, in: context)
    }

    /// Waits for a pending answer, or ends one that is written.
    func finishAnswer(_ pending: PendingAnswer?, isHead: Bool, in context: ChannelHandlerContext) {
        if let pending { return wait(for: pending, isHead: isHead, context) }
        if closesAfterAnswer || output.closing.closesConnection { isOver = true }
        // Flushed before the next request is processed: a client that does not read its answers gets no more.
        if output.count >= Self.outputLimit { flush(context) }
    }

    // MARK: Answers

    /// True if the next answer is the connection's last.
    var closesAfterAnswer: Bool { isClientsLast || isDraining || isOver }

    func prepareOutput(isHead: Bool) {
        output.isHead = isHead
        output.closing.date.set(clock())
        output.closing.closesConnection = closesAfterAnswer
    }

    /// Writes the gathered answers, if the connection still exists.
    package func flush() { if let context { flush(context) } }

    func flush(_ context: ChannelHandlerContext) {
        guard isOver, !isPending else {
            if !output.isEmpty {
                output.drain { context.write(wrapOutboundOut($0), promise: nil) }
                context.flush()
            }
            return
        }
        if isFinishing { return }
        isFinishing = true
        waiting.removeAll()
        // The client must read the rest within the time limit of a request.
        deadline?.expect(within: limits.request)
        output.drain { context.write(wrapOutboundOut($0), promise: nil) }
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(ByteBuffer()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in self.finish() }
    }

    /// Closes the connection after everything is written. If the client still sends, only the output is closed: otherwise
    /// the client's system would discard the answer along with the rest.
    private func finish() {
        guard let context else { return }
        deadline?.expect(within: Self.farewell)
        context.close(mode: isReceiving ? .output : .all, promise: nil)
    }

    /// Sets the deadline of the client's next step.
    func expectNextStep() {
        if isPending || isOver { return }
        if isArriving {
            deadline?.expect(within: limits.request)
        } else {
            deadline?.expect(within: isDraining ? Self.farewell : limits.idle)
        }
    }

    func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, canRead(context) else { return }
        isReadHeld = false
        context.read()
    }

    private func canRead(_ context: ChannelHandlerContext) -> Bool { context.channel.isWritable && waiting.isEmpty }
}

// Requests whose heads are read without NIO's decoder. They are treated as the parts of the same request from the decoder:
// its head, and its end.

extension HTTPConnectionHandler {
    /// True if a request that arrives now is processed at once: none is received, pending or queued, and the client reads its
    /// answers.
    var isReady: Bool {
        !isOver && !isPending && !isReceiving && !isWorking && waiting.isEmpty && context?.channel.isWritable ?? false
    }

    /// Receives a whole request without a body, while ``isReady``.
    func receive(_ method: HTTPMethod, target: Substring, fields: HTTPFields) {
        guard let context, let connection, let bodiless else { return }
        isWorking = true
        (isReceiving, isAnswered, isClientsLast) = (true, true, false)
        if !isArriving { beginArriving() }
        connection.slot?.noteUse()
        prepareOutput(isHead: method == .HEAD)
        let request = BodilessRequest(method: method, target: target, fields: fields, connection: connection)
        finishAnswer(bodiless.respond(to: request, into: &output), isHead: method == .HEAD, in: context)
        isWorking = false
        accept(.end(nil), in: context)
    }
}

// Answers that are awaited. No other request of the connection is processed meanwhile.

extension HTTPConnectionHandler {
    func wait(for answer: PendingAnswer, isHead: Bool, _ context: ChannelHandlerContext) {
        isPending = true
        deadline?.clear()
        let loop = context.eventLoop
        let executor = executor ?? EventLoopExecutor(loop)
        self.executor = executor
        let this = NIOLoopBound(self, eventLoop: loop)
        let task = answer.deliver(on: loop, executor: executor) { this.value.complete($0, isHead: isHead) }
        if service.cancelsAbandoned { abandonable = task }
    }

    private func complete(_ answer: any HTTPAnswer, isHead: Bool) {
        isPending = false
        abandonable = nil
        guard let context, context.channel.isActive else { return }
        let isBroken = isOver
        isOver = false
        if isBroken { isClientsLast = true }
        prepareOutput(isHead: isHead)
        output.write(answer)
        if closesAfterAnswer { isOver = true }
        if !isReceiving { unfinished = unfinished.settled(with: budget) }
        expectNextStep()
        receiveWaiting(context)
        flush(context)
        resumeReading(context)
    }
}
