// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Traefik with the configuration of its page.
@Suite(.enabled(if: Traefik.isInstalled, "traefik is not installed: run scripts/setup test"))
struct `Behind Traefik` {
    @Test func `a player with a token plays, and the origin does not see the token`() async throws {
        try await Traefik.with { (gate, traefik) throws in
            let token = try gate.token()
            for (name, fields) in [
                ("header.ts", ["X-Media-Token": token]), ("cookie.ts", ["Cookie": "media-token=\(token)"]),
            ] {
                let answer = try traefik.get("/live/seg/\(name)", headers: fields)
                #expect(answer.status == 200, "\(answer)")
                #expect(answer.body.hasPrefix("GET /live/seg/\(name)\n"))
                #expect(!answer.body.contains(token.prefix(30)))
                #expect(answer.headers["cache-control"] == "private, no-cache")
            }
            #expect(try traefik.get("/live/free/a.ts").status == 200)
            #expect(!traefik.log.contains(token.prefix(30)))
        }
    }

    @Test func `a refusal reaches the player unchanged`() async throws {
        try await Traefik.with { (gate, traefik) throws in
            for (target, fields, status, code) in [
                ("/live/seg/1", [:], 401, "media_token_missing"),
                ("/live/seg/1", ["X-Media-Token": "x"], 403, "invalid_base64"),
                ("/live/none/1", [:], 403, "unknown_media"),
                // Traefik resolves dots itself.
                ("/live/free/../seg/1", [:], 401, "media_token_missing"),
                ("/live/free/..%2fseg/1", [:], 403, "invalid_path"),
            ] as [(String, [String: String], Int, String)] {
                let answer = try traefik.get(target, headers: fields)
                #expect(answer.status == status && answer.gateCode == code, "\(target) \(answer)")
            }
            #expect(traefik.requests == 0)
        }
    }

    @Test func `a client's word for the path, the method or a decision counts for nothing`() async throws {
        try await Traefik.with { (gate, traefik) throws in
            for (name, value) in [
                ("X-Forwarded-Uri", "/live/free/a.ts"), ("X-Original-Uri", "/live/free/a.ts"),
                ("X-Forwarded-Method", "OPTIONS"),
                ("X-Forwarded-Host", "other.example"), ("X-HTTP-Method-Override", "OPTIONS"),
            ] {
                let answer = try traefik.get("/live/seg/1", headers: [name: value])
                #expect(answer.status == 401, "\(name) \(answer)")
            }
            let forged = [
                "X-Playgate-Mvpd": "forged", "X-Playgate-Code": "verified", "X-Media-Token": try gate.token(),
            ]
            let answer = try traefik.get("/live/seg/1", headers: forged)
            #expect(answer.status == 200 && !answer.body.contains("forged"), "\(answer)")
        }
    }

    @Test func `a preflight needs no token`() async throws {
        try await Traefik.with { (_, traefik) throws in
            let fields = [
                "Origin": "https://player.example", "Access-Control-Request-Method": "GET",
                "Access-Control-Request-Headers": "x-media-token",
            ]
            let answer = try traefik.connect().request("OPTIONS", path: "/live/seg/1", headers: fields)
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.values("Access-Control-Allow-Origin") == ["https://player.example"])
            #expect(traefik.requests == 0)
        }
    }

    @Test func `a start hands over a grant, by which the stream goes on`() async throws {
        let grants = Film.grants
        try await Traefik.with(catalogue: Film.catalogue, more: grants) { (gate, traefik) throws in
            traefik.origin.serve(Film.files)
            let started = try traefik.get(Film.start, headers: ["X-Media-Token": try gate.filmToken("one")])
            #expect(started.status == 200, "\(started)")
            let cookie = try #require(started.values("Set-Cookie").first { $0.hasPrefix("CTA-Common-Access-Token=") })
            let presented = ["Cookie": String(cookie.prefix { $0 != ";" })]
            #expect(try traefik.get(Film.segment(1), headers: presented).status == 200)
            #expect(try traefik.get(Film.segment(1)).status == 401)
        }
    }

    @Test(arguments: ["~cat=", "%7Ecat=", "%7ecat="])
    func `a token in a segment is cut`(prefix: String) async throws {
        try await Traefik.with(segment: "~cat=") { (gate, traefik) throws in
            let token = try gate.token().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
            for name in EdgePageRules.names {
                let answer = try traefik.get("/\(prefix)\(token)/live/seg/\(name)")
                #expect(answer.status == 200, "\(answer)")
                #expect(answer.body.hasPrefix("GET /live/seg/\(name)\n"), "\(answer.body)")
            }
        }
    }
}

