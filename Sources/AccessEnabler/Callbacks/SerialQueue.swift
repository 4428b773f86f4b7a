// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Runs functions one after another, in their order, independently of the caller.
final class SerialQueue: Sendable {
    typealias Job = @Sendable () async -> Void

    private let input: AsyncStream<Job>.Continuation

    init() {
        let (jobs, input) = AsyncStream<Job>.makeStream()
        self.input = input
        Task { for await job in jobs { await job() } }
    }

    /// Ends the queue. Functions that are queued still run.
    deinit { input.finish() }

    func add(_ job: @escaping Job) { input.yield(job) }

    /// Waits until all functions that are queued now have run.
    func drain() async {
        await withCheckedContinuation { continuation in
            if case .terminated = input.yield({ continuation.resume() }) { continuation.resume() }
        }
    }
}
