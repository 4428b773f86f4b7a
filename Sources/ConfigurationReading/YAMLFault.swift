// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An error of the YAML parser, in words that say what to do.
struct YAMLFault {
    /// The cause and the remedy.
    let message: String
    /// The line with a caret below the fault; `nil` for a line that is not there.
    let excerpt: String?

    /// - Parameters:
    ///   - problem: The parser's own words.
    ///   - context: What it was reading; `nil` if it does not say.
    ///   - line: The line of the fault, from 1.
    ///   - column: The column of the fault, from 1.
    init(_ problem: String, context: String?, in text: String, line: Int, column: Int) {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        let found = lines.indices.contains(line - 1) ? lines[line - 1] : nil
        let start = found?.prefix { $0 == " " || $0 == "\t" } ?? ""
        let during = context.map { " (\($0))" } ?? ""
        if start.contains("\t") {
            message = "a tab; indent with blanks"
        } else if let remedy = Self.remedies.first(where: { problem.contains($0.problem) })?.remedy {
            message = "\(problem)\(during): \(remedy)"
        } else {
            message = problem + during
        }
        excerpt = found.map { found in
            // A tab has the width of one character here, so that the caret stands below the fault.
            let visible = found.prefix(200).map { $0 == "\t" ? "→" : $0 }
            return String(visible) + "\n" + String(repeating: " ", count: min(max(column - 1, 0), 200)) + "^"
        }
    }

    /// The usual cause of a problem, and its remedy.
    private static let remedies: [(problem: String, remedy: String)] = [
        ("mapping values are not allowed", "put what follows on a line of its own, or a text with a colon in quotes"),
        ("found unexpected end of stream", "a quote is not closed"),
        ("could not find expected ':'", "a key needs a colon and a blank after it"),
        ("cannot start any token", "put a text that begins with this character in quotes"),
        ("did not find expected key", "indent this line as its neighbours, and close the quotes above it"),
        ("did not find expected '-' indicator", "indent this line as the other lines of the list"),
        ("did not find expected ',' or ']'", "a list is not closed, or lacks a comma"),
        ("did not find expected ',' or '}'", "a mapping is not closed, or lacks a comma"),
        ("undefined alias", "put a text that begins with * in quotes"),
        ("block sequence entries are not allowed", "put the list on lines of its own"),
    ]
}
