// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// Closes the connection of a client that is too slow. Used on the event loop of the connection.
package final class ClientDeadline {
    private let channel: any Channel
    /// The time by which the client must act; `nil` while it waits for the server.
    private var deadline: NIODeadline?
    /// The timer that checks the deadline. There is at most one, and it is not rescheduled for every request, which would
    /// cost more.
    private var timer: (fires: NIODeadline, task: Scheduled<Void>)?

    package init(_ channel: any Channel) { self.channel = channel }

    /// Requires the client's next step within `limit`.
    package func expect(within limit: TimeAmount) {
        let deadline = channel.eventLoop.now + limit
        self.deadline = deadline
        // A timer that fires earlier checks the deadline and reschedules itself.
        if let timer, timer.fires <= deadline { return }
        timer?.task.cancel()
        wake(at: deadline)
    }

    /// Removes the deadline: the client need not act now.
    package func clear() { deadline = nil }

    /// Cancels the deadline and its timer at the end of the connection.
    package func cancel() {
        timer?.task.cancel()
        timer = nil
        deadline = nil
    }

    private func wake(at time: NIODeadline) {
        let this = NIOLoopBound(self, eventLoop: channel.eventLoop)
        timer = (time, channel.eventLoop.scheduleTask(deadline: time) { this.value.look() })
    }

    private func look() {
        timer = nil
        guard let deadline else { return }
        if deadline <= channel.eventLoop.now {
            channel.close(mode: .all, promise: nil)
        } else {
            wake(at: deadline)
        }
    }
}
