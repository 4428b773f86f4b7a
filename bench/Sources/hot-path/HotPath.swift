// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import MediaTokens

/// Measures the hot path against its limits. Each round measures every row in turn, so that a slow moment of the machine
/// affects all rows. The result is the median of the rounds' ratios.
///
/// Usage: `hot-path [ROUNDS [ROW]]`: 41 rounds by default, of the rows that contain ROW. `hot-path --gate` measures no times: it
/// counts heap allocations, and fails if a count is not the recorded one. `hot-path --json FILE` also writes the figures to a
/// file, one line of JSON for each row.
@main
struct HotPath {
    struct Options {
        var rounds = 41
        var only: String?
        /// A file that also gets the figures.
        var json: FileHandle?
    }

    static func main() async throws {
        var words = Array(CommandLine.arguments.dropFirst())
        let isGate = words.contains("--gate")
        words.removeAll { $0 == "--gate" }
        var options = Options()
        if let index = words.firstIndex(of: "--json"), index + 1 < words.count {
            guard FileManager.default.createFile(atPath: words[index + 1], contents: nil) else {
                fatalError("\(words[index + 1]) cannot be written")
            }
            options.json = FileHandle(forWritingAtPath: words[index + 1])
            words.removeSubrange(index...index + 1)
        }
        options.rounds = words.first.flatMap { Int($0) } ?? options.rounds
        options.only = words.count > 1 ? words[1] : nil
        if isGate { options.rounds = 0 }
        let faults = try [verification, resources, gate, grants, signedURIs, accessTokens].flatMap { try $0(options) }
        guard !isGate else {
            for fault in faults { print("gate: \(fault)") }
            print(faults.isEmpty ? "gate: all as recorded" : "gate: \(faults.count) failed")
            exit(faults.isEmpty ? 0 : 1)
        }
        try jws(options)
        try steps(options)
        try keySizes(options)
        try numbersOfKeys(options)
        try caches(options)
        try kindsOfTokens(options)
        try refusals(options)
        try catalogues(options)
        try threads(options)
        try await stores(options)
    }
}
