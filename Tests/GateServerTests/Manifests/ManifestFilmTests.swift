// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// A player that stores no cookies plays a whole film by one URL with a media token: manifests through the listener,
/// segments through the edge's check and cache.
@Suite(.needsFFmpeg, .needsPackager, .serialized) struct `A film for players without cookies` {
    private static func isMedia(_ path: String) -> Bool { !path.hasSuffix(".m3u8") && !path.hasSuffix(".mpd") }

    /// The kinds that ffmpeg reads as a whole: it plays one Period.
    private static let kinds = ManifestStream.Kind.allCases.filter { $0 != .periods }

    @Test(arguments: EdgeProxy.installed([.nginx, .varnish]), kinds)
    fileprivate func `is seen as a whole, and shared by the next viewer`(
        edge: EdgeProxy,
        kind: ManifestStream.Kind
    ) async throws {
        let stream = try ManifestStream(kind)
        let sign = [
            "renditions": "#EXT-X-MEDIA", "encrypted": "METHOD=AES-128", "template": "$Number", "list": "SegmentURL",
            "packaged": "shaka-packager",
        ]
        #expect(stream.manifests.contains(try #require(sign[kind.rawValue])))
        try await edge.withManifests { (gate, proxy) throws in
            let start = gate.now
            let requested = Mutex<[String]>([])
            // Each part that the origin delivers takes two seconds of the gate's time.
            proxy.origin.serve(stream.files) { path in
                guard Self.isMedia(path) else { return }
                requested.withLock { $0.append(path) }
                gate.now = gate.now.adding(seconds: 2)
            }
            let url = { (viewer: String) in
                "http://\(proxy.address)\(stream.start)?token=\(try gate.filmToken(viewer).percentEncoded)"
            }
            let seen = try ManifestStream.frames(try url("one"))
            #expect(seen.count >= 25 * (ManifestStream.count - 1), "\(seen)")
            // Past the lives of the media token and of a grant.
            #expect(gate.now >= start.adding(seconds: 28))
            let count = requested.withLock { $0.count }
            #expect(count >= ManifestStream.count)
            let next = try ManifestStream.frames(try url("two"))
            #expect(next.count == seen.count, "\(next)")
            // The parts that ffmpeg asks for beyond the end of a DASH stream are not found, and not kept.
            #expect(requested.withLock { $0.dropFirst(count).filter { stream.files[$0] != nil } }.isEmpty)
            #expect(requested.withLock { $0 }.allSatisfy { !$0.contains("cat=") && !$0.contains("?") })
            // The URL of the first is nobody else's.
            #expect(try ManifestStream.frames(try url("one")).count > 0)
            #expect(!(try proxy.logs().contains("~cat=2")))
        }
    }

    @Test(
        .needs(.nginx),
        .needsFilmBrowser,
        arguments: [
            (ManifestStream.Kind.renditions, "videojs"), (.packaged, "hls16"), (.periods, "dash"),
            (.packaged, "webkit"),
        ],
        ["segment", "query"]
    )
    fileprivate func `is seen as a whole in a browser that caches none`(
        film: (kind: ManifestStream.Kind, player: String),
        mode: String
    ) async throws {
        let chromium = try FilmBrowser.installed()
        let player = try #require(FilmBrowser.Player(rawValue: film.player))
        let stream = try ManifestStream(film.kind)
        try await EdgeProxy.nginx.withManifests(mode: mode) { (gate, proxy) throws in
            let start = gate.now
            proxy.origin.serve(chromium.files(with: stream.files)) { path in
                if path.hasSuffix(".m4s"), !path.contains("audio") { gate.now = gate.now.adding(seconds: 2) }
                chromium.hear(path)
            }
            let token = try gate.filmToken("one").percentEncoded
            let url = "http://\(proxy.address)\(stream.start)?token=\(token)"
            let tab = try chromium.open(
                url,
                in: player,
                at: proxy,
                speed: [.videoJS: 16, .webKit: 1][player] ?? 2,
                hasCookies: false
            )
            let report = try tab.report(within: 60)
            #expect(report == "whole-\(ManifestStream.count)-without-cookies", "\(report)")
            #expect(gate.now >= start.adding(seconds: 28))
        }
    }
}
