// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Testing

@Suite struct `The verify command` {
    private let keys: Keys

    init() throws { keys = try Keys.shared.get() }

    @Test func `prints the documented object for a valid token`() throws {
        let run = try CommandRun(keys.verify(["--resource", "TNT", "--json"]), input: try keys.token() + "\n")
        let issued = Keys.issued * 1000
        // The fingerprint is that of random keys' token only in its length.
        let output = run.output.replacing(/"fingerprint":"[0-9a-f]{64}"/, with: "\"fingerprint\":\"…\"")
        #expect(run.status == 0)
        #expect(
            output == """
                {"valid":true,"verifierStatus":"VALID_TOKEN","code":null,"token":{"requestorID":"REF30",\
                "resourceID":"TNT","timeIssued":\(issued),"timeToLive":420000,"expires":\(issued + 420_000),\
                "userSessionGUID":"guid-1","mvpdID":"SandboxMVPD","proxyMVPDID":null,"fingerprint":"…"},"key":"signer"}

                """
        )
    }

    @Test func `prints no token where the signature does not hold`() throws {
        let run = try CommandRun(
            keys.verify(["--resource", "TNT", "--json"]),
            input: "<signatureInfo>AAAA<signatureInfo><authToken></authToken>"
        )
        #expect(run.status == 1)
        #expect(
            run.output == """
                {"valid":false,"verifierStatus":"INVALID_SIGNATURE","code":"signature_length","token":null,"key":null}

                """
        )
    }

    /// Options for minting, options for verifying, seconds after the issue time, and the expected output and exit code.
    @Test(
        arguments: [
            ([], ["--resource", "TNT"], 420, "VALID_TOKEN", 0),
            ([], ["--resource", "TNT"], 421, "TOKEN_EXPIRED (expired)", 1),
            ([], ["--resource", "TNT", "--late-leeway", "1s"], 421, "VALID_TOKEN", 0),
            ([], ["--resource", "TNT"], -61, "TOKEN_EXPIRED (issued_in_future)", 1),
            ([], ["--resource", "TNT", "--early-leeway", "61s"], -61, "VALID_TOKEN", 0),
            (["--ttl", "16m"], ["--resource", "TNT"], 1, "TOKEN_EXPIRED (ttl_too_long)", 1),
            (["--ttl", "16m"], ["--resource", "TNT", "--max-ttl", "1h"], 1, "VALID_TOKEN", 0),
            ([], ["--resource", "TBS"], 1, "INVALID_RESOURCE_ID (resource_mismatch)", 1),
            ([], ["--resource", "<rss><channel><title>TNT</title></channel></rss>"], 1, "VALID_TOKEN", 0),
            ([], ["--resource", "tnt", "--ignore-case"], 1, "VALID_TOKEN", 0),
            ([], ["--authenticity-only"], 1, "VALID_TOKEN", 0),
            (["--requestor", "OTHER"], ["--resource", "TNT"], 1, "INVALID_RESOURCE_ID (requestor_mismatch)", 1),
            (["--root", "shortAuthorizationToken"], ["--resource", "TNT"], 1, "VALID_TOKEN", 0),
            (["--raw"], ["--resource", "TNT"], 1, "VALID_TOKEN", 0),
            (["--proxy-mvpd", "P"], ["--resource", "TNT"], 1, "VALID_TOKEN", 0),
        ] as [([String], [String], Int64, String, Int32)]
    )
    func `judges`(mint: [String], options: [String], seconds: Int64, verdict: String, status: Int32) throws {
        let token = try keys.token(mint)
        let run = try CommandRun(keys.verify(options, at: Keys.issued + seconds), input: token)
        #expect(run.status == status, "\(run.error)")
        #expect(run.output.contains(verdict + " at "), "\(run.output)")
        #expect(!run.output.contains("\u{1B}"), "colour is for terminals")
    }

    @Test(
        arguments: [
            (["--resource", "TNT", "--authenticity-only"], "mutually exclusive"), ([], "--resource is missing"),
            (["--resource", "TNT", "--jobs", "2"], "--batch"), (["--resource", "TNT", "--at", "yesterday"], "--at"),
            (["--resource", "TNT", "--early-leeway", "3m"], "0s to 120s"),
            (["--resource", "TNT", "--max-ttl", "25h"], "24h"),
            (["--resource", "TNT", "--minimum-rsa-bits", "512"], "1024"),
            (["--resource", "TNT", "--late-leeway", "5"], "--late-leeway"),
        ] as [([String], String)]
    )
    func `calls wrong usage by its name`(options: [String], message: String) throws {
        let run = try CommandRun(keys.verify(options), input: "x")
        #expect(run.status == 64)
        #expect(run.error.contains(message), "\(run.error)")
    }

    @Test func `reads the token from a file and from the command line too`() throws {
        let folder = try TemporaryFolder()
        let token = try keys.token()
        let file = try folder.write("token", contents: token + "\r\n")
        #expect(try CommandRun(keys.verify(["--resource", "TNT", "--token-file", file])).status == 0)
        #expect(try CommandRun(keys.verify(["--resource", "TNT", token])).status == 0)
        #expect(try CommandRun(keys.verify(["--resource", "TNT", "-"]), input: token).status == 0)
        // As it is in a URL.
        #expect(try CommandRun(keys.verify(["--resource", "TNT", token.percentEncoded])).status == 0)
        let lines = try CommandRun(
            keys.verify(["--resource", "TNT", "--batch", "-"]),
            input: token.percentEncoded + "\n"
        )
        #expect(lines.status == 0, "\(lines.output)\(lines.error)")
        #expect(try CommandRun(keys.verify(["--resource", "TNT", "--token-file", file, token])).status == 64)
        #expect(try CommandRun(keys.verify(["--resource", "TNT", "--token-file", folder.file("none")])).status == 2)
    }

    @Test func `names the file that cannot be trusted, and never its key`() throws {
        let folder = try TemporaryFolder()
        let rows = [
            (keys.key, "private key"), (folder.file("missing.pem"), "cannot be opened"),
            (try folder.write("empty.pem", contents: ""), "no PEM block"),
            (
                try folder.write("bad.pem", contents: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"),
                "cannot be read"
            ),
        ]
        for (file, reason) in rows {
            let run = try CommandRun(
                ["verify", "--trust", file, "--requestor", "REF30", "--resource", "TNT"],
                input: "x"
            )
            #expect(run.status == 2)
            #expect(run.error.contains(file) && run.error.contains(reason), "\(run.error)")
            #expect(run.error.utf8.count < 500)
        }
    }

    @Test func `checks the chain to an anchor`() throws {
        let token = try keys.token()
        let other = try TemporaryFolder()
        #expect(try CommandRun(["keys", "new", "--out", other.path]).status == 0)
        let run = { try CommandRun(keys.verify(["--resource", "TNT", "--anchor", $0]), input: token) }
        #expect(try run(keys.authority).status == 0)
        let foreign = try run(other.file("ca.pem"))
        #expect(foreign.status == 2)
        #expect(foreign.error.contains("trust_untrusted_chain"))
    }

    @Test func `accepts 1024 bits only by name`() throws {
        let folder = try TemporaryFolder()
        #expect(try CommandRun(["keys", "new", "--out", folder.path, "--bits", "1024"]).status == 0)
        let token = try CommandRun(["mint", "--key", folder.file("signer.key"), "--requestor", "R", "--resource", "T"])
        let arguments = ["verify", "--trust", folder.file("signer.pem"), "--requestor", "R", "--resource", "T"]
        let refused = try CommandRun(arguments, input: token.output)
        #expect(refused.status == 2)
        #expect(refused.error.contains("--minimum-rsa-bits 1024"))
        #expect(try CommandRun(arguments + ["--minimum-rsa-bits", "1024"], input: token.output).status == 0)
    }
}
