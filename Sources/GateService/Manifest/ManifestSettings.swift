// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import PlaybackGate

/// The settings of the manifest listener that requests use. A class, so that a request retains it without copying.
final class ManifestSettings: Sendable {
    let configuration: GateConfiguration.Manifest
    /// The readers of requests: of a player's, and of a trusted peer's.
    let reader, trustedReader: EdgeFieldReader

    init(_ configuration: GateConfiguration.Manifest) {
        self.configuration = configuration
        reader = EdgeFieldReader(ManifestRequest.row, configuration.sources)
        trustedReader = EdgeFieldReader(ManifestRequest.row, configuration.sources, configuration.forwardedFor)
    }

    var sources: TokenSources { configuration.sources }
    var peers: TrustedPeers { configuration.peers }
    var crossOrigin: CrossOriginRules? { configuration.crossOrigin }

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
