// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateServer
import GateTestSupport
import Keys
import MediaTokens
import Platform
import Testing

@testable import playgate

@Suite struct `The commands for keys that follow each other` {
    private func run(_ arguments: String...) throws -> CommandRun { try CommandRun(["keys"] + arguments) }

    private static func mode(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private static func ring(_ folder: TemporaryFolder) throws -> KeyRing {
        try KeyRing(folder.bytes("keys.json"), binding: KeyBinding(issuer: "", format: .cat, rsaAlgorithm: .ps256))
    }

    @Test(arguments: KeyAlgorithmArgument.allCases)
    func `makes a set with a key that signs, and prints none of it`(algorithm: KeyAlgorithmArgument) throws {
        let folder = try TemporaryFolder()
        let made = try run("new", "--algorithm", algorithm.rawValue, "--out", folder.path)
        try #require(made.status == 0, "\(made.error)")
        #expect(try Self.mode(folder.file("keys.json")) == 0o600)
        let ring = try Self.ring(folder)
        #expect(ring.members.map(\.key.algorithm) == [algorithm.algorithm])
        #expect(ring.members[0].key.operations == [.verify, .sign])
        let listed = try run("list", folder.path)
        #expect(listed.output == "signing \(ring.members[0].key)\n")
        let again = try run("new", "--algorithm", algorithm.rawValue, "--out", folder.path)
        #expect(again.status == 2 && again.error.contains("rotate"))
        let object = try JSONSerialization.jsonObject(with: Data(try folder.bytes("keys.json"))) as? [String: Any]
        let key = (object?["keys"] as? [[String: Any]])?.first ?? [:]
        let secrets = ["k", "d", "p"].compactMap { key[$0] as? String }
        #expect(!secrets.isEmpty)
        for output in [made, listed, again] {
            for secret in secrets { #expect(!(output.output + output.error).contains(secret)) }
        }
    }

    @Test func `rotates from key to key, with one that signs at every time`() throws {
        let folder = try TemporaryFolder()
        _ = try run("new", "--algorithm", "ES256", "--kid", "k0", "--out", folder.path)
        var time = Timestamp(secondsSince1970: 1_925_000_000)
        for number in 1...4 {
            let algorithm = number == 2 ? ["--algorithm", "HS256"] : []
            let rotated = try CommandRun(
                ["keys", "rotate", folder.file("keys.json"), "--kid", "k\(number)", "--at", time.iso8601, "--json"]
                    + algorithm
            )
            try #require(rotated.status == 0, "\(rotated.error)")
            let ring = try KeyRingFile(folder.path)
            // Every ten minutes of a day, and at the second of the change.
            for minute in stride(from: 0, through: 1440, by: 10) as StrideThrough<Int64> {
                let now = time.advanced(byMilliseconds: minute * 60_000)
                let signer = try #require(ring.signer(at: now))
                #expect(ring.members[signer].key.id == KeyID(minute < 120 ? "k\(number - 1)" : "k\(number)"))
                #expect(ring.members[signer].key.isValid(at: now.advanced(byMilliseconds: 43_200_000)))
            }
            let pending = try run("rotate", folder.path, "--at", time.iso8601)
            #expect(pending.status == 2 && pending.error.contains("k\(number), signs from"))
            time = time.advanced(byMilliseconds: 86_400_000)
        }
        // What had expired is gone.
        #expect(try Self.ring(folder).members.map(\.key.id) == [KeyID("k3"), KeyID("k4")])
        #expect(try Self.mode(folder.file("keys.json")) == 0o600)
    }

    @Test func `goes on where no key signs`() throws {
        let folder = try TemporaryFolder()
        let binding = KeyBinding(issuer: "", format: .cat)
        let jwk = try #require(try TokenKey.generate(.es256, id: KeyID("old"), binding: binding).jwk)
        try folder.write(
            "keys.json",
            contents: KeyRingFile.text([jwk.with("signUntil", time: Timestamp(secondsSince1970: 5))])
        )
        #expect(try run("rotate", folder.path, "--at", "10").status == 2)
        #expect(try run("rotate", folder.path, "--at", "10", "--algorithm", "Ed25519", "--kid", "new").status == 0)
        let listed = try run("list", folder.path, "--at", "10").output
        #expect(listed.contains("signing new (EdDSA): signs from 1970-01-01T00:00:10Z\n"))
    }

    @Test(arguments: ["", "{}", "{\"keys\":[]}", "{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\",\"kid\":\"a\"}]}", "PEM"])
    func `accepts no other file`(text: String) throws {
        let folder = try TemporaryFolder()
        try folder.write("keys.json", contents: text)
        for command in ["list", "rotate", "export"] {
            let refused = try run(command, folder.path)
            #expect(refused.status == 2 && refused.error.contains("keys.json"), "\(refused.error)")
        }
        #expect(try folder.text("keys.json") == text)
    }

    @Test(arguments: [
        ("keys.json", "\"signFrom\":\"now\""), ("keys.json", "\"signUntil\":-1"), ("keys.json", "\"verifyUntil\":1.5"),
    ])
    func `accepts no times that are none`(file: String, member: String) throws {
        let folder = try TemporaryFolder()
        let secret = Base64.encodeURLSafe([UInt8](0..<32))
        try folder.write(file, contents: "{\"keys\":[{\"kty\":\"oct\",\"k\":\"\(secret)\",\"kid\":\"a\",\(member)}]}")
        #expect(try run("list", folder.path).error.contains("is not a number of seconds"))
    }

    @Test func `exports secrets only to files`() throws {
        let folder = try TemporaryFolder()
        _ = try run("new", "--grant", "--kid", "k", "--out", folder.path)
        let entry = try #require(try KeyRingFile(folder.path).entries.first)
        guard case .object(let members) = entry, case .string(let k)? = members.first(where: { $0.name == "k" })?.value
        else {
            Issue.record("no secret")
            return
        }
        let bytes = try #require(Base64.decodeURLSafe(k))
        let renewed =
            "{\"playgate\":{\"renewal_kid\":\"k\",\"keys\":[{\"kty\":\"oct\",\"kid\":\"k\",\"alg\":\"HS256\",\"k\":\"\(k)\"}]}}\n"
        for (format, text) in [
            ("nginx", "set $playgate_secret \"\(k)\";\n"), ("akamai", bytes.hexadecimal + "\n"), ("ats", renewed),
        ] {
            let printed = try run("export", folder.path, "--format", format)
            #expect(printed.status == 2 && printed.output.isEmpty && !printed.error.contains(k))
            let out = folder.file(format)
            #expect(try run("export", folder.path, "--format", format, "--out", out).output == out + "\n")
            #expect(try folder.text(format) == text)
            #expect(try Self.mode(out) == 0o600)
        }
        #expect(try run("export", folder.path).status == 2, "no public key")
        #expect(try run("export", folder.path, "--kid", "none").status == 2)
        let pair = try TemporaryFolder()
        _ = try run("new", "--algorithm", "Ed25519", "--kid", "p", "--out", pair.path)
        for format in ["nginx", "akamai", "ats"] {
            #expect(try run("export", pair.path, "--format", format, "--out", pair.file("x")).status == 2)
        }
        let output = try run("export", pair.path).output
        #expect(output.hasPrefix("{\"keys\":[{\"kty\":\"OKP\"") && !output.contains("\"d\""))
    }

    @Test func `makes what a gate accepts, also after a rotation`() throws {
        let folder = try TemporaryFolder()
        let made = try run("new", "--grant", "--algorithm", "ES256", "--kid", "k1", "--out", folder.file("keys"))
        let lines = try #require(made.output.components(separatedBy: "For the gate's configuration:\n").last)
        _ = try run("development", "--out", folder.file("issuer"))
        let file = try folder.write(
            "gate.yaml",
            contents: """
                requestor: REF30
                trust: { keys: [{ file: issuer/signer.pem }] }
                catalogue: { entries: [{ path: /a/, resource: TNT, admits: grant, grant: live }] }
                api: { anonymous: true }
                edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
                \(lines)  profiles: { live: { issuer: playgate, key: playgate } }
                """
        )
        #expect(try GateServer(configurationFile: file).summary.warnings.isEmpty)
        #expect(try run("rotate", folder.file("keys")).status == 0)
        #expect(try GateServer(configurationFile: file).summary.warnings.isEmpty)
        // Long after, without a wait.
        let past = try run("rotate", folder.file("keys"), "--at", "4000000000", "--after", "0s")
        #expect(past.status == 0, "\(past.error)")
        #expect(try folder.text("keys/keys.json").contains("\"signFrom\":4000000000"))
    }
}
