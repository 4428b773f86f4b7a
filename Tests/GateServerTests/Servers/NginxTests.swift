// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

/// The parts of `docs/how-to/edges` that apply to nginx only.
@Suite(.needs(.nginx)) struct `Behind nginx` {
    @Test func `answers requests about origins itself, and shows its check to nobody`() async throws {
        try await EdgeProxy.nginx.withGate { (_, nginx) throws in
            #expect(try nginx.get("/_gate", headers: ["X-Original-URI": "/live/seg/a"]).status == 404)
            #expect(try nginx.connect().request("OPTIONS", path: "/live/tnt/a.m3u8").status == 204)
            #expect(nginx.origin.requests == 0)
        }
    }

    @Test func `13: caches a check for one token and one path only`() async throws {
        try await EdgeProxy.nginx.withGate { (gate, nginx) throws in
            let checks = { try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") }
            let token = try gate.token()
            for _ in 0..<5 { #expect(try nginx.get("/live/seg/1?token=\(token)").status == 200) }
            #expect(try checks() == 1)
            let cookie = ["Cookie": "media-token=\(token)"]
            for _ in 0..<2 { #expect(try nginx.get("/live/seg/1", headers: cookie).status == 200) }
            #expect(try checks() == 2)
            #expect(try nginx.get("/live/seg/1").status == 401)
            #expect(try nginx.get("/live/seg/1?token=x").status == 403)
            #expect(try nginx.get("/live/seg/2", headers: cookie).status == 200)
            #expect(try checks() == 3)
        }
    }

    /// The users of this test: the page's `playgate` is an existing user without privileges.
    private static let user = "daemon"

    /// A block of the page that is marked as `kind`.
    private static func block(_ kind: String) throws -> String {
        let page = try EdgeProxy.file("docs/how-to/edges/socket.md")
        let start = try #require(page.range(of: "```\(kind)\n")).upperBound
        return String(page[start..<(try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound)])
    }

    /// The gate as a user of its own, nginx with workers as another: with the page's commands, and without its group.
    @Test(
        .enabled(if: Requirement.isMet(getuid() == 0), "users can be changed by root only"),
        arguments: [true, false]
    )
    func `reaches the socket of a gate with another user`(hasGroup: Bool) async throws {
        let folder = try TemporaryFolder()
        for path in [folder.path, folder.file("keys")] {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
        try folder.write("signer.pem", contents: try GateSample.current.get().keys.signerCertificate)
        let socket = folder.file("run/edge.sock")
        var edge = try Self.block("yaml").replacing("/run/playgate/edge.sock", with: socket)
        if !hasGroup { edge = edge.replacing("  socketGroup: www-data\n", with: "") }
        let configuration = ServedGate.configuration("{}", more: edge + "  tokens: [{ query: token }]\n")
        let file = try folder.write(
            "gate.yaml",
            contents: configuration.replacing("entries: [", with: "entries: [{ path: /live/free/, protected: false }, ")
        )
        let commands = try Self.block("sh").replacing("playgate serve", with: "\(Program.built("playgate")) serve")
            .replacing("/etc/playgate/gate.yaml", with: file).replacing("/run/playgate", with: folder.file("run"))
            .replacing("-o playgate", with: "-o \(Self.user)").replacing(
                "--reuid playgate",
                with: "--reuid \(Self.user)"
            )
            .replacing("--regid playgate", with: "--regid \(Self.user)").replacing("setpriv", with: "exec setpriv")
        let shell = try #require(Program.installed("sh"))
        let gate = try Program(shell, arguments: ["-e", "-c", commands], log: folder.file("gate.log"))
        defer { gate.signal(SIGTERM) }
        #expect(eventually { gate.output.components(separatedBy: "\"listening\"").count > 3 || !gate.isRunning })
        try #require(gate.isRunning, "\(gate.output)")
        // A user without privileges has other rights to the options of TCP sockets.
        let admin = try #require(gate.output.firstMatch(of: /"address":"([^"]+)","listener":"admin"/))
        #expect(try HTTPConnection(String(admin.1)).request("GET", path: "/livez", host: "localhost").status == 200)
        let facts = try FileManager.default.attributesOfItem(atPath: socket)
        #expect(facts[.posixPermissions] as? Int == 0o660)
        #expect(facts[.ownerAccountName] as? String == Self.user)
        #expect(facts[.groupOwnerAccountName] as? String == (hasGroup ? "www-data" : Self.user))

        let nginx = try RunningEdge(.nginx, in: folder, gate: socket, options: RunningEdge.Options(hasOwnUser: true))
        let answer = try nginx.get("/live/free/a")
        let logs = try nginx.logs()
        #expect(answer.status == (hasGroup ? 200 : 503), "\(answer) \(logs)")
        if hasGroup { #expect(try nginx.get("/live/none").status == 404) }
        // The page's command says why, and the log that it was nginx that could not connect.
        let command = try Self.block("sh-reach").replacing("/run/playgate/edge.sock", with: socket)
        let reach = try CommandRun(shell, arguments: ["-c", command])
        #expect(hasGroup ? reach.output == "open\n" : reach.error == "\(socket): Permission denied\n", "\(reach)")
        nginx.stop()
        let logged = try folder.text("nginx-playgate.log").split(separator: "\n").first
        #expect(logged?.contains(hasGroup ? " 200 MISS" : " 502 -") == true, "\(logged ?? "")")
        #expect(!(try nginx.logs().contains("crit")))
    }
}
