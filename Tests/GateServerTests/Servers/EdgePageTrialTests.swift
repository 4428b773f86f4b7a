// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The section `Try it` of every page of an edge, run as it is printed, with other addresses and tokens.
@Suite struct `The trial on the page of an edge` {
    /// A stream beside the entries of all gates of tests, which have its printed folder.
    private static let entries =
        EdgeProxy.catalogue + """

            streams: [{ folder: /show/, resource: TNT, manifest: master.m3u8, media: tnt-live }]
            """

    private static func steps(of edge: EdgeProxy) throws -> [ConsoleStep] {
        let page = edge == .nginx ? "nginx-rules" : edge.rawValue
        let text = try EdgeProxy.file("docs/how-to/edges/\(page).md")
        let section = try #require(text.components(separatedBy: "## Try it\n").dropFirst().first, "\(page)")
        return ConsoleStep.steps(of: section.components(separatedBy: "\n## ")[0])
    }

    @Test(arguments: EdgeProxy.deciding)
    func `prints what its commands do`(edge: EdgeProxy) async throws {
        let steps = try Self.steps(of: edge)
        #expect(steps.count { !$0.output.isEmpty } == 5)
        try await edge.withGate(catalogue: Self.entries, isOnPort: true) { (gate, proxy) throws in
            let folder = try TemporaryFolder()
            let tokens = try (0..<4).map { try gate.token(GateSample.claims(session: "viewer-\($0)")) }
            try folder.write("tokens", contents: tokens.map { $0 + "\n" }.joined())
            // Each call of `playgate mint` gives the next token.
            let mint = "playgate() { head -1 tokens; sed -i 1d tokens; }"
            let commands = steps.map { step in
                step.command.replacing("http://127.0.0.1:8088", with: "http://\(proxy.address)")
                    .replacing("/live/tnt/", with: "/show/")
                    .replacing("--unix-socket /run/playgate/api.sock", with: "")
                    .replacing("http://gate/", with: "http://\(gate.api)/")
            }
            let script = ([mint] + commands.map { "\($0)\necho \"--status $?--\"" }).joined(separator: "\n")
            let bash = try #require(Program.installed("bash"))
            let run = try CommandRun(bash, arguments: ["-c", "cd \"$1\"\n\(script)", "bash", folder.path])
            let printed = run.output.components(separatedBy: "--status 0--\n")
            try #require(printed.count == steps.count + 1, "\(edge): \(run.output) \(run.error)")
            for (step, text) in zip(steps, printed) where !step.output.isEmpty {
                let difference = step.difference(from: text)
                #expect(difference == nil, "\(edge): \(step.command): \(difference ?? "")")
            }
        }
    }
}
