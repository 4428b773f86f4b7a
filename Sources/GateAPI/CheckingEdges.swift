// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform
internal import Synchronization

/// The edges that decide by themselves: who fetches the policy, and whether it reports what its playbacks fetch. One of a version
/// without reports does not, and a shared grant is not found there until it is renewed.
package final class CheckingEdges: Sendable {
    /// An edge, by the name of its key.
    package struct Edge: Hashable, Sendable {
        package let caller: String
        /// The last time at which it called.
        package var last: Timestamp
        /// The last time at which it reported; `nil` for never.
        package var reported: Timestamp?
    }

    private let edges = Mutex<[String: Edge]>([:])

    /// Creates an empty list.
    package init() {}

    /// The time after which an edge is gone, for which it waits for a policy at most; that between two reports at most.
    private static let (life, reportLife): (Int64, Int64) = (120_000, 30_000)
    private static let capacity = 256

    /// Notes a call of an edge.
    ///
    /// - Parameters:
    ///   - caller: The name of its key; `nil` without one.
    ///   - isReport: True if it reports; false if it fetches the policy.
    func note(_ caller: String?, isReport: Bool, at now: Timestamp) {
        let name = caller ?? "anonymous"
        edges.withLock { edges in
            if edges[name] == nil, edges.count >= Self.capacity { Self.removeGone(from: &edges, at: now) }
            guard edges[name] != nil || edges.count < Self.capacity else { return }
            var edge = edges[name] ?? Edge(caller: name, last: now)
            edge.last = now
            if isReport { edge.reported = now }
            edges[name] = edge
        }
    }

    private static func removeGone(from edges: inout [String: Edge], at now: Timestamp) {
        edges = edges.filter { now <= $0.value.last.advanced(byMilliseconds: life) }
    }

    /// The edges that are there, by name, and whether each reports.
    package func present(at now: Timestamp) -> [(edge: Edge, reports: Bool)] {
        let present = edges.withLock { edges in
            Self.removeGone(from: &edges, at: now)
            return edges.values.sorted { $0.caller < $1.caller }
        }
        return present.map { edge in
            (edge, edge.reported.map { now <= $0.advanced(byMilliseconds: Self.reportLife) } ?? false)
        }
    }
}
