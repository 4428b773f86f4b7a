// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateAdmin
import GateTestSupport
import Testing

@Suite struct `playgate top` {
    @Test func `tells the decisions, latencies and keys of a running gate`() async throws {
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("admin.sock"))"
        let configuration = RunningGate.configuration()
            .replacing("admin: { listen: \"127.0.0.1:0\" }", with: "admin: { listen: \"\(socket)\" }")
        let file = try folder.write("asked.yaml", contents: "admin: { listen: \"\(socket)\" }\n")
        try await RunningGate.with(configuration) { gate in
            let top = try Program(
                Program.built("playgate"),
                arguments: ["top", "--config", file, "--json", "--interval", "200ms"],
                log: folder.file("top.log")
            )
            func lines() -> [[String: Any]] {
                top.output.split(separator: "\n").compactMap {
                    try? JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]
                }
            }
            func count(_ code: String) -> Int {
                lines().flatMap { $0["decisions"] as? [[String: Any]] ?? [] }
                    .reduce(0) { $1["code"] as? String == code ? $0 + ($1["count"] as? Int ?? 0) : $0 }
            }
            // From the first interval on, all is counted.
            try #require(eventually(within: 60) { !lines().isEmpty })
            let token = try gate.token()
            for _ in 0..<3 { _ = try gate.play(token: token) }
            #expect(
                eventually(within: 60) { count("token_already_used") == 2 && count("verified") == 1 },
                "\(top.output)"
            )
            top.signal(SIGTERM)
            _ = try? top.waitUntilExit()
            let last = try #require(lines().last { !($0["decisions"] as? [Any] ?? []).isEmpty })
            #expect((last["keys"] as? [[String: Any]])?.first?["key"] as? String == "signer")
            #expect(last["store"] as? String == "memory" && last["inFlight"] as? Int == 0)
            let latency = try #require(last["latencyMicroseconds"] as? [String: Any])
            #expect((latency["p99"] as? Int).map { $0 >= 10 } == true)

            let table = try CommandRun(
                Program.built("playgate"),
                arguments: ["top", "--config", file, "--interval", "100ms", "--count", "1"]
            )
            #expect(table.status == 0 && table.output.contains("no decisions in this interval"), "\(table)")
            #expect(table.output.contains("keys       signer ") && !table.output.contains("\u{1B}"))
        }
        let away = try CommandRun(
            Program.built("playgate"),
            arguments: ["top", "--config", file, "--count", "1", "--json"]
        )
        #expect(away.status == 2 && away.output.contains("\"error\":\"gate_unreachable\""))
        #expect(try CommandRun(Program.built("playgate"), arguments: ["top", "--interval", "1ms"]).status == 64)
        #expect(try CommandRun(Program.built("playgate"), arguments: ["top", "--count", "0"]).status == 64)
    }

    @Test func `returns the difference of two samples`() {
        let start = ContinuousClock.now
        let first = MetricsSample(
            """
            # HELP a b
            playgate_decisions_total{decision="allow",code="verified"} 5
            playgate_decisions_total{decision="refuse",code="expired"} 5
            x_bucket{le="0.001"} 1
            x_bucket{le="0.1"} 1
            x_bucket{le="+Inf"} 1
            nonsense
            playgate_trusted_key_expiry_timestamp_seconds{key="a"} +Inf
            """,
            at: start
        )
        let second = MetricsSample(
            """
            playgate_decisions_total{decision="allow",code="verified"} 15
            playgate_decisions_total{decision="refuse",code="expired"} 5
            playgate_decisions_total{decision="refuse",code="token_missing"} 30
            x_bucket{le="0.001"} 91
            x_bucket{le="0.1"} 100
            x_bucket{le="+Inf"} 101
            """,
            at: start + .seconds(2)
        )
        #expect(second.decisions(since: first).map(\.code) == ["token_missing", "verified"])
        #expect(second.decisions(since: first).map(\.count) == [30, 10])
        #expect(second.seconds(since: first) == 2)
        #expect(second.quantile(0.5, of: "x", since: first) == 0.001)
        #expect(second.quantile(0.99, of: "x", since: first) == 0.1)
        #expect(second.quantile(1, of: "x", since: first) == .infinity)
        #expect(second.quantile(0.5, of: "y", since: first) == nil)
        #expect(first.all("playgate_trusted_key_expiry_timestamp_seconds", by: "key").first?.value == .infinity)
        // A gate that was started anew counts from zero.
        #expect(first.decisions(since: second).isEmpty && first.increase(of: "x_bucket", since: second) == 0)
    }
}
