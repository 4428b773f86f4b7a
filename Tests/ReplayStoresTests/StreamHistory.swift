// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import EdgeTokens
import GateTestSupport
import Keys
import MediaResources
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import RequestTargets

/// A random history of viewers with a limited number of playbacks, at two gates that share a store, deterministic for a seed.
///
/// Playbacks start in every way, go on by every grant that they got, are exchanged, written into manifests, left and ended. After
/// each step all playbacks of a viewer try to fetch a segment: never may more of them succeed than the limit.
struct StreamHistory {
    private let gates: [Gate]
    private let profiles: [GrantProfile]
    private let store: any ReplayStore
    private var random: SplitMix64
    private var now: Timestamp
    private var playbacks: [Playback] = []
    private var tokens = 0
    /// The number of each kind of answer.
    private(set) var answers: [String: Int] = [:]

    static let limit = 2
    private static let viewers = 2
    /// A file that a media token opens until it expires.
    private static let open = "/live/open/1.ts"

    /// A playback, as its player knows it.
    private struct Playback {
        let viewer: Int
        let session: SessionID
        /// The grants that it got, the newest last.
        var grants: [String]
        /// The media token, if it opens files until it expires.
        var token: String?
    }

    /// Creates a history.
    ///
    /// - Parameter store: The store.
    init(_ store: any ReplayStore, seed: UInt64) throws {
        self.store = store
        random = SplitMix64(seed: seed)
        now = GateSample.time
        let binding = KeyBinding(issuer: "playgate", format: .cat)
        let key = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-1"), binding: binding)
        // The first has no limit, no tags and a shorter session; all have one issuer and one key.
        var plain = GrantProfile.Rules()
        plain.isRevocable = false
        plain.session = .seconds(900)
        var limited = GrantProfile.Rules()
        limited.streamLimit = Self.limit
        var loose = limited
        loose.streamLimit = 5
        loose.life = .seconds(120)
        loose.renewal?.deadline = .seconds(60)
        profiles = [
            GrantProfile("plain", issuer: "playgate", keyID: "pg-1", rules: plain),
            GrantProfile("loose", issuer: "playgate", keyID: "pg-1", rules: loose),
            GrantProfile("limited", issuer: "playgate", keyID: "pg-1", rules: limited),
        ]
        let subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        let catalogue = try Self.catalogue(profiles)
        gates = try (0..<2).map { index in
            Gate(
                catalogue: catalogue,
                verifier: try GateSample.verifier(),
                store: store,
                // One of them lets a token start three playbacks.
                rules: Gate.Rules(maximumUses: index == 0 ? 1 : 3, storeDeadline: .seconds(20)),
                grants: GrantService(
                    verifier: CATVerifier(
                        keys: try KeySet([key]),
                        issuers: [AcceptedIssuer("playgate")],
                        policy: CATPolicy()
                    ),
                    signers: [GrantService.Signer(try CATIssuer(key: key))],
                    subjectKey: subjectKey,
                    revocationCache: RevocationCache { subjectKey.tag(storeKey: $0.bytes) }
                )
            )
        }
    }

    /// All entries are of one resource, and only some have the profile with the limit.
    private static func catalogue(_ profiles: [GrantProfile]) throws -> Catalogue {
        var catalogue = Catalogue()
        let tnt = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        let entries: [(Catalogue.Entry.Key, Catalogue.Entry.Use, [GrantProfile])] = [
            (.path(try PathPattern("/live/master.m3u8")), .once, [profiles[0], profiles[2]]),
            (.path(try PathPattern("/live/")), .grant, profiles),
            (.path(try PathPattern("/live/film.mp4")), .once, profiles),
            (.path(try PathPattern("/live/open/")), .withinTTL, [profiles[1], profiles[0]]),
            (.media("tnt"), .once, [profiles[0]]),
        ]
        for (key, use, own) in entries {
            let terms = Catalogue.Entry.GrantTerms(own, scope: "/live/", manifest: "/live/master.m3u8")
            try catalogue.add(Catalogue.Entry(key: key, protection: tnt, use: use, grants: terms))
        }
        return catalogue
    }

