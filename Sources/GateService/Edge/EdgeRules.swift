// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import PlaybackGate

/// What the configuration says of edges, as checks need it. A reference: a check takes it along, and copies nothing.
final class EdgeRules: Sendable {
    private let edge: GateConfiguration.Edge

    init(_ edge: GateConfiguration.Edge) { self.edge = edge }

    var peers: TrustedPeers { edge.peers }
    var segments: [String] { edge.segments }
    var tokenHeaders: String { edge.tokenHeaders }

    func answers(_ dialect: EdgeDialect) -> Bool { edge.dialects.contains(dialect) }

    /// Where the token may be for what was found.
    func sources(_ finding: Catalogue.Finding) -> [TokenSource] {
        guard !edge.tokensOfEntries.isEmpty, case .entry(let entry) = finding else { return edge.tokens }
        return edge.tokensOfEntries[entry] ?? edge.tokens
    }

    /// For how many seconds an answer may be kept: not at all where something was used up, or refused, or may be another
    /// one a moment later; else not beyond the life of the token.
    func secondsToKeep(_ decision: Decision, at now: Timestamp) -> Int64 {
        guard case .allow(let allowance) = decision else { return 0 }
        switch allowance.reason {
        case .unprotected: return edge.cacheCeiling
        case .withinTTL:
            let left = (allowance.expires?.millisecondsSince1970 ?? 0) - now.millisecondsSince1970
            return min(max(left / 1000, 0), edge.cacheCeiling)
        case .verified, .repeated, .probe, .useUnknown, .shadow: return 0
        }
    }
}
