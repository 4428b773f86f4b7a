// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateServer
import GateTestSupport
import MediaTokens
import Testing

/// Settings that `playgate check` advises against.
@Suite struct `A configuration that works, and is not for production` {
    private static func advice(edge: String, use: String, api: String = "anonymous: true") throws -> [String] {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let text = """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }] }
            catalogue: { entries: [{ path: /live/tnt/, resource: TNT, admits: ttl }] }
            replayStore: \(use.replacing("FOLDER", with: folder.path))
            api: { listen: "127.0.0.1:0", \(api) }
            admin: { listen: "127.0.0.1:0" }
            edge: { \(edge), tokens: [{ query: token }] }
            """
        return try GateServer(configurationFile: try folder.write("gate.yaml", contents: text), at: GateSample.time)
            .summary
            .advice
    }

    private static let key =
        "keys: [{ name: players, sha256: \(String(repeating: "a", count: 64)), scopes: [playback] }]"
    private static let (memory, file) = (
        "{ advanced: { capacity: 100 } }", "{ sqlite: FOLDER/uses }"
    )
    private static let port = "listen: \"127.0.0.1:0\""

    @Test(arguments: [
        (port, memory, "anonymous: true", ["api.anonymous with a replayStore in memory: every process"]),
        (port, file, "anonymous: true", []),
        (port, memory, key, []),
        (
            "listen: \"unix:/run/edge.sock\", socketMode: \"0600\"", file, key,
            ["edge.socketMode \"0600\": only the gate's"]
        ),
        ("listen: \"unix:/run/edge.sock\", socketMode: \"0660\"", file, key, []),
        (
            "listen: [\"unix:/run/a\", \"unix:/run/b\"], socketMode: \"0755\"", file, key,
            ["edge.socketMode", "edge.socketMode"]
        ),
    ])
    func `is advised against`(edge: String, use: String, api: String, expected: [String]) throws {
        let found = try Self.advice(edge: edge, use: use, api: api)
        #expect(found.count == expected.count && zip(found, expected).allSatisfy { $0.hasPrefix($1) }, "\(found)")
    }
}
