// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ArgumentParser
import Manifests

/// The commands for manifests.
struct ManifestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "manifest",
        abstract: "Write grants into HLS and DASH manifests.",
        discussion: """
            A player without cookies shows its grant in the URLs that it asks for, and takes those from the manifest.
            """,
        subcommands: [Rewrite.self]
    )
}

/// A position of the grant on the command line.
enum ManifestModeArgument: String, ExpressibleByArgument, CaseIterable {
    /// The first segment of the path.
    case segment
    /// A parameter of the query.
    case query
}

/// A format of manifests on the command line.
enum ManifestFormatArgument: String, ExpressibleByArgument, CaseIterable {
    /// HTTP Live Streaming.
    case hls
    /// Dynamic Adaptive Streaming over HTTP.
    case dash
    /// A steering manifest in JSON.
    case steering
    /// WebVTT with thumbnails.
    case thumbnails

    /// The format in the library.
    var format: ManifestFormat {
        switch self {
        case .hls: .hls
        case .dash: .dash
        case .steering: .steering
        case .thumbnails: .thumbnails
        }
    }
}
