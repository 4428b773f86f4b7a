// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import PlaybackGate

/// The media token that a request presents, from all sources in which it may be.
package struct PresentedToken: Sendable {
    /// The token, percent-decoded if it was encoded; `nil` if there is none.
    package private(set) var token: Substring?
    /// The sources that contain the token, as a bit mask.
    package private(set) var sources: UInt16 = 0
    /// True if the request presents two different tokens. An attacker may add a second token and rely on another component to
    /// read the first.
    package private(set) var isConflict = false

    /// The most sources that can be configured.
    package static let maximumSources = 16

    /// Creates a request without a token.
    package init() {}

    /// Adds the value of a source.
    ///
    /// - Parameters:
    ///   - value: The value as it was sent; an empty one is none.
    ///   - source: The number of the source, below ``maximumSources``.
    package mutating func add(_ value: Substring, from source: Int) {
        guard !value.isEmpty else { return }
        let decoded = value.percentDecodedToken
        if let token {
            guard token.utf8.span.hasSameBytes(as: decoded.utf8.span) else {
                isConflict = true
                return
            }
        } else {
            token = decoded
        }
        sources |= 1 << UInt16(source)
    }
}

/// The grants that a request presents, in the order in which they are tried. Two different ones are no conflict: cookies of
/// overlapping paths have one name.
package struct PresentedGrantTokens: Sendable {
    /// The first grant; `nil` if there is none. Most requests have only one, which needs no list.
    package private(set) var first: Substring?
    /// The other grants.
    package private(set) var others: [Substring] = []

    /// Creates a request without grants.
    package init() {}

    /// Adds the value of a source: a grant, or several with commas between them.
    package mutating func add(_ value: Substring) {
        // Most values are one grant. The search for a comma is its slowest step.
        guard value.utf8.span.firstIndex(of: UInt8(ascii: ","), from: 0) != nil else { return append(value) }
        for grant in value.listItems { append(grant) }
    }

    private mutating func append(_ grant: Substring) {
        guard !grant.isEmpty else { return }
        if first == nil { first = grant } else { others.append(grant) }
    }
}
