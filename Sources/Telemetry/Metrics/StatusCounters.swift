// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Metrics
package import NIOHTTP1

/// Counts requests by the status of their answer.
package struct StatusCounters: Sendable {
    private static let statuses = [200, 201, 400, 401, 403, 404, 405, 413, 415, 500, 503]

    private let counters: [Int: Counter]
    private let others: Counter

    /// Creates the counters of a listener.
    ///
    /// Creates the counters of a listener.
    ///
    /// - Parameter listener: The name of the listener.
    package init(factory: any MetricsFactory, listener: String) {
        let counter = { (status: String) in
            Counter(label: "playgate_\(listener)_requests", dimensions: [("status", status)], factory: factory)
        }
        counters = Dictionary(uniqueKeysWithValues: Self.statuses.map { ($0, counter("\($0)")) })
        others = counter("other")
    }

    package func count(_ status: HTTPResponseStatus) { (counters[Int(status.code)] ?? others).increment() }
}
