// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import MediaTokens
import Platform
import PlaybackGate
import Sandbox
import Testing

/// An unmodified third-party client: yt-dlp from PyPI, in the environment that `scripts/setup test` creates.
@Suite(.enabled(if: Requirement.hasFile(".build-ytdlp/bin/python"), "yt-dlp is not installed: run scripts/setup test"))
struct `yt-dlp` {
    private static let python = repository + "/.build-ytdlp/bin/python"

    private struct Outcome {
        let token: String
        let requests: [[String: Any]]

        var paths: [String] { requests.compactMap { $0["path"] as? String } }
    }

    private static func run(
        against sandbox: InProcessSandbox,
        in folder: TemporaryFolder,
        user: String,
        resource: String
    ) throws -> (Outcome?, String) {
        let run = try CommandRun(
            python,
            arguments: [
                repository + "/Tests/SandboxTests/YTDLP/media_token.py", sandbox.url, folder.file("cache"), "DTV", user,
                user,
                InProcessSandbox.statement, resource,
            ]
        )
        let output = run.error + run.output
        guard run.status == 0, let line = output.split(separator: "\n").last,
            let answer = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
            let token = answer["token"] as? String, let requests = answer["asked"] as? [[String: Any]]
        else { return (nil, output) }
        return (Outcome(token: token, requests: requests), output)
    }

    /// True if `playgate verify` accepts a token.
    private static func isVerified(
        _ token: String,
        with sandbox: InProcessSandbox,
        in folder: TemporaryFolder,
        resource: String
    ) throws -> Bool {
        let run = try CommandRun(
            Program.built("playgate"),
            arguments: [
                "verify", "--trust", try folder.write("keys.pem", contents: try sandbox.get("/sandbox/keys").body),
                "--requestor",
                "REF30", "--resource", resource, "--at", sandbox.now.iso8601, "--token-file",
                try folder.write("token", contents: token),
            ]
        )
        let isTaken = run.status == 0 && run.output.contains("VALID_TOKEN")
        #expect(isTaken, "\(run)")
        return isTaken
    }

    @Test(
        "gets a media token on a first run and from its cache, and each opens the gate once",
        arguments: ["TNT", Fragment.rated("TV-PG")]
    )
    func runs(resource: String) async throws {
        let (gate, tokens, now) = try await InProcessSandbox.with { (sandbox) throws in
            let folder = try TemporaryFolder()
            let (first, log) = try Self.run(against: sandbox, in: folder, user: "bob", resource: resource)
            let fresh = try #require(first, "\(log)")
            #expect(
                fresh.paths == [
                    "/indiv/devices", "/o/client/register", "/o/client/token", "/reggie/v1/REF30/regcode",
                    "/adobe-services/authenticate/saml", "/sandbox/saml/idp", "/sandbox/saml/login",
                    "/sp/saml/SAMLAssertionConsumer", "/adobe-services/session", "/adobe-services/authorize",
                    "/adobe-services/shortAuthorize",
                ]
            )
            #expect(try sandbox.verify(fresh.token, resource: resource).status == .validToken)
            #expect(try Self.isVerified(fresh.token, with: sandbox, in: folder, resource: resource))
            sandbox.advance(seconds: 60)
            let (second, again) = try Self.run(against: sandbox, in: folder, user: "bob", resource: resource)
            let cached = try #require(second, "\(again)")
            #expect(cached.paths == ["/adobe-services/shortAuthorize"])
            #expect(cached.requests.first?["bearer"] as? Bool == false)
            #expect(cached.requests.first?["device"] as? Bool == false)
            #expect(cached.token != fresh.token)
            #expect(try sandbox.verify(cached.token, resource: resource).status == .validToken)
            #expect(try Self.isVerified(cached.token, with: sandbox, in: folder, resource: resource))
            return (try sandbox.gate(resource), [fresh.token, cached.token], sandbox.now)
        }
        for token in tokens {
            #expect(await gate.decide(PlaybackRequest(.media("programme"), token: token), at: now).code == nil)
            #expect(
                await gate.decide(PlaybackRequest(.media("programme"), token: token), at: now).code == .tokenAlreadyUsed
            )
        }
    }

    @Test func `is refused in the provider's words, and begins again where its login has ended`() async throws {
        try await InProcessSandbox.with { (sandbox) throws in
            let folder = try TemporaryFolder()
            let (denied, log) = try Self.run(against: sandbox, in: folder, user: "bob", resource: "CNN")
            #expect(denied == nil)
            #expect(log.contains("Your package does not include \"CNN\"."))
            #expect(try Self.run(against: sandbox, in: folder, user: "bob", resource: "TNT").0 != nil)
            try sandbox.control(#"{"expireAuthentication":true}"#)
            let (result, text) = try Self.run(against: sandbox, in: folder, user: "bob", resource: "TBS")
            let outcome = try #require(result, "\(text)")
            #expect(outcome.paths.contains("/sandbox/saml/login"))
            #expect(try sandbox.verify(outcome.token, resource: "TBS").isValid)
        }
    }
}
