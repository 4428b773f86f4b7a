// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform
import Synchronization

/// A clock that changes only when a test sets it.
package final class TestClock: Sendable {
    private let time = Mutex(GateSample.time)

    package init() {}

    package var now: Timestamp {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    /// Waits until the clock is set to a time that is so much later, or the task is cancelled.
    package func sleep(milliseconds: Int64) async {
        let end = now.advanced(byMilliseconds: milliseconds)
        while now < end, !Task.isCancelled { try? await Task.sleep(for: .milliseconds(2)) }
    }

    package func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }
}
