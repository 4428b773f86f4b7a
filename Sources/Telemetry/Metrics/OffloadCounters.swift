// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Metrics
package import SPOPServer

/// Counts the connections of HAProxy that ended by a DISCONNECT frame, by side and status code.
package struct OffloadCounters: Sendable {
    private let counters: [SPOPEnd: Counter]
    private let others: Counter

    package init(factory: any MetricsFactory) {
        func counter(isByAgent: Bool, status: String) -> Counter {
            let labels = [("by", isByAgent ? "gate" : "haproxy"), ("status", status)]
            return Counter(label: "playgate_spoe_disconnects", dimensions: labels, factory: factory)
        }
        let ends = SPOPStatus.allCases.flatMap { status in
            [true, false].map { SPOPEnd(isByAgent: $0, status: UInt64(status.rawValue)) }
        }
        counters = Dictionary(
            uniqueKeysWithValues: ends.map { ($0, counter(isByAgent: $0.isByAgent, status: "\($0.status)")) }
        )
        others = counter(isByAgent: false, status: "other")
    }

    package func count(_ end: SPOPEnd) { (counters[end] ?? others).increment() }
}
