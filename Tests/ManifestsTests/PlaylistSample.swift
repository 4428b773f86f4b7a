// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport

/// The playlists of the folder `Playlists`, as `https://cdn.example/live/tnt/index.m3u8?region=eu` would have them.
enum PlaylistSample {
    /// The names of the playlists. Those with `.segment` and `.query` behind them are the expected output, made by hand.
    static let names = ["multivariant", "film", "live"]

    static func bytes(_ name: String) throws -> [UInt8] {
        let path = repository + "/Tests/ManifestsTests/Playlists/\(name).m3u8"
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }

    /// All playlists, with line feeds and with carriage returns before them.
    static func all() throws -> [(name: String, playlist: [UInt8])] {
        try names.flatMap { name in
            let bytes = try bytes(name)
            return [(name, bytes), ("\(name) with carriage returns", withReturns(bytes))]
        }
    }

    static func withReturns(_ playlist: [UInt8]) -> [UInt8] {
        playlist.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
    }
}
