// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform
import Synchronization

/// Waits until `condition` holds; false after the time limit. Another process or thread must bring the condition about.
package func eventually(within seconds: Double = 60, _ condition: () throws -> Bool) rethrows -> Bool {
    let end = Date().addingTimeInterval(seconds)
    while Date() < end {
        if try condition() { return true }
        usleep(5000)
    }
    return try condition()
}

/// Runs `body` on its own thread, so that it can block without blocking tasks. It stays in its task, so that a failed
/// expectation is one of its test.
package func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withTaskExecutorPreference(OwnThread()) { try body() }
}

/// An executor that runs each part of a task on a new thread.
private final class OwnThread: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs `body` for each number below `count` on several threads, and returns the results in the order of their ends.
package func concurrently<Value: Sendable>(
    _ count: Int,
    body: @escaping @Sendable (Int) throws -> Value
) throws -> [Value] {
    let outcomes = Mutex<[Result<Value, any Error>]>([])
    DispatchQueue.concurrentPerform(iterations: count) { index in
        let outcome = Result { try body(index) }
        outcomes.withLock { $0.append(outcome) }
    }
    return try outcomes.withLock { try $0.map { try $0.get() } }
}
