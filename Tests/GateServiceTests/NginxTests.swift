// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateService
import GateTestSupport
import MediaTokens
import Synchronization
import Testing

/// The configuration of `docs/edges/nginx.md` as it stands, in a real nginx, with other paths and ports.
@Suite struct `Behind nginx` {
    private static let documentation = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/edges/nginx.md")

    private static var isInstalled: Bool {
        if Program.installed("nginx") != nil || ProcessInfo.processInfo.environment["CI"] != nil { return true }
        FileHandle.standardError.write(Data("SKIPPED: nginx is not installed; run scripts/setup test\n".utf8))
        return false
    }

    /// An nginx with an origin behind it that answers with what it was asked.
    private final class Nginx {
        let folder: TemporaryFolder
        let program: Program
        var socket: String { folder.file("nginx.sock") }
        var gateSocket: String { folder.file("edge.sock") }

        /// - Parameter isPatient: Whether it waits longer for the gate than the page says: other tests may hold all cores.
        init(_ folder: TemporaryFolder, isPatient: Bool = true) throws {
            self.folder = folder
            let text = try String(contentsOf: documentation, encoding: .utf8)
            let start = try #require(text.range(of: "```nginx\n")).upperBound
            let end = try #require(text.range(of: "```\n", range: start..<text.endIndex)).lowerBound
            let origin = """
                    server {
                        listen unix:\(folder.file("origin.sock"));
                        location / {
                            default_type text/plain;
                            return 200 "$request_uri|$http_cookie|$http_x_playgate_mvpd";
                        }
                    }
                }
                """
            var configuration = String(text[start..<end])
                .replacing("/run/playgate-example", with: folder.path)
                .replacing("listen 127.0.0.1:8088", with: "listen unix:\(folder.file("nginx.sock"))")
                .replacing("http://127.0.0.1:8089", with: "http://unix:\(folder.file("origin.sock"))")
                .replacing("worker_processes auto;", with: "worker_processes 1; daemon off; user root;")
            let last = try #require(configuration.lastIndex(of: "}"))
            configuration.replaceSubrange(last...last, with: origin)
            for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
                configuration = configuration.replacing(
                    "access_log off;",
                    with: "access_log off; \(name)_temp_path \(folder.file(name));"
                )
            }
            if isPatient { configuration = configuration.replacing("_timeout 300ms", with: "_timeout 10s") }
            if getuid() != 0 { configuration = configuration.replacing("user root;", with: "") }
            let file = try folder.write("nginx.conf", configuration)
            let nginx = try #require(Program.installed("nginx"))
            program = try Program(
                nginx,
                ["-c", file, "-p", folder.path, "-e", folder.file("e")],
                log: folder.file("out")
            )
            let path = "unix:\(folder.file("nginx.sock"))"
            #expect(eventually { (try? HTTPConnection(path)) != nil }, "\(program.output)")
        }

        deinit { program.signal(SIGTERM) }

