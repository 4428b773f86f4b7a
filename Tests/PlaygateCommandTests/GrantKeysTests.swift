// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Testing

@testable import playgate

@Suite struct `The grant keys command` {
    private func keys(_ options: [String]) throws -> CommandRun { try CommandRun(["grant", "keys"] + options) }

    @Test(arguments: GrantAlgorithmArgument.allCases)
    func `makes keys that issue and verify`(algorithm: GrantAlgorithmArgument) throws {
        let folder = try TemporaryFolder()
        let made = try keys(["--out", folder.path, "--algorithm", algorithm.rawValue, "--kid", "key-1"])
        try #require(made.status == 0, "\(made.error)")
        for name in [algorithm.file, "keys.json", "subject.key"] {
            let mode = try FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions]
            #expect(mode as? Int == 0o600, "\(name)")
            #expect(made.output.contains(folder.file(name) + "\n"))
        }
        let set = ["--keys", folder.file("keys.json")]
        let issue = ["grant", "issue", "--kid", "key-1", "--issuer", "i", "--scope", "/a/"] + set
        let issued = try CommandRun(issue)
        try #require(issued.status == 0, "\(issued.error)")
        let verify = ["grant", "verify", "--issuer", "i", "--url", "https://c/a/b"]
        #expect(try CommandRun(verify + set, input: issued.output).status == 0)
        guard algorithm != .hs256 else { return }
        for format in ["jwk", "cose"] {
            let published = try TemporaryFolder()
            let all = try keys([
                "--out", published.path, "--algorithm", algorithm.rawValue, "--public", "--format", format,
            ])
            #expect(all.status == 0, "\(all.error)")
            let file = published.file(format == "jwk" ? "public.json" : "public.cose")
            let other = try CommandRun(verify + ["--keys", file], input: issued.output)
            #expect(other.status == 1, "another pair")
            #expect(try CommandRun(issue.dropLast() + [file]).status == 2, "a public key does not sign")
            let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file)))
            let binding = KeyBinding(issuer: "i", format: .cat)
            let read = try KeySetReading(bytes, source: .published, binding: binding)
            #expect(read.keys.count == 1 && read.skipped.isEmpty)
        }
        let output = try keys(["--public"] + set)
        let file = try folder.write("public.json", contents: output.output)
        #expect(try CommandRun(verify + ["--keys", file], input: issued.output).status == 0)
        #expect(!output.output.contains("\"d\":"))
    }

    @Test func `writes what the gate's configuration accepts`() throws {
        let folder = try TemporaryFolder()
        let made = try keys(["--out", folder.path, "--kid", "pg-2026-11"])
        for name in ["grant.key", "subject.key"] {
            let text = try folder.text(name)
            #expect(text.hasSuffix("\n") && text.utf8.count == 44)
            #expect(Base64.decodeURLSafe(String(text.dropLast()))?.count == 32)
            // The configuration takes either alphabet.
            #expect(Base64.decode([UInt8](text.dropLast().utf8))?.count == 32)
        }
        let secret = try folder.text("grant.key").dropLast()
        #expect(try folder.text("keys.json").contains("\"k\":\"\(secret)\""))
        #expect(!made.output.contains(secret) && !made.error.contains(secret))
        #expect(
            made.output.hasSuffix(
                """
                For the gate's configuration:
                keys:
                  pg-2026-11: { secret: { file: \(folder.file("grant.key")) }, algorithm: HS256 }
                grants:
                  subjectKey: { file: \(folder.file("subject.key")) }

                """
            )
        )
        let pairs = try TemporaryFolder()
        let other = try keys(["--out", pairs.path, "--algorithm", "ES256", "--algorithm", "PS256", "--json"])
        #expect(other.output.contains("{ private: { file: \(pairs.file("ps256.pem")) }, algorithm: PS256 }"))
        for name in ["es256.pem", "ps256.pem"] {
            let binding = KeyBinding(issuer: "i", format: .cat, rsaAlgorithm: .ps256)
            #expect(try TokenKey(pem: try pairs.bytes(name), id: nil, binding: binding).operations.contains(.sign))
        }
    }

    @Test func `replaces keys only by force, and never the subject key`() throws {
        let folder = try TemporaryFolder()
        #expect(try keys(["--out", folder.path]).status == 0)
        let before = (try folder.text("grant.key"), try folder.text("subject.key"), try folder.text("keys.json"))
        let again = try keys(["--out", folder.path, "--json"])
        #expect(
            again.status == 2 && again.output.hasPrefix(#"{"error":"keys_exist""#) && again.error.contains("--force")
        )
        #expect(try folder.text("grant.key") == before.0 && folder.text("keys.json") == before.2)
        // A file that others can read gets the mode of a secret.
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: folder.file("grant.key"))
        #expect(try keys(["--out", folder.path, "--force"]).status == 0)
        #expect(try folder.text("grant.key") != before.0 && folder.text("keys.json") != before.2)
        #expect(try folder.text("subject.key") == before.1)
        let mode = try FileManager.default.attributesOfItem(atPath: folder.file("grant.key"))[.posixPermissions]
        #expect(mode as? Int == 0o600)
    }

    @Test func `publishes no secret`() throws {
        let folder = try TemporaryFolder()
        #expect(try keys(["--out", folder.path]).status == 0)
        let run = try keys(["--public", "--keys", folder.file("keys.json")])
        #expect(run.status == 2 && run.output.isEmpty && run.error.contains("never published"))
        let refused = try keys(["--out", folder.file("b"), "--public"])
        #expect(refused.status == 2 && !FileManager.default.fileExists(atPath: folder.file("b/grant.key")))
    }

    @Test(
        arguments: [
            ([], "--out"), (["--out", "/tmp/unused", "--keys", "x"], "--out"), (["--keys", "x"], "--public"),
            (["--public", "--keys", "x", "--force"], "--force"), (["--out", "/tmp/unused", "--kid", ""], "--kid"),
            (["--out", "/tmp/unused", "--algorithm", "RS256"], "--algorithm"),
            (["--out", "/tmp/unused", "--kid", "a", "--algorithm", "HS256", "--algorithm", "ES256"], "--kid"),
        ] as [([String], String)]
    )
    func `calls wrong usage by its name`(options: [String], message: String) throws {
        let run = try keys(options)
        #expect(run.status == 64)
        #expect(run.error.contains(message), "\(run.error)")
    }
}
