// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// A command that a page prints in a block marked as `console`, and the output that is printed below it.
package struct ConsoleStep: Sendable {
    /// The command, with its continued lines.
    package var command: String
    /// The lines of the output; `…` stands for any text in a line, and by itself at the end for any lines.
    package var output: [String] = []

    /// Creates a step that prints nothing.
    package init(command: String) { self.command = command }

    /// Returns the steps of all `console` blocks of a text.
    package static func steps(of text: String) -> [ConsoleStep] {
        var steps: [ConsoleStep] = []
        var isInConsole = false
        var isContinued = false
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                isInConsole = line == "```console"
                continue
            }
            guard isInConsole else { continue }
            if line.hasPrefix("$ ") {
                steps.append(ConsoleStep(command: String(line.dropFirst(2))))
            } else if isContinued {
                steps[steps.count - 1].command += "\n" + line
            } else if !steps.isEmpty {
                steps[steps.count - 1].output.append(String(line))
            }
            isContinued = (line.hasPrefix("$ ") || isContinued) && line.hasSuffix("\\")
        }
        return steps
    }

    /// Returns what `printed` has instead of the printed output; `nil` if it is the same.
    package func difference(from printed: String) -> String? {
        var lines = printed.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        if lines.last?.isEmpty == true { lines.removeLast() }
        for (index, pattern) in output.enumerated() {
            if pattern == "…", index == output.count - 1 { return nil }
            guard index < lines.count, Self.matches(lines[index], pattern: pattern) else {
                return "\(index < lines.count ? lines[index] : "nothing") instead of \(pattern)"
            }
        }
        return lines.count == output.count ? nil : lines[output.count...].joined(separator: "\n")
    }

    /// True if `line` is `pattern`, in which `…` stands for any text.
    private static func matches(_ line: String, pattern: String) -> Bool {
        let parts = pattern.components(separatedBy: "…")
        guard parts.count > 1 else { return line == pattern }
        guard line.hasPrefix(parts[0]), line.hasSuffix(parts[parts.count - 1]) else { return false }
        var rest = line.dropFirst(parts[0].count)
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let match = rest.firstRange(of: part) else { return false }
            rest = rest[match.upperBound...]
        }
        return rest.count >= parts[parts.count - 1].count
    }
}
