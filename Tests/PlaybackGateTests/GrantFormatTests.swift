// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Cryptography
import EdgeTokens
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import Platform
import RequestTargets
import Testing
import URISigning
import VendorTokens

@testable import PlaybackGate
@testable import ReplayStores

/// A gate whose playbacks have a grant for each of several networks: one that asks the gate, one that checks signed URIs, and
/// vendors' networks.
private struct NetworksSample {
    let gate: Gate
    let authority: GrantService
    let store = MemoryReplayStore(capacity: 100)
    let profiles: [GrantProfile]

    static let time = GateSample.time

    static func key(of issuer: String, format: TokenFormat) throws -> TokenKey {
        try TokenKey(
            secret: [UInt8](0...31),
            id: KeyID("pg-2026-11"),
            binding: KeyBinding(issuer: issuer, format: format)
        )
    }

    private static func profile(
        _ name: String,
        format: GrantFormat,
        change: (inout GrantProfile.Rules) -> Void = { _ in }
    ) -> GrantProfile {
        var rules = GrantProfile.Rules()
        rules.host = "cdn.example"
        if case .vendor = format { rules.renewal = nil }
        change(&rules)
        return GrantProfile(name, format: format, issuer: "playgate", keyID: "pg-2026-11", rules: rules)
    }

    init() async throws {
        let akamai = try VendorFormat.edgeAuth.issuer(
            with: .secret(SigningSecret(bytes: [UInt8](0...31))),
            settings: ["name": "hdnts"]
        )
        let signing = try Self.key(of: "playgate", format: .uriSigning)
        profiles = [
            Self.profile("live", format: .cat), Self.profile("cdni", format: .uriSigning),
            Self.profile("akamai", format: .vendor(.edgeAuth)) { $0.host = "akamai.example" },
        ]
        let cat = try Self.key(of: "playgate", format: .cat)
        let subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        authority = GrantService(
            verifier: CATVerifier(
                keys: try KeySet([cat]),
                issuers: [AcceptedIssuer("playgate")],
                policy: CATPolicy()
            ),
            signedURIs: URISigningVerifier(
                keys: try KeySet([signing]),
                issuers: [AcceptedSigner("playgate")],
                policy: URISigningPolicy()
            ),
            signers: [GrantService.Signer(try CATIssuer(key: cat))],
            formats: [
                "cdni": .uriSigning([GrantService.Signer(try URISigningIssuer(key: signing))]),
                "akamai": .vendor(akamai),
            ],
            subjectKey: subjectKey,
            revocationCache: RevocationCache { subjectKey.tag(storeKey: $0.bytes) }
        )
        var catalogue = Catalogue()
        let tnt = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        let terms = Catalogue.Entry.GrantTerms(profiles)
        let uses: [(String, Catalogue.Entry.Use)] = [
            ("/live/tnt/master.m3u8", .once), ("/live/tnt/", .grant), ("/live/~tnt/master.m3u8", .once),
        ]
        for (path, use) in uses {
            let key = Catalogue.Entry.Key.path(try PathPattern(path))
            try catalogue.add(Catalogue.Entry(key: key, protection: tnt, use: use, grants: terms))
        }
        let only = Catalogue.Entry.GrantTerms([profiles[0]])
        let other = Catalogue.Entry.Key.path(try PathPattern("/cat/"))
        try catalogue.add(Catalogue.Entry(key: other, protection: tnt, use: .grant, grants: only))
        gate = Gate(catalogue: catalogue, verifier: try GateSample.verifier(), store: store, grants: authority)
        try await authority.revocationCache.refresh(from: store, at: Self.time, clock: { .now + .seconds(3600) })
    }

    func start(_ path: String = "/live/tnt/master.m3u8") async throws -> [IssuedGrant] {
        let request = PlaybackRequest(.path(path), token: try GateSample.token())
        return await gate.decide(request, at: Self.time).issued
    }

