// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The settings of the manifest listener that requests use. A class, so that a request retains it without copying.
final class ManifestSettings: Sendable {
    let configuration: GateConfiguration.Manifest

    init(_ configuration: GateConfiguration.Manifest) { self.configuration = configuration }

    var sources: CredentialSources { configuration.sources }
    var peers: TrustedPeers { configuration.peers }
    var suffixes: [String] { configuration.suffixes }
    var crossOrigin: CrossOriginRules? { configuration.crossOrigin }
}
