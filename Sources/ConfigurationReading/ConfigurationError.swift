// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A location in a configuration: the file, the line and the name of the key.
public struct ConfigurationLocation: Hashable, Sendable {
    /// The file.
    public let file: String
    /// The line, from 1; 0 if unknown.
    public let line: Int
    /// The column, from 1; 0 if unknown.
    public let column: Int
    /// The key with its parent keys, such as `catalogue.entries[2].resource`; empty for the file as a whole.
    public let key: String

    package init(file: String, line: Int = 0, column: Int = 0, key: String) {
        self.file = file
        self.line = line
        self.column = column
        self.key = key
    }
}

/// A problem in a configuration.
public struct ConfigurationProblem: Hashable, Sendable {
    /// The location of the problem.
    public let location: ConfigurationLocation
    /// The problem and its remedy.
    public let message: String
    /// The line of the file with a caret below the fault, for errors of YAML itself; `nil` for others. It may have a secret, and
    /// is for the person who checks a file, not for logs.
    public let excerpt: String?

    package init(location: ConfigurationLocation, message: String, excerpt: String? = nil) {
        self.location = location
        self.message = message
        self.excerpt = excerpt
    }
}

extension ConfigurationProblem: CustomStringConvertible {
    public var description: String {
        var text = location.file
        if location.line > 0 { text += ":\(location.line)" }
        if location.column > 0 { text += ":\(location.column)" }
        return text + (location.key.isEmpty ? "" : ": \(location.key)") + ": \(message)"
    }
}

/// All problems of a configuration: never empty, in the order of the file.
public struct ConfigurationError: Error, Sendable {
    /// The problems, sorted by line.
    public let problems: [ConfigurationProblem]

    package init(problems: [ConfigurationProblem]) { self.problems = problems }

    /// Creates the error of one problem.
    package init(_ location: ConfigurationLocation, reason: String) {
        self.init(problems: [ConfigurationProblem(location: location, message: reason)])
    }
}

extension ConfigurationError: CustomStringConvertible {
    public var description: String { problems.map(\.description).joined(separator: "\n") }
}

/// A collector of problems, so that all of them are reported at once.
package final class ProblemList {
    package private(set) var problems: [ConfigurationProblem] = []
    /// The keys that misspelt ones were meant for. That they are missing is no problem of its own.
    private var meant: [String] = []

    package init() {}

    /// Adds a problem.
    package func add(at location: ConfigurationLocation, message: String) {
        problems.append(ConfigurationProblem(location: location, message: message))
    }

    /// Notes the key that a misspelt one was meant for.
    func noteMeant(_ key: String) { meant.append(key) }

    /// True if a problem follows from a misspelt key: the key that was meant, or one below it, is missing.
    private func isConsequence(_ problem: ConfigurationProblem) -> Bool {
        meant.contains { key in
            let (name, own) = (problem.location.key, key.split(separator: ".").last ?? "")
            guard problem.message.hasPrefix("\(name.split(separator: ".").last ?? "") is missing") else { return false }
            // A setting for the whole file is missing in each section that has none of its own.
            return name == key || name.hasPrefix(key + ".") || (key == own && name.hasSuffix("." + own))
        }
    }

    /// True if there is a problem with `key` or a key below it.
    package func contains(below key: String) -> Bool {
        problems.contains { problem in
            let name = problem.location.key
            return name == key || name.hasPrefix(key + ".") || name.hasPrefix(key + "[")
        }
    }

    /// Throws the collected problems.
    ///
    /// - Throws: ``ConfigurationError`` if there is a problem.
    package func throwIfAny() throws(ConfigurationError) {
        guard !problems.isEmpty else { return }
        throw ConfigurationError(
            problems: problems.filter { !isConsequence($0) }.sorted {
                ($0.location.line, $0.location.key) < ($1.location.line, $1.location.key)
            }
        )
    }
}
