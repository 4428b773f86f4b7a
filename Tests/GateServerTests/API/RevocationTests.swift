// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import Testing

@Suite struct `A revocation by the API` {
    private static let day: Int64 = 86_400
    private static let small = "replayStore: { advanced: { capacity: 1000 } }\n"

    /// A configuration with advanced settings of `trust`.
    private static func configuration(_ rules: String) -> String {
        RunningGate.configuration(small).replacing("signer.pem }] }", with: "signer.pem }], advanced: { \(rules) } }")
    }

    /// A revocation of the session or the MVPD of all tokens, and the number of seconds until newer tokens are accepted.
    struct Word: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let member: String
        /// The offset in seconds from now; `nil` if the body omits the member.
        var issuedBefore: Int64?
        /// The advanced settings of `trust`.
        var rules = ""
        let goodFrom: Int64
        let code: String
    }

    static let words = [
        Word(testDescription: "session", member: "sessionGUID", goodFrom: 60, code: "session_revoked"),
        Word(
            testDescription: "session, issued before a time",
            member: "sessionGUID",
            issuedBefore: -30,
            goodFrom: 30,
            code: "session_revoked"
        ),
        Word(
            testDescription: "MVPD, issued before a time",
            member: "mvpd",
            issuedBefore: -30,
            goodFrom: 30,
            code: "mvpd_revoked"
        ),
        Word(
            testDescription: "session, a small leeway",
            member: "sessionGUID",
            rules: "earlyLeeway: 5s",
            goodFrom: 5,
            code: "session_revoked"
        ),
        Word(
            testDescription: "session, no leeway",
            member: "sessionGUID",
            rules: "earlyLeeway: 0s",
            goodFrom: 0,
            code: "session_revoked"
        ),
    ]

    /// The clock of an issuer may be ahead: a token from before the revocation may have an issue time after it.
    @Test(arguments: words) func `reaches what was stamped within the early leeway`(word: Word) async throws {
        try await RunningGate.with(Self.configuration(word.rules)) { (gate) throws in
            let start = gate.now
            let names = ["sessionGUID": "s1", "mvpd": "SandboxMVPD"]
            let before = word.issuedBefore.map { seconds in
                ",\"issuedBefore\":\(start.adding(seconds: seconds).millisecondsSince1970)"
            }
            let body = "{\"\(word.member)\":\"\(names[word.member] ?? "")\"\(before ?? "")}"
            #expect(try gate.post("/v1/revocations", body: body).status == 201)
            let play = { (stamped: Int64) in
                let claims = GateSample.claims(session: "s1")
                // Received after the early leeway has passed.
                gate.now = start.adding(seconds: 60)
                return try gate.play(token: try GateSample.token(claims, at: start.adding(seconds: stamped)))
            }
            #expect(try play(word.goodFrom - 1).code == word.code)
            #expect(try play(word.goodFrom).status == 200)
        }
    }

    @Test func `holds for a day and four minutes, unless an end is given`() async throws {
        try await RunningGate.with { (gate) throws in
            let ends = { (more: String) in
                let answer = try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"\(more)}")
                let end = try #require(answer.json["expires"] as? Int64, "\(answer.body)")
                return (end - gate.now.millisecondsSince1970) / 1000
            }
            let later = { (seconds: Int64) in gate.now.adding(seconds: seconds).millisecondsSince1970 }
            #expect(try ends("") == Self.day + 240)
            #expect(try ends(",\"issuedBefore\":\(later(-3600))") == Self.day + 240)
            #expect(try ends(",\"issuedBefore\":\(later(3600))") == Self.day + 240 + 3600 + 60)
            #expect(try ends(",\"issuedBefore\":\(later(500 * Self.day))") == 400 * Self.day)
            #expect(try ends(",\"expires\":\(later(10))") == 10)
        }
    }

    /// A later policy may accept a token that no policy accepted at the time of the revocation.
    @Test func `outlives every token that a reload may bring back`() async throws {
        try await RunningGate.with { (gate) throws in
            let start = gate.now
            let claims = GateSample.claims(session: "s1", ttl: Self.day * 1000)
            let token = try GateSample.token(claims, at: start)
            let other = try GateSample.token(GateSample.claims(session: "s2", ttl: Self.day * 1000), at: start)
            #expect(try gate.play(token: token).code == "ttl_too_long")
            #expect(try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s1\"}").status == 201)
            let longest = "maximumTimeToLive: 24h, lateLeeway: 2m, earlyLeeway: 2m"
            try gate.folder.write("gate.yaml", contents: Self.configuration(longest))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            for seconds in [1, Self.day, Self.day + 120] {
                gate.now = start.adding(seconds: seconds)
                #expect(try gate.play(token: token).code == "session_revoked")
            }
            #expect(try gate.play(token: other).status == 200)
        }
    }

    @Test(arguments: ["", ", sqlite: uses.sqlite"])
    func `is listed and lifted, by its id and by its subject, and logged with its caller`(store: String) async throws {
        let use = "replayStore: { deadline: 10s\(store) }\nlog: { advanced: { salt: s } }\n"
        try await RunningGate.with(RunningGate.configuration(use)) { (gate) throws in
            #expect((try gate.get("/v1/revocations").json["revocations"] as? [Any])?.isEmpty == true)
            let answer = try gate.post("/v1/revocations", body: "{\"sessionGUID\":\"s2\"}")
            let id = try #require(answer.json["id"] as? String)
            let refused = try gate.token(GateSample.claims(session: "s2"))
            #expect(try gate.play(token: refused).code == "session_revoked")
            let list = try #require(try gate.get("/v1/revocations").json["revocations"] as? [[String: Any]])
            #expect(list.count == 1 && list[0]["id"] as? String == id && list[0]["kind"] as? String == "session")
            #expect(try gate.connect().request("DELETE", path: "/v1/revocations/\(id)").status == 200)
            #expect(try gate.play(token: refused).status == 200)
            #expect((try gate.get("/v1/revocations").json["revocations"] as? [Any])?.isEmpty == true)
            let again = try gate.connect().request("DELETE", path: "/v1/revocations/\(id)")
            #expect(again.status == 404 && again.code == "revocation_unknown")

            _ = try gate.post("/v1/revocations", body: "{\"mvpd\":\"SandboxMVPD\"}")
            #expect(try gate.post("/v1/revocations/lift", body: "{\"mvpd\":\"SandboxMVPD\"}").status == 200)
            #expect(try gate.post("/v1/revocations/lift", body: "{\"mvpd\":\"Other\"}").code == "revocation_unknown")
            #expect(
                try gate.post("/v1/revocations/lift", body: "{\"mvpd\":\"X\",\"expires\":1}").code == "invalid_request"
            )
            #expect(try gate.connect().request("DELETE", path: "/v1/revocations/zz").code == "invalid_request")
            let lines = try gate.log("\"message\":\"revoked\"", count: 2)
            #expect(lines.count == 2 && lines.allSatisfy { $0.contains("everyone") })
            #expect(lines[1].contains("SandboxMVPD") && !lines[0].contains("\"s2\""))
            #expect(try gate.log("revocation lifted", count: 2).count == 2)
        }
    }

    @Test func `of an MVPD that no policy names is refused with a hint, unless it is forced`() async throws {
        let policies = Self.small + "policies: [{ mvpds: { allow: [SandboxMVPD] } }]\n"
        try await RunningGate.with(RunningGate.configuration(policies)) { (gate) throws in
            let refused = try gate.post("/v1/revocations", body: "{\"mvpd\":\"sandboxmvpd\"}")
            #expect(refused.status == 422 && refused.code == "mvpd_unknown")
            #expect((refused.json["details"] as? String)?.contains("did you mean SandboxMVPD?") == true)
            #expect(try gate.post("/v1/revocations", body: "{\"mvpd\":\"SandboxMVPD\"}").status == 201)
            #expect(try gate.post("/v1/revocations", body: "{\"mvpd\":\"Proxy\",\"force\":true}").status == 201)
        }
        // Where every MVPD may play, none is unknown.
        try await RunningGate.with(RunningGate.configuration(Self.small)) { (gate) throws in
            #expect(try gate.post("/v1/revocations", body: "{\"mvpd\":\"Any\"}").status == 201)
        }
    }

    @Test func `is made, listed and lifted by the command line`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("api.sock"))"
        let configuration = RunningGate.configuration(Self.small)
            .replacing("  listen: 127.0.0.1:0\n", with: "  listen: \"\(socket)\"\n")
        let file = try folder.write("asked.yaml", contents: "api: { listen: \"\(socket)\", anonymous: true }\n")
        try await RunningGate.with(configuration) { _ in
            let run = { (words: [String]) in
                try CommandRun(Program.built("playgate"), arguments: ["revocations"] + words + ["--config", file])
            }
            #expect(try run(["list"]).output == "nothing is revoked\n")
            let added = try run(["add", "--mvpd", "SandboxMVPD"])
            #expect(added.status == 0 && added.output.hasPrefix("revoked: mvpd\nid: "), "\(added)")
            let id = String(added.output.suffix(65).dropLast())
            #expect(try run(["list"]).output.hasPrefix("\(id)  mvpd  until "))
            #expect(try run(["lift", "--id", id]).output == "lifted: \(id)\n")
            let again = try run(["lift", "--mvpd", "SandboxMVPD"])
            #expect(again.status == 1 && again.error.contains("revocation_unknown"), "\(again)")
            #expect(try run(["lift"]).status == 64)
        }
    }
}
