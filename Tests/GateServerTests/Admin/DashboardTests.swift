// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The dashboard of `examples/observability`.
@Suite struct `The dashboard` {
    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Target: Decodable { let expr: String }
            struct Source: Decodable { let uid: String }
            let title: String
            let datasource: Source
            let targets: [Target]
        }
        let panels: [Panel]
    }

    private static let configuration = ServedGate.configuration(
        "{ deadline: 10s, redis: \"unix:SOCKET\" }",
        more: """
            advanced: { cache: 64 }
            keys: { k1: { secret: \(String(repeating: "A", count: 44)) } }
            grants: { subjectKey: \(String(repeating: "A", count: 44)), profiles: { live: { issuer: playgate, key: k1 } } }
            """
    )
    .replacing(
        "resource: TNT }]",
        with: "resource: TNT }, { path: /film/, resource: TNT, grant: live }, "
            + "{ path: /clips/, resource: TNT, admits: ttl }]"
    )

    @Test(.needsPrometheus, .needsRedis)
    func `has data for every query, of a gate that has decided`() async throws {
        let file = URL(fileURLWithPath: "\(Prometheus.examples)/playgate.dashboard.json")
        let dashboard = try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: file))
        #expect(dashboard.panels.count >= 8)
        let tokens = try await mint(2)
        try await onThread {
            let redis = try RedisServer()
            let server = try redis.start()
            defer { server.signal(SIGTERM) }
            let configuration = Self.configuration.replacing("SOCKET", with: redis.socket)
            let gate = try ServedGate(in: try TemporaryFolder(), configuration: configuration)
            #expect(eventually { gate.isReady })
            let prometheus = try Prometheus(scraping: gate.addresses["admin"] ?? "")
            // A rate needs a scrape before what it counts.
            #expect(try eventually { try prometheus.samples("playgate_build_info")?.isEmpty == false })
            let player = try HTTPConnection(gate.api)
            #expect(try ServedGate.play(tokens[0], on: player).status == 200)
            #expect(try ServedGate.play(tokens[0], on: player).code == "token_already_used")
            let film = "{\"path\":\"/film/a.m3u8\",\"token\":\"\(tokens[1])\"}"
            #expect(try player.request("POST", path: "/v1/playback", body: film).status == 200)
            for panel in dashboard.panels {
                #expect(panel.datasource.uid == "${datasource}" && !panel.targets.isEmpty, "\(panel.title)")
                for query in panel.targets.map(\.expr) {
                    let text = query.replacing("$__rate_interval", with: "1m").replacing("$instance", with: ".+")
                    let hasData = try eventually { try prometheus.samples(text)?.isEmpty == false }
                    #expect(hasData, "\(panel.title): \(query)")
                }
            }
        }
    }
}