/// A running Traefik, in its own folder.
final class Traefik {
    private static let executable = "\(repository)/.build-oracles/bin/traefik"
    static var isInstalled: Bool { Requirement.hasFile(".build-oracles/bin/traefik") }

    let origin: RecordingOrigin
    private let program: Program
    private let address: String
    private let folder: TemporaryFolder
    /// The requests that the origin got before the test.
    private let before: Int

    private init(_ folder: TemporaryFolder, gate: String, port: Int, hasSegments: Bool) throws {
        (self.folder, origin) = (folder, try RecordingOrigin())
        address = "127.0.0.1:\(port)"
        let page = { [origin] (kind: String) in
            try EdgeProxy.caddy.block(
                kind,
                of: "docs/how-to/edges/traefik.md",
                in: folder,
                gate: gate,
                origin: origin.port
            )
        }
        var rules = try page("yaml")
        if hasSegments {
            rules = rules.replacing("  routers:\n", with: try page("yaml-segment") + "  routers:\n")
                .replacing("[cors, playgate, origin]", with: "[cors, playgate, cut, origin]")
        }
        let file = try folder.write("playgate.yaml", contents: rules)
        let settings = try page("yaml-static").replacing("/etc/traefik/playgate.yaml", with: file)
            .replacing(":8088", with: address)
        program = try Program(
            Self.executable,
            arguments: ["--configFile", try folder.write("traefik.yaml", contents: settings)],
            log: folder.file("traefik.log")
        )
        let (address, program) = (address, program)
        // Until it has read the file with the routers, it knows no path.
        let isUp = eventually {
            let answer = try? HTTPConnection(address).request("GET", path: "/live/free/ready")
            return answer.map { $0.status != 404 } ?? !program.isRunning
        }
        before = origin.requests
        #expect(isUp)
        #expect(program.isRunning, "\(program.output)")
    }

    deinit { program.signal(SIGKILL) }

    /// Runs `body` with a gate and Traefik in front of it. With `segment`, tokens are in path segments with that prefix too.
    static func with(
        segment: String? = nil,
        catalogue: String = EdgeProxy.catalogue,
        more: String = "",
        _ body: @escaping @Sendable (RunningGate, Traefik) throws -> Void
    ) async throws {
        var tokens = try EdgeProxy.tokens.get()
        if let segment { tokens = tokens.replacing("]", with: ", { segment: \"\(segment)\" }]") }
        let port = try RunningEdge.freePort()
        let configuration = RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge: { listen: "127.0.0.1:0", \(tokens) }
            \(more.replacing("EDGE", with: "127.0.0.1:\(port)"))
            """,
            catalogue: catalogue
        )
        try await RunningGate.with(configuration) { (gate) throws in
            try body(gate, try Traefik(TemporaryFolder(), gate: gate.edge, port: port, hasSegments: segment != nil))
        }
    }

    /// The number of requests that the origin got from the test.
    var requests: Int { origin.requests - before }

    /// All that it has logged.
    var log: String { program.output }

    func connect() throws -> HTTPConnection { try HTTPConnection(address) }

    func get(_ target: String, headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("GET", path: target, headers: headers)
    }
}
