// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation

/// What a test needs beside this package, and a machine may lack: a program, a module of it that is built, a right.
///
/// A test states it in its trait `.enabled(if:)`, so that a run names each test that it skips. In continuous integration
/// every requirement is taken as met: the test runs, and fails because of what is missing.
package enum Requirement {
    private static let isContinuousIntegration = ProcessInfo.processInfo.environment["CI"] != nil

    /// True if what a test needs is there, and always in continuous integration.
    package static func isMet(_ isThere: @autoclosure () -> Bool) -> Bool { isContinuousIntegration || isThere() }

    /// True if all of these programs are installed, and always in continuous integration.
    package static func areInstalled(_ programs: String...) -> Bool {
        isMet(programs.allSatisfy { Program.installed($0) != nil })
    }

    /// True if this repository has a file that is built or installed, and always in continuous integration.
    package static func hasFile(_ path: String) -> Bool {
        isMet(FileManager.default.fileExists(atPath: "\(repository)/\(path)"))
    }

    /// True if Python has the libraries of others that `scripts/setup test` installs, and always in continuous
    /// integration.
    package static var hasOracles: Bool { hasFile(".build-oracles/bin/python") }

    /// True if that Python imports these modules, and always in continuous integration.
    package static func hasOracles(importing modules: String) -> Bool {
        let python = "\(repository)/.build-oracles/bin/python"
        return isMet((try? CommandRun(python, arguments: ["-c", "import \(modules)"]))?.status == 0)
    }
}
