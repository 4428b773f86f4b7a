// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Synchronization
import Testing

/// A player that keeps no cookies plays a whole film by one URL with a media token: manifests through the listener, segments
/// through the edge's check and cache. A media token lives for 20 s, a grant for 10 s, and a session for 120 s.
@Suite(.serialized) struct `A film for players without cookies` {
    private static let secret = Data((0..<32).map { _ in UInt8.random(in: 0...255) }).base64EncodedString()

    private static let entries = """
            - { path: /film/tnt/master.m3u8, resource: TNT, use: once, grant: tv }
            - { path: /film/tnt/manifest.mpd, resource: TNT, use: once, grant: tv }
            - { path: /film/tnt/live.m3u8, resource: TNT, use: once, grant: tv }
            - { path: /film/tnt/, resource: TNT, use: grant, grant: tv }
            - { path: /page/, protected: false }

        """

    private static func sections(_ mode: String) -> String {
        """
        keys: { grant-1: { secret: "\(secret)" } }
        grants:
          subjectKey: "\(secret)"
          profiles:
            tv:
              issuer: playgate
              key: grant-1
              life: 10s
              session: 120s
              scheme: http
              renewable: false
              deliver: [segment]
              cookie: { sameSite: Lax }
        manifest: { listen: "127.0.0.1:0", origin: "http://ORIGIN", mode: \(mode) }
        """
    }

    private static func with(
        _ edge: EdgeProxy,
        mode: String = "segment",
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await edge.withGate(catalogue: entries, more: sections(mode), isOnPort: true) { (gate, proxy) throws in
            #expect(try eventually { try gate.admin("GET", "/readyz").status == 200 })
            try body(gate, proxy)
        }
    }

    private static func isMedia(_ path: String) -> Bool { !path.hasSuffix(".m3u8") && !path.hasSuffix(".mpd") }

    @Test(arguments: [EdgeProxy.nginx, .varnish], ManifestStream.Kind.allCases)
    fileprivate func `is seen as a whole, and shared by the next viewer`(
        edge: EdgeProxy,
        kind: ManifestStream.Kind
    ) async throws {
        guard FilmStream.isPlayable else { return }
        let stream = try ManifestStream(kind)
        let sign = [
            "renditions": "#EXT-X-MEDIA", "encrypted": "METHOD=AES-128", "template": "$Number", "list": "SegmentURL",
        ]
        #expect(stream.manifests.contains(try #require(sign[kind.rawValue])))
        try await Self.with(edge) { (gate, proxy) throws in
            let start = gate.now
            let asked = Mutex<[String]>([])
            // Each part that the origin delivers takes two seconds of the gate's time.
            proxy.origin.serve(stream.files) { path in
                guard Self.isMedia(path) else { return }
                asked.withLock { $0.append(path) }
                gate.now = gate.now.adding(seconds: 2)
            }
            let url = { (viewer: String) in
                "http://\(proxy.address)\(stream.start)?token=\(try gate.filmToken(viewer).percentEncoded)"
            }
            let seen = try ManifestStream.frames(try url("one"))
            #expect(seen.count >= 25 * (ManifestStream.count - 1), "\(seen)")
            // Past the lives of the media token and of a grant.
            #expect(gate.now >= start.adding(seconds: 28))
            let count = asked.withLock { $0.count }
            #expect(count >= ManifestStream.count)
            let next = try ManifestStream.frames(try url("two"))
            #expect(next.count == seen.count, "\(next)")
            // The parts that ffmpeg asks for beyond the end of a DASH stream are not found, and not kept.
            #expect(asked.withLock { $0.dropFirst(count).filter { stream.files[$0] != nil } }.isEmpty)
            #expect(asked.withLock { $0 }.allSatisfy { !$0.contains("cat=") && !$0.contains("?") })
            // The URL of the first is nobody else's.
            #expect(try ManifestStream.frames(try url("one")).count > 0)
            #expect(!(try proxy.logs().contains("~cat=2")))
        }
    }

    @Test(arguments: ["segment", "query"])
    func `is seen as a whole in a browser that keeps none`(mode: String) async throws {
        guard FilmStream.isPlayable, let chromium = FilmBrowser.installed() else { return }
        let stream = try ManifestStream(.renditions)
        try await Self.with(.nginx, mode: mode) { (gate, proxy) throws in
            let start = gate.now
            proxy.origin.serve(chromium.files(with: stream.files)) { path in
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 2) }
                chromium.hear(path)
            }
            let token = try gate.filmToken("one").percentEncoded
            let url = "http://\(proxy.address)\(stream.start)?token=\(token)"
            let tab = try chromium.open(url, at: proxy, speed: 16, hasCookies: false)
            let report = try tab.report(within: 60)
            #expect(report == "whole-\(ManifestStream.count)-without-cookies", "\(report)")
            #expect(gate.now >= start.adding(seconds: 28))
        }
    }

    @Test(arguments: ["segment", "query"])
    func `is seen live, with a sliding window, for many lives of a grant`(mode: String) async throws {
        guard FilmStream.isPlayable else { return }
        let stream = try ManifestStream(.encrypted)
        let lines = String(decoding: stream.files["/film/tnt/index.m3u8"] ?? [], as: UTF8.self).split(separator: "\n")
        let key = try #require(lines.first { $0.hasPrefix("#EXT-X-KEY") })
        try await Self.with(.nginx, mode: mode) { (gate, proxy) throws in
            let start = gate.now
            let reloads = Mutex(0)
            proxy.origin.serve { path in
                guard path == "/film/tnt/live.m3u8" else { return stream.files[path] }
                // Each reload shows another segment, and takes eight seconds of the gate's time.
                let number = reloads.withLock { count in
                    count += 1
                    return count
                }
                gate.now = gate.now.adding(seconds: 8)
                let last = min(number + 2, ManifestStream.count)
                let segments = (max(0, last - 4)..<last).map { "#EXTINF:1,\nseg\($0).ts\n" }.joined()
                let head =
                    "#EXTM3U\n#EXT-X-VERSION:3\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:\(max(0, last - 4))\n"
                let end = last == ManifestStream.count ? "#EXT-X-ENDLIST\n" : ""
                return [UInt8]((head + key + "\n" + segments + end).utf8)
            }
            let token = try gate.filmToken("one").percentEncoded
            let seen = try ManifestStream.frames("http://\(proxy.address)/film/tnt/live.m3u8?token=\(token)")
            // The first request is answered by a redirect: a playlist without variants is reloaded by its own URL.
            #expect(try gate.metric("playgate_manifest_requests_total{result=\"moved\"}") == 1)
            #expect(seen.count > 25 * (ManifestStream.count - 4), "\(seen)")
            #expect(gate.now >= start.adding(seconds: 70))
        }
    }
}
