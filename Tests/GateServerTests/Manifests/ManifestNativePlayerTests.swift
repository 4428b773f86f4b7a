// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// Players outside of browsers play films and live streams without cookies, by one URL with a media token.
@Suite(.needsFFmpeg, .needsNativePlayers, .needs(.nginx), .serialized) struct `A stream in players that are no pages` {
    private static let stream = Result { try ManifestStream(.encrypted) }

    private static let ways = NativePlayer.allCases.flatMap { player in ["segment", "query"].map { (player, $0) } }

    @Test(arguments: Self.ways)
    func `is seen live, for eight lives of a grant`(player: NativePlayer, mode: String) async throws {
        let stream = try Self.stream.get()
        let lines = String(decoding: stream.files["/film/tnt/index.m3u8"] ?? [], as: UTF8.self).split(separator: "\n")
        let key = try #require(lines.first { $0.hasPrefix("#EXT-X-KEY") })
        let folder = try TemporaryFolder()
        try await EdgeProxy.nginx.withManifests(mode: mode, use: player.use) { (gate, proxy) throws in
            let start = gate.now
            let requested = Mutex<[String]>([])
            let live = LivePlaylist.window(of: ManifestStream.count, version: 3, header: String(key), suffix: "ts")
            proxy.origin.serve { path in
                requested.withLock { $0.append(path) }
                live.hear(path)
                // Each step takes six seconds of the gate's time.
                return live.answer(path) { gate.now = gate.now.adding(seconds: 6) } ?? stream.files[path]
            }
            let token = try gate.filmToken("one").percentEncoded
            let run = try player.play("http://\(proxy.address)/film/tnt/live.m3u8?token=\(token)", in: folder)
            #expect(run.status == 0, "\(run.output.suffix(1000))\(run.error.suffix(2000))")
            // It has come to the end, past the lives of the media token, 20 seconds, and of the first grants, 10.
            #expect(gate.now >= start.adding(seconds: 60))
            let requests = requested.withLock { $0 }
            let seen = (4..<ManifestStream.count).filter { requests.contains("/film/tnt/seg\($0).ts") }
            // GStreamer leaves out what its last reload shows.
            #expect(seen.count >= ManifestStream.count - 6 && seen.contains(ManifestStream.count - 2), "\(requests)")
            #expect(requests.allSatisfy { !$0.contains("cat=") && !$0.contains("token=") }, "\(requests)")
        }
    }

    @Test(arguments: Self.ways)
    func `is seen as a film`(player: NativePlayer, mode: String) async throws {
        let stream = try Self.stream.get()
        let folder = try TemporaryFolder()
        try await EdgeProxy.nginx.withManifests(mode: mode, use: player.use) { (gate, proxy) throws in
            let start = gate.now
            let requested = Mutex<Set<String>>([])
            proxy.origin.serve(stream.files) { path in
                requested.withLock { _ = $0.insert(path) }
                if path.hasSuffix(".ts") { gate.now = gate.now.adding(seconds: 2) }
            }
            let token = try gate.filmToken("one").percentEncoded
            let run = try player.play("http://\(proxy.address)\(stream.start)?token=\(token)", in: folder)
            #expect(run.status == 0, "\(run.output.suffix(1000))\(run.error.suffix(2000))")
            #expect(gate.now >= start.adding(seconds: 28))
            let segments = Set((0..<ManifestStream.count).map { "/film/tnt/seg\($0).ts" })
            #expect(requested.withLock { $0.isSuperset(of: segments.union(["/film/tnt/film.key"])) })
        }
    }
}
