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

    package func advance(seconds: Int64) { time.withLock { $0 = $0.adding(seconds: seconds) } }
}
