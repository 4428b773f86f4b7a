// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens

/// The grants that a request shows, in the order in which they are tried, and the facts that they may be bound to.
package struct ShownGrants: Sendable {
    /// The maximum number of different grants that are examined. Source: CTA-5007, which demands as many.
    package static let maximum = 6

    /// The facts of the request.
    package let facts: RequestFacts
    private var tokens: [6 of Substring] = .init(repeating: "")
    /// The number of grants.
    package private(set) var count = 0

    /// Creates a request's grants; ``add(_:)`` adds them.
    package init(_ facts: RequestFacts) { self.facts = facts }

    /// Adds a grant, unless it is one of those that are there, or there are ``maximum``.
    package mutating func add(_ token: Substring) {
        guard count < Self.maximum else { return }
        for place in 0..<count where tokens[place].utf8.elementsEqual(token.utf8) { return }
        tokens[count] = token
        count += 1
    }

    subscript(place: Int) -> Substring { tokens[place] }
}
