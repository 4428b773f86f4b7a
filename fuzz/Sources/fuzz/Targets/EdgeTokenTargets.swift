// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Keys

@testable import CommonAccessTokens
@testable import EdgeTokens
@testable import PlaybackGate
@testable import RequestTargets

/// What a Common Access Token is checked with: keys of the run, a policy and the facts of one request.
private struct CATFixture: Sendable {
    let issuer: CATIssuer
    let verifier: CATVerifier
    let facts: RequestFacts
    let others: RequestFacts
    static let now = Timestamp(secondsSince1970: 1_925_000_350)

    init() {
        var policy = CATPolicy()
        policy.audience = ["edge"]
        (policy.hasReplayStore, policy.hasReuseDetector, policy.hasRejectionList) = (true, true, true)
        var accepted = AcceptedIssuer("playgate")
        (accepted.labels.or, accepted.labels.nor, accepted.labels.and, accepted.labels.critical) = (330, 331, 332, 333)
        guard
            let key = try? TokenKey.generate(
                .hs256,
                id: KeyID("k"),
                binding: KeyBinding(issuer: "playgate", format: .cat)
            ).key,
            let issuer = try? CATIssuer(key: key), let keys = try? KeySet([key]),
            let uri = RequestURI("/live/tnt/a.m4s?x=1", scheme: .https, authority: "cdn.example"),
            let other = RequestURI("/vod/b.m4s", scheme: .http, authority: "other.example:8080")
        else { fatalError("no key") }
        self.issuer = issuer
        verifier = CATVerifier(keys: keys, issuers: [accepted], policy: policy)
        var facts = RequestFacts(uri: uri, method: "GET", clientAddress: IPAddress("203.0.113.9"))
        facts.headers = ["User-Agent": "Player/1"] as HeaderList
        facts.alpn = .value([0x68, 0x32])
        facts.clientASN = 64500
        facts.countries = ["US"]
        facts.position = Position(latitude: 37.7749, longitude: -122.4194)
        self.facts = facts
        others = RequestFacts(uri: other, method: "HEAD")
    }
}

extension Target {
    private static let fixture = CATFixture()

    /// Common Access Tokens: the input as a token, and as the payload of a signed one.
    static let cat = Target(name: "cat") { input in
        let (verifier, now, bytes) = (fixture.verifier, CATFixture.now, input.bytes)
        demand(!verifier.verify(bytes.span, for: fixture.facts, at: now).isAllowed, or: "an unsigned token is accepted")
        guard bytes.count <= 3500, let token = try? fixture.issuer.sign(bytes) else { return }
        let text = Array(token.utf8)
        for facts in [fixture.facts, fixture.others] {
            let verdict = verifier.verify(text.span, for: facts, at: now)
            demand(verifier.explain(text.span, for: facts, at: now).verdict == verdict, or: "explained otherwise")
            guard case .authentic(let grant) = verifier.authenticate(text.span, at: now) else {
                demand(!verdict.isAllowed, or: "allowed without being authentic")
                continue
            }
            demand(
                verifier.judge(grant, presentedAs: text.span, for: facts, at: now) == verdict,
                or: "judged otherwise from the cache"
            )
            guard verdict.isAllowed else { continue }
            guard let end = grant.expires else { return demand(false, or: "allowed without an end") }
            demand(now < end, or: "allowed after its end")
            guard let renewed = try? fixture.issuer.renew(grant, at: now) else { continue }
            let again = Array(renewed.token.utf8)
            demand(verifier.verify(again.span, for: facts, at: now).isAllowed, or: "not allowed once it is renewed")
            guard let limit = grant.sessionEnd, let renewedEnd = renewed.expires else {
                return demand(false, or: "no limit")
            }
            demand(renewedEnd <= limit, or: "renewed beyond the session")
        }
    }

    /// Request URIs: refused as the paths of the catalogue are, and a normal form of the same path.
    static let uri = Target(name: "uri") { input in
        guard let text = input.text else { return }
        let path = try? MediaPath(text)
        guard let uri = RequestURI(text[...]) else {
            return demand(path == nil, or: "\(text.debugDescription) is a path, and no URI")
        }
        guard let path else { return demand(false, or: "\(text.debugDescription) is a URI, and no path") }
        // What a URI may not contain is encoded, which makes it longer.
        guard uri.path.utf8.count <= MediaPath.maximumSize else { return }
        demand((try? MediaPath(uri.path)) == path, or: "another path: \(uri.path)")
        let query = uri.query.map { $0.isEmpty ? "" : "?" + $0 } ?? ""
        let whole = uri.path + query
        guard whole.utf8.count <= RequestURI.maximumSize else { return }
        guard let again = RequestURI(whole) else { return demand(false, or: "\(whole) is no URI") }
        demand(again.path == uri.path && (uri.query == nil || again.query == uri.query), or: "another form of \(whole)")
    }

    /// Patterns of tokens: RE2 accepts what the reader of POSIX syntax does, and searches with it.
    static let ere = Target(name: "ere") { input in
        let (pattern, text) = (Array(input.bytes.prefix(48)), Array(input.bytes.dropFirst(48)))
        let translated = try? ExtendedPattern.translate(pattern.span)
        guard let compiled = try? Pattern(pattern.span) else {
            return demand(translated == nil || pattern.contains(UInt8(ascii: "{")), or: "RE2 refuses \(pattern)")
        }
        demand(translated != nil, or: "not read, and compiled")
        _ = compiled.isFound(in: text.span)
    }
}
