// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// An edge that tests run as its page in `docs/edges` says, with other paths and ports.
enum EdgeProxy: String, CaseIterable {
    case nginx
    case caddy
    case haproxy
    case varnish
    case trafficserver

    private static let repository = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// A file of this repository.
    static func file(_ name: String) throws -> String {
        try String(contentsOf: repository.appendingPathComponent(name), encoding: .utf8)
    }

    /// The places of tokens, as the example and the pages print them.
    static let tokens: Result<String, any Error> = Result {
        let printed = try file("docs/edges/README.md").split(separator: "\n").first { $0.hasPrefix("  tokens: ") }
        let line = String(try #require(printed).dropFirst("  ".count))
        try #require(try file("examples/gate.yaml").contains("#   \(line)\n"), "the example prints other places")
        return line
    }

    /// The block of the edge's page that is marked as `kind`, with what is the same on all pages replaced.
    fileprivate func block(_ kind: String, _ folder: TemporaryFolder, gate: String, origin: Int) throws -> String {
        let page = try Self.file("docs/edges/\(rawValue).md")
        let start = try #require(page.range(of: "```\(kind)\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        return String(page[start..<end])
            .replacing("/run/playgate/edge.sock", with: gate)
            .replacing("127.0.0.1:8081", with: gate)
            .replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)")
            .replacing("\"8089\"", with: "\"\(origin)\"")
    }

    var executable: String? {
        switch self {
        case .nginx: Program.installed("nginx")
        case .caddy: Program.installed("caddy")
        case .haproxy: Program.installed("haproxy")
        case .varnish: Program.installed("varnishd")
        case .trafficserver: Program.installed("traffic_server")
        }
    }

    /// Whether it can be run. Where it cannot, tests say so and do nothing else; in continuous integration they fail.
    var isInstalled: Bool {
        if executable != nil || ProcessInfo.processInfo.environment["CI"] != nil { return true }
        FileHandle.standardError.write(Data("SKIPPED: \(rawValue) is not installed; run scripts/setup test\n".utf8))
        return false
    }

    /// Whether it asks the gate over TCP, and not over a unix socket.
    var asksOverTCP: Bool { self == .trafficserver }

    /// The endpoint that it asks.
    var dialect: String {
        switch self {
        case .nginx: "nginx"
        case .caddy, .haproxy, .varnish: "forward"
        case .trafficserver: "ats"
        }
    }

    /// Whether it makes the status that the gate names out of the three that checks have.
    var hasFullStatus: Bool { self == .nginx || self == .haproxy }

    /// Whether the origin is told of the viewer's MVPD; where the edge shares what it keeps, it is not.
    var namesMVPD: Bool { self != .varnish && self != .trafficserver }
}

extension EdgeProxy {
    /// Runs `body` with a gate, and this edge in front of it; nothing where it is not installed. Tokens come where the
    /// pages say; with `segment`, in segments that begin so too.
    ///
    /// - Parameters:
    ///   - edge: More of the gate's `edge` section.
    ///   - replacing: Changes of the edge's page.
    func withGate(
        segment: String? = nil,
        catalogue: String = catalogue,
        edge: String = "",
        replacing: [String: String] = [:],
        folder: TemporaryFolder? = nil,
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        guard isInstalled else { return }
        let folder = try folder ?? TemporaryFolder()
        let listen = asksOverTCP ? "127.0.0.1:0" : "unix:\(folder.file("edge.sock"))"
        var tokens = try Self.tokens.get()
        if let segment { tokens = tokens.replacing("]", with: ", { segment: \"\(segment)\" }]") }
        let configuration = RunningGate.configuration(
            """
            use: { memory: { capacity: 1000 } }
            edge: { listen: "\(listen)", \(tokens)\(edge) }
            """,
            catalogue: catalogue
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let address = asksOverTCP ? gate.edge : folder.file("edge.sock")
            let options = RunningEdge.Options(hasSegments: segment != nil, replacing: replacing)
            try body(gate, try RunningEdge(self, folder, gate: address, options))
        }
    }