    /// Walks some steps. Returns the fault, if there is one.
    mutating func walk(steps: Int) async throws -> String? {
        for step in 0..<steps {
            if let fault = try await self.step() { return "step \(step): \(fault)" }
        }
        return nil
    }

    private mutating func step() async throws -> String? {
        let gate = random.pick(gates)
        try await refresh()
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<5: try await start(at: gate)
        case 5..<8: await renew(at: gate)
        case 8..<10: await exchange(at: gate)
        case 10..<13: await fetchManifest(at: gate)
        case 13, 14: await end(at: gate)
        case 15: now = now.adding(seconds: Int64.random(in: 60..<400, using: &random))
        default: now = now.adding(seconds: Int64.random(in: 0..<60, using: &random))
        }
        try await refresh()
        return await count()
    }

    /// Reads the revocations of the store, as gates do within two seconds.
    private func refresh() async throws {
        for gate in gates {
            try await gate.grants?.revocationCache.refresh(from: store, at: now, clock: { .now + .seconds(3600) })
        }
    }

    /// The time by the clock of a gate, which is a little wrong.
    private mutating func received() -> Timestamp { now.adding(seconds: Int64.random(in: -4...4, using: &random)) }

    private mutating func count(_ answer: String) { answers[answer, default: 0] += 1 }

    // MARK: Steps

    private mutating func start(at gate: Gate) async throws {
        let viewer = Int.random(in: 0..<Self.viewers, using: &random)
        tokens += 1
        let claims = GateSample.claims(session: "viewer-\(viewer)-of-2", ttl: 420_000 + Int64(tokens))
        let token = try GateSample.token(claims, at: now)
        let targets: [PlaybackRequest.Target] = [
            .path("/live/master.m3u8"), .path("/live/film.mp4"), .path(Self.open), .media("tnt"),
        ]
        let (target, id) = (random.pick(targets), random.once(in: 3) ? "p" : nil)
        for _ in 0..<(random.once(in: 4) ? 3 : 1) {
            let request = PlaybackRequest(target, token: token, playbackID: id)
            let decision = await decide(request, at: gate)
            guard let issued = decision.newGrants.first else {
                count(decision.word)
                continue
            }
            count("started")
            let tokens = decision.newGrants.map(\.token)
            if let known = playbacks.firstIndex(where: { $0.session == issued.session.id }) {
                playbacks[known].grants += tokens
            } else {
                let kept = target == .path(Self.open) && id == nil ? token : nil
                playbacks.append(Playback(viewer: viewer, session: issued.session.id, grants: tokens, token: kept))
            }
        }
    }

    private mutating func renew(at gate: Gate) async {
        guard let (index, grant) = anyGrant() else { return }
        if random.once(in: 2), let grants = gate.grants {
            guard case .issued(let new) = await gate.renew(grant, by: grants, at: received()) else { return }
            playbacks[index].grants.append(new.token)
            count("renewed at the API")
        } else {
            let decision = await check(grant, for: "/live/1.ts", at: gate)
            playbacks[index].grants += decision.newGrants.map(\.token)
            count(decision.newGrants.isEmpty ? decision.word : "renewed at an edge")
        }
    }

    private mutating func exchange(at gate: Gate) async {
        guard let (index, grant) = anyGrant(), let grants = gate.grants else { return }
        let target = PlaybackRequest.Target.path(random.pick(["/live/1.ts", "/live/film.mp4", "/live/master.m3u8"]))
        guard case .entry(let entry) = gate.catalogue.find(target) else { return }
        let outcome = await gate.exchange(
            grant,
            of: entry,
            target: target,
            for: random.pick(entry.grants?.profiles ?? []),
            player: nil,
            by: grants,
            at: received()
        )
        guard case .issued(let new) = outcome else { return }
        playbacks[index].grants.append(new.token)
        count("exchanged")
    }

    private mutating func fetchManifest(at gate: Gate) async {
        guard let (index, grant) = anyGrant(),
            let presentedGrants = Self.presentedGrants(grant, for: "/live/master.m3u8")
        else { return }
        let decision = await check(grant, for: "/live/master.m3u8", at: gate)
        let time = received()
        guard let playback = gate.continuedPlayback(after: decision, grants: presentedGrants, profile: nil, at: time),
            await gate.prolong(playback, of: decision, at: time) == nil
        else { return }
        let film = playback.end(after: .seconds(7200), at: time)
        playbacks[index].grants += [
            playback.token(until: playback.end(after: nil, at: time)), playback.tokenForFilm(until: film),
            playback.tokenForSession(),
        ]
        count("manifest")
    }

    private mutating func end(at gate: Gate) async {
        guard let playback = playbacks.randomElement(using: &random) else { return }
        if await gate.end(playback.session, at: received()) == true { count("ended") }
    }

    private mutating func anyGrant() -> (Int, String)? {
        guard let index = playbacks.indices.randomElement(using: &random),
            let newest = playbacks[index].grants.last,
            let grant = random.once(in: 2) ? newest : playbacks[index].grants.randomElement(using: &random)
        else { return nil }
        return (index, grant)
    }

    // MARK: Trying

    /// Lets all playbacks try their last grants. Returns a fault if more of a viewer's may fetch a segment than the limit.
    private mutating func count() async -> String? {
        for index in playbacks.indices { playbacks[index].grants = playbacks[index].grants.suffix(6) }
        for viewer in 0..<Self.viewers {
            var playing: Set<SessionID> = []
            // Not each time: who tries holds a slot.
            let trying = playbacks.indices.filter { playbacks[$0].viewer == viewer && random.once(in: 2) }
            for index in trying.shuffled(using: &random) {
                if let token = playbacks[index].token {
                    let request = PlaybackRequest(.path(Self.open), token: token)
                    let gate = gates[0]
                    let decision = await decide(request, at: gate)
                    count(decision.isAllowed ? "within its life" : decision.word)
                    if decision.isAllowed { playing.insert(playbacks[index].session) }
                }
                for grant in playbacks[index].grants {
                    let decision = await check(grant, for: "/live/1.ts", at: random.pick(gates))
                    count(decision.isAllowed ? "granted" : decision.word)
                    if decision.isAllowed { playing.insert(playbacks[index].session) }
                    if !decision.newGrants.isEmpty {
                        playbacks[index].grants += decision.newGrants.map(\.token)
                        count("renewed at an edge")
                    }
                    // What is over stays so.
                    guard ["grant_expired", "session_ended"].contains(decision.word), random.once(in: 4) else {
                        continue
                    }
                    playbacks[index].grants.removeAll { $0 == grant }
                }
            }
            if playing.count > Self.limit {
                return "\(playing.count) playbacks of viewer \(viewer) fetch segments at \(now.millisecondsSince1970)"
            }
        }
        playbacks.removeAll { $0.grants.isEmpty }
        return nil
    }

    private mutating func check(_ grant: String, for path: String, at gate: Gate) async -> Decision {
        let target = PlaybackRequest.Target.path(path)
        let request = PlaybackRequest(target, token: nil)
        return await decide(request, grants: Self.presentedGrants(grant, for: path), at: gate)
    }

    private mutating func decide(
        _ request: PlaybackRequest,
        grants: PresentedGrants? = nil,
        at gate: Gate
    ) async -> Decision {
        switch gate.begin(request, finding: gate.catalogue.find(request.target), grants: grants, at: received()) {
        case .decided(let decision): decision
        case .pending(let use): await gate.complete(use)
        }
    }

    private static func presentedGrants(_ grant: String, for path: String) -> PresentedGrants? {
        RequestURI(path[...], scheme: .https, authority: "cdn.example").map { uri in
            PresentedGrants(RequestFacts(uri: uri, method: "GET"), first: grant[...])
        }
    }
}

extension Decision {
    fileprivate var newGrants: [IssuedGrant] {
        if case .allow(let allowance) = self { allowance.access?.issued ?? [] } else { [] }
    }

    /// The code of a refusal, or the reason of an allowance.
    fileprivate var word: String {
        switch self {
        case .allow(let allowance): allowance.reason.name
        case .refuse(let refusal): refusal.code.rawValue
        }
    }
}
