// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// A copied cookie at real edges, in real time: those that ask for each segment, and those that decide by themselves and report.
@Suite struct `A shared grant at an edge` {
    private static let sections = """
        keys: { pg-2026-11: { secret: "\(Film.secret)", algorithm: HS256 } }
        grants:
          subjectKey: "\(Film.secret)"
          profiles: { live: { issuer: playgate, key: pg-2026-11, scheme: http, cookie: { sameSite: Lax } } }
        leaks: { action: revoke, handover: 10s }
        """

    private static let catalogue = """
            - { path: /film/master.m3u8, resource: TNT, grant: live }
            - { path: /film/, resource: TNT, admits: grant, grant: live }
        """

    /// A cookie jar, which players may share.
    private final class Jar {
        var cookie = ""
    }

    /// A player that fetches a segment twice a second.
    private struct Player {
        let edge: RunningEdge
        let jar: Jar
        var index: Int

        /// Fetches the next segment, and stores the cookie of the answer.
        mutating func play() throws -> HTTPConnection.Response {
            index += 1
            return try get("/film/v1/\(index).ts")
        }

        func get(_ target: String) throws -> HTTPConnection.Response {
            let answer = try edge.get(target, headers: jar.cookie.isEmpty ? [:] : ["Cookie": jar.cookie])
            if let line = answer.headers["set-cookie"] { jar.cookie = String(line.prefix { $0 != ";" }) }
            return answer
        }

        /// Starts a playback with a new token.
        static func start(_ name: String, at edge: RunningEdge, of gate: RunningGate, from index: Int) throws -> Player
        {
            let player = Player(edge: edge, jar: Jar(), index: index)
            let token = try gate.token(GateSample.claims(session: name))
            let first = try player.get("/film/master.m3u8?token=\(token)")
            #expect(first.status == 200 && !player.jar.cookie.isEmpty, "\(first)")
            return player
        }

        /// The id of the playback, as its grant has it.
        func session(by gate: RunningGate) throws -> String {
            let grant = try #require(jar.cookie.split(separator: "=", maxSplits: 1).last)
            let run = try CommandRun(
                Program.built("playgate"),
                arguments: ["grant", "explain", String(grant), "--json"]
            )
            let claim = try #require(run.output.range(of: #""name":"pgs""#)?.upperBound)
            let start = try #require(run.output.range(of: "h'", range: claim..<run.output.endIndex)).upperBound
            return String(run.output[start...].prefix(32))
        }

        /// A player with a copy of the jar.
        func copied(from index: Int) -> Player {
            let copy = Jar()
            copy.cookie = jar.cookie
            return Player(edge: edge, jar: copy, index: index)
        }
    }

    /// The gate's clock goes as fast as those of the edges.
    private static func withRealTime(
        _ edge: EdgeProxy,
        replacing: [String: String] = [:],
        body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        try await edge.withGate(catalogue: catalogue, more: sections, isOnPort: true, replacing: replacing) {
            (gate, proxy) throws in
            try gate.inRealTime { try body(gate, proxy) }
        }
    }

    /// The edges that can give a player a new grant.
    private static let edges = EdgeProxy.deciding.filter(\.deliversGrants)

    /// Two workers, so that the requests of a player come to both.
    private static func workers(of edge: EdgeProxy) -> [String: String] {
        edge == .nginxModule ? ["worker_processes auto;": "worker_processes 2; daemon off;"] : [:]
    }

    /// The lines of code in docs/how-to/shared-grants.md about logs.
    private static func lines(of part: Int) throws -> String {
        let page = try EdgeProxy.file("docs/how-to/shared-grants.md")
        let start = try #require(page.range(of: "## Try it on a log")).upperBound
        let code = page[start...].components(separatedBy: "```nginx\n")[part]
        return try #require(code.components(separatedBy: "```").first)
    }

