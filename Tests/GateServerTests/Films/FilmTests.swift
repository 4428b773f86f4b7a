// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// A whole film through real edges with the real gate: past the media token's life, and up to the session's end.
@Suite(.serialized) struct `A film behind a real edge` {
    /// Plays master and variant playlists, and returns the segments.
    private static func open(by player: FilmPlayer, target: String, at edge: EdgeProxy) throws -> [String] {
        let master = try player.get(target)
        #expect(master.status == 200, "\(master)")
        let variants = FilmPlayer.references(master, of: target)
        try #require(variants.count == 1, "\(master)")
        let variant = try player.get(variants[0])
        #expect(variant.isAllowed("granted", by: edge), "\(variant)")
        let segments = FilmPlayer.references(variant, of: variants[0])
        #expect(segments.count == Film.count)
        return segments
    }

    @Test(arguments: EdgeProxy.deciding.filter(\.deliversGrants))
    func `is played by one URL with a media token and by cookies after it`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let start = gate.now
            let player = FilmPlayer(at: proxy) { gate.now }
            let segments = try Self.open(
                by: player,
                target: "\(Film.start)?token=\(try gate.filmToken("one").percentEncoded)",
                at: edge
            )
            var renewals = 0
            for (number, segment) in segments.dropLast(3).enumerated() {
                gate.now = start.adding(seconds: 2 * Int64(number + 1))
                let answer = try player.get(segment)
                #expect(answer.status == 200 && answer.body == "segment \(number)", "\(number): \(answer)")
                let cookies = answer.values("Set-Cookie").count
                #expect(answer.isAllowed(cookies == 1 ? "renewed" : "granted", by: edge), "\(number): \(answer.fields)")
                renewals += cookies
            }
            // At 6 s, and every 6 s from then on.
            #expect(renewals == 8)
            // The last grant is good up to the session's end, and is not renewed.
            gate.now = start.adding(seconds: 54)
            #expect(try player.get(segments[0] + "?1").isAllowed("renewed", by: edge))
            gate.now = start.adding(seconds: Film.session - 1)
            #expect(try player.get(segments[25]).isAllowed("granted", by: edge))
            gate.now = start.adding(seconds: Film.session)
            #expect(try player.get(segments[26]).status == 401, "a browser has dropped the cookie")
            player.forgets = false
            let end = try player.get(segments[27])
            #expect(end.status == 403 && end.gateCode == "session_ended", "\(end)")
            #expect(end.values("Set-Cookie").isEmpty)
        }
    }

    /// Edges that cannot deliver a cookie: the player's backend starts and renews.
    @Test(arguments: EdgeProxy.deciding)
    func `is played by the cookies that the player's backend gets and renews`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let start = gate.now
            let player = FilmPlayer(at: proxy) { gate.now }
            let playback = try gate.play("film", token: try gate.filmToken("one"))
            var grant = try Self.grant(of: "live", in: playback)
            player.store(try #require((grant["setCookies"] as? [String])?.first))
            let segments = try Self.open(by: player, target: Film.start, at: edge)
            var renewals = 0
            for (number, segment) in segments.dropLast(3).enumerated() {
                gate.now = start.adding(seconds: 2 * Int64(number + 1))
                let renewal = try gate.post(
                    "/v1/grants/renew",
                    body: "{\"grant\":\"\(grant["token"] as? String ?? "")\"}"
                )
                #expect(renewal.status == 200, "\(renewal)")
                if renewal.json["renewed"] as? Bool == true {
                    renewals += 1
                    grant = try #require(renewal.json["grant"] as? [String: Any])
                    player.store(try #require((grant["setCookies"] as? [String])?.first))
                }
                let answer = try player.get(segment)
                #expect(answer.isAllowed("granted", by: edge), "\(number): \(answer)")
            }
            #expect(renewals == 8)
            gate.now = start.adding(seconds: Film.session)
            player.forgets = false
            let end = try player.get(segments[27])
            #expect(end.status == 403 && end.gateCode == "session_ended", "\(end)")
        }
    }

    @Test(arguments: EdgeProxy.deciding)
    func `is played by one URL with the grant in a path segment`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let start = gate.now
            let player = FilmPlayer(at: proxy) { gate.now }
            let playback = try gate.play("film", token: try gate.filmToken("one"))
            let url = try #require(try Self.grant(of: "whole", in: playback)["url"] as? String)
            #expect(url.hasPrefix("http://\(proxy.address)/~cat=") && url.hasSuffix(Film.start))
            let segments = try Self.open(by: player, target: url, at: edge)
            for (number, segment) in segments.dropLast(3).enumerated() {
                gate.now = start.adding(seconds: 2 * Int64(number + 1))
                let answer = try player.get(segment)
                #expect(answer.status == 200 && answer.body == "segment \(number)", "\(number): \(answer)")
                #expect(
                    answer.isAllowed("granted", by: edge) && answer.values("Set-Cookie").isEmpty,
                    "\(answer.fields)"
                )
            }
            // The grant is of its own host.
            let other = try HTTPConnection(proxy.address).request(
                "GET",
                path: segments[3].replacing("http://\(proxy.address)", with: "")
            )
            // Caddy's page has one host.
            if edge != .caddy { #expect(other.status == 403 && other.gateCode == "grant_uri_mismatch", "\(other)") }
            gate.now = start.adding(seconds: Film.session)
            let end = try player.get(segments[27])
            #expect(end.status == 403 && end.gateCode == "session_ended", "\(end)")
        }
    }

    @Test(arguments: EdgeProxy.allCases.filter(\.deliversGrants))
    func `renews one grant for all of a player's parallel requests`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let start = gate.now
            let player = FilmPlayer(at: proxy) { gate.now }
            let segments = try Self.open(
                by: player,
                target: "\(Film.start)?token=\(try gate.filmToken("one").percentEncoded)",
                at: edge
            )
            let first = try #require(player.cookie(for: segments[0]))
            gate.now = start.adding(seconds: 5)
            let address = proxy.address
            let cookies = try concurrently(8) { number in
                let answer = try HTTPConnection(address).request(
                    "GET",
                    path: segments[number],
                    headers: ["Cookie": first],
                    host: address
                )
                #expect(answer.isAllowed("renewed", by: edge), "\(answer)")
                return answer.values("Set-Cookie")
            }
            #expect(Set(cookies.joined()).count == 1 && cookies.joined().count == 8)
            let renewed = try #require(cookies[0].first)
            #expect(!renewed.contains(first))
            // The old grant is good up to its end, in each place; an expired one does no harm to a good one beside it.
            let segment = "/~cat=\(first.split(separator: "=")[1])"
            let other = FilmPlayer(at: proxy) { gate.now }
            gate.now = start.adding(seconds: 9)
            #expect(try other.get(segment + segments[8]).isAllowed("renewed", by: edge))
            gate.now = start.adding(seconds: 10)
            #expect(try FilmPlayer(at: proxy) { gate.now }.get(segment + segments[9]).gateCode == "grant_expired")
            #expect(
                try FilmPlayer(at: proxy) { gate.now }.get(segments[9], headers: ["Cookie": first]).gateCode
                    == "grant_expired"
            )
            player.store(renewed)
            let cookie = try #require(player.cookie(for: segments[10]))
            for headers in [
                ["Cookie": cookie], ["Cookie": "\(first); \(cookie)"],
                ["CTA-Common-Access-Token": String(cookie.split(separator: "=")[1])],
            ] {
                let both = try HTTPConnection(address).request(
                    "GET",
                    path: segment + segments[10],
                    headers: headers,
                    host: address
                )
                #expect(both.isAllowed("renewed", by: edge), "\(both)")
            }
        }
    }

    /// The grant of a profile in the answer to `POST /v1/playback`.
    private static func grant(of profile: String, in answer: HTTPConnection.Response) throws -> [String: Any] {
        #expect(answer.status == 200, "\(answer)")
        let grants = try #require(answer.json["grants"] as? [[String: Any]], "\(answer)")
        return try #require(grants.first { $0["profile"] as? String == profile })
    }
}