    func ask(for path: String, with grant: String, after seconds: Int64 = 0) async throws -> Decision {
        let request = PlaybackRequest(.path(path), token: nil)
        let uri = try #require(RequestURI(path[...], scheme: .https, authority: "cdn.example"))
        let presentedGrants = PresentedGrants(RequestFacts(uri: uri, method: "GET"), first: grant[...])
        let match = gate.catalogue.find(request.target)
        switch gate.begin(request, finding: match, grants: presentedGrants, at: Self.time.adding(seconds: seconds)) {
        case .decided(let decision): return decision
        case .pending(let use): return await gate.complete(use)
        }
    }
}

@Suite struct `Grants of several networks` {
    private static let segment = "/live/tnt/seg-1.m4s"

    @Test func `are issued for one playback, each in the format of its network`() async throws {
        let sample = try await NetworksSample()
        let grants = try await sample.start()
        #expect(grants.map(\.profile.name) == ["live", "cdni", "akamai"])
        #expect(Set(grants.map(\.session.id)).count == 1)
        #expect(grants.map(\.expires) == Array(repeating: NetworksSample.time.adding(seconds: 300), count: 3))
        let akamai = try #require(grants.last)
        let seconds = NetworksSample.time.millisecondsSince1970 / 1000 + 300
        #expect(akamai.token.hasPrefix("exp=\(seconds)~acl=/live/tnt/*~id=\(akamai.session.id.hexadecimal)~hmac="))
        #expect(akamai.url == "https://akamai.example/hdnts=\(akamai.token)/live/tnt/master.m3u8")
        #expect(akamai.query == "hdnts=\(akamai.token)" && akamai.segment == nil && akamai.renewAfter == nil)
        #expect(
            akamai.setCookies(at: NetworksSample.time)
                == ["hdnts=\(akamai.token); Path=/live/tnt/; Max-Age=300; Secure; HttpOnly; SameSite=None"]
        )
        let verifier = try #require(
            try VendorFormat.edgeAuth.verifier(
                with: .secret(SigningSecret(bytes: [UInt8](0...31))),
                settings: ["name": "hdnts"]
            )
        )
        let request = SignedRequest(path: Self.segment)
        #expect(verifier.verify(akamai.token, for: request, at: NetworksSample.time).code == nil)
    }

    @Test func `are left out if the format would have to escape a delimiter in the path`() async throws {
        let sample = try await NetworksSample()
        let grants = try await sample.start("/live/~tnt/master.m3u8")
        #expect(grants.map(\.profile.name) == ["live", "cdni"])
    }

    @Test func `are carried by a signed URI in a folder's parameter, which relative references retain`() async throws {
        let sample = try await NetworksSample()
        let grant = try #require(try await sample.start().dropFirst().first)
        #expect(grant.url == "https://cdn.example/live/tnt;URISigningPackage=\(grant.token)/master.m3u8")
        let cut = PackageAttribute.standard.cut((grant.path ?? "")[...])
        #expect(cut.target == "/live/tnt/master.m3u8" && cut.packages == [grant.token[...]])
        #expect(grant.query == "URISigningPackage=\(grant.token)")
    }

    @Test func `are checked here if they are signed URIs, as Common Access Tokens are`() async throws {
        let sample = try await NetworksSample()
        let grant = try #require(try await sample.start().dropFirst().first)
        #expect(try await sample.ask(for: Self.segment, with: grant.token).outcome == "granted")
        // Again, from the cache.
        #expect(try await sample.ask(for: Self.segment, with: grant.token).outcome == "granted")
        #expect(try await sample.ask(for: Self.segment, with: grant.token, after: 300).outcome == "grant_expired")
        #expect(try await sample.ask(for: Self.segment, with: grant.token + "A").outcome == "grant_malformed")
        // An entry without a profile for signed URIs takes none, though the issuer is the same.
        #expect(try await sample.ask(for: "/cat/a.m4s", with: grant.token).outcome == "grant_issuer_refused")
        let forged = String(grant.token.dropLast(4)) + "AAAA"
        #expect(try await sample.ask(for: Self.segment, with: forged).outcome == "grant_signature_invalid")
        #expect(try await sample.ask(for: "/live/tbs/a.m4s", with: grant.token).outcome != "granted")
    }

    @Test func `are renewed if they are signed URIs, up to the end of the session`() async throws {
        let sample = try await NetworksSample()
        let grant = try #require(try await sample.start().dropFirst().first)
        let decision = try await sample.ask(for: Self.segment, with: grant.token, after: 200)
        #expect(decision.outcome == "renewed")
        let renewed = try #require(decision.issued.first)
        #expect(renewed.token != grant.token && renewed.session.id == grant.session.id)
        #expect(renewed.expires == NetworksSample.time.adding(seconds: 500))
        let cookie = "URISigningPackage=\(renewed.token); Path=/live/tnt/; Max-Age=300; "
        #expect(renewed.setCookies(at: NetworksSample.time.adding(seconds: 200)).first?.hasPrefix(cookie) ?? false)
        // Parallel segments get the same one.
        let other = try await sample.ask(for: "/live/tnt/seg-2.m4s", with: grant.token, after: 200)
        #expect(other.issued.map(\.token) == [renewed.token])
        #expect(try await sample.ask(for: Self.segment, with: renewed.token, after: 400).outcome != "grant_expired")
    }

    @Test func `differ by their issuers if those have the same key`() async throws {
        let sample = try await NetworksSample()
        let grant = try #require(try await sample.start().first)
        #expect(try await sample.ask(for: "/cat/a.m4s", with: grant.token).outcome == "grant_uri_mismatch")
        let second = try NetworksSample.key(of: "second", format: .cat)
        var claims = CATClaims()
        claims.expires = NetworksSample.time.adding(seconds: 300)
        claims.uri = [.init(.path, match: .prefix("/"))]
        let token = try CATIssuer(key: second).issue(claims).token
        let facts = RequestFacts(
            uri: try #require(RequestURI("/a", scheme: .https, authority: "cdn.example")),
            method: "GET"
        )
        for order in [["playgate", "second"], ["second", "playgate"]] {
            let verifier = CATVerifier(
                keys: try KeySet(order.map { try NetworksSample.key(of: $0, format: .cat) }),
                issuers: order.map { AcceptedIssuer($0) },
                policy: CATPolicy()
            )
            #expect(verifier.verify(token.utf8.span, for: facts, at: NetworksSample.time).isAllowed, "\(order)")
            guard case .authentic(let found) = verifier.authenticate(token.utf8.span, at: NetworksSample.time) else {
                Issue.record("not authentic")
                continue
            }
            #expect(found.issuer.name == "second")
        }
        let signing = try NetworksSample.key(of: "second", format: .uriSigning)
        var signed = URISigningClaims(.scope(.init(host: "cdn.example", path: "/")))
        signed.expires = claims.expires
        let package = try URISigningIssuer(key: signing).issue(signed).token
        let verifier = URISigningVerifier(
            keys: try KeySet([try NetworksSample.key(of: "playgate", format: .uriSigning), signing]),
            issuers: [AcceptedSigner("playgate"), AcceptedSigner("second")],
            policy: URISigningPolicy()
        )
        #expect(verifier.verify(package.utf8.span, for: facts, at: NetworksSample.time).isAllowed)
    }

    @Test func `end by a revocation if they are signed URIs`() async throws {
        let sample = try await NetworksSample()
        let grant = try #require(try await sample.start().dropFirst().first)
        let end = NetworksSample.time.adding(seconds: 3600)
        sample.authority.revocationCache.add(
            Revocation(.playback(grant.session.id), expires: end),
            at: NetworksSample.time
        )
        #expect(try await sample.ask(for: Self.segment, with: grant.token).outcome == "grant_revoked")
    }
}
