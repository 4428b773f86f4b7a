// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ArgumentParser
package import Encodings
internal import Platform

/// A failure that prevents a command: exit code 2. The message says what to do.
package struct CommandFailure: Error {
    /// The problem and its remedy, for people.
    package let message: String
    /// The answer for programs if the command answers in JSON.
    package let answer: JSON

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - message: The problem and its remedy, for people.
    ///   - code: The stable code of the problem, for programs.
    package init(_ message: String, code: String = "command_failed") {
        self.init(message, answer: .object([("error", .string(code)), ("message", .string(message))]))
    }

    /// Creates a failure with a documented JSON answer of its own.
    ///
    /// - Parameters:
    ///   - message: The problem and its remedy, for people.
    ///   - answer: The same for programs.
    package init(_ message: String, answer: JSON) {
        self.message = message
        self.answer = answer
    }
}

/// A command that may answer in JSON. If it does, it reports failures in JSON too.
package protocol JSONAnswering {
    /// True if standard output is JSON, one object on each line.
    var answersInJSON: Bool { get }
}

extension AsyncParsableCommand {
    /// Runs the command that the arguments name. An error ends the process with its exit code. A ``CommandFailure`` is
    /// written to standard error, and also to standard output if that is JSON.
    ///
    /// - Parameter name: The program name at the start of messages.
    package static func runToEnd(as name: String) async {
        var answersInJSON = false
        do {
            var command = try parseAsRoot()
            answersInJSON = (command as? any JSONAnswering)?.answersInJSON ?? false
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            if answersInJSON { Terminal.output.write(failure.answer.line + "\n") }
            Terminal.error.write("\(name): \(failure.message)\n")
            exit(withError: ExitCode(2))
        } catch {
            if exitCode(for: error) == .validationFailure, let hint = hint(for: fullMessage(for: error)) {
                Terminal.error.write("\(fullMessage(for: error))\n\(hint)\n")
                exit(withError: ExitCode.validationFailure)
            }
            exit(withError: error)
        }
    }

    /// Returns what a person may have meant by wrong arguments; `nil` if nobody can tell.
    private static func hint(for message: String) -> String? {
        if message.contains("<duration>'"), message.contains("is invalid for") {
            return "A duration has a unit: ms, s, m, h or d, such as 5m."
        }
        var (command, path): (any ParsableCommand.Type, String) = (Self.self, _commandName)
        for argument in CommandLine.arguments.dropFirst() {
            let commands = command.configuration.subcommands
            guard !commands.isEmpty, !argument.hasPrefix("-") else { return nil }
            if let known = commands.first(where: { $0._commandName == argument }) {
                (command, path) = (known, "\(path) \(argument)")
                continue
            }
            let near = commands.map { $0._commandName }.min { $0.distance(to: argument) < $1.distance(to: argument) }
            guard let near, near.distance(to: argument) <= max(1, argument.utf8.count / 3) else { return nil }
            return "Did you mean '\(path) \(near)'?"
        }
        return nil
    }
}

extension ExitCode {
    /// The exit code of a refusal.
    package static let refused = ExitCode(1)
}
