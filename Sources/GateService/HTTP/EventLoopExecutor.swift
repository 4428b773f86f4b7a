// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import NIOCore

/// Runs the jobs of tasks on an event loop: what waits for a store comes back to the loop of its connection, and no other
/// thread is woken for it.
final class EventLoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}
