// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Platform
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens

@Suite struct `A copy of a Common Access Token` {
    private typealias Sample = `The life of a Common Access Token`

    @Test(arguments: [(5.0, 5.0), (5.9, 5), (300, 300), (999, 999), (1000, 1000), (5000, 1000)])
    func `has the given end, within the session`(end: Double, seconds: Double) throws {
        let verifier = try CATSample.verifier()
        let grant = try Sample.grant(for: try Sample.claims(), by: verifier).grant
        let copy = try CATIssuer(key: CATSample.key()).copy(grant, until: CATSample.time(end), at: CATSample.time(0))
        #expect(copy.expires == CATSample.time(seconds) && copy.session == grant.session)
        let over = seconds == 1000 ? GrantCode.sessionEnded : .expired
        for (now, code) in [(seconds - 0.001, nil), (seconds, over)] as [(Double, GrantCode?)] {
            let verdict = verifier.check(copy.token, for: try CATSample.facts(), at: CATSample.time(now))
            #expect(verdict.refusal?.code == code, "\(now)")
        }
    }

    @Test func `has all other claims as they were, and another identity`() throws {
        let verifier = try CATSample.verifier()
        let grant = try Sample.grant(for: try Sample.claims(), by: verifier).grant
        let issuer = try CATIssuer(key: CATSample.key())
        let copies = try (0..<2).map { _ in
            try issuer.copy(grant, until: CATSample.time(500), at: CATSample.time(7))
        }
        #expect(copies[0].identifier != copies[1].identifier && copies[0].token != copies[1].token)
        guard case .authentic(let copy) = verifier.authenticate(copies[0].token.utf8.span, at: CATSample.time(7)) else {
            Issue.record("not authentic")
            return
        }
        #expect(copy.notBefore == grant.notBefore && copy.pathPrefix == grant.pathPrefix)
        #expect(
            copy.issued == CATSample.time(7) && copy.sessionID == grant.sessionID && copy.sessionEnd == grant.sessionEnd
        )
        // The same claims, times and identity make one token.
        let same = try (0..<2).map { _ in
            try issuer.copy(grant, until: CATSample.time(500), at: CATSample.time(7), identifier: [1, 2, 3])
        }
        #expect(same[0] == same[1])
    }

    @Test func `is refused without a session, past its end, and by another issuer`() throws {
        let verifier = try CATSample.verifier()
        let issuer = try CATIssuer(key: CATSample.key())
        let whole = try Sample.grant(for: try Sample.claims(), by: verifier).grant
        let single = try Sample.grant(for: CATSample.claims, by: verifier).grant
        #expect(throws: CATIssueError.notRenewable) {
            try issuer.copy(single, until: CATSample.time(500), at: CATSample.time(7))
        }
        #expect(throws: CATIssueError.notRenewable) {
            try issuer.copy(whole, until: CATSample.time(500), at: CATSample.time(500))
        }
        #expect(throws: CATIssueError.notRenewable) {
            try issuer.copy(whole, until: CATSample.time(5000), at: CATSample.time(1000))
        }
    }
}
