// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Glibc

/// Measures the hot path against its limits: rounds of each in turn, so that a slow moment of the machine hits all,
/// and the median of the ratios of the rounds.
///
/// Usage: `hot-path [ROUNDS [ROW]]`: 41 rounds by default, of the rows that contain ROW, as for callgrind with
/// `--toggle-collect='*measured*'`. `hot-path --gate` measures what has limits alone, and fails where one is passed (with
/// room for the noise of a shared machine, but for allocations, which are exact).
@main
struct HotPath {
    struct Options {
        var rounds = 41
        var only: String?
    }

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        let isGate = arguments.contains("--gate")
        let words = Array(arguments.filter { $0 != "--gate" })
        let options = Options(
            rounds: words.first.flatMap { Int($0) } ?? 41,
            only: words.count > 1 ? words[1] : nil
        )
        var faults = try verification(options)
        faults += try resources(options)
        faults += try gate(options)
        guard !isGate else {
            for fault in faults { print("gate: \(fault)") }
            print(faults.isEmpty ? "gate: all within their limits" : "gate: \(faults.count) failed")
            exit(faults.isEmpty ? 0 : 1)
        }
        try keySizes(options)
        try numbersOfKeys(options)
        try kindsOfTokens(options)
        try refusals(options)
        try catalogues(options)
        try threads(options)
        try await stores(options)
    }
}
