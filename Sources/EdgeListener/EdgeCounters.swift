// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import GateConfiguration
package import Metrics

/// Counts checks by dialect and status.
package struct EdgeCounters: Sendable {
    private let counters: [Counter]

    private static let statuses = [200, 401, 403, 302]

    package init(factory: any MetricsFactory) {
        counters = (EdgeDialect.allCases.map(\.rawValue) + ["none"]).flatMap { edge in
            Self.statuses.map { status in
                Counter(
                    label: "playgate_edge_requests",
                    dimensions: [("edge", edge), ("status", "\(status)")],
                    factory: factory
                )
            }
        }
    }

    package func count(_ dialect: EdgeDialect?, status: Int) {
        let column = Self.statuses.firstIndex(of: status) ?? 2
        let line = dialect?.number ?? EdgeDialect.allCases.count
        counters[line * Self.statuses.count + column].increment()
    }
}
