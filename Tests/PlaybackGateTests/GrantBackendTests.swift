// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import Platform
import Testing

@testable import PlaybackGate
@testable import ReplayStores

@Suite struct `A backend with a grant` {
    private static let now = GateSample.time
    private let authority: GrantService
    private let profile = GrantProfile("live", issuer: "playgate", keyID: "k1")
    private let entry: Catalogue.Entry

    init() throws {
        let binding = KeyBinding(issuer: "playgate", format: .cat, rsaAlgorithm: nil)
        let bytes = [UInt8](repeating: 7, count: 32)
        let key = try TokenKey(secret: bytes, id: KeyID("k1"), algorithm: .hs256, binding: binding, validity: nil)
        let issuers = [AcceptedIssuer("playgate")]
        authority = GrantService(
            verifier: CATVerifier(keys: try KeySet([key]), issuers: issuers, policy: CATPolicy()),
            signers: [GrantService.Signer(try CATIssuer(key: key))],
            subjectKey: try SubjectKey(bytes),
            revocationCache: RevocationCache(tag: GrantStoreModel.tag)
        )
        entry = Catalogue.Entry(
            key: .path(try PathPattern("/film/")),
            protection: .resource(try MediaResource("TNT"), requestor: "REF30"),
            grants: Catalogue.Entry.GrantTerms([profile])
        )
    }

    private func grant() throws -> String {
        let token = try GateSample.content(GateSample.claims(), at: Self.now)
        let issued = authority.issue(
            for: entry,
            session: { authority.session(of: token, playbackID: nil, under: $0, isLimited: false, at: Self.now) },
            path: nil,
            player: nil,
            at: Self.now
        )
        return try #require(issued.first).token
    }

    /// A cache that was never read knows of no revocation: that must not look like a grant that was revoked.
    @Test func `is reported if revocations are not known, unless that is allowed`() throws {
        var catalogue = Catalogue()
        try catalogue.add(entry)
        let playbacks = PlaybackIndex(catalogue, key: authority.subjectKey)
        let (token, target) = (try grant(), PlaybackRequest.Target.path("/film/a.m3u8"))
        for allows in [false, true] {
            let (renewal, _) = authority.renew(token, of: playbacks, allowsUnknown: allows, at: Self.now)
            let exchange = authority.exchange(
                token,
                of: entry,
                target: target,
                for: profile,
                allowsUnknown: allows,
                at: Self.now
            )
            switch (renewal, exchange) {
            case (.unknown, .unknown): #expect(!allows)
            case (.notDue, .issued): #expect(allows)
            default: Issue.record("\(renewal) \(exchange)")
            }
        }
    }
}
