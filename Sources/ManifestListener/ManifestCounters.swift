// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import GateAPI
package import Metrics
internal import Platform

/// Counts the requests of the manifest listener by their result, and measures fetches from the origin.
package struct ManifestCounters: Sendable {
    /// The result of a request.
    package enum Result: Hashable {
        /// The manifest was rewritten.
        case rewritten
        /// The manifest was passed on as it is: no grant belongs to the request.
        case unchanged
        /// The player was sent to a URL that is valid for its session.
        case moved
        case preflight
        /// The gate refused.
        case refused
        /// Too many fetches were in flight.
        case overloaded
        case fault(ManifestRefusal)

        package static let notServed = Result.fault(.notServed)

        fileprivate static let all: [Result] =
            [.rewritten, .unchanged, .moved, .preflight, .refused, .overloaded]
            + ManifestRefusal.allCases.map { .fault($0) }

        fileprivate var name: String {
            switch self {
            case .rewritten: "rewritten"
            case .unchanged: "unchanged"
            case .moved: "moved"
            case .preflight: "preflight"
            case .refused: "refused"
            case .overloaded: "overloaded"
            case .fault(let fault): fault.rawValue
            }
        }
    }

    private let counters: [Result: Counter]
    private let fetching: Metrics.Timer

    package init(factory: any MetricsFactory) {
        counters = Dictionary(
            uniqueKeysWithValues: Result.all.map { result in
                let labels = [("result", result.name)]
                return (result, Counter(label: "playgate_manifest_requests", dimensions: labels, factory: factory))
            }
        )
        fetching = Metrics.Timer(label: "playgate_manifest_origin_fetch", dimensions: [], factory: factory)
    }

    package func count(_ result: Result) { counters[result]?.increment() }

    /// Records the time of a fetch.
    package func record(_ duration: Duration) { fetching.recordNanoseconds(duration.nanoseconds) }
}
