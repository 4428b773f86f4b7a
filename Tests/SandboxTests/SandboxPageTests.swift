// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The commands of pages that start a sandbox, run as printed.
@Suite struct `The pages that start a sandbox` {
    /// Has the commands use another port than 8070, and wait until a sandbox that they have started listens.
    private static func preamble(_ folder: TemporaryFolder, port: Int) -> String {
        let programs = URL(fileURLWithPath: Program.built("playgate")).deletingLastPathComponent().path
        return """
            cd \(folder.path)
            PATH=\(programs):$PATH
            trap 'kill $(jobs -p) 2>/dev/null' EXIT
            playgate-sandbox() {
                if [ "$1" = serve ]; then
                    exec env playgate-sandbox "$@" --listen 127.0.0.1:\(port) 2>/dev/null
                fi
                for try in {1..600}; do
                    command curl -sf -o /dev/null http://127.0.0.1:\(port)/sandbox/keys && break
                    sleep 0.1
                done
                command playgate-sandbox "$@" --service http://127.0.0.1:\(port)
            }
            curl() { command curl -sf "${@/localhost:8070/127.0.0.1:\(port)}"; }

            """
    }

    @Test(arguments: [
        // `make demo-tv` has a test of its own, and the program is built.
        (
            "start/sandbox.md", ["make", "swift"], 4, "curl localhost:8070/sandbox/control",
            "network_connection_timeout"
        ),
        ("how-to/entitlements.md", [], 2, "true", ""),
    ])
    func `have commands that print what stands below them`(
        page: String,
        others: [String],
        count: Int,
        last: String,
        result: String
    ) throws {
        let folder = try TemporaryFolder()
        let port = try freePort()
        let text = try String(contentsOfFile: "\(repository)/docs/\(page)", encoding: .utf8)
        let steps = ConsoleStep.steps(of: text)
            .filter { step in !others.contains { step.command.hasPrefix($0 + " ") } }
        #expect(steps.count == count)
        let script = (steps.map(\.command) + [last]).map { "\($0)\necho \"--status $?--\"\n" }.joined()
        let bash = try #require(Program.installed("bash"))
        let run = try CommandRun(bash, arguments: ["-c", Self.preamble(folder, port: port) + script])
        let printed = run.output.components(separatedBy: "--status 0--\n")
        try #require(printed.count == steps.count + 2, "\(run.output) \(run.error)")
        for (step, text) in zip(steps, printed) where !step.output.isEmpty {
            var expected = step
            expected.output = step.output.map { $0.replacing("127.0.0.1:8070", with: "127.0.0.1:\(port)") }
            let difference = expected.difference(from: text)
            #expect(difference == nil, "\(step.command): \(difference ?? "") \(run.error)")
        }
        #expect(result.isEmpty || printed[steps.count].contains(result))
    }
}
