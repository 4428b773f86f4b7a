// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// A server that checks vendors' tokens, with the configuration that `docs/how-to/vendor-edges.md` prints, and an nginx as its origin.
final class VendorServer {
    /// The secret of all formats: 32 characters.
    static let secret = "playgate-example-of-thirty-two-b"

    private let folder: TemporaryFolder
    private var programs: [Program] = []
    private(set) var ports: [Int] = []

    deinit {
        for program in programs {
            program.signal(SIGTERM)
            if !eventually(within: 5, { !program.isRunning }) { program.signal(SIGKILL) }
        }
    }

    /// True if nginx is installed. Otherwise tests are skipped; in continuous integration they fail.
    static var hasNginx: Bool { Requirement.areInstalled("nginx") }

    /// True if Traffic Server's plugins are installed, and nginx as its origin.
    static var hasTrafficServer: Bool {
        let plugin = "\(TrafficServerFolder.plugins)/access_control.so"
        return hasNginx && Requirement.isMet(FileManager.default.fileExists(atPath: plugin))
    }

    private static func block(_ kind: String) throws -> String {
        let page = try String(contentsOfFile: repository + "/docs/how-to/vendor-edges.md", encoding: .utf8)
        let start = try #require(page.range(of: "```\(kind)\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        return String(page[start..<end])
    }

    private init() throws { folder = try TemporaryFolder() }

    /// Starts nginx with `secure_link`.
    static func nginx() throws -> VendorServer {
        let server = try VendorServer()
        let block = try block("nginx").replacing("SECRET", with: secret)
            .replacing("proxy_pass http://127.0.0.1:8089;", with: "return 200 \"$uri\";")
        try server.startNginx("edge", server: "listen 127.0.0.1:PORT;\n\(block)", ports: 1)
        return server
    }

    /// Starts Traffic Server with `url_sig` on the first port, and `access_control` with TLS on the second.
    static func trafficServer() throws -> VendorServer {
        let server = try VendorServer()
        let run = try CommandRun(
            "/bin/bash",
            arguments: [
                "-c",
                "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=cdn.example -days 2 "
                    + "-keyout \"$1/key.pem\" -out \"$1/cert.pem\" && chmod 644 \"$1/key.pem\"", "bash",
                server.folder.path,
            ],
            input: []
        )
        try #require(run.status == 0, "\(run.error)")
        let origin = """
            listen 127.0.0.1:PORT; listen 127.0.0.1:TLS ssl; ssl_certificate \(server.folder.file("cert.pem"));
            ssl_certificate_key \(server.folder.file("key.pem")); location / { return 200 "$request_uri"; }
            """
        try server.startNginx("origin", server: origin, ports: 2)
        try server.startTrafficServer(origin: server.ports)
        return server
    }

    private func startNginx(_ name: String, server: String, ports count: Int) throws {
        ports = try (0..<count).map { _ in try freePort() }
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "\($0)_temp_path \(folder.file($0));" }.joined(separator: " ")
        let text = server.replacing("PORT", with: "\(ports[0])").replacing("TLS", with: "\(ports[count - 1])")
        let file = try folder.write(
            "\(name).conf",
            contents: """
                worker_processes 1; daemon off; pid \(folder.file("\(name).pid")); \(getuid() == 0 ? "user root;" : "")
                events {}
                http { access_log off; \(temporary)
                server { \(text) } }

                """
        )
        let arguments = ["-c", file, "-p", folder.path, "-e", folder.file("\(name)-start.log")]
        try start(try #require(Program.installed("nginx")), arguments: arguments, log: "\(name).log")
    }

    private func start(_ program: String, arguments: [String], log: String) throws {
        let running = try Program(program, arguments: arguments, log: folder.file(log))
        programs.append(running)
        let isUp = eventually(within: 30) {
            !running.isRunning || ports.allSatisfy { (try? HTTPConnection("127.0.0.1:\($0)")) != nil }
        }
        try #require(isUp && running.isRunning, "\(running.output)")
    }

    private func startTrafficServer(origin: [Int]) throws {
        let server = try TrafficServerFolder(in: folder, name: "ats")
        ports = [try freePort(), try freePort()]
        let remap = try Self.block("remap").replacing("/etc/trafficserver", with: "\(server.path)/etc")
            .replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin[0])")
            .replacing("origin.example:8443", with: "127.0.0.1:\(origin[1])")
        let lines = "key0 = \(Self.secret)\nerror_url = 403\n"
        let files = [
            "remap.config": remap, "keys.txt": "key1=\(Self.secret)\n", "url_sig.config": lines,
            "url_sig_anchor.config": lines + "sig_anchor = urlsig\n",
            "ssl_multicert.config":
                "dest_ip=* ssl_cert_name=\(folder.file("cert.pem")) ssl_key_name=\(folder.file("key.pem"))\n",
            "records.config": """
            CONFIG proxy.config.http.server_ports STRING \(ports[0]):ip-in=127.0.0.1 \(ports[1]):ip-in=127.0.0.1:ssl
            CONFIG proxy.config.ssl.client.verify.server.policy STRING DISABLED
            CONFIG proxy.config.http.cache.http INT 0

            """ + TrafficServerFolder.records,
        ]
        for (name, text) in files { try server.write(name, contents: text) }
        try start(try #require(Program.installed("traffic_server")), arguments: server.arguments, log: "ats.log")
        #expect(eventually(within: 30) { server.isInitialized }, "\(TrafficServerFolder.diagnostics(in: folder))")
    }

    /// Requests a URL of any host at one of the ports, and returns the status and the body.
    func get(_ url: String, port: Int = 0, cookie: String? = nil) throws -> (status: Int, body: String) {
        let target = "::127.0.0.1:\(ports[port])"
        let fields = cookie.map { ["-H", "Cookie: \($0)"] } ?? []
        let run = try CommandRun(
            try #require(Program.installed("curl")),
            arguments: [
                "-sk", "--path-as-is", "--globoff", "--max-time", "20", "--connect-to", target, "-w", "\n%{http_code}",
            ]
                + fields + [url],
            input: []
        )
        try #require(run.status == 0, "curl: \(run.status) \(run.error)")
        let lines = run.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (try #require(Int(lines.last ?? "")), lines.dropLast().joined(separator: "\n"))
    }
}
