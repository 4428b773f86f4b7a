// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// 72 segments of two seconds in real time, by a media token of 20 s and grants of 10 s: `scripts/film`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["PLAYGATE_FILM"] != nil)) struct `A film in real time` {
    @Test(arguments: EdgeProxy.allCases)
    func `is seen as a whole in real time`(edge: EdgeProxy) async throws {
        let stream = try FilmStream(.fragmented, segments: 72, seconds: 2)
        try await Self.run(with: edge, stream: stream) { (gate, proxy, chromium) throws in
            let byToken = { (viewer: String) in
                "http://\(proxy.address)\(stream.start)?token=\(try gate.filmToken(viewer).percentEncoded)"
            }
            let bySegment = { (viewer: String) in try gate.urlOfFilm(try gate.filmToken(viewer)) }
            // Each URL is for one player.
            let urls = [try bySegment("one")] + (edge.deliversGrants ? [try byToken("two")] : [])
            let pages = [try bySegment("three")] + (edge.deliversGrants ? [try byToken("four")] : [])
            let tabs = try pages.map { try chromium.open($0, at: proxy) }
            let showings = try concurrently(urls.count) { number in
                (number, try stream.play(urls[number], inRealTime: true))
            }
            for (number, seen) in showings {
                #expect(seen.isWhole, "\(edge) \(number): \(seen)")
                print("\(edge) \(number == 0 ? "by path segment" : "by cookie"), ffmpeg: \(seen.frames) frames of 3600")
            }
            for (number, tab) in tabs.enumerated() {
                let seen = try tab.report(within: 120)
                #expect(seen == "whole-144", "\(edge) \(number)")
                print("\(edge) \(number == 0 ? "by path segment" : "by cookie"), Video.js: \(seen)")
            }
            if edge == .nginx { #expect(try proxy.codes().filter { $0 == "renewed" }.count > 20) }
            for url in urls.dropFirst() { #expect(try stream.play(url).frames == 0) }
        }
    }

    @Test(.needs(.nginx)) func `is seen as a whole in DASH`() async throws {
        let stream = try FilmStream(.dash, segments: 72, seconds: 2)
        try await Self.run(with: .nginx, stream: stream) { (gate, proxy, chromium) throws in
            let url = { (viewer: String) in
                "http://\(proxy.address)\(stream.start)?token=\(try gate.filmToken(viewer).percentEncoded)"
            }
            let tab = try chromium.open(try url("one"), at: proxy)
            let seen = try stream.play(try url("two"), inRealTime: true)
            #expect(seen.isWhole, "\(seen)")
            #expect(try tab.report(within: 120) == "whole-144")
            print("nginx by cookie, DASH: \(seen.frames) frames of 3600 by ffmpeg, and the whole by Video.js")
            #expect(try proxy.codes().filter { $0 == "renewed" }.count > 20)
        }
    }

    /// Runs `body` with an edge in front of the stream, while the gate's clock goes as fast as the others.
    private static func run(
        with edge: EdgeProxy,
        stream: FilmStream,
        body: @escaping @Sendable (RunningGate, RunningEdge, FilmBrowser) throws -> Void
    ) async throws {
        let chromium = try FilmBrowser.installed()
        // On a machine with other work, a player may pause for longer than a segment.
        let grants = Film.grants.replacing("\(Film.session)s", with: "200s").replacing(
            "deadline: 5s",
            with: "deadline: 8s"
        )
        try await edge.withGate(catalogue: Film.catalogue, more: grants, isOnPort: true) { (gate, proxy) throws in
            proxy.origin.serve(chromium.files(with: stream)) { chromium.hear($0) }
            let start = gate.now
            try gate.inRealTime { try body(gate, proxy, chromium) }
            #expect(gate.now > start.adding(seconds: 140))
        }
    }
}
