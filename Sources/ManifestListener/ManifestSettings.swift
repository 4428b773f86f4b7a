// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeChecks
package import EdgeListener
package import GateConfiguration
internal import PlaybackGate
internal import Synchronization

/// The settings of the manifest listener that requests use. A class, so that a request retains it without copying.
package final class ManifestSettings: Sendable {
    package let configuration: GateConfiguration.Manifest
    /// The readers of requests: of a player's, and of a trusted peer's.
    package let reader, trustedReader: EdgeFieldReader

    init(_ configuration: GateConfiguration.Manifest) {
        self.configuration = configuration
        reader = EdgeFieldReader(row: ManifestRequest.row, sources: configuration.sources)
        trustedReader = EdgeFieldReader(
            row: ManifestRequest.row,
            sources: configuration.sources,
            forwardedFor: configuration.forwardedFor
        )
    }

    package var sources: TokenSources { configuration.sources }
    package var peers: TrustedPeers { configuration.peers }
    package var crossOrigin: CrossOriginRules? { configuration.crossOrigin }

    /// True for the path of a manifest that is served.
    func servesManifest(_ path: Substring) -> Bool {
        let lower = path.lowercased()
        if configuration.suffixes.contains(where: { lower.hasSuffix($0) }) { return true }
        switch configuration.paths.find(path, host: nil, form: .asIs) {
        case .entry: return true
        case .unknown, .invalidPath, .hostMissing: return false
        }
    }
}

/// The settings of the manifest listener, made again when another snapshot of the gate is active.
package final class CurrentManifestSettings: Sendable {
    private let settings = Mutex<(number: UInt64, settings: ManifestSettings?)>((0, nil))

    /// Returns the settings of a snapshot; `nil` if its configuration has no such listener.
    package func current(of snapshot: CurrentGate.Snapshot) -> ManifestSettings? {
        settings.withLock { current in
            if current.number != snapshot.number {
                current = (snapshot.number, snapshot.configuration.manifest.map(ManifestSettings.init))
            }
            return current.settings
        }
    }
}
