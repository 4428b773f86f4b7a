// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

/// An answer that is available, or one that must be awaited.
package enum Reply<Answer: Sendable>: Sendable {
    case now(Answer)
    case later(Awaited<Answer>)
    /// The answer is the last of its connection, which is then closed.
    case last(Answer)
}

/// An answer that is not known yet.
package enum Awaited<Answer: Sendable>: Sendable {
    /// The answer of a task.
    case task(@Sendable () async -> Answer)
    /// An answer without a task: the closure begins the wait. It passes a function that makes the answer to its argument, once, on any
    /// thread, possibly before it returns.
    case call(@Sendable (_ resume: @escaping Resume) -> Void)

    package typealias Resume = @Sendable (_ make: @escaping @Sendable () -> Answer) -> Void

    /// Calls `receive` with the answer on an event loop, in a later turn or after this function has returned.
    ///
    /// - Parameter executor: The executor of the task, if one is needed.
    /// - Returns: The task, if there is one.
    @discardableResult
    package func deliver(
        on loop: any EventLoop,
        executor: EventLoopExecutor,
        receive: @escaping @Sendable (Answer) -> Void
    ) -> Task<Void, Never>? {
        switch self {
        case .task(let find):
            // Above the background work of the process.
            return Task(executorPreference: executor, priority: .high) {
                let answer = await find()
                guard !loop.inEventLoop else { return receive(answer) }
                loop.execute { receive(answer) }
            }
        case .call(let begin):
            // A store that fails at once must not process the next request inside this one.
            let isBeginning = NIOLoopBoundBox(true, eventLoop: loop)
            begin { make in
                guard loop.inEventLoop, !isBeginning.value else { return loop.execute { receive(make()) } }
                receive(make())
            }
            isBeginning.value = false
            return nil
        }
    }

    /// Returns the same answer in another form.
    package func map<Other>(_ transform: @escaping @Sendable (Answer) -> Other) -> Awaited<Other> {
        switch self {
        case .task(let find): .task { transform(await find()) }
        case .call(let begin): .call { resume in begin { make in resume { transform(make()) } } }
        }
    }

    /// Awaits the answer in the caller's task.
    package var value: Answer {
        get async {
            switch self {
            case .task(let find): return await find()
            case .call(let begin):
                return await withCheckedContinuation { continuation in
                    begin { make in continuation.resume(returning: make()) }
                }
            }
        }
    }
}
