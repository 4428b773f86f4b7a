// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import Sandbox
import Testing

@Suite struct `Media tokens of one second` {
    /// Returns two tokens of each API for one viewer and resource. The clock stands still.
    private static func tokens(_ sandbox: InProcessSandbox) throws -> [String] {
        let device = try sandbox.device()
        let (_, authZ) = try device.longLivedTokens("TNT")
        return try (0..<2).flatMap { _ in
            [
                try #require(try device.token(for: "TNT")),
                try #require(
                    try device.v1("/api/v1/tokens/media", parameters: ["resource": "TNT"]).json["serializedToken"]
                        as? String
                ),
                try device.legacy("shortAuthorize", fields: ["authz_token": authZ]).body,
            ]
        }
    }

    @Test func `are never the same, and each opens the gate once`() async throws {
        let (gate, tokens, now) = try await InProcessSandbox.with { (sandbox) throws in
            let tokens = try Self.tokens(sandbox)
            let verified = try tokens.map { try #require(try sandbox.verify($0, resource: "TNT").token) }
            #expect(Set(verified.map(\.fingerprint)).count == 6)
            #expect(Set(verified.map(\.userSessionGUID)).count == 1)
            let seconds = verified.map { $0.timeIssued.millisecondsSince1970 / 1000 }
            #expect(Set(seconds) == [sandbox.now.millisecondsSince1970 / 1000])
            return (try sandbox.gate("TNT"), tokens, sandbox.now)
        }
        for token in tokens {
            let request = PlaybackRequest(.media("programme"), token: token)
            #expect(await gate.decide(request, at: now).code == nil)
            #expect(await gate.decide(request, at: now).code == .tokenAlreadyUsed)
        }
    }

    @Test func `have times of their own when the clock goes back`() async throws {
        try await InProcessSandbox.withDevice(user: "alice") { (sandbox, device) throws in
            sandbox.advance(seconds: 3600)
            _ = try device.token(for: "TNT")
            sandbox.advance(seconds: -3600)
            // A token that is issued ahead of the clock would be refused.
            #expect(try sandbox.verify(try #require(try device.token(for: "TNT")), resource: "TNT").isValid)
        }
    }
}

@Suite struct `The id of a viewer` {
    private static func ids(_ device: TestDevice) throws -> (v1: String, v2: String, metadata: String, guid: String) {
        try device.logIn("carol")
        _ = try device.v1("/api/v1/authorize", parameters: ["resource": "TNT"])
        let media = try device.v1("/api/v1/tokens/media", parameters: ["resource": "TNT"]).json
        let profiles = try device.get("/api/v2/REF30/profiles").json["profiles"] as? [String: [String: Any]]
        let attributes = profiles?["SandboxMVPD"]?["attributes"] as? [String: [String: Any]]
        let metadata = try device.v1("/api/v1/tokens/usermetadata").json["data"] as? [String: Any]
        let token = try device.sandbox.verify(try #require(try device.token(for: "TNT")), resource: "TNT").token
        let authentication = try device.v1("/api/v1/tokens/authn").json["userId"] as? String ?? ""
        #expect(media["userId"] as? String == authentication)
        return (
            authentication, attributes?["userID"]?["value"] as? String ?? "", metadata?["userID"] as? String ?? "",
            token?.userSessionGUID ?? ""
        )
    }

    /// Clients report the MD5 of the id in tracking data.
    @Test func `inventory 46a, 46b: is the same in both APIs, and its MD5 is the GUID of media tokens`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let ids = try Self.ids(sandbox.device())
            #expect(ids.v1 == "user-carol")
            #expect(ids.v2 == ids.v1)
            #expect(ids.metadata == ids.v1)
            #expect(ids.guid == MD5.hexadecimal(ids.v1))
        }
    }

    @Test func `is hashed in REST API v1 if the programmer's clients must not read it`() async throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("programmer.pem", contents: try GateSample.foreign.get().keys.signerCertificate)
        let configuration = InProcessSandbox.configuration(
            replacing: "    enhancedErrors: true\n",
            with: "    enhancedErrors: true\n    encryptedMetadata: { certificate: \"\(file)\", keys: [userID] }\n"
        )
        try await InProcessSandbox.with(configuration) { (sandbox) throws in
            let ids = try Self.ids(sandbox.device())
            #expect(ids.v1 == MD5.hexadecimal("user-carol"))
            #expect(ids.guid == ids.v1)
            #expect(!ids.v2.contains("carol") && !ids.metadata.contains("carol"))
        }
    }
}
