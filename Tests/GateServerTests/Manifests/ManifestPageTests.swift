// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import NIOHTTP1
import Testing

@testable import GateAPI
@testable import GateConfiguration
@testable import GateServer

/// `docs/how-to/players-without-cookies.md` names what the manifest listener has.
@Suite struct `The page on players without cookies` {
    private static let page = Result {
        try String(contentsOfFile: "\(repository)/docs/how-to/players-without-cookies.md", encoding: .utf8)
    }

    private static func configuration() throws -> GateServer {
        let folder = try TemporaryFolder()
        let parts = try page.get().components(separatedBy: "```yaml\n")
        let text = try #require(parts.dropFirst().first?.components(separatedBy: "```").first)
        try FileManager.default.createDirectory(atPath: folder.file("keys"), withIntermediateDirectories: false)
        try folder.write("keys/signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        for name in ["grant", "subject"] { try folder.write("keys/\(name).key", contents: ManifestGate.secret) }
        return try GateServer(configurationFile: try folder.write("gate.yaml", contents: text), at: GateSample.time)
    }

    @Test func `has a configuration that works`() throws {
        let summary = try Self.configuration().summary
        #expect(summary.manifests == ["127.0.0.1:8082"] && summary.edges == ["unix:/run/playgate/edge.sock"])
        #expect(summary.warnings.isEmpty && summary.entries == 2)
    }

    @Test func `has every code, with its status`() throws {
        let reference = "\(repository)/docs/reference/manifest-listener.md"
        let lines = try String(contentsOfFile: reference, encoding: .utf8).split(separator: "\n").filter {
            $0.hasPrefix("| `")
        }
        for code in ManifestRefusal.allCases where code != .abandoned {
            let line = lines.first { $0.contains("`\(code.rawValue)`") }
            #expect(line?.contains("| \(code.status.code) |") ?? false, "\(code.rawValue)")
            #expect(
                !code.message.isEmpty && !code.operatorHint.isEmpty && ManifestRefusal(rawValue: code.rawValue) == code
            )
        }
    }
}
