// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// ffmpeg, which knows nothing but one URL, plays a real stream: past the lives of media token and grants.
@Suite(.needs(.nginx), .needsFFmpeg, .serialized) struct `A film in a real player` {
    private enum Way: String, CaseIterable { case cookie, segment, dash }

    @Test(arguments: Way.allCases)
    private func `is seen as a whole`(way: Way) async throws {
        let stream = try FilmStream(way == .dash ? .dash : .hls, segments: 14, seconds: 1)
        try await EdgeProxy.nginx.withFilm { (gate, proxy) throws in
            let (start, token) = (gate.now, try gate.filmToken("one"))
            // Each segment that the origin delivers takes two seconds of the gate's time.
            proxy.origin.serve(stream.files) { path in
                if path.hasSuffix(".ts") || path.contains("chunk") { gate.now = gate.now.adding(seconds: 2) }
            }
            var url = "http://\(proxy.address)\(stream.start)?token=\(token.percentEncoded)"
            if way == .segment { url = try gate.urlOfFilm(token) }
            let seen = try stream.play(url)
            #expect(seen.isWhole, "\(seen)")
            #expect(gate.now >= start.adding(seconds: 28))
            let codes = try proxy.codes()
            #expect(
                codes.count > 14 && codes.allSatisfy { ["verified", "granted", "renewed"].contains($0) },
                "\(codes)"
            )
            #expect(codes.contains("renewed") == (way != .segment), "\(codes)")
            #expect(!(try proxy.logs().contains(token.prefix(30))))
            // The same URL is nobody else's, nor this one's again.
            if way != .segment { #expect(try stream.play(url).frames == 0) }
        }
    }
}

extension RunningGate {
    /// Starts a film as a player's backend does, and returns the URL with the grant in a path segment.
    func urlOfFilm(_ token: String) throws -> String {
        let playback = try play("film", token: token)
        let grants = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
        return try #require(grants.compactMap { $0["url"] as? String }.first)
    }
}

extension RunningEdge {
    /// The gate's codes in nginx's access log, in the order of the requests.
    func codes() throws -> [String] {
        try logs().split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "\"", omittingEmptySubsequences: false)
            return parts.count == 5 && parts[1].contains("/film/") ? String(parts[3]) : nil
        }
    }
}
