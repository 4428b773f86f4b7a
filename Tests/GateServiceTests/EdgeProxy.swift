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

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("docs/edges")

    /// The block of the edge's page that is marked as `kind`, with what is the same on all pages replaced.
    fileprivate func block(_ kind: String, _ folder: TemporaryFolder, gate: String, origin: Int) throws -> String {
        let page = try String(
            contentsOf: Self.folder.appendingPathComponent("\(rawValue).md"),
            encoding: .utf8
        )
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

/// An edge that runs, in a folder of its own.
final class RunningEdge {
    let origin: RecordingOrigin
    private let program: Program
    /// Where players connect.
    let address: String

    /// - Parameters:
    ///   - gate: Where the gate is: the path of a socket, or an address.
    ///   - isPatient: Whether it waits longer for the gate than its page says: other tests may hold all cores.
    init(_ edge: EdgeProxy, _ folder: TemporaryFolder, gate: String, isPatient: Bool = true) throws {
        origin = try RecordingOrigin()
        let executable = try #require(edge.executable, "\(edge) is not installed: run scripts/setup test")
        let page = { [origin] in try edge.block($0, folder, gate: gate, origin: origin.port) }
        let socket = folder.file("edge-players.sock")
        let start: (arguments: [String], address: String) =
            switch edge {
            case .nginx: try Self.nginx(page, folder, socket, isPatient)
            case .caddy: try Self.caddy(page, folder, socket, isPatient)
            case .haproxy: try Self.haproxy(page, folder, socket, isPatient)
            case .varnish: try Self.varnish(page, folder, socket, isPatient)
            case .trafficserver: try Self.trafficServer(page, folder, isPatient)
            }
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

    // MARK: Each as its page says

    private typealias Page = (String) throws -> String
    private typealias Start = (arguments: [String], address: String)

    private static func nginx(
        _ page: Page,
        _ folder: TemporaryFolder,
        _ socket: String,
        _ isPatient: Bool
    ) throws -> Start {
        var text = try page("nginx")
            .replacing("/run/playgate-example", with: folder.path)
            .replacing("listen 127.0.0.1:8088", with: "listen unix:\(socket)")
            .replacing("worker_processes auto;", with: "worker_processes 1; daemon off;")
        if getuid() == 0 { text = "user root;\n" + text }
        for name in ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"] {
            text = text.replacing("access_log off;", with: "access_log off; \(name)_temp_path \(folder.file(name));")
        }
        if isPatient { text = text.replacing("_timeout 300ms", with: "_timeout 10s") }
        let file = try folder.write("nginx.conf", text)
        return (["-c", file, "-p", folder.path, "-e", folder.file("nginx-start.log")], "unix:\(socket)")
    }

    private static func caddy(
        _ page: Page,
        _ folder: TemporaryFolder,
        _ socket: String,
        _ isPatient: Bool
    ) throws -> Start {
        var text = try page("caddyfile")
            .replacing("http://127.0.0.1:8088 {", with: "http:// {\n\tbind unix/\(socket)")
        if isPatient { text = text.replacing("response_header_timeout 300ms", with: "response_header_timeout 10s") }
        let file = try folder.write("Caddyfile", text)
        return (["run", "--config", file, "--adapter", "caddyfile"], "unix:\(socket)")
    }

    private static func haproxy(
        _ page: Page,
        _ folder: TemporaryFolder,
        _ socket: String,
        _ isPatient: Bool
    ) throws -> Start {
        var lua = try page("lua")
        if isPatient { lua = lua.replacing("local timeout = 75", with: "local timeout = 10000") }
        try folder.write("playgate.lua", lua)
        let text = try page("haproxy")
            .replacing("/etc/haproxy", with: folder.path)
            .replacing("bind 127.0.0.1:8088", with: "bind unix@\(socket)")
        return (["-db", "-f", try folder.write("haproxy.cfg", text)], "unix:\(socket)")
    }

    private static func varnish(
        _ page: Page,
        _ folder: TemporaryFolder,
        _ socket: String,
        _ isPatient: Bool
    ) throws -> Start {
        var text = try page("vcl")
        if isPatient { text = text.replacing("_timeout = 300ms", with: "_timeout = 10s") }
        let file = try folder.write("playgate.vcl", text)
        let work = folder.file("varnish")
        let arguments = ["-F", "-j", "none", "-n", work, "-a", socket, "-f", file, "-s", "malloc,16m"]
        return (arguments, "unix:\(socket)")
    }

    private static func trafficServer(_ page: Page, _ folder: TemporaryFolder, _ isPatient: Bool) throws -> Start {
        let port = try freePort()
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
        var remap = try page("remap")
        if isPatient {
            for name in ["connect_attempts_timeout", "transaction_no_activity_timeout_out"] {
                remap = remap.replacing("\(name)=1", with: "\(name)=20")
            }
        }
        try folder.write("trafficserver/etc/remap.config", remap)
        try folder.write("trafficserver/etc/playgate.config", try page("header-rewrite"))
        let records =
            try page("records").replacing("STRING 8088", with: "STRING \(port):ip-in=127.0.0.1")
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
