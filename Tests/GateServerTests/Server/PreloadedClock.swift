// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The clock of another program, which follows the test's: a library that the program loads before others, and a file with the
/// time, which ``NginxModule/follow(_:_:)`` writes.
enum PreloadedClock {
    private static let build = Result { try TemporaryFolder() }

    /// The library's file, compiled once.
    private static let library: Result<String, any Error> = Result {
        let library = try build.get().file("clock.so")
        let compiler = try #require(Program.installed("cc"), "there is no compiler: run scripts/setup test")
        let sources = ["clock", "hold"].map { "\(repository)/Tests/PreloadedClock/\($0).c" }
        let run = try CommandRun(compiler, arguments: ["-shared", "-fPIC", "-O1", "-Wall", "-o", library] + sources)
        try #require(run.status == 0, "\(run.error)")
        return library
    }

    /// The environment of a program whose clock is set by a file in `folder`.
    ///
    /// - Parameter callers: A text in the names of the libraries for which the clock is set; empty for the whole program.
    static func environment(_ folder: TemporaryFolder, for callers: String = "") throws -> [String] {
        [
            "LD_PRELOAD=\(try library.get())", "PLAYGATE_CLOCK=\(folder.file("clock"))",
            "PLAYGATE_CLOCK_FOR=\(callers)", "TZ=UTC",
        ]
    }
}
