// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Encodings
import Foundation
import GateTestSupport
import Manifests
import Testing

@Suite("Corpus of playlists") struct HLSCorpusTests {
    @Test("is rewritten as expected by hand", arguments: PlaylistSample.names) func expected(name: String) throws {
        for (mode, kind) in [(ManifestRules.Mode.segment(), "segment"), (.query(), "query")] {
            let rules = try rules(mode, query: "?region=eu&cat=OLD")
            let playlist = try PlaylistSample.bytes(name)
            let expected = try PlaylistSample.bytes("\(name).\(kind)")
            let output = try HLSRewriter.rewrite(playlist.span, rules: rules)
            #expect(String(decoding: output, as: UTF8.self) == String(decoding: expected, as: UTF8.self))
            let returns = try HLSRewriter.rewrite(PlaylistSample.withReturns(playlist).span, rules: rules)
            #expect(returns == PlaylistSample.withReturns(expected))
        }
    }

    private static let python = repository + "/.build-oracles/bin/python"

    private static func ask(_ requests: [[String: String]]) throws -> [[String: Any]] {
        let lines = try requests.map { String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self) }
        let script = repository + "/Tests/ManifestsTests/Oracles/playlists.py"
        let run = try CommandRun(python, arguments: [script], input: [UInt8](lines.joined(separator: "\n").utf8))
        try #require(run.status == 0, "\(run.error)")
        let answers = try run.output.split(separator: "\n").map { line in
            try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
        try #require(answers.count == requests.count)
        return answers
    }

    @Test(
        "has the grant in every protected reference, as m3u8 reads it, and no other change",
        .enabled(if: Requirement.hasOracles(importing: "m3u8"), "m3u8 is not installed: run scripts/setup test")
    )
    func oracle() throws {
        var requests: [[String: String]] = []
        for (mode, kind) in [(ManifestRules.Mode.segment(), "segment"), (.query(), "query")] {
            let rules = try rules(mode, query: "?region=eu&cat=OLD")
            for (_, playlist) in try PlaylistSample.all() {
                let output = try HLSRewriter.rewrite(playlist.span, rules: rules)
                requests.append([
                    "do": "compare", "mode": kind, "before": String(decoding: playlist, as: UTF8.self),
                    "after": String(decoding: output, as: UTF8.self),
                ])
            }
        }
        var references = 0
        for answer in try Self.ask(requests) {
            #expect(answer["faults"] as? [String] == [])
            references += try #require(answer["protected"] as? Int)
        }
        #expect(references >= 100)
    }

    @Test(
        "Random references resolve as Python resolves them",
        .enabled(if: Requirement.hasOracles(importing: "m3u8"), "m3u8 is not installed: run scripts/setup test")
    )
    func resolver() throws {
        var random = SplitMix64(seed: 19)
        var requests: [[String: String]] = []
        for (mode, kind) in [(ManifestRules.Mode.segment(), "segment"), (.query(), "query")] {
            let rules = try rules(mode, query: "?q=1")
            while requests.count < (kind == "segment" ? 4_000 : 8_000) {
                let reference = HLSPropertyTests.reference(&random)
                guard !reference.contains("{$") else { continue }
                var writer = ReferenceWriter(rules)
                var output: [UInt8] = []
                guard let outcome = try? writer.write(reference.utf8.span, against: rules.base, to: &output) else {
                    continue
                }
                let written = outcome == .written ? String(decoding: output, as: UTF8.self) : reference
                requests.append(["do": "resolve", "mode": kind, "before": reference, "after": written])
            }
        }
        var (protected, others) = (0, 0)
        var faults: [String] = []
        for answer in try Self.ask(requests) {
            faults += try #require(answer["faults"] as? [String])
            if answer["protected"] as? Int == 1 { protected += 1 } else { others += 1 }
        }
        #expect(faults.prefix(5) == [])
        #expect(protected > 1_000 && others > 500)
    }
}
