// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Platform
import Testing

@testable import playgate

@Suite struct `The grant explain command` {
    private let sample: GrantSample

    init() throws { sample = try GrantSample.shared.get() }

    /// Explains a token one second after the issue of E1.
    private func explain(_ token: String, options: [String]) throws -> CommandRun {
        try CommandRun(["grant", "explain", "--at", String(GrantSample.issued + 1)] + options, input: token)
    }

    /// The token that docs/how-to/licence-tokens.md explains, with its output.
    @Test func `reads a token for a licence server`() throws {
        let crt = #"{\"assetId\":\"film-1\",\"profile\":{\"type\":\"purchase\"},\"storeLicense\":false}"#
        let claims =
            #"{"jti":"5f2c1c52-6a0e-4d2f-9d3e-0a1b2c3d4e5f","iat":1795856400,"exp":1795856460,"#
            + #""optData":"{\"merchant\":\"acme\"}","crt":"\#(crt)"}"#
        let parts = [#"{"alg":"HS256","kid":"6f1c1e0a","typ":"JWT"}"#, claims, "no signature is looked at"]
        let token = parts.map { Base64.encodeURLSafe([UInt8]($0.utf8)) }.joined(separator: ".")
        let page = try String(contentsOfFile: "\(repository)/docs/how-to/licence-tokens.md", encoding: .utf8)
        let block = try #require(page.components(separatedBy: "```console\n").last).components(separatedBy: "```")[0]
        let wanted = block.components(separatedBy: "\n").dropFirst().joined(separator: "\n")
        let run = try CommandRun(["grant", "explain", "--at", "2026-11-28T09:00:30Z"], input: token)
        #expect(run.output == wanted && run.status == 0, "\(run.output)\(run.error)")
        let late = try CommandRun(["grant", "explain", "--at", "2026-11-28T09:01:00Z", "--json"], input: token)
        #expect(
            late.status == 1 && late.output.contains(#""form":"castlabs""#) && late.output.contains(#""expired":true"#)
        )
        // Anything else is explained as a grant.
        let other = try CommandRun(
            ["grant", "explain", "--at", "2026-11-28T09:00:30Z", "--json"],
            input: "e30.e30.e30"
        )
        #expect(other.output.contains("grant_malformed") || other.output.contains("grant_"), "\(other.output)")
    }

    /// The outcomes of E1's claims, with each set of facts.
    @Test(
        arguments: [
            (
                [],
                [
                    "pass", "pass", "pass", "ignored", "ignored", "pass", "not_evaluated", "not_evaluated",
                    "not_evaluated",
                ], 0
            ),
            (
                GrantSample.live,
                ["pass", "pass", "pass", "ignored", "ignored", "pass", "pass", "pass", "not_evaluated"], 0
            ),
            (
                ["--url", "https://cdn.example/live/tbs/a", "--method", "PUT"],
                ["pass", "pass", "pass", "ignored", "ignored", "pass", "fail", "fail", "not_evaluated"], 1
            ),
            (
                ["--method", "PUT"],
                ["pass", "pass", "pass", "ignored", "ignored", "pass", "not_evaluated", "fail", "not_evaluated"], 1
            ),
        ] as [([String], [String], Int32)]
    )
    func `tells the outcome of each claim, with keys and without`(
        options: [String],
        outcomes: [String],
        status: Int32
    ) throws {
        for keys in [[], ["--keys", sample.keys], ["--keys", sample.keys, "--issuer", "playgate"]] {
            let run = try explain(GrantSample.e1, options: options + keys + ["--json"])
            #expect(run.status == status, "\(run.error)")
            #expect(run.output.matches(of: /"outcome":"([a-z_]+)"/).map { String($0.output.1) } == outcomes)
            #expect(run.output.hasPrefix(#"{"notice":"NOT VERIFIED","valid":false"#) == keys.isEmpty)
            let isValid = !keys.isEmpty && options == GrantSample.live
            #expect(run.output.contains("\"valid\":\(isValid),"))
        }
    }

    @Test func `prints a table, which marks what nobody verified`() throws {
        let plain = try explain(GrantSample.e1, options: [])
        #expect(plain.output.hasPrefix("NOT VERIFIED: "))
        #expect(
            plain.output.contains(
                "  catu      not evaluated  {1: {0: \"cdn.example\"}, 3: {1: \"/live/tnt/\"}}  needs url\n"
            )
        )
        #expect(plain.output.contains("Undecided at "))
        let verified = try explain(GrantSample.e1, options: ["--keys", sample.keys] + GrantSample.live)
        #expect(!verified.output.contains("NOT VERIFIED") && verified.output.contains("  catu      pass           {"))
        let refused = try explain(
            GrantSample.e1,
            options: ["--keys", sample.keys, "--method", "PUT"] + GrantSample.live
        )
        #expect(refused.output.contains("  catm      fail           [\"GET\", \"HEAD\"]  grant_method_refused\n"))
        #expect(refused.output.contains("refused: grant_method_refused (catm) at "))
    }

    @Test func `tells nothing of a token that its keys did not make`() throws {
        let forged = try GrantSample.changedToken { $0[40] ^= 1 }
        let run = try explain(forged, options: ["--keys", sample.keys, "--json"])
        #expect(run.status == 1)
        #expect(run.output.contains(#""code":"grant_signature_invalid""#) && run.output.contains(#""claims":[]"#))
        #expect(run.output.contains(#""issuer":null"#))
        let unread = try explain("x", options: ["--json"])
        #expect(unread.status == 1 && unread.output.contains(#""code":"grant_malformed""#))
    }

    @Test func `names what a store would tell, and what is not supported`() throws {
        let run = try explain(try GrantSample.adding("a119013401"), options: ["--json"])
        #expect(run.output.contains(#""name":"catreplay","outcome":"not_evaluated","code":null,"fact":"store""#))
        let other = try explain(try GrantSample.adding("a119013e820102"), options: ["--json"])
        #expect(other.status == 1)
        #expect(other.output.contains(#""name":"catgeoalt","outcome":"fail","code":"grant_claim_unsupported""#))
        let unknown = try explain(try GrantSample.adding("a163616263f6"), options: ["--json"])
        #expect(unknown.output.contains(#""label":null,"name":"abc","outcome":"ignored""#))
    }

    @Test func `shows nothing that a terminal would obey`() throws {
        let run = try explain(try GrantSample.adding("a1644a1b5b6d6441421b43"), options: [])
        #expect(run.status == 0 && !run.output.contains("\u{1B}"), "\(run.output)")
    }
}
