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

@testable import EdgeChecks
@testable import PlaybackGate
@testable import ReplayStores

/// Two entries that lie beside each other in one way, with grants of the same profiles.
struct Neighbours: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let catalogue: @Sendable ([GrantProfile]) throws -> Catalogue
    /// A path of each, at its host.
    let paths: [String]
    var hosts = ["cdn.example", "cdn.example"]

    static let all = [
        Neighbours(
            testDescription: "a folder in a folder",
            catalogue: {
                try catalogue(
                    of: [("/live/", "BASIC", "REF30", nil), ("/live/hbo/", "HBO", "REF30", nil)],
                    profiles: $0
                )
            },
            paths: ["/live/1.ts", "/live/hbo/1.ts"]
        ),
        Neighbours(
            testDescription: "files of a folder",
            catalogue: {
                try catalogue(of: [("/vod/a.mp4", "A", "REF30", nil), ("/vod/b.mp4", "B", "REF30", nil)], profiles: $0)
            },
            paths: ["/vod/a.mp4", "/vod/b.mp4"]
        ),
        Neighbours(
            testDescription: "items of a feed, of two ratings",
            catalogue: { try feedCatalogue(paths: .file, streams: ["/vod/g.m3u8", "/vod/ma.m3u8"], profiles: $0) },
            paths: ["/vod/g.m3u8", "/vod/ma.m3u8"]
        ),
        Neighbours(
            testDescription: "folders of a feed, one in the other",
            catalogue: { try feedCatalogue(paths: .folder, streams: ["/vod/g.m3u8", "/vod/ma/x.m3u8"], profiles: $0) },
            paths: ["/vod/seg.ts", "/vod/ma/seg.ts"]
        ),
        Neighbours(
            testDescription: "hosts",
            catalogue: { profiles in
                var catalogue = Catalogue()
                for (host, resource) in [("a.example", "A"), ("b.example", "B")] {
                    let name = try #require(HostName(host[...]))
                    try catalogue.add(
                        try entry(
                            path: "/live/",
                            resource: resource,
                            requestor: "REF30",
                            scope: nil,
                            profiles: profiles,
                            hosts: [name]
                        )
                    )
                }
                return catalogue
            },
            paths: ["/live/1.ts", "/live/1.ts"],
            hosts: ["a.example", "b.example"]
        ),
        Neighbours(
            testDescription: "requestors",
            catalogue: {
                try catalogue(of: [("/a/", "TNT", "REF30", "/"), ("/b/", "TNT", "REF31", "/")], profiles: $0)
            },
            paths: ["/a/1.ts", "/b/1.ts"]
        ),
        Neighbours(
            testDescription: "ratings",
            catalogue: {
                try catalogue(
                    of: [("/a/", rated("TV-G"), "REF30", "/"), ("/b/", rated("TV-MA"), "REF30", "/")],
                    profiles: $0
                )
            },
            paths: ["/a/1.ts", "/b/1.ts"]
        ),
        Neighbours(
            testDescription: "files of the root",
            catalogue: {
                try catalogue(of: [("/a.m3u8", "A", "REF30", "/"), ("/b.m3u8", "B", "REF30", "/")], profiles: $0)
            },
            paths: ["/a.m3u8", "/b.m3u8"]
        ),
    ]

    private static func rated(_ rating: String) -> String {
        """
        <rss version="2.0" xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item><title>Film</title>\
        <media:rating scheme="urn:v-chip">\(rating)</media:rating></item></channel></rss>
        """
    }

    private static func entry(
        path: String,
        resource: String,
        requestor: String,
        scope: String?,
        profiles: [GrantProfile],
        hosts: [HostName] = []
    ) throws -> Catalogue.Entry {
        Catalogue.Entry(
            key: .path(try PathPattern(path)),
            protection: .resource(try MediaResource(resource), requestor: requestor),
            use: .grant,
            hosts: hosts,
            grants: .init(profiles, scope: scope)
        )
    }

    private static func catalogue(
        of entries: [(path: String, resource: String, requestor: String, scope: String?)],
        profiles: [GrantProfile]
    ) throws -> Catalogue {
        var catalogue = Catalogue()
        for (path, resource, requestor, scope) in entries {
            try catalogue.add(
                try entry(path: path, resource: resource, requestor: requestor, scope: scope, profiles: profiles)
            )
        }
        return catalogue
    }

    private static func feedCatalogue(
        paths: FeedPathScope,
        streams: [String],
        profiles: [GrantProfile]
    ) throws -> Catalogue {
        let items = zip(streams, ["TV-G", "TV-MA"]).map { stream, rating in
            """
            <item><title>\(rating)</title><guid>\(rating)</guid><media:rating scheme="urn:v-chip">\(rating)</media:rating>\
            <media:content url="https://cdn.example\(stream)"/></item>
            """
        }
        return try Catalogue(feedOf: items.joined(), paths, grants: profiles)
    }
}

