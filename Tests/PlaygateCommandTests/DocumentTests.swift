// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The commands of pages of `docs`, run as they are printed.
@Suite struct `The pages on commands` {
    /// A command, and the output that is printed below it; `…` stands for any text in a line, and alone for any lines.
    private struct Step {
        var command: String
        var output: [Substring] = []
    }

    private static func steps(_ page: String) throws -> [Step] {
        let text = try String(contentsOfFile: repository + "/docs/\(page)", encoding: .utf8)
        var steps: [Step] = []
        var isInConsole = false
        var isContinued = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInConsole = line == "```console"
                continue
            }
            guard isInConsole else { continue }
            if line.hasPrefix("$ ") {
                steps.append(Step(command: String(line.dropFirst(2))))
            } else if isContinued {
                steps[steps.count - 1].command += "\n" + line
            } else if !steps.isEmpty {
                steps[steps.count - 1].output.append(line)
            }
            isContinued = (line.hasPrefix("$ ") || isContinued) && line.hasSuffix("\\")
        }
        return steps
    }

    /// True if `line` is `pattern`, in which `…` stands for any text.
    private static func matches(_ line: Substring, _ pattern: Substring) -> Bool {
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
        var rest = line.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return rest.count >= parts[parts.count - 1].count
    }

    @Test(arguments: [("grants.md", 10), ("manifests.md", 5)])
    func `have commands that print what stands below them`(page: String, count: Int) throws {
        let folder = try TemporaryFolder()
        let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        let steps = try Self.steps(page)
        #expect(steps.count >= count)
        for step in steps {
            let script = "cd \"$1\" && PATH=\"$2:$PATH\" && { \(step.command)\n} 2>&1"
            let run = try CommandRun("/bin/bash", ["-c", script, "bash", folder.path, programs])
            var lines = run.output.split(separator: "\n", omittingEmptySubsequences: false).dropLast()[...]
            for (place, pattern) in step.output.enumerated() {
                if pattern == "…", place == step.output.count - 1 { lines = [] }
                guard pattern != "…" || !lines.isEmpty else { continue }
                let line = lines.popFirst()
                #expect(
                    line.map { Self.matches($0, pattern) } == true,
                    "\(step.command): \(line ?? "nothing") instead of \(pattern)"
                )
            }
            if !step.output.isEmpty { #expect(lines.isEmpty, "\(step.command): \(lines.joined(separator: "\n"))") }
        }
    }
}
