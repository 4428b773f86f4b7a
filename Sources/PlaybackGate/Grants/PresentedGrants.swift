// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens

/// The grants that a request presents, in the order in which they are tried, and the facts that they may be bound to.
///
/// A class, so that the value of a request without grants stays small.
package final class PresentedGrants: Sendable {
    /// The maximum number of different grants that are examined. Source: CTA-5007, which demands as many.
    package static let maximum = 6

    /// The facts of the request.
    package let facts: RequestFacts
    private let first: Substring
    /// The other grants. Most requests present only one, which needs no list.
    private let rest: [Substring]
    /// The grants in the target of the request that a redirect to the same target can replace; else empty.
    private let redirectable: [Substring]

    /// Creates a request's grants: the first one, and those of `others` that differ, at most ``maximum`` in all.
    ///
    /// - Parameter redirectable: The grants in the target of the request that a redirect to the same target can
    ///   replace.
    package init(
        _ facts: consuming RequestFacts,
        first: Substring,
        others: [Substring] = [],
        redirectable: [Substring] = []
    ) {
        self.facts = facts
        self.first = first
        self.redirectable = redirectable
        var rest: [Substring] = []
        for token in others where rest.count < Self.maximum - 1 {
            let isKnown = ([first] + rest).contains { $0.utf8.elementsEqual(token.utf8) }
            if !isKnown { rest.append(token) }
        }
        self.rest = rest
    }

    /// The number of grants.
    package var count: Int { 1 + rest.count }

    subscript(index: Int) -> Substring { index == 0 ? first : rest[index - 1] }

    /// True if a redirect can replace a grant. A grant in a cookie would be presented again with its successor, in an
    /// endless redirect.
    func isRedirectable(_ index: Int) -> Bool {
        redirectable.contains { $0.utf8.elementsEqual(self[index].utf8) }
    }
}
