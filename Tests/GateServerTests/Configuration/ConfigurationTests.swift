// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import ConfigurationReading
import Foundation
import GateServer
import GateTestSupport
import MediaTokens
import Platform
import Testing

// One invalid file for each fault, named after it. Its first line states the expected error.
@Suite struct `A configuration` {
    private static let folder = repository + "/Tests/GateServerTests/BadConfigurations"

    static let faults = (try? FileManager.default.contentsOfDirectory(atPath: folder))?.sorted() ?? []

    /// Returns the problems of a configuration in a folder with a valid key.
    private static func problems(_ text: String) throws -> [ConfigurationProblem] {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let file = try folder.write("gate.yaml", contents: text)
        do throws(ConfigurationError) {
            _ = try GateServer(configurationFile: file, at: GateSample.time)
            return []
        } catch { return error.problems }
    }

    @Test func `names misspelt keys and missing files in one run`() throws {
        let text = """
            requestor: REF30
            trust: { keys: [{ file: signer.pem }, { file: none.pem }] }
            catalogue:
              entries: [{ media: tnt, resorce: TNT }]
              feeds: [{ file: feed.xml }]
            api: { anonymous: true, tls: { certificate: tls.pem, key: none.key } }
            """
        let reported = try Self.problems(text).map { problem in
            let name = problem.message.split(separator: "/").last ?? ""
            return "\(problem.location.line) \(problem.location.key): \(name)"
        }
        let missing = "cannot be opened: No such file or directory"
        #expect(
            reported == [
                "2 trust.keys[1].file: none.pem: \(missing)",
                "4 catalogue.entries[0].resorce: unknown key; did you mean resource?",
                "5 catalogue.feeds[0].file: feed.xml: \(missing)", "6 api.tls.certificate: tls.pem: \(missing)",
                "6 api.tls.key: none.key: \(missing)",
            ],
            "\(reported)"
        )
    }

    @Test(arguments: faults) func `is refused for its fault, with file, line and key`(name: String) throws {
        let text = try String(contentsOfFile: "\(Self.folder)/\(name)", encoding: .utf8)
        let expected = try #require(text.split(separator: "\n").first?.dropFirst("# expected: ".count))
        let problems = try Self.problems(text)
        #expect(problems.count == 1, "\(problems)")
        let problem = try #require(problems.first)
        #expect(problem.location.file.hasSuffix("/gate.yaml"))
        #expect(problem.location.line > 0)
        let reported = "\(problem.location.line): \(problem.location.key): \(problem.message)"
        #expect(reported.contains(expected), "\(reported)")
    }

    @Test func `has a file for many faults`() { #expect(Self.faults.count >= 40) }

    @Test func `tells all its faults at once, in their order`() throws {
        let problems = try Self.problems(
            """
            requestor: 1
            trust: { keys: [{ fil: signer.pem }] }
            catalogue: { entries: [{ media: a }] }
            replayStore: { deadline: soon, advanced: { whenUnavailable: none } }
            api: { anonymous: maybe, listen: nowhere }
            nonsense: true
            """
        )
        let lines = problems.map(\.location.line)
        #expect(problems.count >= 9)
        #expect(lines == lines.sorted())
        #expect(Set(lines) == [1, 2, 3, 4, 5, 6])
    }

    @Test(arguments: ["", "[]", "text", "- a", "{", "\u{0}", "a: &x [*x]"])
    func `that is no mapping is refused`(text: String) throws {
        #expect(try !Self.problems(text).isEmpty)
    }

    @Test func `nested beyond all measure is refused`() throws {
        #expect(try !Self.problems(String(repeating: "{a: ", count: 100_000)).isEmpty)
        #expect(try !Self.problems("a: " + String(repeating: "[", count: 100_000)).isEmpty)
    }

    @Test func `of the examples is good`() throws {
        let text = try String(contentsOfFile: repository + "/examples/gate.yaml", encoding: .utf8)
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.file("keys"), withIntermediateDirectories: false)
        try folder.write("keys/signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let summary = try GateServer(
            configurationFile: try folder.write("gate.yaml", contents: text),
            at: GateSample.time
        )
        .summary
        // The start of the stream, its folder and its id; and three others.
        #expect(summary.entries == 6)
        #expect(summary.keys == 1)
        #expect(summary.warnings.isEmpty)
    }
}
