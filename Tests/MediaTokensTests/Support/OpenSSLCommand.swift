// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport

/// The `openssl` command line in a temporary folder, which is removed with the value.
final class OpenSSLCommand {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// True if the command is installed. Otherwise tests are skipped; in continuous integration they fail.
    static let isInstalled = Requirement.areInstalled("openssl")

    private static let path = Program.installed("openssl")

    struct Failure: Error {
        let arguments: String
        let output: String
    }

    /// Runs the command in the folder, with arguments separated by spaces, and returns its output.
    @discardableResult
    func callAsFunction(_ arguments: String) throws -> String {
        let words = arguments.split(separator: " ").map(String.init)
        let run = try CommandRun("/usr/bin/env", arguments: ["-C", folder.path, Self.path ?? "openssl"] + words)
        guard run.status == 0 else { throw Failure(arguments: arguments, output: run.output + run.error) }
        return run.output + run.error
    }
}
