// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Platform
import Testing

@Suite struct `The metrics of grants` {
    private static let secret = String(repeating: "A", count: 44)
    private static let other = String(repeating: "B", count: 44)

    private static let configuration = RunningGate.configuration(
        """
        replayStore: { advanced: { capacity: 100 } }
        keys: { k1: { secret: \(secret) }, k2: { secret: \(other) }, k3: { secret: \(other.lowercased()) } }
        grants:
          subjectKey: \(secret)
          profiles:
            live: { issuer: playgate, key: k1 }
            second: { issuer: second, key: k2 }
            foreign: { issuer: other }
          issuers: [{ issuer: other, keys: [k3] }]
        edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
        """,
        catalogue: """
                - { path: /film/master.m3u8, resource: TNT, grant: [live, second] }
                - { path: /film/, resource: TNT, admits: grant, grant: live }
            """
    )

    private static func expect(
        _ wanted: [String: Double],
        of gate: RunningGate,
        sourceLocation location: SourceLocation = #_sourceLocation
    ) throws {
        for (name, value) in wanted { #expect(try gate.metric(name) == value, "\(name)", sourceLocation: location) }
    }

    /// The API, an edge and an exchange issue, the API and an edge renew.
    @Test func `count what is issued and renewed, by profile, and what the cache of grants finds`() async throws {
        let live = "playgate_grants_issued_total{profile=\"live\",format=\"cat\"}"
        let second = "playgate_grants_issued_total{profile=\"second\",format=\"cat\"}"
        let renewed = "playgate_grants_renewed_total{profile=\"live\"}"
        try await RunningGate.with(Self.configuration) { (gate) throws in
            try Self.expect([live: 0, second: 0, renewed: 0], of: gate)
            #expect(try gate.admin("GET", path: "/metrics").body.contains("foreign") == false)
            let token = try gate.token(GateSample.claims(session: "s1"))
            let answer = try gate.play(path: "/film/master.m3u8", token: token, playbackID: "p")
            let grants = answer.json["grants"] as? [[String: Any]] ?? []
            let grant = try #require(grants.first?["token"] as? String)
            try Self.expect([live: 1, second: 1, renewed: 0], of: gate)
            #expect(try eventually { try gate.areRevocationsRead })

            let exchange = "{\"grant\":\"\(grant)\",\"profile\":\"second\",\"path\":\"/film/master.m3u8\"}"
            #expect(try gate.post("/v1/grants", body: exchange).status == 200)
            try Self.expect([live: 1, second: 2, renewed: 0], of: gate)

            let other = try gate.token(GateSample.claims(session: "s2")).percentEncoded
            let start = try gate.check("/film/master.m3u8?token=\(other)")
            #expect(start.gateCode == "verified")
            try Self.expect([live: 2, second: 3, renewed: 0], of: gate)

            gate.now = gate.now.adding(seconds: 200)
            for _ in 0..<2 {
                #expect(try gate.post("/v1/grants/renew", body: "{\"grant\":\"\(grant)\"}").status == 200)
            }
            let segment = try gate.check("/film/seg1.ts", cookie: "CTA-Common-Access-Token=\(grant)")
            #expect(segment.gateCode == "renewed")
            // The same renewed grant for all three.
            try Self.expect([live: 2, second: 3, renewed: 1], of: gate)
            try Self.countLookUps(of: grant, by: gate)
        }
    }

    /// Each event loop looks up in a part of its own, so of more checks than there are loops, at least one finds something.
    private static func countLookUps(of grant: String, by gate: RunningGate) throws {
        func count(_ result: String) throws -> Double {
            try #require(try gate.metric("playgate_grant_cache_lookups_total{result=\"\(result)\"}"))
        }
        let loops = Double(usableCores())
        // The exchange, two renewals by the API, and the segment.
        #expect(try count("hit") + count("miss") == 4)
        #expect(try count("miss") <= loops)
        for _ in 0...usableCores() {
            #expect(try gate.check("/film/seg1.ts", cookie: "CTA-Common-Access-Token=\(grant)").status == 200)
        }
        let (hits, misses) = (try count("hit"), try count("miss"))
        #expect(hits + misses == 4 + loops + 1 && hits >= 1 && misses <= loops)
        #expect(try count("forged_hit") == 0)
        for _ in 0...usableCores() {
            let forged = "CTA-Common-Access-Token=\(grant.dropLast(4))AAAA"
            #expect(try gate.check("/film/seg1.ts", cookie: forged).gateCode == "grant_signature_invalid")
        }
        let found = try count("forged_hit")
        #expect(found >= 1)
        #expect(try count("miss") == misses + loops + 1 - found)
        #expect(try count("hit") == hits)
    }
}

extension RunningGate {
    /// True if the revocations of the store are known, so that grants can be accepted.
    var areRevocationsRead: Bool {
        get throws { try metric("playgate_revocation_mirror_age_seconds")?.isFinite ?? false }
    }

    /// Asks what an edge asks for its client's request, in the dialect `forward`.
    func check(
        _ target: String,
        cookie: String? = nil,
        headers: [String: String] = [:]
    ) throws -> HTTPConnection.Response {
        var fields = [
            "X-Forwarded-Uri": target, "X-Forwarded-Method": "GET", "X-Forwarded-Host": "cdn.example",
            "X-Forwarded-Proto": "https",
        ]
        fields["Cookie"] = cookie
        fields.merge(headers) { $1 }
        return try HTTPConnection(edge).request("GET", path: "/v1/check/forward", headers: fields)
    }
}
