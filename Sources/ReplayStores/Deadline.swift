// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// Waits for `body`, but no longer than `limit`.
///
/// Returns at the deadline even if `body` ignores cancellation: a store that hangs must not hang the gate.
///
/// - Returns: The value of `body`, or `nil` if it was too slow.
package func withDeadline<Value: Sendable>(
    _ limit: Duration,
    body: @escaping @Sendable () async -> Value
) async -> Value? {
    await withCheckedContinuation { continuation in
        let answer = FirstAnswer(continuation)
        let work = Task {
            let value = await body()
            answer.give(value)
        }
        let timer = Task {
            guard (try? await Task.sleep(for: limit)) != nil else { return }
            if answer.give(nil) { work.cancel() }
        }
        answer.whenGiven { timer.cancel() }
    }
}

/// A continuation that is resumed by the first of two answers.
private final class FirstAnswer<Value: Sendable>: Sendable {
    private struct State {
        var continuation: CheckedContinuation<Value?, Never>?
        var cleanUp: (@Sendable () -> Void)?
    }

    private let state: Mutex<State>

    init(_ continuation: CheckedContinuation<Value?, Never>) {
        state = Mutex(State(continuation: continuation))
    }

    /// Resumes the continuation with `value`. Returns false if it was resumed before.
    @discardableResult
    func give(_ value: Value?) -> Bool {
        let (continuation, cleanUp) = state.withLock { state in
            defer { state = State() }
            return (state.continuation, state.cleanUp)
        }
        cleanUp?()
        continuation?.resume(returning: value)
        return continuation != nil
    }

    /// Runs `body` after the continuation is resumed.
    func whenGiven(_ body: @escaping @Sendable () -> Void) {
        let isGiven = state.withLock { state in
            if state.continuation != nil { state.cleanUp = body }
            return state.continuation == nil
        }
        if isGiven { body() }
    }
}
