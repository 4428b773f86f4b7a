// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The numbers of documented calls and callbacks in test names, to which docs/entitlements.md refers.
@Suite struct `Documented calls` {
    /// The supported numbers; the others are deprecated in the documentation, or concern a platform's screen.
    private static let rows =
        ["1", "3"] + (4...5).map { "\($0)" } + (8...12).map { "\($0)" } + (14...18).map { "\($0)" }
        + (20...47).map { "\($0)" } + ["43a", "43b", "44a", "46a", "46b", "46c"]

    /// The flows of the cookbook.
    private static let flows = ["A", "B", "C", "D", "E", "F", "G", "H", "I"]

    /// The values that follow `word` in the names of all tests.
    private static func named(_ word: Regex<(Substring, Substring)>) throws -> Set<String> {
        let tests = URL(fileURLWithPath: repository + "/Tests")
        let files = try #require(FileManager.default.enumerator(at: tests, includingPropertiesForKeys: nil))
        var found: Set<String> = []
        for case let file as URL in files where file.pathExtension == "swift" {
            let text = try String(contentsOf: file, encoding: .utf8)
            // Test names only: the text after @Test, and function names in backticks.
            for line in text.split(separator: "\n") where line.contains("@Test") || line.contains("\"inventory") {
                for match in line.matches(of: word) {
                    found.formUnion(
                        match.output.1.replacing(" and ", with: ",").split(separator: ",").map {
                            $0.trimmingCharacters(in: .whitespaces)
                        }
                    )
                }
            }
        }
        return found
    }

    @Test("each has a test that names it", arguments: rows)
    func row(number: String) throws {
        #expect(try Self.named(/inventory ([0-9][0-9a-c, ]*)/).contains(number))
    }

    @Test("each flow of the cookbook has a test that names it", arguments: flows)
    func flow(letter: String) throws {
        #expect(try Self.named(/flows? ([A-I](?:(?:, | and )[A-I])*)/).contains(letter))
    }
}
