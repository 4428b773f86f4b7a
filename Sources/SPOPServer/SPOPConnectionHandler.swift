// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import NIOCore

/// A connection of HAProxy: the handshake, notifications in any number up to a limit, and their acknowledgements in the order in
/// which they are known.
///
/// Source: HAProxy's doc/SPOE.txt §3.2.
package final class SPOPConnectionHandler<Handled: SPOPService>: ChannelDuplexHandler {
    package typealias InboundIn = ByteBuffer
    package typealias OutboundIn = Never
    package typealias OutboundOut = ByteBuffer

    private let service: Handled
    private let limits: SPOPLimits
    private let budget: ByteBudget
    private let onEnd: @Sendable (SPOPEnd) -> Void

    private var context: ChannelHandlerContext?
    private var connection: HTTPConnection?
    private var deadline: ClientDeadline?
    private var executor: EventLoopExecutor?

    /// The terms of the connection; `nil` until HAProxy has proposed them.
    private var terms: SPOPHello?
    /// The input that is not processed.
    private var input = ByteBuffer()
    private var unfinished = UnfinishedBytes()
    /// True from the first byte of a frame to its last.
    private var isArriving = false
    private var output = SPOPOutput()
    /// The number of notifications without an answer.
    private var outstanding = 0
    /// True after the last frame: further input is ignored.
    private var isOver = false
    /// True while the last frame is written.
    private var isFinishing = false
    /// True if the listener is shutting down.
    private var isDraining = false
    /// True if HAProxy has closed its end.
    private var isInputClosed = false
    private var isReadHeld = false
    /// True while frames are processed: writing may make the channel writable in between.
    private var isWorking = false

    /// The time that HAProxy has to close its end after the last frame.
    private static var farewell: TimeAmount { .milliseconds(500) }
    /// The most bytes of frames that are gathered before they are written.
    private static var outputLimit: Int { 16 * 1024 }

    package init(
        _ service: Handled,
        limits: SPOPLimits,
        budget: ByteBudget,
        onEnd: @escaping @Sendable (SPOPEnd) -> Void
    ) {
        self.service = service
        self.limits = limits
        self.budget = budget
        self.onEnd = onEnd
    }

    // MARK: The channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connection = HTTPConnection(context.channel)
        deadline = ClientDeadline(context.channel)
        if context.channel.isActive { deadline?.expect(within: limits.frame) }
    }

    package func handlerRemoved(context: ChannelHandlerContext) {
        end()
        self.context = nil
    }

    package func channelActive(context: ChannelHandlerContext) {
        deadline?.expect(within: limits.frame)
        context.fireChannelActive()
    }

    package func channelInactive(context: ChannelHandlerContext) {
        end()
        isOver = true
        context.fireChannelInactive()
    }

    private func end() {
        deadline?.cancel()
        unfinished = unfinished.settled(with: budget)
        input = ByteBuffer()
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !isOver else { return }
        var bytes = unwrapInboundIn(data)
        guard reserve(bytes.readableBytes) else { return disconnect(with: .resources, in: context) }
        if input.readableBytes == 0 {
            input = bytes
        } else {
            input.discardReadBytes()
            input.writeBuffer(&bytes)
        }
        process(context)
    }

    package func channelReadComplete(context: ChannelHandlerContext) {
        flush(context)
        context.fireChannelReadComplete()
    }

    package func read(context: ChannelHandlerContext) {
        if canRead(context) { context.read() } else { isReadHeld = true }
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            resume(context)
        } else if !isOver {
            // HAProxy sends notifications and does not read the answers.
            deadline?.expect(within: limits.frame)
        }
        context.fireChannelWritabilityChanged()
    }

    package func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is ChannelShouldQuiesceEvent {
            isDraining = true
            finishIfDrained(context)
            flush(context)
        } else if let event = event as? ChannelEvent, event == .inputClosed {
            isInputClosed = true
            if isOver || outstanding == 0 { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    // MARK: Frames

    /// Processes the frames that are whole, until one has to wait.
    private func process(_ context: ChannelHandlerContext) {
        if isWorking { return }
        isWorking = true
        defer { isWorking = false }
        while !isOver, outstanding < outstandingLimit, context.channel.isWritable {
            do throws(SPOPStatus) {
                guard let frame = try nextFrame() else { break }
                try receive(SPOPFrame(frame.readableBytesUInt8Span), in: context)
            } catch { disconnect(with: error, in: context) }
            if output.count >= Self.outputLimit { flush(context) }
        }
        unfinished = unfinished.settled(with: budget)
        if isOver {
            input = ByteBuffer()
            return
        }
        guard reserve(input.readableBytes) else { return disconnect(with: .resources, in: context) }
        finishIfDrained(context)
        expectNextStep(context)
    }

    /// Counts input that is not processed, and returns false if the budget has no room for it.
    private func reserve(_ count: Int) -> Bool {
        guard let sum = unfinished.adding(count, from: budget) else { return false }
        unfinished = sum
        return true
    }

    private var outstandingLimit: Int { terms?.isPipelined ?? false ? limits.outstanding : 1 }

    /// Removes the bytes of the next frame from the input; `nil` if it is not whole.
    private func nextFrame() throws(SPOPStatus) -> ByteBuffer? {
        guard let length = input.getInteger(at: input.readerIndex, as: UInt32.self) else { return nil }
        guard length <= UInt32(terms?.frameSize ?? limits.frameSize) else { throw .tooBig }
        guard length >= UInt32(SPOPFrame.minimumSize) else { throw .invalid }
        guard input.readableBytes >= 4 + Int(length) else { return nil }
        input.moveReaderIndex(forwardBy: 4)
        isArriving = false
        return input.readSlice(length: Int(length))
    }

    private func receive(_ frame: borrowing SPOPFrame, in context: ChannelHandlerContext) throws(SPOPStatus) {
        switch frame.kind {
        case .helloOfHAProxy where terms == nil: try greet(SPOPHello(frame, limit: limits.frameSize))
        case .notify where terms != nil: try receive(notification: frame, context)
        case .disconnectOfHAProxy:
            onEnd(SPOPEnd(isByAgent: false, status: frame.disconnectStatus))
            output.write(disconnect: .normal)
            isOver = true
        // Frames of unknown types may be ignored, after the handshake.
        case nil where terms != nil: break
        default: throw .invalid
        }
    }

    private func greet(_ terms: SPOPHello) {
        self.terms = terms
        output.write(hello: terms)
        isOver = terms.isHealthCheck
    }

    private func receive(notification frame: borrowing SPOPFrame, _ context: ChannelHandlerContext) throws(SPOPStatus) {
        guard let messages = SPOPMessages(frame.payload), let connection else { throw .invalid }
        switch service.reply(to: messages, on: connection) {
        case .now(let answer): acknowledge(frame.id, with: answer)
        case .later(let answer): wait(for: answer, id: frame.id, in: context)
        case .last(let answer):
            acknowledge(frame.id, with: answer)
            disconnect(with: .normal, in: context)
        }
    }

    private func wait(for answer: Awaited<Handled.Answer>, id: SPOPFrame.ID, in context: ChannelHandlerContext) {
        outstanding += 1
        let loop = context.eventLoop
        let executor = executor ?? EventLoopExecutor(loop)
        self.executor = executor
        let this = NIOLoopBound(self, eventLoop: loop)
        answer.deliver(on: loop, executor: executor) { this.value.complete($0, for: id) }
    }

    private func complete(_ answer: Handled.Answer, for id: SPOPFrame.ID) {
        outstanding -= 1
        guard let context, context.channel.isActive, !isOver else { return }
        acknowledge(id, with: answer)
        resume(context)
        if isInputClosed, outstanding == 0, !isOver {
            isOver = true
            flush(context)
        }
    }

    private func acknowledge(_ id: SPOPFrame.ID, with answer: Handled.Answer) {
        output.acknowledge(id, limit: terms?.frameSize ?? SPOPHello.minimumFrameSize, with: answer)
    }

    // MARK: The end

    /// Ends the connection by a frame with the reason.
    private func disconnect(with status: SPOPStatus, in context: ChannelHandlerContext) {
        guard !isOver else { return }
        onEnd(SPOPEnd(isByAgent: true, status: UInt64(status.rawValue)))
        output.write(disconnect: status)
        isOver = true
    }

    /// Ends the connection at shutdown, if no notification is on its way as far as is known.
    private func finishIfDrained(_ context: ChannelHandlerContext) {
        if isDraining, outstanding == 0, input.readableBytes == 0 { disconnect(with: .normal, in: context) }
    }

    private func flush(_ context: ChannelHandlerContext) {
        if isFinishing { return }
        if !isOver {
            if output.count > 0 { context.writeAndFlush(wrapOutboundOut(output.drain()), promise: nil) }
            return
        }
        isFinishing = true
        deadline?.expect(within: limits.frame)
        let written = context.eventLoop.makePromise(of: Void.self)
        context.writeAndFlush(wrapOutboundOut(output.drain()), promise: written)
        written.futureResult.assumeIsolated().whenComplete { _ in self.close() }
    }

    /// Closes the output after everything is written. Closing the input too would make the system discard bytes that
    /// HAProxy has not read.
    private func close() {
        guard let context else { return }
        deadline?.expect(within: Self.farewell)
        context.close(mode: isInputClosed ? .all : .output, promise: nil)
        resumeReading(context)
    }

    // MARK: Steps

    private func resume(_ context: ChannelHandlerContext) {
        process(context)
        flush(context)
        resumeReading(context)
    }

    /// Sets the deadline of HAProxy's next step.
    private func expectNextStep(_ context: ChannelHandlerContext) {
        if isOver { return }
        if !context.channel.isWritable || outstanding >= outstandingLimit {
            // A wait is not HAProxy's fault, unless it does not read; then its deadline is set.
            guard context.channel.isWritable else { return }
            deadline?.clear()
            isArriving = false
        } else if input.readableBytes > 0 || terms == nil {
            // A frame gets its time once, not again with each byte.
            if !isArriving { deadline?.expect(within: limits.frame) }
            isArriving = true
        } else if outstanding > 0 {
            deadline?.clear()
        } else {
            deadline?.expect(within: limits.idle)
        }
    }

    private func resumeReading(_ context: ChannelHandlerContext) {
        guard isReadHeld, canRead(context) else { return }
        isReadHeld = false
        context.read()
    }

    private func canRead(_ context: ChannelHandlerContext) -> Bool {
        isOver || context.channel.isWritable && outstanding < outstandingLimit
    }
}

extension SPOPFrame {
    /// The status code of a DISCONNECT frame; that of an unknown error if it names none.
    fileprivate var disconnectStatus: UInt64 {
        var reader = payload
        while let name = reader.text(), let value = reader.value() {
            if name == "status-code", case .unsigned(let status) = value { return status }
        }
        return UInt64(SPOPStatus.unknown.rawValue)
    }
}
