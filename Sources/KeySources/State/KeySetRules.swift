// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The rules by which a key set is retained and fetched again.
public struct KeySetRules: Hashable, Sendable {
    /// The longest time for which keys are used without a confirmation by their server, from 5 min to 30 d.
    public var maximumStale = Duration.seconds(86_400)
    /// The shortest time between two fetches because of unknown keys, from 10 s to 1 h.
    public var unknownKeyInterval = Duration.seconds(30)

    /// Creates the default rules.
    public init() {}

    /// The longest retry delay in milliseconds: 5 min. The first is 5 s, and each further one twice the one before.
    static let longestRetry: Int64 = 300_000
    static let firstRetry: Int64 = 5000
    /// The share of the freshness after which a set is fetched again.
    static let refresh = 0.8
    /// The greatest share by which the time of a fetch is earlier or later, so that gates do not fetch all at once.
    static let spread = 0.1
    /// The number of unknown identifiers that are remembered, and for how long in milliseconds.
    static let rememberedKeys = 1024
    static let memory: Int64 = 30_000
}
