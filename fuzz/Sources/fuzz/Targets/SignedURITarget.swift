// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Keys

@testable import EdgeTokens
@testable import RequestTargets
@testable import URISigning

/// What a signed URI is checked with: a key of the run, a policy and the facts of one request.
private struct SignedFixture: Sendable {
    let issuer: URISigningIssuer
    let verifier: URISigningVerifier
    let facts: RequestFacts
    static let now = Timestamp(secondsSince1970: 1_925_000_350)

    init() {
        var policy = URISigningPolicy()
        (policy.audience, policy.hasReplayStore) = (["edge"], true)
        let binding = KeyBinding(issuer: "playgate", format: .uriSigning)
        guard let key = try? TokenKey.generate(.hs256, id: KeyID("k"), binding: binding).key,
            let issuer = try? URISigningIssuer(key: key), let keys = try? KeySet([key]),
            let encryption = try? EncryptionKey(secret: [UInt8](0..<16), id: nil, algorithm: .a128kw),
            let uri = RequestURI("/live/tnt/a.m4s?x=1", scheme: .https, authority: "cdn.example")
        else { fatalError("no key") }
        policy.decryptionKeys = [encryption]
        self.issuer = issuer
        verifier = URISigningVerifier(keys: keys, issuers: [AcceptedSigner("playgate")], policy: policy)
        facts = RequestFacts(uri: uri, method: "GET", clientAddress: IPAddress("203.0.113.9"))
    }
}

extension Target {
    private static let fixture = SignedFixture()

    /// Signed URIs: the input as a target with packages, as a token, and as the claims of a signed token.
    static let urisigning = Target(name: "urisigning") { input in
        let (verifier, facts, now, bytes) = (fixture.verifier, fixture.facts, SignedFixture.now, input.bytes)
        demand(!verifier.verify(bytes.span, for: facts, at: now).isAllowed, or: "an unsigned token is accepted")
        demand(
            JWE(bytes.span)?.decrypted(by: verifier.policy.decryptionKeys) == nil,
            or: "decrypted what nobody encrypted"
        )
        if let text = input.text { cut("/\(text)") }
        guard bytes.count <= 4096, let text = input.text, let token = try? fixture.issuer.sign(text) else { return }
        let presented = Array(token.utf8)
        let verdict = verifier.verify(presented.span, for: facts, at: now)
        demand(verifier.explain(presented.span, for: facts, at: now).verdict == verdict, or: "explained otherwise")
        guard case .authentic(let grant) = verifier.authenticate(presented.span, at: now) else {
            return demand(!verdict.isAllowed, or: "allowed without being authentic")
        }
        demand(verifier.judge(grant, for: facts, at: now) == verdict, or: "judged otherwise from the cache")
        guard verdict.isAllowed else { return }
        guard let end = grant.expires else { return demand(false, or: "allowed without an end") }
        demand(now < end, or: "allowed after its end")
        guard let renewed = try? fixture.issuer.renew(grant, at: now) else { return }
        let again = Array(renewed.token.utf8)
        demand(verifier.verify(again.span, for: facts, at: now).isAllowed, or: "not allowed once it is renewed")
        guard let limit = grant.sessionEnd else { return demand(false, or: "no limit") }
        demand(renewed.expires <= limit, or: "renewed beyond the session")
    }

    private static func cut(_ target: String) {
        let cut = PackageAttribute.standard.cut(target[...])
        demand(cut.target.utf8.first == UInt8(ascii: "/"), or: "no path is left of \(target.debugDescription)")
        let again = PackageAttribute.standard.cut(cut.target)
        demand(
            again.packages.isEmpty && again.target == cut.target,
            or: "a package is left in \(cut.target.debugDescription)"
        )
    }
}
