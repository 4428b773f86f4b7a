// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// Waits for `body`, but no longer than `limit`, even if `body` ignores that it is cancelled.
///
/// - Parameter sleep: A wait for the limit, which ends early if its task is cancelled.
/// - Returns: The value of `body`, or `nil` if it was too slow or the task was cancelled.
package func withTimeLimit<Value: Sendable>(
    _ limit: Duration,
    sleep: @escaping @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) },
    body: @escaping @Sendable () async -> Value
) async -> Value? {
    let first = FirstValue<Value>()
    let work = Task { first.give(await body()) }
    let timer = Task {
        await sleep(limit)
        first.give(nil)
    }
    let value = await withTaskCancellationHandler {
        await first.value
    } onCancel: {
        first.give(nil)
    }
    timer.cancel()
    work.cancel()
    return value
}

/// The first of several values, for one task that waits for it.
private final class FirstValue<Value: Sendable>: Sendable {
    private enum State {
        case open
        case awaited(CheckedContinuation<Value?, Never>)
        case given(Value?)
    }

    private let state = Mutex(State.open)

    func give(_ value: Value?) {
        let waiting = state.withLock { state -> CheckedContinuation<Value?, Never>? in
            switch state {
            case .open:
                state = .given(value)
                return nil
            case .awaited(let waiting):
                state = .given(value)
                return waiting
            case .given: return nil
            }
        }
        waiting?.resume(returning: value)
    }

    var value: Value? {
        get async {
            await withCheckedContinuation { continuation in
                let given = state.withLock { state -> Value?? in
                    if case .given(let value) = state { return .some(value) }
                    state = .awaited(continuation)
                    return nil
                }
                if let given { continuation.resume(returning: given) }
            }
        }
    }
}
