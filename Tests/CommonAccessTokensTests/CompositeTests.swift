// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Keys
import Testing

@testable import CommonAccessTokens
@testable import EdgeTokens

/// Claims that hold sets of claims, and labels that only an issuer's profile gives a meaning.
@Suite struct `Composites and labels` {
    /// The paths `/a` and `/b` as sets of claims, one that needs an unknown fact, and one that is not supported.
    static let a = "a1190138a103a100622f61"
    static let b = "a1190138a103a100622f62"
    static let located = "a119013c81625553"
    static let unsupported = "a119013e820102"
    static let expired = "a10400"
    /// The query `a`.
    static let query = "a1190138a104a1006161"

    static func labels() -> CATLabels {
        var labels = CATLabels()
        (labels.or, labels.nor, labels.and, labels.critical) = (330, 331, 332, 333)
        return labels
    }

    static func check(
        _ claim: String,
        path: String,
        labels: CATLabels = labels(),
        isOwn: Bool = true
    ) throws -> GrantRefusal? {
        var issuer = AcceptedIssuer("playgate")
        (issuer.labels, issuer.isOwn) = (labels, isOwn)
        var claims = CATClaims()
        claims.issuer = "playgate"
        claims.expires = CATSample.time(300)
        var payload = try #require(claims.payload())
        payload[0] += 1
        let token = try CATSample.token(payload: payload + CATSample.bytes(claim).dropFirst())
        return try CATSample.verifier(issuer: issuer).check(token, for: CATSample.facts(path), at: CATSample.time(0))
            .refusal
    }

    static func composite(_ label: String, of sets: String...) -> String {
        "a119014" + label + "8" + String(sets.count) + sets.joined()
    }

    @Test(
        arguments: [
            // or: 330 is 0x14a; nor: 331; and: 332; the path, and the code.
            (composite("a", of: a, b), "/a", nil), (composite("a", of: a, b), "/b", nil),
            (composite("a", of: a, b), "/c", .uriMismatch),
            (composite("a", of: located, b), "/b", nil), (composite("a", of: located, b), "/c", .contextMissing),
            (composite("a", of: expired), "/a", .expired),
            (composite("a", of: unsupported, a), "/a", .claimUnsupported),
            (composite("b", of: a, b), "/c", nil), (composite("b", of: a, b), "/a", .uriMismatch),
            (composite("b", of: located), "/c", .contextMissing),
            (composite("b", of: query), "/c?x=%", .contextMissing),
            (composite("b", of: query), "/c?x=1", nil), (composite("b", of: query), "/c?a", .uriMismatch),
            (composite("b", of: expired), "/a", nil),
            (composite("c", of: a), "/a", nil), (composite("c", of: a, b), "/a", .uriMismatch),
            (composite("c", of: composite("b", of: b)), "/a", nil),
            (composite("c", of: composite("b", of: a)), "/a", .uriMismatch),
            (composite("a"), "/a", .malformed), (composite("a", of: "01"), "/a", .malformed),
            // One use, renewal and a key cannot be alternatives.
            (composite("a", of: "a119013401"), "/a", .claimUnsupported),
            (composite("a", of: "a1190143a10101"), "/a", .claimUnsupported),
            // crit: 333; the second is absent.
            ("a119014d8104", "/a", nil), ("a119014d81190138", "/a", .claimUnsupported),
            ("a119014d80", "/a", .malformed),
            ("a119014d8119270f", "/a", .claimUnsupported),
        ] as [(String, String, GrantCode?)]
    )
    func `are evaluated where the profile names them`(claim: String, path: String, code: GrantCode?) throws {
        #expect(try Self.check(claim, path: path)?.code == code)
        // Without the profile they refuse the token.
        let refusal = try Self.check(claim, path: path, labels: .registered)
        #expect(refusal?.code == .claimUnsupported || refusal?.code == .malformed && code == .malformed)
    }

    /// The label -65537 is `playgate`'s session, and means nothing in tokens of others.
    /// A set of only such claims always holds.
    @Test(arguments: ["-65537 3a00010000", "-70000 3a0001116f"], [true, false])
    func `exclude nothing by claims that are not understood`(label: String, isOwn: Bool) throws {
        let set = "a1" + label.split(separator: " ")[1] + "01"
        let refusal = try Self.check(Self.composite("b", of: set), path: "/a", isOwn: isOwn)
        #expect(refusal?.code == .claimUnsupported)
    }

    @Test func `are bounded in depth and number`() throws {
        func nested(_ depth: Int) -> String { depth == 0 ? Self.a : Self.composite("c", of: nested(depth - 1)) }
        #expect(try Self.check(nested(6), path: "/a") == nil)
        #expect(try Self.check(nested(9), path: "/a")?.code == .tooLarge)
        let many = "a119014a9841" + String(repeating: "a0", count: 65)
        #expect(try Self.check(many, path: "/a")?.code == .malformed)
        let spread = Self.composite("c", of: "a119014a9840" + String(repeating: "a0", count: 64))
        #expect(try Self.check(spread, path: "/a")?.code == .tooLarge)
    }

    @Test func `private labels are read and written by the profile`() throws {
        var labels = CATLabels()
        labels.renamed = [401: .uri, 403: .methods]
        var issuer = try CATIssuer(key: CATSample.key())
        issuer.labels = labels
        let token = try issuer.issue(CATSample.claims).token
        var accepted = AcceptedIssuer("playgate")
        accepted.labels = labels
        let verifier = try CATSample.verifier(issuer: accepted)
        #expect(verifier.check(token, for: try CATSample.facts(), at: CATSample.time(0)).isAllowed)
        let refusal = verifier.check(token, for: try CATSample.facts("/vod/a"), at: CATSample.time(0)).refusal
        #expect(refusal == GrantRefusal(.uriMismatch, detail: .claim(.uri)))
        // The same claim by both of its labels.
        let both = try CATSample.token(adding: "a1190191a103a100622f61")
        #expect(verifier.check(both, for: try CATSample.facts("/a"), at: CATSample.time(0)).refusal?.code == .malformed)
        // Others do not know what they mean.
        let stranger = try CATSample.verifier().check(token, for: CATSample.facts(), at: CATSample.time(0)).refusal
        #expect(stranger == GrantRefusal(.claimUnsupported, detail: .claim(ClaimLabel(401))))
    }

    @Test func `patterns in sets are compiled with the token`() throws {
        let claim = Self.composite("a", of: "a1190138a103a104675e2f5b61625d24")
        #expect(try Self.check(claim, path: "/b") == nil)
        #expect(try Self.check(claim, path: "/c")?.code == .uriMismatch)
    }
}
