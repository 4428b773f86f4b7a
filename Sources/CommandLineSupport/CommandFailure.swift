// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import ArgumentParser

/// What keeps a command from running: exit code 2. The message says what to do.
package struct CommandFailure: Error {
    package let message: String

    package init(_ message: String) { self.message = message }
}

extension AsyncParsableCommand {
    /// Runs the command that the arguments name, and ends the process as it says.
    ///
    /// - Parameter name: What messages begin with.
    package static func runToEnd(as name: String) async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            Terminal.error.write("\(name): \(failure.message)\n")
            exit(withError: ExitCode(2))
        } catch {
            exit(withError: error)
        }
    }
}
