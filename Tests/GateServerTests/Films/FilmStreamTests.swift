// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The limit of a viewer's concurrent films, through nginx.
@Suite(.needs(.nginx), .serialized) struct `A film on one screen` {
    private static func with(_ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void) async throws {
        let grants = Film.grants.replacing("renew: {", with: "maxConcurrentStreams: 1\n      renew: {")
        try await EdgeProxy.nginx.withGate(
            catalogue: Film.catalogue.replacing("[live, whole]", with: "live"),
            edge: ", advanced: { maxCacheAge: 0s }",
            more: grants,
            isOnPort: true
        ) { (gate, nginx) throws in
            nginx.origin.serve(Film.files)
            try body(gate, nginx)
        }
    }

    @Test func `has its slot for as long as the edge renews it`() async throws {
        try await Self.with { (gate, nginx) throws in
            let (start, player) = (gate.now, FilmPlayer(at: nginx) { gate.now })
            let first = try gate.filmToken("one").percentEncoded
            let started = try player.get("\(Film.start)?token=\(first)")
            #expect(started.gateCode == "verified", "\(started)")
            for number in 0..<10 {
                gate.now = start.adding(seconds: 4 * Int64(number + 1))
                #expect(try player.get(Film.segment(number)).status == 200)
                let other = FilmPlayer(at: nginx) { gate.now }
                let token = try gate.filmToken("one").percentEncoded
                #expect(try other.get("\(Film.start)?token=\(token)").gateCode == "stream_limit_reached", "\(number)")
            }
            let two = try gate.filmToken("two").percentEncoded
            #expect(try FilmPlayer(at: nginx) { gate.now }.get("\(Film.start)?token=\(two)").status == 200)
            // The slot ends ten seconds after the last grant; the refusal before has not used the token.
            gate.now = start.adding(seconds: 45)
            let token = try gate.filmToken("one").percentEncoded
            let other = FilmPlayer(at: nginx) { gate.now }
            #expect(try other.get("\(Film.start)?token=\(token)").gateCode == "stream_limit_reached")
            gate.now = start.adding(seconds: 60)
            #expect(try other.get("\(Film.start)?token=\(token)").gateCode == "verified")
        }
    }

    @Test func `has its slot for as long as its backend renews it`() async throws {
        try await Self.with { (gate, nginx) throws in
            let start = gate.now
            let playback = try gate.play("film", token: try gate.filmToken("one"))
            let issued = try #require(playback.json["grant"] as? [String: Any], "\(playback)")
            var grant = issued["token"] as? String ?? ""
            let session = issued["session"] as? String ?? ""
            for number in 0..<6 {
                gate.now = start.adding(seconds: 8 * Int64(number + 1))
                let renewal = try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(grant)\"}")
                let renewed = try #require(renewal.json["grant"] as? [String: Any], "\(renewal)")
                grant = renewed["token"] as? String ?? ""
                let other = try gate.play("film", token: try gate.filmToken("one"))
                #expect(other.status == 409 && other.body.contains("stream_limit_reached"), "\(number): \(other)")
            }
            // At its end another one begins, and the grant of this one is not renewed.
            gate.now = start.adding(seconds: 54)
            let end = try gate.connect().request("DELETE", path: "/v1/playback/\(session)")
            #expect(end.status == 200 && end.json["freed"] as? Bool == true, "\(end)")
            #expect(try gate.play("film", token: try gate.filmToken("one")).status == 200)
            let refused = try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(grant)\"}")
            #expect(refused.status == 403 && refused.body.contains("grant_revoked"), "\(refused)")
        }
    }
}
