// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import MediaResources
import MediaTokens
import Platform
import PlaybackGate
import ReplayStores
import Synchronization
import Testing

@Suite struct `The gate` {
    private static let asset = """
        <rss xmlns:media="http://search.yahoo.com/mrss/"><channel><title>TNT</title><item><title>Part 1</title>\
        <guid>1</guid><media:rating scheme="urn:v-chip">TV-14</media:rating></item></channel></rss>
        """

    private static func catalogue(shadow: Bool = false) throws -> Catalogue {
        var catalogue = Catalogue()
        let resource = { (text: String, requestor: String) throws in
            Catalogue.Entry.Protection.resource(try MediaResource(text), requestor: requestor)
        }
        for (key, protection) in [
            (.media("tnt"), try resource("TNT", "REF30")), (.media("tbs"), try resource("TBS", "REF30")),
            (.media("asset"), try resource(asset, "REF30")), (.media("other"), try resource("TNT", "OTHER")),
            (.media("trailer"), .none), (.path(try PathPattern("/live/tnt/")), try resource("TNT", "REF30")),
            (.path(try PathPattern("/free/")), .none), (.media("broken"), .ambiguous),
        ] as [(Catalogue.Entry.Key, Catalogue.Entry.Protection)] {
            try catalogue.add(Catalogue.Entry(key: key, protection: protection, isShadow: shadow))
        }
        return catalogue
    }

    private static func gate(
        policies: [PlaybackPolicy] = [],
        store: any ReplayStore = MemoryReplayStore(capacity: 100),
        rules: Gate.Rules = Gate.Rules(),
        shadowEntries: Bool = false,
        observer: any DecisionObserver = NoObserver()
    ) throws -> Gate {
        Gate(
            catalogue: try catalogue(shadow: shadowEntries),
            verifier: try GateSample.verifier(requestors: ["REF30", "OTHER"]),
            policies: policies,
            store: store,
            rules: rules,
            observer: observer
        )
    }

    // MARK: Steps

    struct Step: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let target: PlaybackRequest.Target
        var token: @Sendable () throws -> String? = { nil }
        var after: Int64 = 0
        let code: DenyCode?

