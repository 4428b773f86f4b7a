// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
package import Logging
package import Metrics
package import SharedGrants

/// Logs and counts shared grants.
///
/// - `playgate_leaks_suspected`, `playgate_leaks_challenged`, `playgate_leaks_proven`, `playgate_leaks_unproven`,
///   `playgate_leaks_revoked`: playbacks, by the label `evidence`.
/// - `playgate_leaks_reports_dropped`: renewals and events that could not be recorded.
package struct LeakLog: LeakObserver {
    private let logger: Logger
    private let counters: [Change: [Leak.Evidence: Counter]]
    private let dropped: Counter

    private enum Change: String, CaseIterable { case suspected, challenged, proven, unproven, revoked }

    /// Creates a log.
    package init(logger: Logger, factory: any MetricsFactory) {
        self.logger = logger
        func counters(_ change: Change) -> [Leak.Evidence: Counter] {
            let pairs = Leak.Evidence.allCases.map { evidence in
                let dimensions = [("evidence", evidence.rawValue)]
                let label = "playgate_leaks_" + change.rawValue
                return (evidence, Counter(label: label, dimensions: dimensions, factory: factory))
            }
            return Dictionary(uniqueKeysWithValues: pairs)
        }
        self.counters = Dictionary(uniqueKeysWithValues: Change.allCases.map { ($0, counters($0)) })
        dropped = Counter(label: "playgate_leaks_reports_dropped", factory: factory)
    }

    package func observeSuspected(_ leak: Leak) { note(.suspected, of: leak, at: .info) }

    package func observeChallenged(_ leak: Leak) { note(.challenged, of: leak, at: .debug) }

    package func observeProven(_ leak: Leak) { note(.proven, of: leak, at: .notice) }

    package func observeUnproven(_ leak: Leak) { note(.unproven, of: leak, at: .info) }

    package func observeRevoked(_ leak: Leak) { count(.revoked, of: leak) }

    package func countDropped() { dropped.increment() }

    private func count(_ change: Change, of leak: Leak) { counters[change]?[leak.evidence]?.increment() }

    private func note(_ change: Change, of leak: Leak, at level: Logger.Level) {
        count(change, of: leak)
        logger.log(
            level: level,
            "leak_\(change.rawValue)",
            metadata: [
                "session": "\(leak.session.hexadecimal)", "profile": "\(leak.profile)", "evidence": "\(leak.evidence)",
                "generations": "\(leak.generations)", "grants": "\(leak.grants)", "returns": "\(leak.returns)",
            ]
        )
    }
}
