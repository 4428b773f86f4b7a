// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Metrics
public import PlaybackGate

/// Counts the grants that a gate issues and renews, in the configured backend of swift-metrics.
///
/// - `playgate_grants_issued`: grants for playbacks that start and for exchanges, by `profile` and `format`.
/// - `playgate_grants_not_issued`: grants that a playback did not get, by `profile`: the format cannot express its path.
/// - `playgate_grants_renewed`: renewed grants, by `profile`. A grant that parallel requests share counts once.
///
/// The labels are names of the configuration, never of a token, and all handles are made once.
public struct GrantMetrics: GrantObserver {
    private let profiles: [String: Counters]

    private struct Counters {
        package let issued: Counter
        package let notIssued: Counter
        package let renewed: Counter
    }

    /// Creates counters for the profiles that issue grants.
    ///
    /// - Parameters:
    ///   - profiles: The profiles of the configuration.
    ///   - factory: The metrics backend; that of the process by default.
    public init(_ profiles: [GrantProfile], factory: any MetricsFactory = MetricsSystem.factory) {
        let counters = profiles.map { profile in
            let labels = [("profile", profile.name)]
            let issued = labels + [("format", profile.format.name)]
            return (
                profile.name,
                Counters(
                    issued: Counter(label: "playgate_grants_issued", dimensions: issued, factory: factory),
                    notIssued: Counter(label: "playgate_grants_not_issued", dimensions: labels, factory: factory),
                    renewed: Counter(label: "playgate_grants_renewed", dimensions: labels, factory: factory)
                )
            )
        }
        self.profiles = Dictionary(counters) { first, _ in first }
    }

    public func countIssued(_ profile: GrantProfile) { profiles[profile.name]?.issued.increment() }

    public func countNotIssued(_ profile: GrantProfile) { profiles[profile.name]?.notIssued.increment() }

    public func countRenewed(_ profile: GrantProfile) { profiles[profile.name]?.renewed.increment() }
}
