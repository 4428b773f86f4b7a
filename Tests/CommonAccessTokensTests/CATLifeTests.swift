// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import RequestTargets

/// The times of a token, its renewal, its obligations, and its explanation.
@Suite struct `The life of a Common Access Token` {
    static func grant(for claims: CATClaims, by verifier: CATVerifier) throws -> (token: String, grant: CATGrant) {
        let token = try CATIssuer(key: CATSample.key()).issue(claims).token
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: CATSample.time(0)) else {
            throw CATIssueError.claims
        }
        return (token, grant)
    }

    /// Claims with a session that ends `seconds` after the issue.
    static func claims(sessionEnd seconds: Double = 1000) throws -> CATClaims {
        var claims = CATSample.claims
        claims.session = PlaybackSession(
            id: try #require(SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16")),
            end: CATSample.time(seconds),
            revocation: nil
        )
        return claims
    }

    @Test(
        arguments: [
            (-0.001, GrantCode.notYetValid), (0, nil), (299.999, nil), (300, .expired), (1e6, .expired),
        ] as [(Double, GrantCode?)]
    )
    func `is valid from nbf to the millisecond before exp`(seconds: Double, code: GrantCode?) throws {
        let verdict = try CATSample.verifier().check(CATSample.e1, for: CATSample.facts(), at: CATSample.time(seconds))
        #expect(verdict.refusal?.code == code)
    }

    @Test(
        arguments: [
            // The claim in hexadecimal, seconds from the issue of E1, and the code.
            ("a104 fb41dcaf4b39133333", 300.299, nil), ("a104 fb41dcaf4b39133333", 300.3, .expired),
            ("a105 fb41dcaf4aee133333", 0.299, .notYetValid), ("a105 fb41dcaf4aee133333", 0.3, nil),
            ("a104 1b0020000000000001", 0, .malformed), ("a104 1b0020000000000000", 0, nil), ("a104 20", 0, .malformed),
            ("a104 fbc1dcaf4b39133333", 0, .malformed), ("a106 1b0020000000000001", 0, .malformed),
        ] as [(String, Double, GrantCode?)]
    )
    func `times in floating point are exact to the millisecond`(claim: String, seconds: Double, code: GrantCode?) throws
    {
        var claims = CATClaims()
        claims.issuer = "playgate"
        var payload = try #require(claims.payload())
        payload[0] += 1
        let token = try CATSample.token(payload: payload + CATSample.bytes(claim).dropFirst())
        var issuer = AcceptedIssuer("playgate")
        issuer.requiresExpiration = false
        let verdict = try CATSample.verifier(issuer: issuer).check(
            token,
            for: CATSample.facts(),
            at: CATSample.time(seconds)
        )
        #expect(verdict.refusal?.code == code)
    }

    @Test(
        arguments: [
            (179.999, "GET", false), (180, "GET", true), (180, "HEAD", true), (299.999, "GET", true),
        ] as [(Double, Substring, Bool)]
    )
    func `a renewal is due in its window`(seconds: Double, method: Substring, isDue: Bool) throws {
        let verifier = try CATSample.verifier()
        let (token, _) = try Self.grant(for: try Self.claims(), by: verifier)
        let facts = try CATSample.facts(method: method)
        guard case .allowed(let obligations) = verifier.check(token, for: facts, at: CATSample.time(seconds)) else {
            Issue.record("refused")
            return
        }
        #expect(obligations.isRenewalDue == isDue)
    }

    @Test func `renewals end with the session`() throws {
        let verifier = try CATSample.verifier()
        let issuer = try CATIssuer(key: CATSample.key())
        var (token, grant) = try Self.grant(for: try Self.claims(sessionEnd: 1000), by: verifier)
        var ends: [Timestamp?] = []
        var now = 200.0
        while let renewed = try? issuer.renew(grant, at: CATSample.time(now)) {
            ends.append(renewed.expires)
            token = renewed.token
            guard case .authentic(let next) = verifier.authenticate(token.utf8.span, at: CATSample.time(now)) else {
                break
            }
            #expect(next.sessionID == grant.sessionID)
            #expect(next.identifier != grant.identifier)
            grant = next
            now += 200
        }
        #expect(ends == [500, 700, 900, 1000].map { CATSample.time($0) })
        #expect(verifier.check(token, for: try CATSample.facts(), at: CATSample.time(999.999)).isAllowed)
        let refusal = verifier.check(token, for: try CATSample.facts(), at: CATSample.time(1000)).refusal
        #expect(refusal == GrantRefusal(.sessionEnded, detail: .claim(.sessionEnd)))
    }

    @Test func `nothing expired is renewed, and no token without a session`() throws {
        let verifier = try CATSample.verifier()
        let issuer = try CATIssuer(key: CATSample.key())
        let (_, grant) = try Self.grant(for: try Self.claims(), by: verifier)
        #expect(throws: CATIssueError.notRenewable) { try issuer.renew(grant, at: CATSample.time(300)) }
        let (_, free) = try Self.grant(for: CATSample.claims, by: verifier)
        #expect(throws: CATIssueError.notRenewable) { try issuer.renew(free, at: CATSample.time(200)) }
    }

    @Test func `what opens more than was meant is not issued`() throws {
        let issuer = try CATIssuer(key: CATSample.key())
        for path in ["/live", "", "live/", "/a b/", "/a//b/", "/%61/", "/x;y/"] {
            var claims = CATSample.claims
            claims.uri = [.init(.path, match: .prefix(path))]
            #expect(throws: CATIssueError.scope, "\(path)") { try issuer.issue(claims) }
        }
        for (address, length) in [("203.0.113.9", 25), ("203.0.113.9", 33), ("2001:db8::1", 57), ("2001:db8::1", -1)] {
            var claims = CATSample.claims
            claims.networks = [.prefix(try #require(IPAddress(address)), length: length)]
            #expect(throws: CATIssueError.precision, "\(address)/\(length)") { try issuer.issue(claims) }
        }
        var claims = try Self.claims(sessionEnd: 100)
        #expect(throws: CATIssueError.claims) { try issuer.issue(claims) }
        claims = CATSample.claims
        claims.issuer = "other"
        #expect(throws: CATIssueError.issuer) { try issuer.issue(claims) }
    }

    @Test func `one use is an obligation with the token's identity`() throws {
        var claims = CATSample.claims
        claims.replay = 1
        var policy = CATPolicy()
        policy.hasReplayStore = true
        let verifier = try CATSample.verifier(policy: policy)
        let (token, grant) = try Self.grant(for: claims, by: verifier)
        guard case .allowed(let one) = verifier.check(token, for: try CATSample.facts(), at: CATSample.time(0)) else {
            Issue.record("refused")
            return
        }
        #expect(one.use?.until == CATSample.time(300))
        #expect(one.use?.isWatched == false)
        let bytes = [0, 8] + [UInt8]("playgate".utf8) + CATSample.identifier
        #expect(one.use?.key.bytes == SHA256.digest(bytes))
        #expect(grant.identity == one.use?.key)
        claims.identifier[0] ^= 1
        let (other, _) = try Self.grant(for: claims, by: verifier)
        guard case .allowed(let two) = verifier.check(other, for: try CATSample.facts(), at: CATSample.time(0)) else {
            Issue.record("refused")
            return
        }
        #expect(one.use?.key != two.use?.key)
    }

    @Test func `a chance of rejection is an obligation`() throws {
        var policy = CATPolicy()
        policy.hasRejectionList = true
        let verifier = try CATSample.verifier(policy: policy)
        let token = try CATSample.token(adding: "a119013583fb3f847ae147ae147b44677270311a72bd3950")
        guard case .allowed(let obligations) = verifier.check(token, for: try CATSample.facts(), at: CATSample.time(0))
        else {
            Issue.record("refused")
            return
        }
        #expect(obligations.rejection?.probability == 0.01)
        #expect(obligations.rejection?.id == [UInt8]("grp1".utf8))
        #expect(obligations.rejection?.until == Timestamp(secondsSince1970: 1_925_003_600))
    }

    @Test(
        arguments: [
            (
                "a1190142a10482190133a1684c6f636174696f6e781b68747470733a2f2f6c6f67696e2e6578616d706c652f72656e6577",
                307, true
            ),
            ("a1190142a104811901 91", 401, false), ("a1190142a104 8118c8", nil, false),
            ("a1190142a1190138811901 91", nil, false),
            ("a1190142a10482190133a1684c6f636174696f6e63610d62", nil, false),
            ("a1190142a10482190133a1684c6f636174696f6e8261 61a0", 307, false),
        ] as [(String, Int?, Bool)]
    )
    func `an answer to an expired token is that of the token`(claim: String, status: Int?, hasLocation: Bool) throws {
        let verifier = try CATSample.verifier()
        let token = try CATSample.token(adding: claim)
        guard case .authentic(let grant) = verifier.authenticate(token.utf8.span, at: CATSample.time(0)) else {
            Issue.record("refused")
            return
        }
        let refusal = verifier.judge(
            grant,
            presentedAs: token.utf8.span,
            for: try CATSample.facts(),
            at: CATSample.time(300)
        )
        .refusal
        let answer = grant.response(to: try #require(refusal))
        #expect(answer?.status == status)
        #expect(answer?.location == (hasLocation ? "https://login.example/renew" : nil))
    }

    @Test func `an explanation names each claim and its outcome`() throws {
        let verifier = try CATSample.verifier()
        let token = try CATSample.token(adding: "a119270f01")
        var facts = try CATSample.facts("/vod/x.m4s")
        facts.method = nil
        let explained = verifier.explain(token.utf8.span, for: facts, at: CATSample.time(0))
        #expect(explained.verdict.refusal == GrantRefusal(.contextMissing, detail: .fact(.method, for: .methods)))
        let outcomes = explained.claims.map { "\($0.name) \($0.outcome.rawValue)" }
        #expect(
            outcomes == [
                "iss pass", "exp pass", "nbf pass", "iat ignored", "cti ignored", "catv pass", "catu fail",
                "catm not_evaluated", "catr not_evaluated", "9999 ignored",
            ]
        )
        #expect(explained.claims[6].value == #"{1: {0: "cdn.example"}, 3: {1: "/live/tnt/"}}"#)
        #expect(explained.claims[6].refusal == GrantRefusal(.uriMismatch, detail: .claim(.uri)))
        // Nothing is told of a token that is not authentic.
        let forged = String(CATSample.e1.dropLast(2)) + "AA"
        #expect(verifier.explain(forged.utf8.span, for: facts, at: CATSample.time(0)).claims.isEmpty)
    }

    @Test func `an unverified token says the same of itself, whoever made it`() throws {
        let facts = try CATSample.facts("/vod/x.m4s")
        let verified = try CATSample.verifier().explain(CATSample.e1.utf8.span, for: facts, at: CATSample.time(0))
        let forged = String(CATSample.e1.dropLast(2)) + "AA"
        for token in [CATSample.e1, forged] {
            let read = try UnverifiedCAT(token.utf8.span)
            #expect(read.issuer == "playgate" && read.keyID == KeyID("pg-2026-11") && read.algorithm == .hs256)
            let explained = read.explain(
                presentedAs: token.utf8.span,
                for: facts,
                under: CATPolicy(),
                at: CATSample.time(0)
            )
            #expect(explained.claims.map(\.outcome) == verified.claims.map(\.outcome))
            #expect(explained.refusal == GrantRefusal(.uriMismatch, detail: .claim(.uri)))
        }
        let nameless = try UnverifiedCAT(CATSample.token(payload: [0xA0]).utf8.span)
        let refusal = nameless.explain(presentedAs: "".utf8.span, for: facts, under: CATPolicy(), at: CATSample.time(0))
            .refusal
        #expect(nameless.issuer == nil && refusal == GrantRefusal(.issuerRefused, detail: .claim(.issuer)))
        for (token, code) in [
            ("", GrantCode.malformed), ("x", .malformed), (String(repeating: "A", count: 5465), .tooLarge),
        ] {
            #expect(throws: UnverifiedTokenError(code: code)) { try UnverifiedCAT(token.utf8.span) }
        }
    }
}
