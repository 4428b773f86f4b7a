// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Platform
internal import PlaybackGate

/// The edge settings that checks use. This is a class, so that a check retains it without copying.
final class EdgeRules: Sendable {
    private let edge: GateConfiguration.Edge
    /// The dialects that are answered: so few that a search is faster than a hash.
    private let dialects: [EdgeDialect]

    init(_ edge: GateConfiguration.Edge) {
        self.edge = edge
        dialects = EdgeDialect.allCases.filter(edge.dialects.contains)
    }

    var peers: TrustedPeers { edge.peers }
    var sources: CredentialSources { edge.sources }
    /// The longest time for which an answer may be cached, in seconds.
    var cacheCeiling: Int64 { edge.cacheCeiling }

    func answers(_ dialect: EdgeDialect) -> Bool { dialects.contains(dialect) }

    /// True if an answer may redirect the client to the same manifest with another grant in its query.
    ///
    /// - Parameter path: The path as it was requested, without grants. Two slashes at its start would name another host.
    func redirects(_ dialect: EdgeDialect, _ path: Substring) -> Bool {
        edge.redirects.contains(dialect) && ManifestType(type: nil, path: path) != nil
            && !path.utf8.starts(with: "//".utf8)
    }

    /// Returns the time for which an answer may be cached, in seconds: 0 if a token was consumed, the request was refused,
    /// or the answer may change at once; else at most the token's remaining life and the configured ceiling.
    func secondsToKeep(_ decision: Decision, at now: Timestamp) -> Int64 {
        guard case .allow(let allowance) = decision else { return 0 }
        switch allowance.reason {
        case .unprotected: return edge.cacheCeiling
        case .withinTTL:
            // An answer that hands over a grant is for one player.
            guard allowance.access == nil else { return 0 }
            return seconds(to: allowance.expires, allowance, at: now)
        case .granted: return seconds(to: allowance.access?.reusable(at: now), allowance, at: now)
        case .verified, .repeated, .probe, .useUnknown, .renewed, .shadow: return 0
        }
    }

    private func seconds(to end: Timestamp?, _ allowance: Decision.Allowance, at now: Timestamp) -> Int64 {
        guard let end else { return 0 }
        let last = allowance.slotEnd.map { min($0, end) } ?? end
        return min(max((last.millisecondsSince1970 - now.millisecondsSince1970) / 1000, 0), edge.cacheCeiling)
    }
}
