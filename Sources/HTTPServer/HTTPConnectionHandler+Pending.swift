// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore

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
