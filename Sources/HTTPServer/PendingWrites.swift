// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// The connections of an event loop that have output. They write after all input of the same turn of the loop is read.
/// Clients on this machine are then woken once, not for every answer.
package final class PendingWrites {
    private let waiting: Waiting
    private let loop: any EventLoop
    private let flush: @Sendable () -> Void

    private final class Waiting {
        var handlers: [HTTPConnectionHandler] = []
        var flushing: [HTTPConnectionHandler] = []

        func flush() {
            // Connections added meanwhile wait for the next turn. Both arrays retain their capacity.
            swap(&handlers, &flushing)
            for handler in flushing { handler.flush() }
            flushing.removeAll(keepingCapacity: true)
        }
    }

    /// Creates a queue. Called on the event loop.
    package init(_ loop: any EventLoop) {
        self.loop = loop
        waiting = Waiting()
        let waiting = NIOLoopBound(waiting, eventLoop: loop)
        flush = { waiting.value.flush() }
    }

    package func add(_ handler: HTTPConnectionHandler) {
        waiting.handlers.append(handler)
        if waiting.handlers.count == 1 { loop.execute(flush) }
    }
}

/// The pending writes of each event loop of a group.
package struct PendingWritesByLoop: Sendable {
    private let queues: [ObjectIdentifier: NIOLoopBoundBox<PendingWrites?>]

    package init(_ group: any EventLoopGroup) {
        queues = Dictionary(
            uniqueKeysWithValues: group.makeIterator().map { loop in
                (ObjectIdentifier(loop), NIOLoopBoundBox.makeEmptyBox(valueType: PendingWrites.self, eventLoop: loop))
            }
        )
    }

    /// Returns the queue of a loop. Called on that loop.
    package func queue(of loop: any EventLoop) -> PendingWrites {
        guard let box = queues[ObjectIdentifier(loop)] else { return PendingWrites(loop) }
        if let queue = box.value { return queue }
        let queue = PendingWrites(loop)
        box.value = queue
        return queue
    }
}
