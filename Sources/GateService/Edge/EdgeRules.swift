// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaTokens
internal import PlaybackGate

/// What the configuration says of edges, as checks need it. A reference: a check takes it along, and copies nothing.
final class EdgeRules: Sendable {
    let peers: TrustedPeers
    private let dialects: Set<EdgeDialect>
    private let tokens: [TokenSource]
    private let tokensOfEntries: [Catalogue.Entry.Key: [TokenSource]]
    /// All segments of paths that may be tokens, for whatever entry.
    let segments: [TokenSource]
    /// The headers of clients that an answer depends on.
    let tokenHeaders: String
    private let cacheCeiling: Int64

    init(_ edge: GateConfiguration.Edge) {
        peers = edge.peers
        dialects = edge.dialects
        tokens = edge.tokens
        tokensOfEntries = edge.tokensOfEntries
        segments = edge.segments
        tokenHeaders = edge.tokenHeaders
        cacheCeiling = edge.cacheCeiling
    }

    func answers(_ dialect: EdgeDialect) -> Bool { dialects.contains(dialect) }

    /// Where the token may be for what was found.
    func sources(_ finding: Catalogue.Finding) -> [TokenSource] {
        guard !tokensOfEntries.isEmpty, case .entry(let entry) = finding else { return tokens }
        return tokensOfEntries[entry.key] ?? tokens
    }

    /// For how many seconds an answer may be kept: not at all where something was used up, or refused, or may be another
    /// one a moment later; else not beyond the life of the token.
    func secondsToKeep(_ decision: Decision, at now: Timestamp) -> Int64 {
        guard case .allow(let allowance) = decision else { return 0 }
        switch allowance.reason {
        case .unprotected: return cacheCeiling
        case .withinTTL:
            let left = (allowance.expires?.millisecondsSince1970 ?? 0) - now.millisecondsSince1970
            return min(max(left / 1000, 0), cacheCeiling)
        case .verified, .repeated, .useUnknown, .shadow: return 0
        }
    }
}
