// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import Platform
import RequestTargets
import Testing

@testable import PlaybackGate
@testable import ReplayStores

/// A gate with grants, as docs/how-to/play-a-whole-stream.md configures it: the master playlist starts a playback, and everything below its
/// folder needs the grant.
struct GrantingSample {
    let gate: Gate
    let store = MemoryReplayStore(capacity: 100)
    let authority: GrantService
    let profile: GrantProfile

    static let time = GateSample.time
    static let secret = [UInt8](0...31)

    init(
        _ rules: GrantProfile.Rules = rules(),
        gateRules: Gate.Rules = Gate.Rules(),
        isFresh: Bool = true,
        hasRejectionList: Bool = false,
        gateStore: (any ReplayStore)? = nil
    ) async throws {
        profile = GrantProfile("live", issuer: "playgate", keyID: "pg-2026-11", rules: rules)
        let keys = try ["playgate", "other"].map { issuer in
            try TokenKey(
                secret: Self.secret,
                id: KeyID("pg-2026-11"),
                binding: KeyBinding(issuer: issuer, format: .cat)
            )
        }
        var policy = CATPolicy()
        policy.hasReplayStore = true
        policy.hasRejectionList = hasRejectionList
        let subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        authority = GrantService(
            verifier: CATVerifier(
                keys: try KeySet(keys),
                issuers: [AcceptedIssuer("playgate"), AcceptedIssuer("other")],
                policy: policy
            ),
            signers: try keys.map { GrantService.Signer(try CATIssuer(key: $0)) },
            subjectKey: subjectKey,
            revocationCache: RevocationCache { subjectKey.tag(storeKey: $0.bytes) }
        )
        gate = Gate(
            catalogue: try Self.catalogue(profile),
            verifier: try GateSample.verifier(),
            store: gateStore ?? store,
            rules: gateRules,
            grants: authority
        )
        if isFresh { try await refresh() }
    }

    /// The rules of the page's profile.
    static func rules(streams: Int? = nil) -> GrantProfile.Rules {
        var rules = GrantProfile.Rules()
        rules.host = "cdn.example"
        rules.streamLimit = streams
        rules.deliveries = [.cookie, .segment]
        return rules
    }

    private static func catalogue(_ profile: GrantProfile) throws -> Catalogue {
        var catalogue = Catalogue()
        let tnt = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        let terms = Catalogue.Entry.GrantTerms([profile])
        let media = Catalogue.Entry.GrantTerms([profile], scope: "/live/tnt/", manifest: "/live/tnt/master.m3u8")
        for (key, use, grants) in [
            (.path(try PathPattern("/live/tnt/master.m3u8")), .once, terms),
            (.path(try PathPattern("/live/tnt/")), .grant, terms),
            (.path(try PathPattern("/live/tbs/")), .grant, terms),
            (.path(try PathPattern("/vod/*/master.m3u8")), .once, terms), (.media("tnt-live"), .once, media),
            (.path(try PathPattern("/plain/")), .once, nil),
        ] as [(Catalogue.Entry.Key, Catalogue.Entry.Use, Catalogue.Entry.GrantTerms?)] {
            try catalogue.add(Catalogue.Entry(key: key, protection: tnt, use: use, grants: grants))
        }
        return catalogue
    }

    /// Reads the revocations of the store, as the service does every other second.
    ///
    /// It counts as read in an hour, so that no slow machine makes it old.
    func refresh() async throws {
        try await authority.revocationCache.refresh(from: store, at: Self.time, clock: { .now + .seconds(3600) })
    }

    /// Asks as an edge does.
    func ask(
        _ path: String,
        grants: [String] = [],
        token: String? = nil,
        playbackID: String? = nil,
        method: PlaybackRequest.Method = .get,
        host: String = "cdn.example",
        after seconds: Int64 = 0
    ) async throws -> Decision {
        var request = PlaybackRequest(.path(path), token: token, playbackID: playbackID)
        request.method = method
        var presentedGrants: PresentedGrants?
        if !grants.isEmpty {
            let uri = try #require(RequestURI(path[...], scheme: .https, authority: host[...]))
            let facts = RequestFacts(uri: uri, method: method.rawValue[...])
            let others = grants.dropFirst().map { $0[...] }
            presentedGrants = PresentedGrants(facts, first: grants[0][...], others: others)
        }
        let now = Self.time.adding(seconds: seconds)
        switch gate.begin(request, finding: gate.catalogue.find(request.target), grants: presentedGrants, at: now) {
        case .decided(let decision): return decision
        case .pending(let use): return await gate.complete(use)
        }
    }

    /// Renews a grant as a backend does.
    func renew(_ grant: IssuedGrant, after seconds: Int64) -> GrantService.BackendOutcome {
        authority.renew(
            grant.token,
            of: gate.playbacks,
            allowsUnknown: false,
            at: Self.time.adding(seconds: seconds)
        ).0
    }

    /// Exchanges a grant as a backend does.
    func exchange(_ grant: IssuedGrant, for target: PlaybackRequest.Target) throws -> GrantService.BackendOutcome {
        guard case .entry(let entry) = gate.catalogue.find(target) else { throw UnknownTarget() }
        return authority.exchange(
            grant.token,
            of: entry,
            target: target,
            for: profile,
            allowsUnknown: false,
            at: Self.time
        )
    }

    private struct UnknownTarget: Error {}

    /// Starts a playback at the edge. Returns its grant.
    func start(
        session: String = "viewer-1",
        mvpd: String = "SandboxMVPD",
        after seconds: Int64 = 0
    ) async throws -> IssuedGrant {
        let claims = GateSample.claims(mvpd: mvpd, session: session)
        let token = try GateSample.token(claims, at: Self.time.adding(seconds: seconds))
        let decision = try await ask("/live/tnt/master.m3u8", token: token, after: seconds)
        return try #require(decision.issued.first, "\(decision.outcome)")
    }
}

extension Decision {
    /// The code of a refusal, or the reason of an allowance.
    var outcome: String {
        switch self {
        case .allow(let allowance): allowance.reason.name
        case .refuse(let refusal): refusal.code.rawValue
        }
    }

    /// The new grants of an allowance.
    var issued: [IssuedGrant] {
        if case .allow(let allowance) = self { allowance.access?.issued ?? [] } else { [] }
    }
}