    /// What edges ask about, beside `/live/tnt/`.
    static let catalogue = """
            - { path: /live/seg/, resource: TNT, use: within-ttl }
            - { path: /live/free/, protected: false }
        """
}

/// An edge that runs, in a folder of its own.
final class RunningEdge {
    /// What differs from the edge's page.
    struct Options {
        /// Whether it waits longer for the gate than its page says: other tests may hold all cores.
        var isPatient = true
        /// Whether it takes tokens out of paths, as its page says.
        var hasSegments = false
        /// Changes of the text of the page.
        var replacing: [String: String] = [:]
    }

    let origin: RecordingOrigin
    private let program: Program
    /// Where players connect.
    let address: String

    /// - Parameters:
    ///   - gate: Where the gate is: the path of a socket, or an address.
    ///   - options: What differs from the page.
    init(_ edge: EdgeProxy, _ folder: TemporaryFolder, gate: String, _ options: Options = Options()) throws {
        origin = try RecordingOrigin()
        let executable = try #require(edge.executable, "\(edge) is not installed: run scripts/setup test")
        let page = EdgePage(edge: edge, folder: folder, gate: gate, origin: origin.port, options: options)
        let start = try page.start()
        let program = try Program(executable, start.arguments, log: folder.file("\(edge).log"))
        (self.program, address) = (program, start.address)
        // Varnish compiles its configuration first.
        #expect(eventually(within: 60) { (try? HTTPConnection(start.address)) != nil || !program.isRunning })
        #expect(program.isRunning, "\(program.output)")
    }

    deinit {
        program.signal(SIGTERM)
        if !eventually(within: 5, { !program.isRunning }) { program.signal(SIGKILL) }
    }

    func connect() throws -> HTTPConnection { try HTTPConnection(address) }

    func get(_ target: String, _ headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("GET", target, headers: headers)
    }
}

/// How an edge starts as its page says.
private struct EdgePage {
    typealias Start = (arguments: [String], address: String)

    let edge: EdgeProxy
    let folder: TemporaryFolder
    let gate: String
    let origin: Int
    let options: RunningEdge.Options

    private var socket: String { folder.file("edge-players.sock") }

    func start() throws -> Start {
        switch edge {
        case .nginx: try nginx()
        case .caddy: try caddy()
        case .haproxy: try haproxy()
        case .varnish: try varnish()
        case .trafficserver: try trafficServer()
        }
    }

    /// The block that is marked as `kind`, where `brief` waits are `long` for who is patient.
    private func block(_ kind: String, waiting brief: String = "", _ long: String = "") throws -> String {
        let text = try edge.block(kind, folder, gate: gate, origin: origin)
        guard options.isPatient, !brief.isEmpty else { return text }
        try #require(text.contains(brief), "the page of \(edge) waits in another way")
        return text.replacing(brief, with: long)
    }

