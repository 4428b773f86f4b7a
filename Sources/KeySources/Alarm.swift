// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Synchronization

/// A wait that another task can end.
final class Alarm: Sendable {
    private struct State {
        var isRung = false
        var sleeper: Task<Void, Never>?
    }

    private let state = Mutex(State())
    private let sleep: @Sendable (Int64) async -> Void

    /// - Parameter sleep: Waits for so many milliseconds, or until its task is cancelled.
    init(sleep: @escaping @Sendable (Int64) async -> Void) { self.sleep = sleep }

    /// Waits until the time is over, the alarm rings or has rung, or the task is cancelled.
    func wait(milliseconds: Int64) async {
        let sleeper = Task { await sleep(milliseconds) }
        let isRung = state.withLock { state in
            state.sleeper = sleeper
            return state.isRung
        }
        if isRung { sleeper.cancel() }
        await withTaskCancellationHandler {
            await sleeper.value
        } onCancel: {
            sleeper.cancel()
        }
        state.withLock { $0 = State() }
    }

    /// Ends the present wait, or the next one at once.
    func ring() {
        let sleeper = state.withLock { state in
            state.isRung = true
            return state.sleeper
        }
        sleeper?.cancel()
    }
}
