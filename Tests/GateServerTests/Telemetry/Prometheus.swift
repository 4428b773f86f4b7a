// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport

/// A Prometheus that scrapes a gate during a test, with the alerts of `examples/observability` without their waiting times.
final class Prometheus: Sendable {
    /// The folder of the files that the documentation names.
    static let examples = "\(repository)/examples/observability"

    /// True if Prometheus is installed. Otherwise tests are skipped; in continuous integration they fail.
    static var isInstalled: Bool { Requirement.areInstalled("prometheus", "promtool") }

    private let folder: TemporaryFolder
    private let program: Program
    private let address: String

    /// Starts a server that scrapes the admin listener `target`, and waits until it answers.
    init(scraping target: String) throws {
        folder = try TemporaryFolder()
        let rules = try String(contentsOfFile: "\(Self.examples)/playgate.rules.yml", encoding: .utf8)
        try folder.write("rules.yml", contents: rules.replacing(/for: [0-9]+m/, with: "for: 0s"))
        let configuration = try folder.write(
            "prometheus.yml",
            contents: """
                global: { scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms }
                rule_files: [rules.yml]
                scrape_configs: [{ job_name: playgate, static_configs: [{ targets: ["\(target)"] }] }]
                """
        )
        address = "127.0.0.1:\(try RunningEdge.freePort())"
        program = try Program(
            Program.installed("prometheus") ?? "prometheus",
            arguments: [
                "--config.file=\(configuration)", "--storage.tsdb.path=\(folder.file("data"))",
                "--web.listen-address=\(address)",
            ],
            log: folder.file("log")
        )
        guard eventually({ (try? self.get("/-/ready").status) == 200 }) else { throw NotStarted(log: program.output) }
    }

    struct NotStarted: Error { let log: String }

    private func get(_ target: String) throws -> HTTPConnection.Response {
        try HTTPConnection(address).request("GET", path: target)
    }

    /// Returns the samples of an instant query, each by its labels; `nil` if Prometheus refuses it.
    func samples(_ query: String) throws -> [[String: String]]? {
        let text = query.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
        let data = try get("/api/v1/query?query=\(text)").json["data"] as? [String: Any]
        return (data?["result"] as? [[String: Any]])?.map { $0["metric"] as? [String: String] ?? [:] }
    }

    /// The names of the alerts that fire now.
    var alerts: Set<String> {
        get throws { Set(try samples("ALERTS{alertstate=\"firing\"}")?.compactMap { $0["alertname"] } ?? []) }
    }

    /// Waits until an alert fires.
    func fires(_ alert: String) throws -> Bool { try eventually(within: 60) { try alerts.contains(alert) } }
}
