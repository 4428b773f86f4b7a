// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import Synchronization

/// The service's cache of providers' decisions, which preauthorizations use unless a client disables it.
final class DecisionCache: Sendable {
    private let entries = Mutex<[[String]: (verdict: AuthorizationRules.Verdict, expires: Timestamp)]>([:])

    /// The maximum number of decisions. At the limit, all are discarded.
    private static let limit = 10_000

    func verdict(_ key: [String], at now: Timestamp) -> AuthorizationRules.Verdict? {
        entries.withLock { $0[key] }.flatMap { $0.expires > now ? $0.verdict : nil }
    }

    func remember(_ verdict: AuthorizationRules.Verdict, _ key: [String], until end: Timestamp, at now: Timestamp) {
        guard end > now else { return }
        entries.withLock { entries in
            if entries.count >= Self.limit { entries = [:] }
            entries[key] = (verdict, end)
        }
    }
}
