// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Metrics

/// Counts checks by dialect and status.
struct EdgeCounters: Sendable {
    private let counters: [Counter]

    private static let statuses = [200, 401, 403, 302]

    init(factory: any MetricsFactory) {
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

    func count(_ dialect: EdgeDialect?, _ status: Int) {
        let column = Self.statuses.firstIndex(of: status) ?? 2
        let line = dialect?.number ?? EdgeDialect.allCases.count
        counters[line * Self.statuses.count + column].increment()
    }
}