/// A gate with two neighbours, each with a Common Access Token and a signed URI for its path.
private struct NeighbourGate {
    let gate: Gate
    let authority: GrantService
    let neighbours: Neighbours
    let formats: [GrantProfile]

    static let time = GateSample.time

    init(_ neighbours: Neighbours, streams: Int? = nil) async throws {
        self.neighbours = neighbours
        let binding = { KeyBinding(issuer: "playgate", format: $0) }
        let cat = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-1"), binding: binding(.cat))
        let signing = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-1"), binding: binding(.uriSigning))
        var rules = GrantProfile.Rules()
        rules.streamLimit = streams
        formats = [
            GrantProfile("live", issuer: "playgate", keyID: "pg-1", rules: rules),
            GrantProfile("cdni", format: .uriSigning, issuer: "playgate", keyID: "pg-1", rules: rules),
        ]
        let subjectKey = try SubjectKey([UInt8](0x20...0x3F))
        var policy = CATPolicy()
        policy.hasReplayStore = true
        policy.hasRejectionList = true
        var uriPolicy = URISigningPolicy()
        uriPolicy.hasReplayStore = true
        let keys = try KeySet([cat, signing])
        authority = GrantService(
            verifier: CATVerifier(keys: keys, issuers: [AcceptedIssuer("playgate")], policy: policy),
            signedURIs: URISigningVerifier(
                keys: keys,
                issuers: [AcceptedSigner("playgate")],
                policy: uriPolicy
            ),
            signers: [GrantService.Signer(try CATIssuer(key: cat))],
            formats: ["cdni": .uriSigning([GrantService.Signer(try URISigningIssuer(key: signing))])],
            subjectKey: subjectKey,
            revocationCache: RevocationCache { subjectKey.tag(storeKey: $0.bytes) }
        )
        let store = MemoryReplayStore(capacity: 100)
        gate = Gate(
            catalogue: try neighbours.catalogue(formats),
            verifier: try GateSample.verifier(requestors: ["REF30", "REF31"]),
            store: store,
            grants: authority
        )
        try await authority.revocationCache.refresh(from: store, at: Self.time, clock: { .now + .seconds(3600) })
    }

    /// The gate of a process that checks by itself, by the policy that this one writes.
    func embedded() throws -> Gate {
        let policy = EdgeBundle(
            of: gate,
            revokedBy: authority.revocationCache,
            subjectKey: authority.subjectKey,
            goodFor: .seconds(60),
            at: Self.time
        )
        let read = try EdgeBundle(policy.json().span, at: Self.time)
        return try read.gate(rejections: RejectionList())
    }

    func entry(_ index: Int) throws -> Catalogue.Entry {
        let found = gate.catalogue.find(.path(neighbours.paths[index]), host: neighbours.hosts[index][...])
        guard case .entry(let entry) = found else { throw Missing() }
        return entry
    }

    private struct Missing: Error {}

    /// The grant of one of the two, in a format, that opens the paths of both.
    func grant(of index: Int, profile: GrantProfile) throws -> IssuedGrant {
        let token = try GateSample.content(GateSample.claims(session: "viewer-\(index)"), at: Self.time)
        let order = GrantOrder(
            profile: profile,
            session: try #require(
                authority.session(of: token, playbackID: nil, under: profile.rules, isLimited: true, at: Self.time)
            ),
            protection: try entry(index).tag(by: authority.subjectKey),
            scope: "/",
            manifest: neighbours.paths[index],
            player: nil,
            now: Self.time
        )
        return try #require(authority.issue(order))
    }

    /// Returns the outcome of a request for the path of one of the two with a grant.
    func check(by gate: Gate, index: Int, grant: String, after seconds: Int64 = 0) async throws -> Decision {
        let (path, host) = (neighbours.paths[index], neighbours.hosts[index])
        let uri = try #require(RequestURI(path[...], scheme: .https, authority: host[...]))
        let presentedGrants = PresentedGrants(RequestFacts(uri: uri, method: "GET"), first: grant[...])
        let target = PlaybackRequest.Target.path(path)
        let (request, match) = (PlaybackRequest(target, token: nil), gate.catalogue.find(target, host: host[...]))
        switch gate.begin(request, finding: match, grants: presentedGrants, at: Self.time.adding(seconds: seconds)) {
        case .decided(let decision): return decision
        case .pending(let use): return await gate.complete(use)
        }
    }
}

