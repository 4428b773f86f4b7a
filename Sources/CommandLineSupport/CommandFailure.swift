// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ArgumentParser
package import Encodings
internal import Platform

/// What keeps a command from running: exit code 2. The message says what to do.
package struct CommandFailure: Error {
    package let message: String
    /// The code that a program gets if the command answers in JSON.
    package let answer: JSONText

    /// - Parameters:
    ///   - message: What is wrong and what to do, for people.
    ///   - code: What is wrong; stable, for programs.
    package init(_ message: String, code: String = "command_failed") {
        self.init(message, answer: .object([("error", .string(code)), ("message", .string(message))]))
    }

    /// - Parameters:
    ///   - message: What is wrong and what to do, for people.
    ///   - answer: The same for programs, where the command has a documented form for it.
    package init(_ message: String, answer: JSONText) {
        self.message = message
        self.answer = answer
    }
}

/// A command that may answer in JSON. Where it does, what keeps it from running is told in JSON too.
package protocol JSONAnswering {
    /// True if standard output is JSON, an object a line.
    var answersInJSON: Bool { get }
}

extension AsyncParsableCommand {
    /// Runs the command that the arguments name, and ends the process as it says. A failure is told on standard error, and on
    /// standard output too where that is JSON.
    ///
    /// - Parameter name: What messages begin with.
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
            exit(withError: error)
        }
    }
}
