// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import HTTPServer

/// The settings of the manifest listener that requests use. A class, so that a request retains it without copying.
final class ManifestSettings: Sendable {
    let configuration: GateConfiguration.Manifest
    /// The names of the fields that report facts and carry tokens.
    let names: HTTPFieldNames

    init(_ configuration: GateConfiguration.Manifest) {
        self.configuration = configuration
        names = HTTPFieldNames(ManifestRequest.row, configuration.sources)
    }

    var sources: TokenSources { configuration.sources }
    var forwardedFor: ForwardedFor { configuration.forwardedFor }
    var peers: TrustedPeers { configuration.peers }
    var suffixes: [String] { configuration.suffixes }
    var crossOrigin: CrossOriginRules? { configuration.crossOrigin }
}
