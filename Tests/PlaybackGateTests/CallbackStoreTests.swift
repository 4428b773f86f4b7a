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

@Suite struct `A store that calls back` {
    /// A store with one outcome, which it tells by both ways, and notes by which.
    private final class FixedStore: ReplayStore {
        let name = "fixed"
        let longestWait: Duration?
        let supportsCallbacks: Bool
        private let outcome: UseOutcome?
        let calls = Mutex<[String]>([])

        init(_ outcome: UseOutcome?, longestWait: Duration? = .milliseconds(250), supportsCallbacks: Bool = true) {
            self.outcome = outcome
            self.longestWait = longestWait
            self.supportsCallbacks = supportsCallbacks
        }

        private func known(_ call: String) throws(ReplayStoreError) -> UseOutcome {
            calls.withLock { $0.append(call) }
            guard let outcome else { throw ReplayStoreError(.unavailable, reason: "down") }
            return outcome
        }

        func record(_: TokenUse, at _: Timestamp) async throws(ReplayStoreError) -> UseOutcome { try known("record") }

        func examine(_: TokenUse, at _: Timestamp) async throws(ReplayStoreError) -> UseOutcome { try known("examine") }

        func requestOutcome(of _: TokenUse, isConsumed: Bool, receive: @escaping @Sendable (UseOutcome?) -> Void) {
            receive(try? known(isConsumed ? "ask to record" : "ask to examine"))
        }

        func revoke(_: Revocation, at _: Timestamp) async throws(ReplayStoreError) {}

        func check() async throws(ReplayStoreError) {}
    }

    private final class Recorder: DecisionObserver {
        let events = Mutex<[DecisionEvent]>([])

        func observe(_ event: DecisionEvent) { events.withLock { $0.append(event) } }
    }

    private static func gate(
        with store: any ReplayStore,
        use: Catalogue.Entry.Use = .once,
        allowsUnknownUse: Bool = false,
        observer: any DecisionObserver = NoObserver()
    ) throws -> Gate {
        var catalogue = Catalogue()
        let protection = Catalogue.Entry.Protection.resource(try MediaResource("TNT"), requestor: "REF30")
        try catalogue.add(Catalogue.Entry(key: .media("tnt"), protection: protection, use: use))
        return Gate(
            catalogue: catalogue,
            verifier: try GateSample.verifier(),
            store: store,
            rules: Gate.Rules(allowsUnknownUse: allowsUnknownUse),
            observer: observer
        )
    }

    private static func pending(_ gate: Gate) throws -> Gate.PendingUse {
        let request = PlaybackRequest(.media("tnt"), token: try GateSample.token(), playbackID: "p1")
        guard case .pending(let use) = gate.begin(request, at: GateSample.time) else {
            throw ReplayStoreError(.unavailable, reason: "decided without the store")
        }
        return use
    }

    private static let outcomes: [UseOutcome?] = [
        .recorded, .repeated, .usedUp, .revoked(.token), .revoked(.session), .revoked(.mvpd), .full, .notRevoked, nil,
    ]

    @Test(arguments: outcomes, [false, true])
    func `decides as one that is awaited`(outcome: UseOutcome?, allowsUnknownUse: Bool) async throws {
        for use in [Catalogue.Entry.Use.once, .withinTTL] {
            let (store, recorder) = (FixedStore(outcome), Recorder())
            let gate = try Self.gate(with: store, use: use, allowsUnknownUse: allowsUnknownUse, observer: recorder)
            let awaited = await gate.complete(try Self.pending(gate))
            let call = try #require(gate.storeCall(for: try Self.pending(gate)))
            let called = Mutex<Decision?>(nil)
            call.ask { answer in called.withLock { $0 = call.decide(answer) } }
            #expect(called.withLock { $0 } == awaited)
            let work = use == .once ? "record" : "examine"
            #expect(store.calls.withLock { $0 } == [work, "ask to \(work)"])
            let events = recorder.events.withLock { $0 }
            #expect(events.count == 2 && events.allSatisfy { $0.decision == awaited && $0.storeLatency != nil })
            // The text of the token is not kept while the store is waited for, and the rest of the request is.
            #expect(events.allSatisfy { $0.target == .media("tnt") })
        }
    }

    @Test(
        arguments: [
            ("ends its waits in time", .milliseconds(250), true, true),
            ("ends its waits too late", .milliseconds(251), true, false), ("may wait for ever", nil, true, false),
            ("cannot call back as it is set up", .milliseconds(250), false, false),
        ] as [(String, Duration?, Bool, Bool)]
    )
    func `is called so only if it ends its waits by itself`(
        _: String,
        longestWait: Duration?,
        supportsCallbacks: Bool,
        hasCall: Bool
    ) throws {
        let gate = try Self.gate(
            with: FixedStore(.recorded, longestWait: longestWait, supportsCallbacks: supportsCallbacks)
        )
        #expect((gate.storeCall(for: try Self.pending(gate)) != nil) == hasCall)
    }

    /// A start under a limit acquires its slot before the token is used.
    @Test(arguments: [(nil, true), (2, false)] as [(Int?, Bool)])
    func `is called so only if a playback needs no slot`(streams: Int?, hasCall: Bool) async throws {
        let sample = try await GrantingSample(
            GrantingSample.rules(streams: streams),
            gateStore: FixedStore(.recorded)
        )
        let request = PlaybackRequest(.path("/live/tnt/master.m3u8"), token: try GateSample.token())
        guard case .pending(let use) = sample.gate.begin(request, at: GateSample.time) else {
            return #expect(Bool(false), "decided without the store")
        }
        #expect((sample.gate.storeCall(for: use) != nil) == hasCall)
    }
}
