// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateConfiguration
import GateTestSupport
import Platform
import Testing

@testable import AccessTokens

/// The configurations and commands of docs/how-to/start-by-jwt.md.
@Suite struct `The page on access tokens` {
    private static var page: String {
        get throws { try String(contentsOfFile: "\(repository)/docs/how-to/start-by-jwt.md", encoding: .utf8) }
    }

    private static var blocks: [String] {
        get throws {
            try page.components(separatedBy: "```yaml\n").dropFirst().map { $0.components(separatedBy: "```\n")[0] }
        }
    }

    @Test func `has configurations that the reader accepts, each as a whole or beside a stream`() throws {
        let blocks = try Self.blocks
        #expect(blocks.count == 8)
        for block in blocks {
            let folder = try TemporaryFolder()
            try folder.write("keys/tv-backend.json", contents: try TokenMaker("tv-backend").keySet)
            try folder.write("introspection.secret", contents: "secret")
            var text = block.replacing("/run/playgate", with: folder.path).replacing(
                ", socketGroup: www-data",
                with: ""
            ).replacing("  socketGroup: www-data\n", with: "")
            if !text.hasPrefix("requestor") {
                text =
                    "requestor: tv\nstreams: [{ folder: /live/tnt/, resource: TNT }]\napi: { listen: \"unix:\(folder.file("api"))\" }\n"
                    + text
            }
            let file = try folder.write("gate.yaml", contents: text + "stateFolder: \(folder.path)\n")
            do { _ = try GateConfiguration(file: file) } catch { Issue.record("\(block): \(error)") }
        }
    }

    /// The tokens of `Tokens of usual providers` are checked by their own rules; those must be the page's.
    @Test func `has the rules by which tokens of usual providers are tested`() throws {
        let page = try Self.page
        for text in [
            "claims: { typ: [Bearer, DPoP] }", "{ claim: /realm_access/roles, values: { tv-basic: [TNT] } }",
            "issuer: https://tv.eu.auth0.com/\n", "{ claim: scope, prefix: \"tv:\" }", "types: [none]",
            "claims: { token_use: access, client_id: 3n4b }",
            "{ claim: \"cognito:groups\", values: { tv-basic: [TNT] } }",
            "claims: { tid: \"9188\" }", "viewer: oid", "{ claim: scp, prefix: \"tv.\" }",
        ] { #expect(page.contains(text), "\(text)") }
    }
}
