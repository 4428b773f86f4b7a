// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

/// A grant that more than one hold, at a running gate: what is found, listed and ended.
@Suite struct `A shared grant` {
    private static func configuration(_ leaks: String) -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys: { k1: { secret: \(String(repeating: "A", count: 44)) } }
            grants:
              subjectKey: \(String(repeating: "B", count: 44))
              profiles: { live: { issuer: playgate, key: k1, scheme: http, cookie: { sameSite: Lax } } }
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            \(leaks)
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: live }
                    - { path: /film/, resource: TNT, admits: grant, grant: live }
                """
        )
    }

    /// A player with a jar of its own.
    private final class Player {
        private let gate: RunningGate
        private(set) var cookie: String

        init(at gate: RunningGate) throws {
            self.gate = gate
            cookie = ""
            let first = try ask("/film/master.m3u8?token=\(try gate.token())")
            #expect(first.status == 200, "\(first)")
        }

        /// A copy of another player's jar.
        init(copying other: Player) { (gate, cookie) = (other.gate, other.cookie) }

        /// Asks for a file, and stores the cookie of the answer in the jar.
        @discardableResult func ask(_ target: String, dropping: Bool = false) throws -> HTTPConnection.Response {
            var headers = ["X-Forwarded-Uri": target, "X-Forwarded-Method": "GET"]
            if !cookie.isEmpty { headers["Cookie"] = cookie }
            let answer = try HTTPConnection(gate.edge).request("GET", path: "/v1/check/forward", headers: headers)
            let line = answer.headers["x-playgate-set-cookie"] ?? answer.headers["set-cookie"]
            if let line, !dropping { cookie = String(line.prefix { $0 != ";" }) }
            return answer
        }
    }

    /// The time of a renewal: life 5 m, deadline 2 m.
    private static let period: Int64 = 185_000

    private static func leaks(of gate: RunningGate) throws -> [[String: Any]] {
        try #require(try gate.get("/v1/leaks").json["leaks"] as? [[String: Any]])
    }

    private static func count(
        _ change: String,
        by evidence: String = "renewals",
        at gate: RunningGate
    ) throws -> Double? {
        try gate.metric("playgate_leaks_\(change)_total{evidence=\"\(evidence)\"}")
    }

    @Test func `is found in three renewals, listed, and plays on in review`() async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: review }")) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            for round in 1...3 {
                gate.now = gate.now.advanced(byMilliseconds: Self.period)
                for player in round.isMultiple(of: 2) ? [viewer, copier] : [copier, viewer] {
                    #expect(try player.ask("/film/\(round).ts").headers["x-playgate-code"] == "renewed")
                }
                let expected = ["", "suspected", "proven"][round - 1]
                #expect(try eventually { try Self.leaks(of: gate).first?["state"] as? String ?? "" == expected })
            }
            let leak = try #require(try Self.leaks(of: gate).first)
            #expect(leak["profile"] as? String == "live" && leak["revoked"] as? Bool == false)
            #expect(try Self.count("suspected", at: gate) == 1)
            #expect(try Self.count("proven", at: gate) == 1)
            #expect(try Self.count("revoked", at: gate) == 0)
            #expect(try gate.log("leak_suspected").count == 1 && gate.log("leak_proven").count == 1)
            #expect(viewer.cookie != copier.cookie)
            #expect(try viewer.ask("/film/9.ts").status == 200 && copier.ask("/film/9.ts").status == 200)
        }
    }

    @Test func `is revoked: the viewer starts again, and the copier cannot`() async throws {
        // With a limit, a backend ends playbacks.
        let configuration = Self.configuration("leaks: { action: revoke }")
            .replacing("scheme: http,", with: "scheme: http, maxConcurrentStreams: 4,")
        try await RunningGate.with(configuration) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            for round in 1...3 {
                gate.now = gate.now.advanced(byMilliseconds: Self.period)
                for player in [viewer, copier] { try player.ask("/film/\(round).ts") }
                // The ledger is written behind the answers, in their order.
                if round == 2 { #expect(try eventually { try !Self.leaks(of: gate).isEmpty }) }
            }
            #expect(try eventually { try Self.count("revoked", at: gate) == 1 })
            for player in [viewer, copier] {
                #expect(try player.ask("/film/9.ts").headers["x-playgate-code"] == "playback_shared")
            }
            let again = try Player(at: gate)
            #expect(try again.ask("/film/9.ts").status == 200)
            #expect(try gate.log("\"caller\":\"leaks\"").count == 1)
            // A backend that ends the playback changes nothing.
            let session = try #require(try Self.leaks(of: gate).first?["session"] as? String)
            #expect(try gate.connect().request("DELETE", path: "/v1/playback/\(session)").status == 200)
            #expect(try viewer.ask("/film/9.ts").headers["x-playgate-code"] == "playback_shared")
            let listed = try #require(try gate.get("/v1/revocations").json["revocations"] as? [[String: Any]])
            #expect(listed.compactMap { $0["reason"] as? String } == ["shared"], "\(listed)")
        }
    }

    /// One jar: parallel requests, lost answers and a second tab are no second holder.
    @Test func `is none if one jar renews many times at once`() async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: revoke }")) { (gate) throws in
            let viewer = try Player(at: gate)
            for round in 1...6 {
                gate.now = gate.now.advanced(byMilliseconds: Self.period)
                for part in 0..<4 { try viewer.ask("/film/\(round)-\(part).ts", dropping: part != 2) }
                #expect(try viewer.ask("/film/\(round).ts").status == 200)
            }
            #expect(try Self.leaks(of: gate).isEmpty)
            #expect(try Self.count("suspected", at: gate) == 0)
            #expect(try viewer.ask("/film/9.ts").headers["x-playgate-code"] == "granted")
        }
    }

    @Test func `is not looked for without the section, and parallel renewals share a grant`() async throws {
        try await RunningGate.with(Self.configuration("")) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            gate.now = gate.now.advanced(byMilliseconds: Self.period)
            for player in [viewer, copier] { try player.ask("/film/1.ts") }
            #expect(viewer.cookie == copier.cookie)
            #expect(try Self.leaks(of: gate).isEmpty)
        }
    }

    /// Separate starts of one playback are chains of their own, and so are the grants that a backend renews.
    @Test func `is none if a playback has several grants`() async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: revoke }")) { (gate) throws in
            let viewer = try Player(at: gate)
            var held = try #require(viewer.cookie.split(separator: "=", maxSplits: 1).last.map { String($0) })
            for round in 1...4 {
                gate.now = gate.now.advanced(byMilliseconds: Self.period)
                try viewer.ask("/film/\(round).ts")
                let answer = try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(held)\"}")
                held = try #require((answer.json["grant"] as? [String: Any])?["token"] as? String, "\(answer)")
            }
            #expect(try Self.leaks(of: gate).isEmpty)
        }
    }

    /// What review has proven is ended as soon as a reload says revoke.
    @Test func `that was proven in review is revoked after a reload`() async throws {
        let configuration = Self.configuration("leaks: { action: review }")
        try await RunningGate.with(configuration) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            for round in 1...3 {
                gate.now = gate.now.advanced(byMilliseconds: Self.period)
                for player in [viewer, copier] { try player.ask("/film/\(round).ts") }
            }
            #expect(try eventually { try Self.count("proven", at: gate) == 1 })
            try gate.folder.write("gate.yaml", contents: configuration.replacing("review", with: "revoke"))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            gate.now = gate.now.advanced(byMilliseconds: Self.period)
            try viewer.ask("/film/4.ts")
            #expect(try eventually { try Self.count("revoked", at: gate) == 1 })
            #expect(try copier.ask("/film/9.ts").headers["x-playgate-code"] == "playback_shared")
            #expect(try Self.count("proven", at: gate) == 1)
        }
    }

    // MARK: Turns

    /// Lets players fetch the next segments, a segment each four seconds. Returns the codes of the answers.
    @discardableResult private static func play(
        _ players: [Player],
        at gate: RunningGate,
        segments: ClosedRange<Int>,
        offset: Int = 0
    ) throws -> [String] {
        try segments.flatMap { number in
            gate.now = gate.now.advanced(byMilliseconds: 4000)
            return try players.enumerated().map { index, player in
                let name = "/film/v720/seg_\(number + index * offset).m4s"
                return try player.ask(name).headers["x-playgate-code"] ?? ""
            }
        }
    }

    @Test(arguments: [0, 20, 1000]) func `is challenged and proven within two minutes, and revoked`(
        offset: Int
    ) async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: revoke }")) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            // The copier reaches what the viewer has fetched after 20 segments.
            let start = offset == 20 ? 25 : 1
            if start > 1 { try Self.play([viewer, copier], at: gate, segments: 1...24, offset: offset) }
            let codes = try Self.play([viewer, copier], at: gate, segments: start...start + 29, offset: offset)
            #expect(codes.contains("renewed") && codes.last == "playback_shared")
            #expect(viewer.cookie != copier.cookie)
            #expect(try eventually { try Self.count("revoked", by: "forks", at: gate) == 1 })
            #expect(try Self.count("challenged", by: "forks", at: gate) == 1)
            #expect(try Self.count("proven", by: "forks", at: gate) == 1)
            let leak = try #require(try Self.leaks(of: gate).first)
            #expect(leak["evidence"] as? String == "forks" && leak["grants"] as? Int == 2, "\(leak)")
            #expect(leak["revoked"] as? Bool == true)
            let session = try #require(leak["session"] as? String)
            let details = try gate.get("/v1/leaks/\(session)")
            let uses = try #require(details.json["uses"] as? [[String: Any]])
            #expect(Set(uses.compactMap { $0["grant"] as? Int }) == [0, 1, 2] && uses.count >= 10, "\(details)")
            #expect(details.json["state"] as? String == "proven")
            let again = try Player(at: gate)
            #expect(try Self.play([again], at: gate, segments: 100...110).allSatisfy { $0 == "granted" })
            #expect(try copier.ask("/film/v720/seg_1.m4s").status == 403)
        }
    }

    @Test func `is printed by the command line and the operator page`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("api.sock"))"
        let file = try folder.write("asked.yaml", contents: "api: { listen: \"\(socket)\" }\n")
        let configuration = Self.configuration("leaks: { action: review }")
            .replacing("  listen: 127.0.0.1:0\n", with: "  listen: \"\(socket)\"\n")
            .replacing("admin: {", with: OperatorGate.keys)
        try await RunningGate.with(configuration) { (gate) throws in
            let run = { (words: [String]) in
                try CommandRun(Program.built("playgate"), arguments: ["leaks"] + words + ["--config", file])
            }
            let none = try run([])
            #expect(none.status == 0 && none.output == "no grant is known to be shared\n", "\(none)")
            let viewer = try Player(at: gate)
            try Self.play([viewer, Player(copying: viewer)], at: gate, segments: 1...30)
            let list = try run(["list"])
            let id = String(list.output.prefix(32))
            #expect(list.output.hasPrefix("\(id)  proven by forks  profile live  from "), "\(list)")
            let picture = try run(["show", id])
            #expect(picture.status == 0 && picture.output.contains("·B") && picture.output.contains("·C"), "\(picture)")
            let unknown = try run(["show", String(repeating: "0", count: 32)])
            #expect(unknown.status == 1 && unknown.error.contains("leak_unknown"), "\(unknown)")
            #expect(try run(["show", "12"]).status == 64)

            let page = try gate.admin("GET", path: "/ui/leaks", headers: OperatorGate.reader)
            #expect(page.status == 200 && page.body.contains(id), "\(page)")
            for grant in ["grant1", "grant2"] { #expect(page.body.contains("<circle class=\"\(grant)\" cx=")) }
        }
    }

    @Test(arguments: [("0123", 400, "invalid_request"), (String(repeating: "0", count: 32), 404, "leak_unknown")])
    func `is described by the id of its session only`(id: String, status: Int, code: String) async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: review }")) { (gate) throws in
            let answer = try gate.get("/v1/leaks/\(id)")
            #expect(answer.status == status && answer.code == code, "\(answer)")
        }
    }

    /// Two tabs, or a download beside playback, alternate too: they are challenged, and acquitted.
    @Test func `is none if two players share a jar`() async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: revoke }")) { (gate) throws in
            let viewer = try Player(at: gate)
            for _ in 0..<3 { try Self.play([viewer, viewer], at: gate, segments: 1...45, offset: 1000) }
            #expect(try eventually { try Self.count("unproven", by: "forks", at: gate) ?? 0 >= 1 })
            #expect(try Self.count("proven", by: "forks", at: gate) == 0)
            #expect(try viewer.ask("/film/v720/seg_99.m4s").status == 200)
        }
    }

    /// One player is never challenged: its grant changes only by renewals.
    @Test func `is none if one player seeks, repeats and loses segments`() async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: revoke }")) { (gate) throws in
            let viewer = try Player(at: gate)
            try Self.play([viewer], at: gate, segments: 1...10)
            try Self.play([viewer], at: gate, segments: 500...510)
            try Self.play([viewer], at: gate, segments: 505...520)
            try Self.play([viewer], at: gate, segments: 11...30)
            #expect(try Self.count("challenged", by: "forks", at: gate) == 0)
            #expect(try Self.leaks(of: gate).isEmpty)
        }
    }

    /// The viewer and the copier play other renditions, with the sound in the same segments.
    @Test(arguments: [("", false), (", renditions: [/v*/]", true)])
    func `is found across renditions that leaks.renditions names`(setting: String, isFound: Bool) async throws {
        try await RunningGate.with(Self.configuration("leaks: { action: review\(setting) }")) { (gate) throws in
            let viewer = try Player(at: gate)
            let copier = Player(copying: viewer)
            for number in 1...30 {
                gate.now = gate.now.advanced(byMilliseconds: 4000)
                #expect(try viewer.ask("/film/v1080/seg_\(number).ts").status == 200)
                #expect(try copier.ask("/film/v480/seg_\(number).ts").status == 200)
            }
            if isFound { #expect(try eventually { try Self.count("proven", by: "forks", at: gate) == 1 }) }
            #expect(try Self.count("suspected", by: "forks", at: gate) == (isFound ? 1 : 0))
        }
    }

    /// An edge that repeats an answer by itself hides requests from the gate.
    @Test(arguments: [("", "max-age=5"), ("leaks: { action: review }", "no-store")])
    func `is not hidden by an edge that caches answers`(leaks: String, expected: String) async throws {
        try await RunningGate.with(Self.configuration(leaks)) { (gate) throws in
            let viewer = try Player(at: gate)
            let answer = try viewer.ask("/film/v720/seg_1.m4s")
            #expect(answer.headers["cache-control"]?.contains(expected) == true, "\(answer)")
        }
    }

    @Test func `is found after the time that leaks.handover says`() async throws {
        let settings = "leaks: { action: review, handover: 20s }"
        try await RunningGate.with(Self.configuration(settings)) { (gate) throws in
            let viewer = try Player(at: gate)
            let players = [viewer, Player(copying: viewer)]
            try Self.play(players, at: gate, segments: 1...15)
            #expect(try eventually { try Self.count("proven", by: "forks", at: gate) == 1 })
            // Review ends nothing.
            #expect(
                try Self.play(players, at: gate, segments: 16...60).allSatisfy { $0 == "granted" || $0 == "renewed" }
            )
            #expect(try Self.count("revoked", by: "forks", at: gate) == 0)
        }
    }
}
