// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Keys
import Testing

@testable import playgate

/// Two independent COSE libraries in Python, in the environment that `scripts/setup test` makes.
@Suite(.enabled(if: Requirement.hasOracles, "cwt and pycose are not installed: run scripts/setup test"))
struct `Grants of the command line, cwt and pycose` {
    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ request: [String: Any]) throws -> [String: Any] {
        let run = try CommandRun(
            python,
            arguments: [repository + "/Tests/KeysTests/Oracles/cose.py"],
            input: [UInt8](try JSONSerialization.data(withJSONObject: request))
        )
        try #require(run.status == 0, "\(run.error)")
        return try #require(try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any])
    }

    @Test(arguments: GrantAlgorithmArgument.allCases)
    func `verify each other's`(algorithm: GrantAlgorithmArgument) throws {
        let folder = try TemporaryFolder()
        let made = try CommandRun(
            ["grant", "keys", "--out", folder.path, "--algorithm", algorithm.rawValue, "--kid", "key-1"]
        )
        try #require(made.status == 0, "\(made.error)")
        var key = ["kid": "key-1", "alg": algorithm.rawValue]
        let secret = try folder.text(algorithm.file)
        if algorithm == .hs256 {
            key["k"] = try #require(Base64.decodeURLSafe(String(secret.dropLast()))).hexadecimal
        } else {
            key["pem"] = secret
        }
        let keys = ["--keys", folder.file("keys.json")]
        let issued = try CommandRun(
            [
                "grant", "issue", "--kid", "key-1", "--issuer", "playgate", "--scope", "/live/tnt/", "--host",
                "cdn.example",
                "--renew", "cookie", "--session", "1h", "--at", String(GrantSample.issued),
            ] + keys
        )
        try #require(issued.status == 0, "\(issued.error)")
        let token = String(issued.output.dropLast())
        let payload = try GrantSample.payload(token).hexadecimal
        let read = try Self.ask(["do": "check", "token": try GrantSample.envelope(token).hexadecimal, "key": key])
        #expect(read["cwt"] as? String == payload && read["pycose"] as? String == payload, "\(read)")
        #expect(read["canonical"] as? Bool == true)

        let tag = algorithm == .hs256 ? 17 : 18
        let theirs = try Self.ask(["do": "make", "payload": payload, "key": key, "tag": tag])
        for name in ["cwt", "pycose"] {
            let text = COSEText.encode(GrantSample.bytes(try #require(theirs[name] as? String)))
            let verify = ["grant", "verify", "--at", String(GrantSample.issued + 1)] + keys
            #expect(try CommandRun(verify + GrantSample.live, input: text).status == 0, "\(name)")
            let other = try CommandRun(verify + ["--url", "https://cdn.example/live/tbs/a", "--json"], input: text)
            #expect(other.status == 1 && other.output.contains("grant_uri_mismatch"), "\(name)")
        }
    }
}