        func get(_ target: String, _ headers: [String: String] = [:]) throws -> HTTPConnection.Response {
            try HTTPConnection("unix:\(socket)").request("GET", target, headers: headers)
        }
    }

    private static func configuration(_ folder: TemporaryFolder) -> String {
        RunningGate.configuration(
            """
            use: { memory: { capacity: 1000 } }
            edge: { listen: "unix:\(folder.file("edge.sock"))", tokens: [{ query: token }, { cookie: media_token }] }
            """,
            catalogue: "    - { path: /live/seg/, resource: TNT, use: within-ttl }"
        )
    }

    @Test func `plays with a token, and says why not`() async throws {
        guard Self.isInstalled else { return }
        let folder = try TemporaryFolder()
        try await RunningGate.with(Self.configuration(folder)) { (gate) throws in
            let nginx = try Nginx(folder)
            let token = try gate.token()
            // The origin sees neither token nor what a client says of itself.
            let spoofed = ["X-Playgate-MVPD": "mine", "X-Original-URI": "/live/none", "Cookie": "a=b"]
            let played = try nginx.get("/live/tnt/a.m3u8?token=\(token)", spoofed)
            #expect(played.status == 200 && played.body == "/live/tnt/a.m3u8||SandboxMVPD", "\(played)")
            #expect(played.headers["x-playgate-code"] == "verified")
            let again = try nginx.get("/live/tnt/a.m3u8?token=\(token)")
            #expect(again.status == 403 && again.headers["x-playgate-code"] == "token_already_used")
            #expect(again.headers["x-playgate-trace"]?.count == 32)
            let none = try nginx.get("/live/tnt/a.m3u8")
            #expect(none.status == 401 && none.headers["x-playgate-code"] == "media_token_missing")
            #expect(try nginx.get("/live/none?token=\(token)").status == 404)
            #expect(try nginx.get("/live/tnt/x%2fy?token=\(token)").headers["x-playgate-code"] == "invalid_path")
            // The check cannot be asked for from outside.
            #expect(try nginx.get("/_gate", ["X-Original-URI": "/live/seg/a"]).status == 404)
            let preflight = try HTTPConnection("unix:\(nginx.socket)").request("OPTIONS", "/live/tnt/a.m3u8")
            #expect(preflight.status == 204)
        }
    }

    @Test func `13: keeps a check for one token and one path only, on kept connections`() async throws {
        guard Self.isInstalled else { return }
        let folder = try TemporaryFolder()
        try await RunningGate.with(Self.configuration(folder)) { (gate) throws in
            let nginx = try Nginx(folder)
            let token = try gate.token()
            for _ in 0..<5 { #expect(try nginx.get("/live/seg/1?token=\(token)").status == 200) }
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") == 1)
            let cookie = ["Cookie": "media_token=\(token)"]
            for _ in 0..<2 { #expect(try nginx.get("/live/seg/1", cookie).status == 200) }
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"nginx\",status=\"200\"}") == 2)
            // Neither another path nor another viewer.
            #expect(try nginx.get("/live/seg/1").status == 401)
            #expect(try nginx.get("/live/seg/1?token=x").status == 403)
            #expect(try nginx.get("/live/tnt/1", ["Cookie": "media_token=x"]).status == 403)
            for number in 0..<50 { #expect(try nginx.get("/live/seg/\(number)?token=\(token)").status == 200) }
            #expect(try gate.metric("playgate_connections_total{listener=\"edge\"}") == 1)
        }
    }

    @Test func `14: lets nobody pass while the gate is away or hangs`() async throws {
        guard Self.isInstalled else { return }
        let folder = try TemporaryFolder()
        let nginx = try Nginx(folder, isPatient: false)
        #expect(try nginx.get("/live/seg/1").status == 503)
        // A gate that takes connections and never answers.
        let python = try #require(Program.installed("python3"))
        let script = """
            import socket, sys, time
            s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); print("ready", flush=True)
            time.sleep(60)
            """
        let hanging = try Program(python, ["-c", script, nginx.gateSocket], log: folder.file("hanging.log"))
        #expect(eventually { hanging.output.contains("ready") })
        #expect(try nginx.get("/live/seg/1").status == 503)
        hanging.signal(SIGKILL)
    }

    /// Whatever nginx makes of a target: where the gate let it pass, the origin got the path that was decided about.
    @Test func `3, 4, 5, 6: never lets pass what the origin reads as something else`() async throws {
        guard Self.isInstalled else { return }
        let folder = try TemporaryFolder()
        let configuration = Self.configuration(folder).replacing("path: /live/seg/", with: "path: /live/free/")
            .replacing("resource: TNT, use: within-ttl", with: "protected: false")
        try await RunningGate.with(configuration) { (gate) throws in
            let nginx = try Nginx(folder)
            let parts = [
                "live", "free", "tnt", "/", "//", "..", ".", "%2e", "%2E%2e", "%2f", "%5c", "\\", ";a=b", ";", "%23",
                "%3f",
                "?", "#", "a.ts", "%66ree", "%c0%af", "%00", "%252e", "&", "=", "%", "é",
            ]
            var random = SeededGenerator(seed: 7)
            var (passed, refused) = (0, 0)
            var connection = try HTTPConnection("unix:\(nginx.socket)")
            for _ in 0..<5000 {
                var target = "/live/free/"
                for _ in 0..<Int.random(in: 0...6, using: &random) {
                    target += parts.randomElement(using: &random) ?? ""
                    if Bool.random(using: &random) { target += "/" }
                }
                guard let answer = try? connection.request("GET", target) else {
                    connection = try HTTPConnection("unix:\(nginx.socket)")
                    continue
                }
                if answer.headers["connection"] == "close" { connection = try HTTPConnection("unix:\(nginx.socket)") }
                guard answer.status == 200 else {
                    refused += 1
                    continue
                }
                passed += 1
                let seen = String(answer.body.prefix { $0 != "|" })
                // What a common origin makes of it: decoded, segments resolved.
                let path = String(seen.prefix { $0 != "?" }).removingPercentEncoding ?? ""
                var kept: [Substring] = []
                for segment in path.split(separator: "/") where segment != "." {
                    if segment == ".." { _ = kept.popLast() } else { kept.append(segment) }
                }
                #expect(kept.starts(with: ["live", "free"]), "\(target) \(seen)")
                #expect(!path.contains("\\") && !path.contains(";") && !path.contains("\0"), "\(target) \(seen)")
            }
            #expect(passed > 200 && refused > 1000, "\(passed) \(refused)")
        }
    }
}

/// The same numbers every time (SplitMix64).
private struct SeededGenerator: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
