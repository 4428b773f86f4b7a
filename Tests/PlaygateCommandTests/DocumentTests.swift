// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The commands of pages of `docs/reference`, run as they are printed.
@Suite struct `The pages on commands` {
    @Test(
        arguments: [
            ("grants.md", 10), ("uri-signing.md", 8), ("vendors.md", 10), ("keys.md", 10), ("manifests.md", 5),
        ]
    )
    func `have commands that print what stands below them`(page: String, count: Int) throws {
        let folder = try TemporaryFolder()
        let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        let steps = ConsoleStep.steps(
            of: try String(contentsOfFile: "\(repository)/docs/reference/\(page)", encoding: .utf8)
        )
        #expect(steps.count >= count)
        for step in steps {
            let script = "cd \"$1\" && PATH=\"$2:$PATH\" && { \(step.command)\n} 2>&1"
            let run = try CommandRun("/bin/bash", arguments: ["-c", script, "bash", folder.path, programs])
            guard !step.output.isEmpty else { continue }
            let difference = step.difference(from: run.output)
            #expect(difference == nil, "\(step.command): \(difference ?? "")")
        }
    }
}
