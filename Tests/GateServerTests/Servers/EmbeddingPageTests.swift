// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The example for Node in docs/how-to/embedding.md, as it is printed, in a server that asks it about each request.
@Suite struct `The example for Node` {
    private static let server = """
        import { createServer } from "node:http"
        import { check } from "./check.mjs"
        createServer(async (request, response) => {
          const fields = await check(request, process.argv[2])
          const code = fields?.["x-playgate-code"] ?? ""
          response.writeHead(fields ? 200 : 403, { "Content-Length": 0, "X-Playgate-Code": code }).end()
        }).listen(process.argv[3])
        """

    @Test(.enabled(if: Requirement.areInstalled("node"), "node is not installed: run scripts/setup test"))
    func `serves what the gate allows, and nothing without it`() async throws {
        let node = try #require(Program.installed("node"))
        let folder = try TemporaryFolder()
        let page = try EdgeProxy.file("docs/how-to/embedding.md")
        let start = try #require(page.range(of: "```js\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        try folder.write("check.mjs", contents: String(page[start..<end]))
        let server = try folder.write("server.mjs", contents: Self.server)
        let socket = folder.file("edge.sock")
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge: { listen: "unix:\(socket)", \(try EdgeProxy.tokens.get()) }
            """,
            catalogue: EdgeProxy.catalogue
        )
        try await RunningGate.with(configuration) { (gate) throws in
            /// Asks a server of Node whose gate is at `path`.
            func ask(_ path: String, body: (HTTPConnection) throws -> Void) throws {
                let own = folder.file("node-\(UUID().uuidString.prefix(8)).sock")
                let program = try Program(node, arguments: [server, path, own], log: folder.file("node.log"))
                defer { program.signal(SIGKILL) }
                let isUp = eventually(within: 60) { (try? HTTPConnection("unix:\(own)")) != nil || !program.isRunning }
                try #require(isUp && program.isRunning, "\(program.output)")
                try body(HTTPConnection("unix:\(own)"))
            }
            let token = try gate.token()
            try ask(socket) { (client) throws in
                let target = "/live/tnt/a?token=\(token)"
                #expect(try client.request("GET", path: "/live/free/a").gateCode == "unprotected")
                #expect(try client.request("GET", path: "/live/tnt/a").status == 403)
                // A client states no facts.
                let forged = ["X-Forwarded-Uri": "/live/free/a", "X-Original-URI": "/live/free/a"]
                #expect(try client.request("GET", path: "/live/tnt/a", headers: forged).status == 403)
                #expect(try client.request("GET", path: target).gateCode == "verified")
                #expect(try client.request("GET", path: target).status == 403)
                let other = try gate.token(GateSample.claims(session: "other"))
                let cookie = ["Cookie": "media-token=\(other)"]
                #expect(try client.request("GET", path: "/live/seg/1", headers: cookie).gateCode == "within_ttl")
            }
            try ask(folder.file("none.sock")) { (client) throws in
                #expect(try client.request("GET", path: "/live/free/a").status == 403)
            }
        }
    }
}
