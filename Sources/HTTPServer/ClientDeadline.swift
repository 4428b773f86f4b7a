// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// When a client has taken too long, and its connection is closed. Used on the event loop of the connection.
package final class ClientDeadline {
    private let channel: any Channel
    /// When the client is too slow; nil while it waits for us.
    private var deadline: NIODeadline?
    /// What looks at the deadline. There is one at a time, and it is not moved with every request: that costs more.
    private var timer: (fires: NIODeadline, task: Scheduled<Void>)?

    package init(_ channel: any Channel) { self.channel = channel }

    /// The client must do its next step within `limit`.
    package func expect(within limit: TimeAmount) {
        let deadline = NIODeadline.now() + limit
        self.deadline = deadline
        // A timer that fires earlier finds out by itself how much time is left.
        if let timer, timer.fires <= deadline { return }
        timer?.task.cancel()
        wake(at: deadline)
    }

    /// The client need not do anything now.
    package func clear() { deadline = nil }

    /// The connection is over.
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
        if deadline <= .now() {
            channel.close(mode: .all, promise: nil)
        } else {
            wake(at: deadline)
        }
    }
}
