// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HummingbirdCore
internal import Logging
internal import NIOCore
internal import NIOHTTPTypes

/// A connection whose requests are answered on the event loop that they came in by.
///
/// A decision takes microseconds: to hand each request to another thread and its answer back costs more than to decide.
/// What waits for a store leaves the loop by itself, and comes back.
struct EventLoopChannel: ServerChildChannel {
    typealias Value = HTTP1Channel.Value

    private let base: HTTP1Channel

    init(_ base: HTTP1Channel) { self.base = base }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        base.setup(channel: channel, logger: logger)
    }

    func handle(value: Value, logger: Logger) async {
        await withTaskExecutorPreference(EventLoopExecutor(value.channel.eventLoop)) {
            await base.handle(value: value, logger: logger)
        }
    }
}

/// Runs the jobs of tasks on an event loop.
private final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