    private func nginx() throws -> Start {
        var text = try block("nginx", waiting: "_timeout 300ms", "_timeout 10s")
        for (printed, other) in options.replacing {
            try #require(text.contains(printed), "the page of nginx prints something else")
            text = text.replacing(printed, with: other)
        }
        text = text.replacing("/run/playgate-example", with: folder.path)
            .replacing("listen 127.0.0.1:8088", with: "listen unix:\(socket)")
            .replacing("worker_processes auto;", with: "worker_processes 1; daemon off;")
        if getuid() == 0 { text = "user root;\n" + text }
        if options.hasSegments {
            let line = "            auth_request /_gate;\n"
            try #require(text.contains(line))
            text = text.replacing(line, with: try block("nginx-segment") + line)
        }
        for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            text = text.replacing("access_log off;", with: "access_log off; \(name)_temp_path \(folder.file(name));")
        }
        let file = try folder.write("nginx.conf", text)
        return (["-c", file, "-p", folder.path, "-e", folder.file("nginx-start.log")], "unix:\(socket)")
    }

    private func caddy() throws -> Start {
        let text = try block("caddyfile", waiting: "response_header_timeout 300ms", "response_header_timeout 10s")
            .replacing("http://127.0.0.1:8088 {", with: "http:// {\n\tbind unix/\(socket)")
        let file = try folder.write("Caddyfile", text)
        return (["run", "--config", file, "--adapter", "caddyfile"], "unix:\(socket)")
    }

    private func haproxy() throws -> Start {
        try folder.write("playgate.lua", try block("lua", waiting: "local timeout = 75", "local timeout = 10000"))
        let text = try block("haproxy")
            .replacing("/etc/haproxy", with: folder.path)
            .replacing("bind 127.0.0.1:8088", with: "bind unix@\(socket)")
        return (["-db", "-f", try folder.write("haproxy.cfg", text)], "unix:\(socket)")
    }

    private func varnish() throws -> Start {
        let text = try block("vcl", waiting: "_timeout = 300ms", "_timeout = 10s")
        let strip = try folder.write("playgate-strip.vcl", try EdgeProxy.file("examples/playgate-strip.vcl"))
        let file = try folder.write(
            "playgate.vcl",
            text.replacing("/etc/varnish/playgate-strip.vcl", with: strip)
        )
        let work = folder.file("varnish")
        let arguments = ["-F", "-j", "none", "-n", work, "-a", socket, "-f", file, "-s", "malloc,16m"]
        return (arguments, "unix:\(socket)")
    }

    private func trafficServer() throws -> Start {
        let port = try Self.freePort()
        let root = folder.file("trafficserver")
        // It runs as another user than root.
        for path in [folder.path, root] + ["etc", "run", "log", "cache"].map({ "\(root)/\($0)" }) {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
        }
        let places = [
            "prefix: \(root)", "exec_prefix: /usr", "bindir: /usr/bin", "sbindir: /usr/sbin", "sysconfdir: \(root)/etc",
            "datadir: \(root)/cache", "includedir: /usr/include", "libdir: /usr/lib",
            "libexecdir: /usr/lib/trafficserver/modules", "localstatedir: \(root)/run", "runtimedir: \(root)/run",
            "logdir: \(root)/log", "mandir: /usr/share/man", "infodir: /usr/share/info", "cachedir: \(root)/cache",
        ]
        let layout = try folder.write("trafficserver/runroot.yaml", places.joined(separator: "\n") + "\n")
        var remap = try block("remap", waiting: "connect_attempts_timeout=1", "connect_attempts_timeout=20")
        if options.isPatient { remap = remap.replacing("activity_timeout_out=1", with: "activity_timeout_out=20") }
        remap = remap.replacing("/etc/trafficserver", with: "\(root)/etc")
        try folder.write("trafficserver/etc/remap.config", remap)
        try folder.write("trafficserver/etc/playgate.lua", try block("lua"))
        try folder.write("trafficserver/etc/playgate.config", try block("header-rewrite"))
        let records =
            try block("records").replacing("STRING 8088", with: "STRING \(port):ip-in=127.0.0.1")
            + "CONFIG proxy.config.exec_thread.autoconfig INT 0\nCONFIG proxy.config.exec_thread.limit INT 1\n"
            + "CONFIG proxy.config.admin.user_id STRING trafficserver\n"
        try folder.write("trafficserver/etc/records.config", records)
        try folder.write("trafficserver/etc/storage.config", "\(root)/cache 16M\n")
        try folder.write(
            "trafficserver/etc/ip_allow.yaml",
            "ip_allow: [{ apply: in, ip_addrs: 0/0, action: allow, methods: ALL }]\n"
        )
        return (["--run-root=\(layout)"], "127.0.0.1:\(port)")
    }

    private struct NoPortIsFree: Error {}

    /// A port that nothing listens on, from below those that systems give to clients.
    private static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            if (try? HTTPConnection("127.0.0.1:\(port)")) == nil { return port }
        }
        throw NoPortIsFree()
    }
}
