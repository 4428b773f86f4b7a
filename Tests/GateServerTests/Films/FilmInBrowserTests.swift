// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// Video.js in Chromium plays a real stream: past the lives of media token and grants.
@Suite(.needsFFmpeg, .needsFilmBrowser, .serialized) struct `A film in a browser` {
    private enum Way: String, CaseIterable { case cookie, segment, dash }

    /// Every installed edge with the ways that it has.
    private static let showings = EdgeProxy.allCases.flatMap { edge in
        Way.allCases.filter { $0 == .segment || edge.deliversGrants && ($0 == .cookie || edge == .nginx) }.map {
            (edge, $0)
        }
    }

    private static let hls = Result { try FilmStream(.fragmented, segments: 14, seconds: 1) }

    @Test(arguments: showings)
    private func `is seen as a whole in a browser`(edge: EdgeProxy, way: Way) async throws {
        let chromium = try FilmBrowser.installed()
        let stream = try way == .dash ? FilmStream(.dash, segments: 14, seconds: 1) : Self.hls.get()
        try await edge.withFilm { (gate, proxy) throws in
            let (start, token) = (gate.now, try gate.filmToken("one"))
            // Each segment that the origin delivers takes two seconds of the gate's time.
            proxy.origin.serve(chromium.files(with: stream)) { path in
                if path.hasSuffix(".m4s") { gate.now = gate.now.adding(seconds: 2) }
                chromium.hear(path)
            }
            var url = "http://\(proxy.address)\(stream.start)?token=\(token.percentEncoded)"
            if way == .segment { url = try gate.urlOfFilm(token) }
            // The fastest that a browser plays.
            let tab = try chromium.open(url, at: proxy, speed: 16)
            #expect(try tab.report(within: 60) == "whole-\(stream.seconds)")
            #expect(gate.now >= start.adding(seconds: 28))
            if edge == .nginx {
                let codes = try proxy.codes()
                #expect(codes.allSatisfy { ["verified", "granted", "renewed"].contains($0) }, "\(codes)")
                #expect(codes.contains("renewed") == (way != .segment), "\(codes)")
            }
        }
    }
}
