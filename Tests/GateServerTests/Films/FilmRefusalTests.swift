// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The viewers whom real edges refuse a film, by the real gate's codes.
@Suite(.serialized) struct `A film that others may not see` {
    private static func expect(
        _ code: String,
        of answer: HTTPConnection.Response,
        status: Int = 403,
        sourceLocation location: SourceLocation = #_sourceLocation
    ) {
        #expect(answer.status == status && answer.gateCode == code, "\(answer)", sourceLocation: location)
        #expect(answer.values("Set-Cookie").isEmpty && !answer.body.contains("segment"), sourceLocation: location)
    }

    @Test(arguments: EdgeProxy.asking.filter(\.deliversGrants))
    func `opens for a second viewer with neither token nor grant of the first`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let (first, second) = (FilmPlayer(at: proxy) { gate.now }, FilmPlayer(at: proxy) { gate.now })
            let token = try gate.filmToken("one").percentEncoded
            let start = "\(Film.start)?token=\(token)"
            // Without a start nothing opens, with a media token neither.
            Self.expect("grant_missing", of: try second.get(Film.variant), status: 401)
            Self.expect("grant_missing", of: try second.get("\(Film.segment(0))?token=\(token)"), status: 401)
            Self.expect("media_token_missing", of: try second.get(Film.start), status: 401)
            #expect(try first.get(start).status == 200)

            Self.expect("token_already_used", of: try second.get(start))
            Self.expect("grant_missing", of: try second.get(Film.variant), status: 401)
            Self.expect("grant_missing", of: try second.get("\(Film.variant)?token=\(token)"), status: 401)
            let cookie = ["Cookie": try #require(first.cookie(for: Film.variant))]
            Self.expect("grant_resource_mismatch", of: try second.get("/film/tbs/low/seg0.ts", headers: cookie))
            let path = "/~cat=\(cookie["Cookie"]?.split(separator: "=")[1] ?? "")/film/tbs/low/seg0.ts"
            Self.expect("grant_resource_mismatch", of: try second.get(path))
            // The start accepts a grant; but the token of another does not help to one.
            #expect(try first.get(Film.start).isAllowed("granted", by: edge))
            #expect(proxy.origin.requests <= 2)
        }
    }

    @Test(arguments: EdgeProxy.asking.filter(\.deliversGrants))
    func `starts once, whatever the player asks for beside`(edge: EdgeProxy) async throws {
        // The time of the gate passes here, but that of the edge's cache does not.
        try await edge.withFilm(edge: ", advanced: { maxCacheAge: 0s }") { (gate, proxy) throws in
            let player = FilmPlayer(at: proxy) { gate.now }
            let start = "\(Film.start)?token=\(try gate.filmToken("one").percentEncoded)"
            for _ in 0..<2 {
                let head = try player.get(start, method: "HEAD")
                #expect(head.isAllowed("probe", by: edge) && head.values("Set-Cookie").isEmpty, "\(head)")
                Self.expect("range_not_permitted", of: try player.get(start, headers: ["Range": "bytes=0-1"]))
            }
            let first = try player.get(start)
            #expect(first.isAllowed("verified", by: edge) && first.values("Set-Cookie").count == 1, "\(first)")
            // With its grant: the token in the URL is not looked at again, not even if it has expired.
            let time = gate.now
            for seconds in [1, 7, 13, 19, 25] as [Int64] {
                gate.now = time.adding(seconds: seconds)
                let again = try player.get(start)
                #expect(again.isAllowed("granted", "renewed", by: edge), "\(again)")
                #expect(try player.get(start, method: "HEAD").status == 200)
                let part = try player.get(start, headers: ["Range": "bytes=0-1"])
                #expect([200, 206].contains(part.status), "\(part)")
            }
            let starts = try gate.metric("playgate_decisions_total{decision=\"allow\",code=\"verified\"}")
            #expect(starts == nil || starts == 1)
        }
    }

    @Test(arguments: EdgeProxy.allCases)
    func `ends within five seconds of its revocation`(edge: EdgeProxy) async throws {
        try await edge.withFilm(edge: ", advanced: { maxCacheAge: 1s }") { (gate, proxy) throws in
            for kind in ["playback", "token", "sessionGUID", "mvpd"] { try Self.revoke(kind, by: gate, proxy: proxy) }
        }
    }

    /// Plays by cookie and by path segment, and revokes what they were started by.
    private static func revoke(_ kind: String, by gate: RunningGate, proxy: RunningEdge) throws {
        let token = try gate.filmToken(kind)
        let playback = try gate.play("film", token: token)
        let grants: [[String: Any]] = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
        let grant: [String: Any] = try #require(grants.first)
        let text = { (name: String) -> String in grant[name] as? String ?? "" }
        let player = FilmPlayer(at: proxy) { gate.now }
        player.store(try #require((grant["setCookies"] as? [String])?.first))
        let other = FilmPlayer(at: proxy) { gate.now }
        let byCookie: (Int) throws -> HTTPConnection.Response = { try player.get(Film.segment($0)) }
        let bySegment: (Int) throws -> HTTPConnection.Response = { number in
            try other.get("/" + text("segment") + Film.segment(number))
        }
        for ask in [byCookie, bySegment] { #expect(try ask(0).status == 200) }
        gate.now = gate.now.adding(seconds: 1)
        let names = ["playback": text("session"), "token": token, "sessionGUID": kind, "mvpd": "SandboxMVPD"]
        let revocation = try gate.post("/v1/revocations", body: "{\"\(kind)\":\"\(names[kind] ?? "")\"}")
        #expect([200, 201, 204].contains(revocation.status), "\(revocation)")
        for ask in [byCookie, bySegment] { expect("grant_revoked", of: try ask(1)) }
        // An edge may keep an answer for as long as `edge.advanced.maxCacheAge`.
        if kind == "playback" { #expect(try eventually { try byCookie(0).gateCode == "grant_revoked" }) }
        let renewal = try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(text("token"))\"}")
        #expect(renewal.status == 403 && renewal.body.contains("grant_revoked"), "\(renewal)")
    }

    @Test(arguments: EdgeProxy.allCases.filter { $0.sharesContent && $0.deliversGrants })
    func `costs the origin nothing for a second viewer`(edge: EdgeProxy) async throws {
        try await edge.withFilm { (gate, proxy) throws in
            let targets = [Film.variant] + (0..<Film.count).map(Film.segment)
            for viewer in ["one", "two", "three"] {
                let player = FilmPlayer(at: proxy) { gate.now }
                #expect(
                    try player.get("\(Film.start)?token=\(try gate.filmToken(viewer).percentEncoded)").gateCode
                        == "verified"
                )
                for target in targets { #expect(try player.get(target).status == 200) }
                #expect(proxy.origin.requests == targets.count + 1, "\(viewer)")
            }
            // By path segment too, and the grant is in no request to the origin.
            let playback = try gate.play("film", token: try gate.filmToken("four"))
            let grants = try #require(playback.json["grants"] as? [[String: Any]], "\(playback)")
            let player = FilmPlayer(at: proxy) { gate.now }
            for grant in grants {
                for target in targets {
                    #expect(try player.get("/\(grant["segment"] as? String ?? "")\(target)").status == 200)
                }
            }
            #expect(proxy.origin.requests == targets.count + 1)
        }
    }
}
