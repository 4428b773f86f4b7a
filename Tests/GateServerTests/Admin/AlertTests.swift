// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The alerts of `examples/observability`.
@Suite struct `The alerts` {
    private static let rules = Result {
        try String(contentsOfFile: "\(Prometheus.examples)/playgate.rules.yml", encoding: .utf8)
    }

    @Test(
        .needsPrometheus,
        arguments: [["check", "rules", "playgate.rules.yml"], ["test", "rules", "playgate.test.yml"]]
    )
    func `are what promtool accepts`(_ arguments: [String]) async throws {
        try await onThread {
            let promtool = Program.installed("promtool") ?? "promtool"
            let file = "\(Prometheus.examples)/\(arguments[2])"
            let run = try CommandRun(promtool, arguments: Array(arguments[..<2]) + [file])
            #expect(run.status == 0, "\(run.output)\(run.error)")
        }
    }

    /// ``The pages of the reference`` has every metric of the gate.
    @Test func `ask for metrics that the documentation has, and each has a test`() throws {
        let page = try String(contentsOfFile: "\(repository)/docs/reference/metrics.md", encoding: .utf8)
        let tests = try String(contentsOfFile: "\(Prometheus.examples)/playgate.test.yml", encoding: .utf8)
        let rules = try Self.rules.get()
        let names = Set(rules.matches(of: /playgate_[a-z_]+/).map { String($0.output) })
        #expect(names.count > 8)
        for name in names { #expect(page.contains("`\(name.replacing("_bucket", with: ""))"), "\(name)") }
        for alert in rules.matches(of: /alert: ([A-Za-z]+)/).map(\.output.1) {
            #expect(tests.contains("alertname=\"\(alert)\""), "\(alert)")
        }
    }

    @Test(.needsPrometheus, .needsRedis)
    func `fire when a key expires soon, replays rise, the store stops and the gate ends`() async throws {
        let tokens = try await mint(2)
        try await onThread {
            let redis = try RedisServer()
            let server = try redis.start()
            let expiry = Date().addingTimeInterval(3600).ISO8601Format()
            let store = "{ deadline: 10s, redis: \"unix:\(redis.socket)\" }"
            let configuration = ServedGate.configuration(store)
                .replacing("signer.pem }", with: "signer.pem, notAfter: \"\(expiry)\" }")
            let gate = try ServedGate(in: try TemporaryFolder(), configuration: configuration)
            #expect(eventually { gate.isReady })
            let prometheus = try Prometheus(scraping: gate.addresses["admin"] ?? "")

            #expect(try prometheus.fires("PlaygateKeyExpiresToday"))
            #expect(try prometheus.alerts == ["PlaygateKeyExpiresToday", "PlaygateKeyExpiresSoon"])

            let player = try HTTPConnection(gate.api)
            #expect(try ServedGate.play(tokens[0], on: player).status == 200)
            for _ in 0..<200 { #expect(try ServedGate.play(tokens[0], on: player).code == "token_already_used") }
            #expect(try prometheus.fires("PlaygateReplaysRise"))
            #expect(try !prometheus.alerts.contains("PlaygateStoreFailing"))

            server.signal(SIGTERM)
            try server.waitUntilExit()
            #expect(try ServedGate.play(tokens[1], on: player).code == "replay_store_unavailable")
            #expect(try prometheus.fires("PlaygateStoreFailing"))
            #expect(try !prometheus.alerts.contains("PlaygateDown"))

            gate.program.signal(SIGKILL)
            #expect(try prometheus.fires("PlaygateDown"))
        }
    }
}
