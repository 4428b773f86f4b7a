// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Platform
import PlaybackGate
import Testing

@testable import EdgeChecks
@testable import playgate

@Suite struct `The export of a policy` {
    private let folder: TemporaryFolder
    private let configuration: String

    init() throws {
        folder = try TemporaryFolder()
        let issuer = try Self.run("keys", arguments: ["development", "--out", folder.file("issuer")])
        try #require(issuer.status == 0, "\(issuer.error)")
        let grants = ["new", "--grant", "--algorithm", "HS256", "--out", folder.file("grants")]
        try #require(Self.run("keys", arguments: grants).status == 0)
        configuration = try folder.write(
            "gate.yaml",
            contents: """
                requestor: REF30
                trust: { keys: [{ file: issuer/signer.pem }] }
                keys: { playgate: { set: grants/keys.json } }
                grants:
                  subjectKey: { file: grants/subject.key }
                  profiles: { live: { issuer: playgate, key: playgate } }
                catalogue: { entries: [{ path: /a/, resource: TNT, admits: grant, grant: live }] }
                api: { anonymous: true }
                edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
                """
        )
    }

    private static func run(_ command: String, arguments: [String]) throws -> CommandRun {
        try CommandRun([command] + arguments)
    }

    private static func policy(_ text: [UInt8], by signers: PolicySigners) throws -> EdgeBundle {
        try EdgeBundle(signed: text.span, by: signers, at: .now())
    }

    private func export(_ arguments: String...) throws -> CommandRun {
        try Self.run("export", arguments: ["--config", configuration] + arguments)
    }

    @Test(arguments: KeyAlgorithmArgument.allCases.filter { !$0.algorithm.isMAC })
    func `signs what the public keys verify`(algorithm: KeyAlgorithmArgument) throws {
        let keys = folder.file("signer")
        try #require(
            Self.run("keys", arguments: ["new", "--algorithm", algorithm.rawValue, "--out", keys]).status == 0
        )
        let output = folder.file("policy.jws")
        let written = try export("--sign", keys, "--output", output)
        try #require(written.status == 0, "\(written.error)")
        let mode = try FileManager.default.attributesOfItem(atPath: output)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        let published = try Self.run("keys", arguments: ["export", keys])
        let signers = try PolicySigners([UInt8](published.output.utf8))
        let policy = try Self.policy(folder.bytes("policy.jws"), by: signers)
        #expect(policy.catalogue.entries.count == 1 && policy.grants?.keys.count == 1)
        #expect(try export("--sign", "\(keys)/keys.json").output.split(separator: ".").count == 3)
        // The next key signs when its time has come, and not before.
        try #require(Self.run("keys", arguments: ["rotate", keys, "--kid", "next"]).status == 0)
        _ = try Self.policy([UInt8](export("--sign", keys).output.utf8), by: signers)
    }

    @Test func `does not sign by what others need to check it`() throws {
        let refused = try export("--sign", folder.file("grants"), "--output", folder.file("policy.jws"))
        #expect(refused.status == 2 && refused.error.contains("take a pair"), "\(refused.error)")
        #expect(try export("--sign", folder.file("none")).status == 2)
        try #require(
            Self.run("keys", arguments: ["new", "--algorithm", "ES256", "--out", folder.file("pair")]).status == 0
        )
        let published = try Self.run("keys", arguments: ["export", folder.file("pair")]).output
        let refusedToo = try export("--sign", try folder.write("public.json", contents: published))
        #expect(refusedToo.status == 2 && refusedToo.error.contains("no key signs now"), "\(refusedToo.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.file("policy.jws")))
    }
}
