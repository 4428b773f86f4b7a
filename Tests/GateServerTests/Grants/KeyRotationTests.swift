// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import Platform
import Synchronization
import Testing

/// Running gates, whose keys `playgate keys rotate` changes while viewers play: no request is refused.
@Suite(.serialized) struct `The rotation of keys under load` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    /// Runs the program, and returns what it printed.
    @discardableResult private static func playgate(_ arguments: String...) throws -> String {
        let run = try CommandRun(Program.built("playgate"), arguments: arguments)
        try #require(run.status == 0, "\(arguments): \(run.error)")
        return run.output
    }

    /// The text of a new set with the key `k0`.
    private static func firstSet() throws -> String {
        let folder = try TemporaryFolder()
        try playgate("keys", "new", "--algorithm", "ES256", "--kid", "k0", "--out", folder.path)
        return try folder.text("keys.json")
    }

    /// The keys that the gate publishes.
    private static func published(_ gate: RunningGate) throws -> [String] {
        let keys = try gate.get("/.well-known/jwks.json").json["keys"] as? [[String: Any]] ?? []
        return keys.compactMap { $0["kid"] as? String }.sorted()
    }

    @Test func `refuses nothing while the file of the keys is read again`() async throws {
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000000 } }
            keys: { ring: { set: keys.json } }
            grants:
              subjectKey: \(Self.secret)
              profiles: { live: { issuer: playgate, key: ring, host: cdn.example, life: 300s, session: 300s } }
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: live }
                    - { path: /film/, resource: TNT, admits: grant, grant: live }
                """
        )
        .replacing("watch: false", with: "advanced: { watchInterval: 100ms }")
        let set = try Self.firstSet()
        try await RunningGate.with(configuration, files: ["keys.json": set]) { (gate) throws in
            let load = RotationLoad(gate) { number in
                var viewer = try RotationViewer(gate)
                var starts = 0
                let api = try gate.connect()
                return {
                    starts += 1
                    let time = gate.now
                    let token = try gate.token(GateSample.claims(session: "\(number)-\(starts)"))
                    let body = "{\"path\":\"/film/master.m3u8\",\"token\":\"\(token)\"}"
                    let answer = try api.request("POST", path: "/v1/playback", body: body)
                    let grants = answer.json["grants"] as? [[String: Any]]
                    let grant = answer.json["grant"] as? [String: Any] ?? grants?.first
                    guard answer.status == 200, let text = grant?["token"] as? String else {
                        return [("start", answer.status == 200 ? 0 : answer.status, answer.code ?? "no grant")]
                    }
                    return try viewer.use(text, from: time)
                }
            }
            defer { load.stop() }
            load.proceed()
            for number in 1...2 {
                let (former, next) = ("k\(number - 1)", "k\(number)")
                try Self.rotate(gate.folder.file("keys.json"), to: next, after: "120s", at: gate.now)
                #expect(try eventually { try Self.published(gate) == [former, next] })
                load.proceed()
                #expect(load.keys[next] == nil)
                // The next key signs, and what the former one signed is good until its end.
                load.advance(seconds: 120)
                #expect(load.keys[next] ?? 0 > 0)
                load.advance(seconds: 330)
                #expect(try eventually { try Self.published(gate) == [next] })
            }
            load.stop()
            #expect(load.refused.isEmpty, "\(load.refused.prefix(4))")
            #expect(
                Set(load.keys.keys) == ["k0", "k1", "k2"] && load.keys.values.allSatisfy { $0 > 16 },
                "\(load.keys)"
            )
        }
    }

    private static func rotate(_ file: String, to kid: String, after: String, at now: Timestamp) throws {
        try playgate(
            "keys",
            "rotate",
            file,
            "--kid",
            kid,
            "--after",
            after,
            "--session",
            "300s",
            "--at",
            now.iso8601
        )
    }

    @Test func `refuses nothing while the set is fetched again`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("keys.json", contents: try Self.firstSet())
        let file = folder.file("keys.json")
        let server = try await KeySetServer(try Self.playgate("keys", "export", file))
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            grants:
              subjectKey: \(Self.secret)
              profiles: { theirs: { issuer: other } }
              issuers: [{ issuer: other, source: { url: "\(server.url)", networks: [127.0.0.1] } }]
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            """,
            catalogue: "    - { path: /film/, resource: TNT, admits: grant, grant: theirs }"
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let signers = Mutex(try Self.signers(folder))
            #expect(try eventually { try Self.fetches(gate) == 1 })
            let load = RotationLoad(gate) { _ in
                var viewer = try RotationViewer(gate)
                return {
                    let time = gate.now
                    return try viewer.use(try Self.grant(signers.withLock { $0 }, at: time), from: time)
                }
            }
            defer { load.stop() }
            load.proceed()
            for number in 1...2 {
                let next = "k\(number)"
                try Self.rotate(file, to: next, after: "900s", at: gate.now)
                server.publish(try Self.playgate("keys", "export", file, "--at", gate.now.iso8601))
                let replacement = try Self.signers(folder)
                signers.withLock { $0 = replacement }
                // The set is fresh for ten minutes, and fetched again before; a quarter of an hour later the next key signs.
                load.advance(seconds: 600)
                #expect(load.keys[next] == nil)
                // A fetch that began before may still bring the former set.
                #expect(
                    try eventually {
                        let fetched = try Self.fetches(gate) ?? 0
                        return server.requestsOfPresentSet > 0 && fetched == Double(server.requests)
                    }
                )
                load.advance(seconds: 300)
                #expect(load.keys[next] ?? 0 > 0)
                load.advance(seconds: 330)
            }
            load.stop()
            #expect(load.refused.isEmpty, "\(load.refused.prefix(4))")
            #expect(
                Set(load.keys.keys) == ["k0", "k1", "k2"] && load.keys.values.allSatisfy { $0 > 16 },
                "\(load.keys)"
            )
            // No fetch was because of an unknown key: there is one for each eight minutes or so.
            #expect(try Self.fetches(gate) ?? 0 <= 8)
        }
    }

    private static func fetches(_ gate: RunningGate) throws -> Double? {
        try gate.metric("playgate_key_set_fetches_total{issuer=\"other\",result=\"fetched\"}")
    }

    /// The keys of a ring that sign, each with its times.
    private static func signers(_ folder: TemporaryFolder) throws -> [KeyRing.Member] {
        try KeyRing(folder.bytes("keys.json"), binding: KeyBinding(issuer: "other", format: .cat)).members
    }

    /// Returns a grant of the other issuer by the key that signs at `now`.
    private static func grant(_ members: [KeyRing.Member], at now: Timestamp) throws -> String {
        let signer = members.last { member in
            (member.signFrom.map { $0 <= now } ?? true) && (member.signUntil.map { now <= $0 } ?? true)
        }
        var claims = CATClaims()
        claims.issuer = "other"
        claims.expires = now.adding(seconds: 300)
        return try CATIssuer(key: try #require(signer).key).issue(claims).token
    }
}
