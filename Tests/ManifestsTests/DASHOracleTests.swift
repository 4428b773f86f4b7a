// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Manifests
import Testing

/// An independent reader of MPDs in Python, and a resolver of their URLs from the standards, in the environment that
/// `scripts/setup test` makes.
@Suite(
    "MPDs and mpegdash",
    .enabled(
        if: Requirement.hasOracles(importing: "mpegdash"),
        "mpegdash is not installed: run scripts/setup test"
    )
)
struct DASHOracleTests {
    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ requests: [[String: Any]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/ManifestsTests/Oracles/mpd.py"
        let run = try CommandRun(
            python,
            arguments: [script],
            input: [UInt8](lines.joined(separator: "\n").utf8),
            within: 120
        )
        try #require(run.status == 0, "\(run.error)")
        return try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    private static func request(before: String, after: String, mode: ManifestRules.Mode) -> [String: Any] {
        [
            "do": "judge", "before": before, "after": after, "url": DASH.url,
            "mode": mode == .query() ? "query" : "segment",
            "grant": DASH.grant, "hosts": ["cdn.example", "two.example"],
        ]
    }

    @Test("find the same requests in the corpus, with the grant where it belongs")
    func corpus() throws {
        var requests: [[String: Any]] = []
        for example in DASHReferenceTests.cases {
            let mpd = DASH.period(example.content.period, mpd: example.content.mpd)
            for mode in DASH.both {
                requests.append(
                    Self.request(before: mpd, after: try DASH.rewrite(mpd, rules: DASH.rules(mode)), mode: mode)
                )
            }
        }
        for (answer, request) in zip(try Self.ask(requests), requests) {
            #expect(answer["fault"] as? String == nil, "\(request["before"] ?? "")")
        }
    }

    @Test("find the same requests in random MPDs", arguments: DASH.both)
    func random(mode: ManifestRules.Mode) throws {
        let made = try Self.ask([["do": "make", "count": 1500, "seed": mode == .query() ? 1 : 2]])
        #expect(made.count == 1500)
        let rules = try DASH.rules(mode)
        var requests: [[String: Any]] = []
        var refused: [String: Int] = [:]
        for answer in made {
            let mpd = try #require(answer["mpd"] as? String)
            do {
                let output = try DASH.rewrite(mpd, rules: rules)
                #expect(try DASH.rewrite(output, rules: rules) == output, "\(mpd)")
                requests.append(Self.request(before: mpd, after: output, mode: mode))
            } catch let fault as ManifestFault {
                refused[fault.reason, default: 0] += 1
            }
        }
        // Refused is only what no text fits: protected and other bases of one reference.
        #expect(refused.keys.allSatisfy { $0.contains("no text of it fits all") }, "\(refused)")
        #expect(requests.count > 900, "\(refused)")
        var (protected, other) = (0, 0)
        for (answer, request) in zip(try Self.ask(requests), requests) {
            #expect(answer["fault"] as? String == nil, "\(request["before"] ?? "")")
            protected += answer["protected"] as? Int ?? 0
            other += answer["other"] as? Int ?? 0
        }
        #expect(protected > 3000 && other > 1500)
    }
}
