// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The two steps of a decision: all that never waits, and the replay store.
@Suite struct `A decision in two steps` {
    /// A run without Redis names this test as skipped: the others leave Redis out.
    @Test(.needsRedis) func `is tested with Redis`() { #expect(GateStore.installed == GateStore.allCases) }

    private static func with(
        _ store: GateStore,
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        try await store.withGate(
            "edge: { listen: \"127.0.0.1:0\", tokens: [{ header: X-Media-Token }] }",
            catalogue: "    - { path: /vod/, resource: TNT, admits: ttl }",
            body: body
        )
    }

    /// A miss of the cache of authenticated tokens is one RSA verification; a decision that were made twice would look twice.
    private static func lookups(_ gate: RunningGate) throws -> [Double?] {
        try ["hit", "forged_hit", "miss"].map { try gate.metric("playgate_cache_lookups_total{result=\"\($0)\"}") }
    }

    @Test(arguments: GateStore.installed) func `verifies each token once, whatever the store`(
        store: GateStore
    ) async throws {
        try await Self.with(store) { gate in
            #expect(try gate.play(token: try gate.token()).status == 200)
            #expect(try Self.lookups(gate) == [0, 0, 1])

            let tokens = try ["TNT", "TBS"].map { try gate.token(GateSample.claims(resource: $0, mvpd: "batch")) }
            let batch = """
                {"playbacks":[{"media":"tnt","token":"\(tokens[0])","playbackID":"a"},{"media":"tbs","token":"\(tokens[1])"}]}
                """
            let both = try gate.post("/v1/playback/batch", body: batch).body
            #expect(both.components(separatedBy: "\"allowed\":true").count == 3, "\(both)")
            #expect(try Self.lookups(gate) == [0, 0, 3])

            for path in ["/live/tnt/1", "/vod/1"] {
                let token = try gate.token(GateSample.claims(mvpd: "edge\(path)"))
                let check = ["X-Forwarded-Uri": path, "X-Forwarded-Method": "GET", "X-Media-Token": token]
                #expect(
                    try HTTPConnection(gate.edge).request("GET", path: "/v1/check/forward", headers: check).status
                        == 200
                )
            }
            #expect(try Self.lookups(gate) == [0, 0, 5])
            #expect(try gate.metric("playgate_decision_duration_seconds_count") == 5)
        }
    }

    @Test(arguments: GateStore.installed.filter { $0 != .memory })
    func `measures the whole of a decision`(store: GateStore) async throws {
        try await Self.with(store) { gate in
            for _ in 0..<4 { #expect(try gate.play(token: try gate.token(), playbackID: "p").status == 200) }
            let whole = try #require(try gate.metric("playgate_decision_duration_seconds_sum"))
            let store = try #require(
                try gate.metric("playgate_store_duration_seconds_sum{store=\"\(store.rawValue)\"}")
            )
            #expect(whole > store)
            #expect(store > 0)
        }
    }
}

/// Media tokens in JWS form, from the configuration to the replay store.
@Suite struct `A gate that trusts an issuer of JWS media tokens` {
    @Test func `consumes each of them once`() async throws {
        let signer = try PrivateKey(generating: .ellipticCurve(.p256))
        let issuer = try JWSIssuer(pem: signer.pem())
        let configuration = RunningGate.configuration()
            .replacingOccurrences(
                of: "trust: { keys: [{ file: signer.pem }] }",
                with: "trust: { keys: [{ file: signer.pem }, { file: jws.pem, tokens: jws }] }"
            )
        #expect(configuration.contains("tokens: jws"))
        try await RunningGate.with(configuration, files: ["jws.pem": signer.publicKey.pem()]) { gate in
            let token = try issuer.issue(GateSample.claims(), at: gate.now).serialized
            #expect(try gate.play(token: token).status == 200)
            let again = try gate.play(token: token)
            #expect(again.body.contains("token_already_used"), "\(again)")
            #expect(try gate.play(token: gate.token()).status == 200)
        }
    }
}