extension GrantService.BackendOutcome {
    fileprivate var name: String {
        switch self {
        case .issued: "issued"
        case .notDue: "notDue"
        case .refused(let refusal): refusal.code.rawValue
        case .unknown: "unknown"
        }
    }
}

/// A grant opens the entry that it was given for, and no neighbour of it whose paths it covers, in whatever way it is taken.
@Suite struct `A grant, and the neighbours of what it was given for` {
    private static let refused = "grant_resource_mismatch"

    @Test(arguments: Neighbours.all)
    func `opens only its own, at an edge and in a process that checks by itself`(_ neighbours: Neighbours) async throws
    {
        let sample = try await NeighbourGate(neighbours)
        for gate in [sample.gate, try sample.embedded()] {
            for profile in sample.formats {
                for index in 0...1 {
                    let grant = try sample.grant(of: index, profile: profile).token
                    #expect(
                        try await sample.check(by: gate, index: index, grant: grant).outcome == "granted",
                        "\(profile.name)"
                    )
                    #expect(
                        try await sample.check(by: gate, index: 1 - index, grant: grant).outcome == Self.refused,
                        "\(profile.name)"
                    )
                }
            }
        }
    }

    @Test(arguments: Neighbours.all)
    func `is renewed only for its own`(_ neighbours: Neighbours) async throws {
        let sample = try await NeighbourGate(neighbours)
        for profile in sample.formats {
            for index in 0...1 {
                let grant = try sample.grant(of: index, profile: profile).token
                #expect(
                    try await sample.check(by: sample.gate, index: 1 - index, grant: grant, after: 200).outcome
                        == Self.refused
                )
                let decision = try await sample.check(by: sample.gate, index: index, grant: grant, after: 200)
                #expect(decision.outcome == "renewed")
                let time = NeighbourGate.time.adding(seconds: 200)
                var renewed = decision.issued.map(\.token)
                if case .issued(let other) = await sample.gate.renew(grant, by: sample.authority, at: time) {
                    renewed.append(other.token)
                }
                #expect(!renewed.isEmpty)
                for token in renewed {
                    #expect(
                        try await sample.check(by: sample.gate, index: index, grant: token, after: 201).outcome
                            == "granted"
                    )
                    #expect(
                        try await sample.check(by: sample.gate, index: 1 - index, grant: token, after: 201).outcome
                            == Self.refused
                    )
                }
            }
        }
    }

    /// A grant whose resource the catalogue does not have any more.
    @Test func `is not renewed once nothing has its resource`() async throws {
        let (before, after) = (try await NeighbourGate(Neighbours.all[0]), try await NeighbourGate(Neighbours.all[1]))
        let grant = try before.grant(of: 0, profile: before.formats[0]).token
        let time = NeighbourGate.time.adding(seconds: 200)
        #expect(await before.gate.renew(grant, by: before.authority, at: time).name == "issued")
        #expect(await after.gate.renew(grant, by: after.authority, at: time).name == Self.refused)
    }

    @Test(arguments: Neighbours.all)
    func `is exchanged, redirected and written into manifests only for its own`(_ neighbours: Neighbours) async throws {
        let sample = try await NeighbourGate(neighbours)
        let (gate, authority, now) = (sample.gate, sample.authority, NeighbourGate.time)
        for index in 0...1 {
            let other = try sample.entry(1 - index)
            let target = PlaybackRequest.Target.path(neighbours.paths[1 - index])
            for profile in sample.formats {
                let grant = try sample.grant(of: index, profile: profile).token
                for wanted in sample.formats {
                    let outcome = await gate.exchange(
                        grant,
                        of: other,
                        target: target,
                        for: wanted,
                        player: nil,
                        by: authority,
                        at: now
                    )
                    #expect(outcome.name == Self.refused)
                }
                for (entry, expected) in [(other, Self.refused), (try sample.entry(index), "good")] {
                    let outcome =
                        switch await gate.check(grant, ofManifest: entry, by: authority, at: now) {
                        case .good: "good"
                        case .refused(let refusal): refusal.code.rawValue
                        case .unknown: "unknown"
                        }
                    #expect(outcome == expected)
                }
            }
            let signed = try sample.grant(of: index, profile: sample.formats[1]).token
            let path = neighbours.paths[1 - index]
            let uri = try #require(
                RequestURI(path[...], scheme: .https, authority: neighbours.hosts[1 - index][...])
            )
            let redirection = Gate.Redirection(
                token: signed,
                facts: RequestFacts(uri: uri, method: "GET"),
                target: path[...],
                of: other,
                to: sample.formats[1]
            )
            guard case .refused(let refusal) = await gate.redirect(redirection, by: authority, at: now) else {
                Issue.record("redirected")
                continue
            }
            #expect(refusal.code == .resourceMismatch && refusal.claimName == "pgt")
        }
    }

    @Test(arguments: Neighbours.all)
    func `is copied into a manifest only for its own`(_ neighbours: Neighbours) async throws {
        let sample = try await NeighbourGate(neighbours)
        for index in 0...1 {
            let grant = try sample.grant(of: index, profile: sample.formats[0]).token
            let decision = try await sample.check(by: sample.gate, index: index, grant: grant)
            let path = neighbours.paths[index]
            let uri = try #require(RequestURI(path[...], scheme: .https, authority: neighbours.hosts[index][...]))
            let presentedGrants = PresentedGrants(RequestFacts(uri: uri, method: "GET"), first: grant[...])
            let playback = try #require(
                sample.gate.continuedPlayback(
                    after: decision,
                    grants: presentedGrants,
                    profile: nil,
                    at: NeighbourGate.time
                )
            )
            let end = playback.end(after: nil, at: NeighbourGate.time)
            let film = playback.end(after: .seconds(7200), at: NeighbourGate.time)
            for copy in [playback.token(until: end), playback.tokenForFilm(until: film), playback.tokenForSession()] {
                #expect(copy != grant)
                #expect(try await sample.check(by: sample.gate, index: index, grant: copy).outcome == "granted")
                #expect(try await sample.check(by: sample.gate, index: 1 - index, grant: copy).outcome == Self.refused)
            }
        }
    }

    /// A slot is that of the viewer of the requestor for which the grant was given.
    @Test(arguments: Neighbours.all)
    func `acquires no slot for another`(_ neighbours: Neighbours) async throws {
        let sample = try await NeighbourGate(neighbours, streams: 1)
        for index in 0...1 {
            let grant = try sample.grant(of: index, profile: sample.formats[0])
            #expect(
                try await sample.check(by: sample.gate, index: 1 - index, grant: grant.token, after: 200).outcome
                    == Self.refused
            )
            #expect(await sample.gate.end(grant.session.id, at: NeighbourGate.time.adding(seconds: 200)) == false)
        }
    }

    @Test func `without a tag opens nothing, unless another issuer made it`() async throws {
        let sample = try await NeighbourGate(Neighbours.all[0])
        for isOwn in [true, false] {
            var issuer = AcceptedIssuer("playgate")
            issuer.isOwn = isOwn
            let binding = KeyBinding(issuer: "playgate", format: .cat)
            let key = try TokenKey(secret: [UInt8](0...31), id: KeyID("pg-1"), binding: binding)
            let authority = GrantService(
                sample.authority,
                verifier: CATVerifier(keys: try KeySet([key]), issuers: [issuer], policy: CATPolicy()),
                signedURIs: nil
            )
            let gate = Gate(
                catalogue: sample.gate.catalogue,
                verifier: sample.gate.verifier,
                store: MemoryReplayStore(capacity: 1),
                grants: authority
            )
            var claims = CATClaims()
            claims.expires = NeighbourGate.time.adding(seconds: 300)
            claims.uri = [.init(.path, match: .prefix("/"))]
            let token = try CATIssuer(key: key).issue(claims).token
            for index in 0...1 {
                let outcome = try await sample.check(by: gate, index: index, grant: token).outcome
                #expect(outcome == (isOwn ? Self.refused : "granted"))
            }
        }
    }

    /// The tag is the first half of the code that the specification of grants states.
    @Test func `has the tag of resource and requestor that anybody with the key can make`() async throws {
        let sample = try await NeighbourGate(Neighbours.all[0])
        let secret = [UInt8](0x20...0x3F)
        let resource = try MediaResource("BASIC").canonicalForm
        let message = [UInt8]("protection".utf8) + [0] + "REF30".utf8 + [0] + resource.utf8
        let code = try #require(try HMACKey(secret, function: .sha256).code(of: MessagePieces(message.span)))
        let grant = try sample.grant(of: 0, profile: sample.formats[0]).token
        guard case .authentic(let found) = sample.authority.authenticate(grant.utf8.span, at: NeighbourGate.time) else {
            Issue.record("not authentic")
            return
        }
        #expect(found.base.protection?.bytes == Array(code.prefix(16)))
        #expect(found.base.profileName == "live")
    }
}
