// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ConfigurationReading
internal import Synchronization

/// The numbers of successful and failed reloads, and the problems of the last one.
package final class ReloadCounts: Sendable {
    private let counts = Mutex((succeeded: 0, failed: 0, problems: [String]()))

    /// Creates counts before the first reload.
    package init() {}

    /// The counts, and the problems for which the last reload was rejected; none if it was not.
    package var current: (succeeded: Int, failed: Int, problems: [String]) { counts.withLock { $0 } }

    /// The most problems that are recorded.
    private static let mostProblems = 20

    package func succeeded() { counts.withLock { $0 = ($0.succeeded + 1, $0.failed, []) } }

    package func failed(_ error: ConfigurationError) {
        let problems = error.problems.prefix(Self.mostProblems).map { "\($0)" }
        counts.withLock { $0 = ($0.succeeded, $0.failed + 1, problems) }
    }
}
