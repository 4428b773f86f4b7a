// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import GateConfiguration
internal import HTTPServer
internal import Manifests
internal import Platform
internal import PlaybackGate

/// The edge settings that checks use. This is a class, so that a check retains it without copying.
package final class EdgeRules: Sendable {
    private let edge: GateConfiguration.Edge
    /// The enabled dialects. They are so few that a search is faster than a hash.
    private let dialects: [EdgeDialect]
    /// The reader of each dialect's checks.
    private let readers: [EdgeFieldReader]

    init(_ edge: GateConfiguration.Edge) {
        self.edge = edge
        dialects = EdgeDialect.allCases.filter(edge.dialects.contains)
        readers = EdgeDialect.allCases.map {
            EdgeFieldReader(row: $0.row, sources: edge.sources, forwardedFor: edge.forwardedFor)
        }
    }

    package var peers: TrustedPeers { edge.peers }
    package var sources: TokenSources { edge.sources }
    /// The longest time for which an answer may be cached, in seconds.
    package var maxCacheAge: Int64 { edge.maxCacheAge }

    package func answers(_ dialect: EdgeDialect) -> Bool { dialects.contains(dialect) }

    /// Returns the reader of a dialect's checks.
    package func reader(of dialect: EdgeDialect) -> EdgeFieldReader { readers[dialect.number] }

    /// True if an answer may redirect the client to the same manifest with another grant in its query.
    ///
    /// - Parameter path: The path as it was requested, without grants. Two slashes at its start would name another host.
    package func redirects(_ dialect: EdgeDialect, path: Substring) -> Bool {
        edge.redirects.contains(dialect) && ManifestType(type: nil, path: path) != nil
            && !path.utf8.starts(with: "//".utf8)
    }
}
