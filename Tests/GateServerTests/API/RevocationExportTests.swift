// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import EdgeTokens
import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import Testing

@Suite struct `The export of revocations` {
    private static let secret = "a-secret-for-tests-of-more-than-32-bytes-of-Base"
    private static let small = "replayStore: { advanced: { capacity: 1000 } }\n"
    private static let configuration = RunningGate.configuration(small + "grants: { subjectKey: \"\(secret)\" }")
    private static let session = "e688045c604d5ecc272cf7d83b00ec16"

    private static func key() throws -> SubjectKey {
        try SubjectKey(try #require(Base64.decode([UInt8](secret.utf8))))
    }

    /// The tag of a subject, made with OpenSSL's HMAC.
    private static func tag(_ name: String) throws -> String {
        let digest = try #require(SHA256Digest(bytes: SHA256.digest(name)))
        return try #require(try Self.key().tag(storeKey: digest.bytes)).hexadecimal
    }

    @Test func `has the keyed tag of each subject, and the time before which its tokens were issued`() async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            // It is refused until the mirror is known to be complete.
            #expect(try eventually { try gate.get("/v1/revocations/export").status == 200 })
            #expect(try gate.get("/v1/revocations/export").body.isEmpty)
            let time = gate.now.millisecondsSince1970
            let fingerprint = String(repeating: "ab", count: 32)
            for (body, kind) in [
                ("{\"playback\":\"\(Self.session.uppercased())\"}", "playback"),
                ("{\"sessionGUID\":\"s1\",\"issuedBefore\":\(time)}", "session"),
                ("{\"mvpd\":\"M1\",\"issuedBefore\":\(time - 1000)}", "mvpd"),
                ("{\"fingerprint\":\"\(fingerprint)\"}", "token"),
            ] {
                let answer = try gate.post("/v1/revocations", body: body)
                #expect(answer.status == 201 && answer.body.contains("\"revoked\":\"\(kind)\""), "\(answer.body)")
            }
            let answer = try gate.get("/v1/revocations/export")
            #expect(answer.headers["content-type"] == "text/plain; charset=utf-8")
            #expect(answer.headers["link"] == nil)
            let bytes = [UInt8]("token:".utf8) + [UInt8](repeating: 0xAB, count: 32)
            let digest = try #require(SHA256Digest(bytes: SHA256.digest(bytes)))
            let token = try #require(try Self.key().tag(storeKey: digest.bytes))
            // The early leeway is a minute.
            let lines = [
                "playback \(Self.session) 9007199254740992", "session \(try Self.tag("session:s1")) \(time + 60_000)",
                "mvpd \(try Self.tag("mvpd:M1")) \(time + 59_000)", "token \(token.hexadecimal) 9007199254740992",
            ]
            #expect(Set(answer.body.split(separator: "\n").map(String.init)) == Set(lines))
            // No name is in it, and none of it says whom it is about.
            #expect(!answer.body.contains("s1") && !answer.body.contains("M1") && !answer.body.contains(fingerprint))
        }
    }

    @Test func `is in parts, each with a link to the next`() async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            #expect(try eventually { try gate.get("/v1/revocations/export").status == 200 })
            let connection = try gate.connect()
            for number in 0..<10_050 {
                let session = String(format: "%04x", number) + String(repeating: "0", count: 28)
                let answer = try connection.request(
                    "POST",
                    path: "/v1/revocations",
                    body: "{\"playback\":\"\(session)\"}"
                )
                try #require(answer.status == 201)
            }
            let first = try gate.get("/v1/revocations/export")
            let last = try #require(first.body.split(separator: "\n").last?.split(separator: " ")[1])
            #expect(first.headers["link"] == "</v1/revocations/export?after=\(last)>; rel=\"next\"")
            let second = try gate.get("/v1/revocations/export?after=\(last)")
            #expect(second.headers["link"] == nil)
            let lines = (first.body + second.body).split(separator: "\n")
            #expect(Set(lines).count == 10_050 && lines.count == 10_050)
            #expect(first.body.split(separator: "\n").count == 10_000)
        }
    }

    @Test func `needs a key for tags`() async throws {
        try await RunningGate.with { (gate) throws in
            let answer = try gate.get("/v1/revocations/export")
            #expect(answer.status == 404 && answer.code == "revocations_not_exported")
            // A revocation that is posted before grants are configured is recorded nevertheless.
            #expect(try gate.post("/v1/revocations", body: "{\"playback\":\"\(Self.session)\"}").status == 201)
        }
    }

    @Test(arguments: ["?after=", "?after=12", "?after=\(session)&x=1", "?before=\(session)", "?"])
    func `has one parameter`(query: String) async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            #expect(try eventually { try gate.get("/v1/revocations/export").status == 200 })
            let answer = try gate.get("/v1/revocations/export\(query)")
            #expect(answer.status == 400 && answer.code == "invalid_request")
            #expect(try gate.post("/v1/revocations/export", body: "{}").status == 405)
        }
    }

    @Test func `is for callers with the scope revoke`() async throws {
        let digests = ["play", "revoke"].map { SHA256.digest($0).map { String(format: "%02x", $0) }.joined() }
        let keys = """
              keys:
                - { name: player, sha256: "\(digests[0])", scopes: [playback, verify, catalogue] }
                - { name: operator, sha256: "\(digests[1])", scopes: [revoke] }

            """
        let more = Self.small + "grants: { subjectKey: \"\(Self.secret)\" }"
        try await RunningGate.with(RunningGate.configuration(more, api: keys)) { (gate) throws in
            let status = { (key: String) in
                try gate.get("/v1/revocations/export", headers: ["Authorization": "Bearer \(key)"]).status
            }
            #expect(try eventually { try status("revoke") == 200 })
            #expect(try status("play") == 403 && status("other") == 401)
            #expect(try gate.metric("playgate_revocation_mirror_entries") == 0)
            #expect(try gate.metric("playgate_revocation_mirror_age_seconds") ?? 31 < 30)
        }
    }

    @Test(arguments: [
        "{\"playback\":\"\(session)0\"}", "{\"playback\":\"\"}", "{\"playback\":\"\(session)\",\"mvpd\":\"M\"}",
        "{\"playback\":\"\(session)\",\"issuedBefore\":1}", "{\"playback\":5}",
    ])
    func `lists no playback that was not named rightly`(body: String) async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            let answer = try gate.post("/v1/revocations", body: body)
            #expect(answer.status == 400 && answer.code == "invalid_request", "\(answer.body)")
        }
    }
}