        init(
            _ name: String,
            target: PlaybackRequest.Target,
            after: Int64 = 0,
            code: DenyCode?,
            token: @escaping @Sendable () throws -> String? = { nil }
        ) {
            testDescription = name
            self.target = target
            self.after = after
            self.code = code
            self.token = token
        }
    }

    static let steps = [
        Step("known media", target: .media("tnt"), code: nil) { try GateSample.token() },
        Step("known path", target: .path("/live/tnt/x.m3u8?a=b"), code: nil) { try GateSample.token() },
        Step("asset", target: .media("asset"), code: nil) { try GateSample.token(GateSample.claims(resource: asset)) },
        Step("unprotected, without a token", target: .media("trailer"), code: nil),
        Step("unprotected path", target: .path("/free/x"), code: nil),
        Step("unprotected, with a bad token", target: .media("trailer"), code: nil) { "garbage" },
        Step("unknown media", target: .media("x"), code: .unknownMedia) { try GateSample.token() },
        Step("unknown path", target: .path("/live/tbs/x"), code: .unknownMedia) { try GateSample.token() },
        Step("path with two meanings", target: .path("/free/%2e%2e%2flive/tnt/x"), code: .invalidPath) {
            try GateSample.token()
        },
        Step("no token", target: .media("tnt"), code: .tokenMissing),
        Step("empty token", target: .media("tnt"), code: .tokenMissing) { "" },
        Step("garbage", target: .media("tnt"), code: .token(.invalidEnvelope)) { "<garbage" },
        Step("too large", target: .media("tnt"), code: .token(.tokenTooLarge)) {
            String(repeating: "A", count: 20_000)
        },
        Step("foreign signature", target: .media("tnt"), code: .token(.untrustedSignature)) {
            try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: GateSample.time).serialized
        },
        Step("other requestor", target: .media("tnt"), code: .token(.requestorMismatch)) {
            try GateSample.token(GateSample.claims(requestor: "OTHER"))
        },
        Step("requestor of the entry", target: .media("other"), code: nil) {
            try GateSample.token(GateSample.claims(requestor: "OTHER"))
        },
        Step("last moment", target: .media("tnt"), after: 420, code: nil) { try GateSample.token() },
        Step("a second late", target: .media("tnt"), after: 421, code: .token(.expired)) { try GateSample.token() },
        Step("from the future", target: .media("tnt"), after: -61, code: .token(.issuedInFuture)) {
            try GateSample.token()
        },
        Step("other channel", target: .media("tbs"), code: .token(.resourceMismatch)) { try GateSample.token() },
        Step("channel for asset", target: .media("asset"), code: .token(.resourceMismatch)) { try GateSample.token() },
        Step("ambiguous entry", target: .media("broken"), code: .token(.resourceMismatch)) { try GateSample.token() },
    ]

    @Test(arguments: steps) func `decides by the first step that does not pass`(step: Step) async throws {
        let store = MemoryReplayStore(capacity: 10)
        let gate = try Self.gate(store: store)
        let request = PlaybackRequest(step.target, token: try step.token())
        let decision = await gate.decide(request, at: GateSample.time.adding(seconds: step.after))
        #expect(decision.code == step.code)
        #expect(decision.isAllowed == (step.code == nil))
        // A refusal does not consume the token.
        let usesUp = step.code == nil && decision.subject.token != nil
        #expect(store.count == (usesUp ? 1 : 0))
        if case .token(let reason) = step.code, case .refuse(let refusal) = decision {
            #expect(refusal.verifierStatus == reason.status)
        }
    }

    @Test func `tells what it allowed`() async throws {
        let decision = try await Self.gate().decide(
            PlaybackRequest(.media("tnt"), token: try GateSample.token()),
            at: GateSample.time
        )
        guard case .allow(let allowance) = decision else {
            Issue.record("refused: \(decision)")
            return
        }
        #expect(allowance.reason == .verified)
        #expect(allowance.expires == GateSample.time.adding(seconds: 420))
        #expect(allowance.subject.resource?.text == "TNT")
        #expect(allowance.subject.token?.mvpdID == "SandboxMVPD")
    }

    // MARK: Use

    @Test func `accepts a token once, and a wrong resource does not burn it`() async throws {
        let gate = try Self.gate()
        let token = try GateSample.token()
        let ask = { (media: String) in
            await gate.decide(PlaybackRequest(.media(media), token: token), at: GateSample.time).code
        }
        #expect(await ask("tbs") == .token(.resourceMismatch))
        #expect(await ask("tnt") == nil)
        #expect(await ask("tnt") == .tokenAlreadyUsed)
    }

    @Test func `treats every spelling of a token as the same`() async throws {
        let gate = try Self.gate()
        let issued = try GateSample.trusted.get().issuer.issue(GateSample.claims(), at: GateSample.time)
        let spellings = [
            issued.serialized, issued.raw, issued.raw + "\n",
            issued.serialized.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: ""),
        ]
        var codes: [DenyCode?] = []
        for spelling in spellings {
            codes.append(await gate.decide(PlaybackRequest(.media("tnt"), token: spelling), at: GateSample.time).code)
        }
        #expect(codes == [nil, .tokenAlreadyUsed, .tokenAlreadyUsed, .tokenAlreadyUsed])
    }

    @Test func `gives the retry of a playback the same answer, and another playback not`() async throws {
        let gate = try Self.gate()
        let token = try GateSample.token()
        let ask = { (media: String, id: String?) in
            let request = PlaybackRequest(.media(media), token: token, playbackID: id)
            let decision = await gate.decide(request, at: GateSample.time)
            if case .allow(let allowance) = decision { return allowance.reason.name }
            return decision.code?.rawValue ?? ""
        }
        #expect(await ask("tnt", "p1") == "verified")
        #expect(await ask("tnt", "p1") == "repeated")
        #expect(await ask("tnt", "p2") == "token_already_used")
        #expect(await ask("tnt", nil) == "token_already_used")
    }

    @Test func `binds a playback id to what is played`() async throws {
        let gate = try Self.gate()
        let token = try GateSample.token()
        let now = GateSample.time
        let first = PlaybackRequest(.media("tnt"), token: token, playbackID: "p1")
        let other = PlaybackRequest(.path("/live/tnt/x"), token: token, playbackID: "p1")
        #expect(await gate.decide(first, at: now).isAllowed)
        #expect(await gate.decide(other, at: now).code == .tokenAlreadyUsed)
    }

    @Test func `accepts a token as often as the rules say`() async throws {
        let gate = try Self.gate(rules: Gate.Rules(maximumUses: 3))
        let token = try GateSample.token()
        var allowed = 0
        for _ in 0..<5 {
            let request = PlaybackRequest(.media("tnt"), token: token)
            if await gate.decide(request, at: GateSample.time).isAllowed { allowed += 1 }
        }
        #expect(allowed == 3)
    }

    @Test func `refuses when the store is full of live uses, and goes on when they can be forgotten`() async throws {
        let gate = try Self.gate(store: MemoryReplayStore(capacity: 2))
        let ask = { (session: String, seconds: Int64) in
            let now = GateSample.time.adding(seconds: seconds)
            let token = try GateSample.token(GateSample.claims(session: session), at: now)
            return await gate.decide(PlaybackRequest(.media("tnt"), token: token), at: now).code
        }
        #expect(try await ask("a", 0) == nil)
        #expect(try await ask("b", 10) == nil)
        #expect(try await ask("c", 20) == .replayStoreFull)
        // The tokens end at 420 s, but a raised late leeway could extend them by two minutes.
        #expect(try await ask("d", 422) == .replayStoreFull)
        #expect(try await ask("e", 540) == .replayStoreFull)
        #expect(try await ask("f", 542) == nil)
        #expect(try await ask("g", 543) == .replayStoreFull)
    }

    // MARK: Stores that fail

    private struct BrokenStore: ReplayStore {
        let name = "broken"
        var hangs = false

        func record(_: TokenUse, at _: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            // It ignores cancellation, as a blocked disk does.
            if hangs { await unsafe withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
            throw ReplayStoreError(.unavailable, reason: "down")
        }

        func examine(_ use: TokenUse, at now: Timestamp) async throws(ReplayStoreError) -> UseOutcome {
            try await record(use, at: now)
        }

        func revoke(_: Revocation, at _: Timestamp) async throws(ReplayStoreError) {
            throw ReplayStoreError(.unavailable, reason: "down")
        }

        func check() async throws(ReplayStoreError) { throw ReplayStoreError(.unavailable, reason: "down") }
    }

    @Test(arguments: [(false, false), (false, true), (true, false), (true, true)])
    func `refuses when the store is down or hangs, unless configured otherwise`(hangs: Bool, allows: Bool) async throws
    {
        let rules = Gate.Rules(storeDeadline: .milliseconds(20), allowsUnknownUse: allows)
        let gate = try Self.gate(store: BrokenStore(hangs: hangs), rules: rules)
        let request = PlaybackRequest(.media("tnt"), token: try GateSample.token())
        let decision = await gate.decide(request, at: GateSample.time)
        #expect(decision.isAllowed == allows)
        if case .allow(let allowance) = decision { #expect(allowance.reason == .useUnknown) }
        if !allows { #expect(decision.code == .replayStoreUnavailable) }
        guard case .pending = gate.begin(request, at: GateSample.time) else {
            return #expect(Bool(false), "decided without the store")
        }
        await #expect(throws: ReplayStoreError(.unavailable, reason: "")) { try await gate.checkStore() }
    }

    /// A store that looks tokens up where it has to record them.
    private struct LookingStore: ReplayStore {
        let name = "looking"
        let isImmediate: Bool

        func immediateOutcome(of _: TokenUse, isConsumed _: Bool, at _: Timestamp) -> UseOutcome? {
            isImmediate ? .notRevoked : nil
        }

        func record(_: TokenUse, at _: Timestamp) async throws(ReplayStoreError) -> UseOutcome { .notRevoked }

        func examine(_: TokenUse, at _: Timestamp) async throws(ReplayStoreError) -> UseOutcome { .notRevoked }

        func revoke(_: Revocation, at _: Timestamp) async throws(ReplayStoreError) {}

        func check() async throws(ReplayStoreError) {}
    }

    @Test(arguments: [true, false])
    func `refuses a start that the store has looked up and not recorded`(isImmediate: Bool) async throws {
        let gate = try Self.gate(store: LookingStore(isImmediate: isImmediate))
        let request = PlaybackRequest(.media("tnt"), token: try GateSample.token())
        #expect(await gate.decide(request, at: GateSample.time).code == .replayStoreUnavailable)
        var probe = request
        probe.method = .head
        guard case .allow(let allowance) = await gate.decide(probe, at: GateSample.time) else {
            return #expect(Bool(false), "a probe records nothing")
        }
        #expect(allowance.reason == .probe)
    }

    // MARK: Policies

    struct PolicyCase: Sendable {
        let policy: PlaybackPolicy
        let mvpd: String
        let proxy: String?
        let media: String
        let code: DenyCode?

        init(
            _ policy: PlaybackPolicy,
            mvpd: String = "A",
            proxy: String? = nil,
            media: String = "tnt",
            code: DenyCode?
        ) {
            self.policy = policy
            self.mvpd = mvpd
            self.proxy = proxy
            self.media = media
            self.code = code
        }
    }

    private static func limit(scheme: String, value: String, unrated: Bool = false) -> PlaybackPolicy {
        PlaybackPolicy(maximumRatings: [Rating(scheme: scheme, value: value)], allowsUnrated: unrated)
    }

    static let policyCases = [
        PolicyCase(PlaybackPolicy(), code: nil), PolicyCase(PlaybackPolicy(allowedMVPDs: ["A", "B"]), code: nil),
        PolicyCase(PlaybackPolicy(allowedMVPDs: ["B"]), code: .mvpdNotAllowed),
        PolicyCase(PlaybackPolicy(allowedMVPDs: []), code: .mvpdNotAllowed),
        PolicyCase(PlaybackPolicy(allowedMVPDs: ["a"]), code: .mvpdNotAllowed),
        PolicyCase(PlaybackPolicy(deniedMVPDs: ["A"]), code: .mvpdNotAllowed),
        PolicyCase(PlaybackPolicy(deniedMVPDs: ["B"]), code: nil),
        PolicyCase(PlaybackPolicy(deniedMVPDs: ["P"]), proxy: "P", code: .mvpdNotAllowed),
        PolicyCase(PlaybackPolicy(requestors: ["OTHER"], deniedMVPDs: ["A"]), code: nil),
        PolicyCase(PlaybackPolicy(requestors: ["REF30"], deniedMVPDs: ["A"]), code: .mvpdNotAllowed),
        PolicyCase(limit(scheme: "urn:v-chip", value: "TV-14"), media: "asset", code: nil),
        PolicyCase(limit(scheme: "urn:v-chip", value: "TV-MA"), media: "asset", code: nil),
        PolicyCase(limit(scheme: "urn:v-chip", value: "TV-PG"), media: "asset", code: .ratingNotAllowed),
        PolicyCase(limit(scheme: "urn:mpaa", value: "R"), media: "asset", code: .ratingNotAllowed),
        PolicyCase(limit(scheme: "urn:mpaa", value: "R", unrated: true), media: "asset", code: .ratingNotAllowed),
        PolicyCase(limit(scheme: "urn:v-chip", value: "TV-MA"), media: "tnt", code: .ratingNotAllowed),
        PolicyCase(limit(scheme: "urn:v-chip", value: "TV-MA", unrated: true), media: "tnt", code: nil),
        PolicyCase(
            PlaybackPolicy(maximumRatings: [
                Rating(scheme: "urn:mpaa", value: "G"), Rating(scheme: "urn:v-chip", value: "TV-14"),
            ]),
            media: "asset",
            code: nil
        ),
    ]

    @Test(arguments: policyCases) func `asks the policies before a token is used`(each: PolicyCase) async throws {
        let store = MemoryReplayStore(capacity: 10)
        let gate = try Self.gate(policies: [PlaybackPolicy(), each.policy], store: store)
        let resource = each.media == "asset" ? Self.asset : "TNT"
        let claims = GateSample.claims(resource: resource, mvpd: each.mvpd, proxy: each.proxy)
        let request = PlaybackRequest(.media(each.media), token: try GateSample.token(claims))
        #expect(await gate.decide(request, at: GateSample.time).code == each.code)
        #expect(store.count == (each.code == nil ? 1 : 0))
    }

    // MARK: Shadow mode and events

    private final class Recorder: DecisionObserver {
        let events = Mutex<[DecisionEvent]>([])

        func observe(_ event: DecisionEvent) { events.withLock { $0.append(event) } }
    }

    @Test(arguments: [(true, false), (false, true)])
    func `allows what it would refuse in shadow mode, and says so`(everywhere: Bool, entries: Bool) async throws {
        let recorder = Recorder()
        let gate = try Self.gate(rules: Gate.Rules(isShadow: everywhere), shadowEntries: entries, observer: recorder)
        let decision = await gate.decide(PlaybackRequest(.media("tnt"), token: "garbage"), at: GateSample.time)
        #expect(decision.isAllowed)
        #expect(decision.code == .token(.invalidBase64))
        // An unknown media id has no entry: only shadow mode for all media lets it pass.
        let unknown = await gate.decide(PlaybackRequest(.media("x"), token: nil), at: GateSample.time)
        #expect(unknown.isAllowed == everywhere)
        #expect(unknown.code == .unknownMedia)
        #expect(recorder.events.withLock { $0.count } == 2)
    }

    @Test func `tells observers of every decision once`() async throws {
        let recorder = Recorder()
        let gate = try Self.gate(observer: recorder)
        let token = try GateSample.token()
        let client = PlaybackRequest.Client(trace: TraceID(high: 1, low: 2), caller: "backend")
        for media in ["tnt", "tnt", "x"] {
            _ = await gate.decide(PlaybackRequest(.media(media), token: token, client: client), at: GateSample.time)
        }
        let events = recorder.events.withLock { $0 }
        #expect(events.map(\.decision.code) == [nil, .tokenAlreadyUsed, .unknownMedia])
        #expect(
            events.allSatisfy {
                $0.client.trace == TraceID(high: 1, low: 2) && $0.time == GateSample.time && $0.latency >= .zero
            }
        )
    }

    // MARK: Codes

    @Test func `has a name of its own for every code`() {
        let names = DenyCode.allCases.map(\.rawValue)
        #expect(Set(names).count == names.count)
        #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z0-9_]+/) != nil })
        for code in DenyCode.allCases {
            #expect(DenyCode(rawValue: code.rawValue) == code)
            #expect(!code.message.isEmpty && !code.operatorHint.isEmpty)
        }
        #expect(DenyCode(rawValue: "nonsense") == nil)
    }
}
