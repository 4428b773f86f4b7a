// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Encodings
import Foundation
import GateTestSupport
import Keys
import MediaTokens
import Platform
import Testing

@testable import GateConfiguration

/// The public keys of a gate, and their rotation.
@Suite struct `Published keys` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="

    private static func pem(_ algorithm: KeyAlgorithm) throws -> String {
        let binding = KeyBinding(issuer: "", format: .cat)
        guard case .pem(let text) = try TokenKey.generate(algorithm, id: nil, binding: binding).secret else {
            throw NoPEM()
        }
        return text
    }

    private struct NoPEM: Error {}

    private static func time(_ seconds: Int64) -> String { GateSample.time.adding(seconds: seconds).iso8601 }

    private static func configuration(_ keys: String, profile: String) -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            keys:
            \(keys)
            grants:
              subjectKey: \(Self.secret)
              profiles:
                live: { issuer: playgate, key: \(profile), host: cdn.example, session: 1h, life: 60s, renew: { deadline: 30s } }
            """,
            catalogue: "    - { path: /film/master.m3u8, resource: TNT, grant: live }"
        )
    }

    private static func ids(_ response: HTTPConnection.Response) -> [String] {
        (response.json["keys"] as? [[String: Any]] ?? []).compactMap { $0["kid"] as? String }
    }

    @Test func `are those that sign now, the next ones, and former ones until their last grant has expired`()
        async throws
    {
        let keys = """
              old: { private: { file: old.pem }, signUntil: \(Self.time(0)) }
              now: { private: { file: now.pem }, signFrom: \(Self.time(0)), signUntil: \(Self.time(3600)), verifyUntil: \(Self.time(4000)) }
              next: { private: { file: next.pem }, signFrom: \(Self.time(3600)) }
              mac: { secret: \(Self.secret) }
            """
        let files = [
            "old.pem": try Self.pem(.es256), "now.pem": try Self.pem(.edDSA), "next.pem": try Self.pem(.es384),
        ]
        let text = Self.configuration(keys, profile: "[old, now, next, mac]")
        try await RunningGate.with(text, files: files) { (gate) throws in
            let first = try gate.get("/.well-known/jwks.json")
            #expect(first.status == 200 && first.headers["content-type"] == "application/jwk-set+json")
            #expect(first.headers["cache-control"] == "public, max-age=3600")
            #expect(first.headers["access-control-allow-origin"] == "*")
            #expect(Self.ids(first) == ["old", "now", "next"])
            let binding = KeyBinding(issuer: "playgate", format: .cat)
            let read = try KeySetReading(jwkSet: [UInt8](first.body.utf8), source: .published, binding: binding)
            #expect(read.keys.count == 3 && read.skipped.isEmpty && !first.body.contains(Self.secret))
            gate.now = gate.now.adding(seconds: 3601)
            #expect(Self.ids(try gate.get("/.well-known/jwks.json")) == ["now", "next"])
            gate.now = gate.now.adding(seconds: 400)
            #expect(Self.ids(try gate.get("/.well-known/jwks.json")) == ["next"])
            #expect(
                try gate.admin("GET", path: "/.well-known/jwks.json").body == gate.get("/.well-known/jwks.json").body
            )
        }
    }

    @Test func `are sent once to who has them`() async throws {
        let text = Self.configuration("  k: { private: { file: k.pem } }", profile: "k")
        try await RunningGate.with(text, files: ["k.pem": try Self.pem(.es256)]) { (gate) throws in
            let tag = try #require(try gate.get("/.well-known/jwks.json").headers["etag"])
            for known in [tag, "W/\(tag)", "\"x\", \(tag)", "*"] {
                let answer = try gate.get("/.well-known/jwks.json", headers: ["If-None-Match": known])
                #expect(answer.status == 304 && answer.headers["etag"] == tag && answer.headers["content-type"] == nil)
                #expect(answer.headers["cache-control"] == "public, max-age=3600")
            }
            let other = try gate.get("/.well-known/jwks.json", headers: ["If-None-Match": "\"x\", W/\"y\""])
            #expect(other.status == 200)
            let cose = try gate.connect().request("HEAD", path: "/.well-known/cose-keys")
            #expect(cose.status == 200 && cose.headers["content-type"] == "application/cose-key-set")
            #expect(cose.headers["etag"] != tag && cose.headers["content-length"] != "0")
            #expect(try gate.post("/.well-known/jwks.json", body: "").status == 405)
        }
    }

    @Test func `are none of a gate without pairs, and nowhere without grants`() async throws {
        let text = Self.configuration("  mac: { secret: \(Self.secret) }", profile: "mac")
        try await RunningGate.with(text) { (gate) throws in
            #expect(try gate.get("/.well-known/jwks.json").body == "{\"keys\":[]}\n")
            #expect(try gate.admin("GET", path: "/.well-known/cose-keys").headers["content-length"] == "1")
        }
        try await RunningGate.with { (gate) throws in
            let answer = try gate.get("/.well-known/jwks.json")
            #expect(answer.status == 404 && answer.code == "grants_not_configured")
            #expect(try gate.admin("GET", path: "/.well-known/jwks.json").status == 404)
        }
    }

    /// The key of a grant, and its text.
    private static func start(at gate: RunningGate, number: Int64) throws -> (key: String?, token: String) {
        let token = try gate.token(GateSample.claims(session: "s\(number)"))
        let answer = try gate.play(path: "/film/master.m3u8", token: token, playbackID: "p\(number)")
        #expect(answer.status == 200, "\(answer.body)")
        let grant = try #require((answer.json["grant"] as? [String: Any])?["token"] as? String)
        return (try UnverifiedCAT(grant.utf8.span).keyID?.text, grant)
    }

    @Test func `follow each other, and no playback and no renewal is refused`() async throws {
        let keys = """
              k1: { secret: \(Self.secret), signUntil: \(Self.time(300)) }
              k2: { private: { file: k2.pem }, signFrom: \(Self.time(290)), signUntil: \(Self.time(600)) }
              k3: { private: { file: k3.pem }, signFrom: \(Self.time(600)) }
            """
        let files = ["k2.pem": try Self.pem(.es256), "k3.pem": try Self.pem(.edDSA)]
        try await RunningGate.with(Self.configuration(keys, profile: "[k1, k2, k3]"), files: files) { (gate) throws in
            // The mirror of revocations is read first.
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            let start = gate.now
            var (grants, used): ([String], [String]) = ([], [])
            for second in stride(from: 0, through: 900, by: 15) as StrideThrough<Int64> {
                gate.now = start.adding(seconds: second)
                let started = try Self.start(at: gate, number: second)
                if used.last != started.key { used.append(started.key ?? "none") }
                // Each playback is renewed halfway, so its grants go over from key to key.
                let old = grants
                grants = second.isMultiple(of: 30) ? [] : old + [started.token]
                guard grants.isEmpty else { continue }
                for grant in old {
                    let answer = try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(grant)\"}")
                    #expect(answer.status == 200, "\(second): \(answer.body)")
                }
            }
            #expect(used == ["k1", "k2", "k3"])
        }
    }

    @Test func `of one file sign in turn`() async throws {
        let now = GateSample.time.millisecondsSince1970 / 1000
        let entries = try [
            ("r1", "\"signUntil\":\(now + 60)"), ("r2", "\"signFrom\":\(now + 60)"),
        ].map { id, times in
            let binding = KeyBinding(issuer: "", format: .cat)
            let made = try TokenKey.generate(.es256, id: KeyID(id), binding: binding)
            return try #require(made.jwk).line.dropLast() + ",\(times)}"
        }
        let files = ["ring.json": "{\"keys\":[\(entries.joined(separator: ","))]}"]
        let text = Self.configuration("  ring: { set: ring.json }", profile: "ring")
        try await RunningGate.with(text, files: files) { (gate) throws in
            #expect(try Self.start(at: gate, number: 0).key == "r1")
            #expect(Self.ids(try gate.get("/.well-known/jwks.json")) == ["r1", "r2"])
            gate.now = gate.now.adding(seconds: 61)
            let grant = try Self.start(at: gate, number: 1)
            #expect(grant.key == "r2")
            let body = "{\"grant\":\"\(grant.token)\"}"
            #expect(try eventually { try gate.post("/v1/grants/renew", body: body).status == 200 })
        }
    }

    @Test func `are read again when a file with keys changes`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        try folder.write("k.pem", contents: try Self.pem(.es256))
        try folder.write("mac.key", contents: Self.secret)
        try folder.write("ring.json", contents: "{\"keys\":[]}")
        let keys = """
              k: { private: { file: k.pem } }
              mac: { secret: { file: mac.key } }
              ring: { set: ring.json }
            """
        let file = try folder.write("gate.yaml", contents: Self.configuration(keys, profile: "[k, mac, ring]"))
        for name in ["k.pem", "mac.key", "ring.json"] {
            let configuration = try GateConfiguration(file: file)
            // A key is read with the configuration, before the gate is made of it.
            let read = FileStamps(before: configuration)
            #expect(FileStamps(configuration) == read)
            try folder.write(name, contents: try folder.text(name) + "\n")
            #expect(FileStamps(configuration) != read, "\(name)")
            #expect((FileStamps(before: configuration) == read) == (name != "ring.json"))
        }
    }
}
