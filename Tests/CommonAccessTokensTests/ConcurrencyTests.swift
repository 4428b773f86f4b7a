// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import EdgeTokens
import Keys
import Testing

@testable import CommonAccessTokens

/// Many threads that share a verifier, its keys, and the patterns of one token.
@Suite struct `Concurrency of grants` {
    @Test func `threads that share a verifier and a token agree`() async throws {
        var claims = CATSample.claims
        claims.uri += [
            .init(.filename, match: .pattern("^seg[0-9]+\\.m4s$")), .init(.query, match: .sha256(sha256(""))),
        ]
        let token = try CATIssuer(key: CATSample.key()).issue(claims).token
        let verifier = try CATSample.verifier()
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: CATSample.time(0)) else {
            Issue.record("refused")
            return
        }
        let good = try CATSample.facts("/live/tnt/seg12.m4s")
        let bad = try CATSample.facts("/live/tnt/key.bin")
        let wrong = await withTaskGroup(of: Int.self) { group in
            for _ in 0..<16 {
                group.addTask {
                    (0..<200).count { _ in
                        let text = token.utf8.span
                        return !verifier.verify(text, for: good, at: CATSample.time(1)).isAllowed
                            || !verifier.judge(grant, presentedAs: text, for: good, at: CATSample.time(1)).isAllowed
                            || verifier.judge(grant, presentedAs: text, for: bad, at: CATSample.time(1)).isAllowed
                    }
                }
            }
            return await group.reduce(0, +)
        }
        #expect(wrong == 0)
    }
}
