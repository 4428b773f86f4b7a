// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
package import Logging
package import Metrics
package import ReplayStores

/// Logs and counts shared grants.
///
/// - `playgate_leaks_suspected`, `playgate_leaks_proven`, `playgate_leaks_unproven`, `playgate_leaks_revoked`: playbacks.
/// - `playgate_leaks_reports_dropped`: renewals that could not be recorded.
package struct LeakLog: LeakObserver {
    private let logger: Logger
    private let suspected: Counter
    private let proven: Counter
    private let unproven: Counter
    private let revoked: Counter
    private let dropped: Counter

    /// Creates a log.
    package init(logger: Logger, factory: any MetricsFactory) {
        self.logger = logger
        func counter(_ name: String) -> Counter { Counter(label: "playgate_leaks_" + name, factory: factory) }
        suspected = counter("suspected")
        proven = counter("proven")
        unproven = counter("unproven")
        revoked = counter("revoked")
        dropped = counter("reports_dropped")
    }

    package func observeSuspected(_ leak: Leak) {
        suspected.increment()
        logger.notice("leak_suspected", metadata: facts(leak))
    }

    package func observeProven(_ leak: Leak) {
        proven.increment()
        logger.notice("leak_proven", metadata: facts(leak))
    }

    package func observeRevoked(_ leak: Leak) { revoked.increment() }

    package func observeUnproven(_ leak: Leak) {
        unproven.increment()
        logger.info("leak_unproven", metadata: facts(leak))
    }

    package func countDropped() { dropped.increment() }

    private func facts(_ leak: Leak) -> Logger.Metadata {
        ["session": "\(leak.session.hexadecimal)", "profile": "\(leak.profile)", "generations": "\(leak.generations)"]
    }
}