    @Test(arguments: EdgeProxy.installed([.nginx, .nginxModule]))
    func `is found in nginx's log, and a playback of one player is not`(edge: EdgeProxy) async throws {
        let folder = try TemporaryFolder()
        let log = folder.file("segments.json")
        let format = try Self.lines(of: 1).replacing("/var/log/nginx/segments.json", with: log)
        let set = "            auth_request_set $gate_trace $upstream_http_x_playgate_trace;\n"
        let path = edge == .nginx ? "$logged" : "$uri"
        let lines = ["http {\n": "http {\n" + format.replacing("$uri", with: path), set: set + (try Self.lines(of: 2))]
        let used = lines.filter { edge == .nginx || $0.key != set }
        let review = Self.sections.replacing("revoke", with: "review")
        try await edge.withGate(catalogue: Self.catalogue, more: review, isOnPort: true, replacing: used) {
            (gate, proxy) throws in
            var viewer = try Player.start("viewer", at: proxy, of: gate, from: 100)
            var copier = viewer.copied(from: 97)
            var other = try Player.start("other", at: proxy, of: gate, from: 100)
            var session = ""
            for _ in 0..<20 {
                for answer in [try viewer.play(), try copier.play(), try other.play()] {
                    #expect(answer.status == 200, "\(answer)")
                }
                if session.isEmpty { session = try viewer.session(by: gate) }
            }
            // A grant in a path is in no log.
            let grant = try #require(other.jar.cookie.split(separator: "=", maxSplits: 1).last)
            #expect(try proxy.get("/~cat=\(grant)/film/v1/121.ts").status == 200)
            let run = { (options: [String]) in
                try CommandRun(Program.built("playgate"), arguments: ["leaks", "replay", log] + options)
            }
            // nginx may write the last line after its answer.
            #expect(try eventually { try run(["--json"]).output.contains(#""segments":61"#) })
            #expect(!(try folder.text("segments.json").contains(grant)))
            let found = try run(["--json"])
            #expect(found.output.contains(#""playbacks":2,"segments":61,"malformedLines":0,"#), "\(found)")
            #expect(found.output.contains(#""suspects":[{"playback":"\#(session)""#), "\(found)")
            #expect(found.output.components(separatedBy: "\"first\"").count == 2, "\(found)")
            #expect(
                try run([]).output.hasPrefix("1 of 2 playbacks would be challenged (61 segments)\n\(session)  first ")
            )
        }
    }

    @Test(arguments: edges) func `is revoked, and two tabs of one jar play on`(edge: EdgeProxy) async throws {
        try await Self.withRealTime(edge, replacing: Self.workers(of: edge)) { (gate, proxy) throws in
            var viewer = try Player.start("viewer", at: proxy, of: gate, from: 100)
            var copier = viewer.copied(from: 97)
            var first = try Player.start("tabs", at: proxy, of: gate, from: 100)
            var second = Player(edge: proxy, jar: first.jar, index: 97)
            let isEnded = try eventually(within: 120) {
                usleep(500_000)
                let (one, other) = (try viewer.play(), try copier.play())
                for tab in [try first.play(), try second.play()] { #expect(tab.status == 200, "\(edge): \(tab)") }
                return one.status == 403 && other.status == 403
            }
            let listed = try gate.get("/v1/leaks").body
            #expect(isEnded, "\(edge): \(listed)")
            let refusals = [try viewer.play().gateCode, try copier.play().gateCode]
            #expect(refusals == ["playback_shared", "playback_shared"])
            let leaks = try #require(try gate.get("/v1/leaks").json["leaks"] as? [[String: Any]])
            let proven = leaks.filter { $0["state"] as? String == "proven" }
            #expect(proven.count == 1 && proven.first?["evidence"] as? String == "forks", "\(edge): \(leaks)")
            #expect(proven.first?["profile"] as? String == "live")
            // The viewer has a media token, and the copier has none.
            var again = try Player.start("again", at: proxy, of: gate, from: 140)
            let statuses = [try again.play().status, try copier.play().status]
            #expect(statuses == [200, 403])
            if edge.decidesInside {
                let edges = try #require(try gate.get("/v1/leaks").json["edges"] as? [[String: Any]])
                #expect(edges.contains { $0["reports"] as? Bool == true }, "\(edges)")
            }
        }
    }
}
