// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// An edge that tests run with the configuration of its page in `docs/edges`, with other paths and ports.
enum EdgeProxy: String, CaseIterable {
    case nginx
    case caddy
    case haproxy
    case varnish
    case trafficserver

    /// A file of this repository.
    static func file(_ name: String) throws -> String {
        try String(contentsOfFile: "\(repository)/\(name)", encoding: .utf8)
    }

    /// The places of tokens, as the example and the pages print them.
    static let tokens: Result<String, any Error> = Result {
        let printed = try file("docs/edges/README.md").split(separator: "\n").first { $0.hasPrefix("  tokens: ") }
        let line = String(try #require(printed).dropFirst("  ".count))
        try #require(try file("examples/gate.yaml").contains("#   \(line)\n"), "the example prints other places")
        return line
    }

    /// The block of the edge's page that is marked as `kind`, with the common placeholders replaced.
    fileprivate func block(
        _ kind: String,
        of name: String? = nil,
        _ folder: TemporaryFolder,
        gate: String,
        origin: Int
    ) throws -> String {
        let page = try Self.file(name ?? "docs/edges/\(rawValue).md")
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

    /// True if the edge is installed. Otherwise tests report a skip; in continuous integration they fail.
    var isInstalled: Bool {
        if executable != nil || ProcessInfo.processInfo.environment["CI"] != nil { return true }
        FileHandle.standardError.write(Data("SKIPPED: \(rawValue) is not installed; run scripts/setup test\n".utf8))
        return false
    }
}

extension EdgeProxy {
    /// Runs `body` with a gate and this edge in front of it; does nothing if the edge is not installed. Tokens are in the
    /// documented places; with `segment`, also in path segments with that prefix.
    ///
    /// - Parameters:
    ///   - packages: True if the edge takes packages of signed URIs from paths.
    ///   - edge: Additional lines of the gate's `edge` section.
    ///   - more: More sections of the gate's configuration. `EDGE` in it is the edge's address, `ORIGIN` the origin's.
    ///   - isOnPort: True if players reach the edge over TCP, as on its page.
    ///   - replacing: Replacements in the edge's page.
    func withGate(
        segment: String? = nil,
        packages: Bool = false,
        catalogue: String = catalogue,
        edge: String = "",
        more: String = "",
        isOnPort: Bool = false,
        replacing: [String: String] = [:],
        folder: TemporaryFolder? = nil,
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        guard isInstalled else { return }
        let folder = try folder ?? TemporaryFolder()
        let listen = asksOverTCP ? "127.0.0.1:0" : "unix:\(folder.file("edge.sock"))"
        var tokens = try Self.tokens.get()
        if let segment { tokens = tokens.replacing("]", with: ", { segment: \"\(segment)\" }]") }
        let port = isOnPort ? try RunningEdge.freePort() : nil
        let origin = try RecordingOrigin()
        let configuration = RunningGate.configuration(
            """
            use: { memory: { capacity: 1000 } }
            edge: { listen: "\(listen)", \(tokens)\(edge) }
            \(more.replacing("EDGE", with: "127.0.0.1:\(port ?? 0)").replacing("ORIGIN", with: "127.0.0.1:\(origin.port)"))
            """,
            catalogue: catalogue
        )
        try await RunningGate.with(configuration) { (gate) throws in
            let address = asksOverTCP ? gate.edge : folder.file("edge.sock")
            let options = RunningEdge.Options(
                hasSegments: segment != nil || !more.isEmpty,
                hasPackages: packages,
                port: port,
                replacing: replacing,
                origin: origin,
                manifests: gate.manifests
            )
            try body(gate, try RunningEdge(self, folder, gate: address, options))
        }
    }

    /// The catalogue entries for edges, in addition to `/live/tnt/`.
    static let catalogue = """
            - { path: /live/seg/, resource: TNT, use: within-ttl }
            - { path: /live/free/, protected: false }
        """
}

/// A running edge, in its own folder.
final class RunningEdge {
    /// The differences from the edge's page.
    struct Options {
        /// True if the edge waits longer for the gate than its page configures, because other tests may occupy all cores.
        var isPatient = true
        /// True if the edge takes tokens from path segments, as its page describes.
        var hasSegments = false
        /// True if the edge takes packages of signed URIs from paths, as its page describes.
        var hasPackages = false
        /// True if the workers run as the user that the page names, instead of the user of the tests.
        var hasOwnUser = false
        /// The port on 127.0.0.1 for players, as on the page; `nil` for a unix socket, where the edge can have one.
        var port: Int?
        /// Replacements in the text of the page.
        var replacing: [String: String] = [:]
        /// The origin; a new one if there is none.
        var origin: RecordingOrigin?
        /// The address of the manifest listener, to which the edge sends manifests; empty for none.
        var manifests = ""
    }

    let origin: RecordingOrigin
    private let folder: TemporaryFolder
    private let program: Program
    /// The address for players.
    let address: String

    /// Starts an edge.
    ///
    /// - Parameters:
    ///   - gate: The gate's socket path or address.
    ///   - options: The differences from the page.
    init(_ edge: EdgeProxy, _ folder: TemporaryFolder, gate: String, _ options: Options = Options()) throws {
        origin = try options.origin ?? RecordingOrigin()
        self.folder = folder
        let executable = try #require(edge.executable, "\(edge) is not installed: run scripts/setup test")
        let page = EdgePage(edge: edge, folder: folder, gate: gate, origin: origin.port, options: options)
        // Traffic Server, on a busy machine, sometimes ends with "remap.config failed to load", for a configuration that it
        // loads the next time.
        var attempts = 0
        var running: (program: Program, address: String)
        repeat {
            let start = try page.start()
            let program = try Program(executable, start.arguments, log: folder.file("\(edge).log"))
            // Varnish compiles its configuration first.
            #expect(eventually(within: 60) { (try? HTTPConnection(start.address)) != nil || !program.isRunning })
            running = (program, start.address)
            attempts += 1
        } while !running.program.isRunning && attempts < 3
        (program, address) = running
        #expect(program.isRunning, "\(program.output)")
    }

    /// All that the edge has logged, in any file and to its output.
    func logs() throws -> String {
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".log") }
        return files.map { (try? String(contentsOfFile: folder.file($0), encoding: .utf8)) ?? "" }.joined()
    }

    /// Ends the edge, which then has written all its logs.
    func stop() {
        program.signal(SIGTERM)
        if !eventually(within: 5, { !program.isRunning }) { program.signal(SIGKILL) }
    }

    private struct NoPortIsFree: Error {}

    /// Returns a port without a listener, below the range of ephemeral ports.
    static func freePort() throws -> Int {
        for _ in 0..<100 {
            let port = Int.random(in: 20_000..<32_000)
            if (try? HTTPConnection("127.0.0.1:\(port)")) == nil { return port }
        }
        throw NoPortIsFree()
    }

    deinit { stop() }

    func connect() throws -> HTTPConnection { try HTTPConnection(address) }

    func get(_ target: String, _ headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("GET", target, headers: headers)
    }
}

/// The start of an edge, as its page describes.
private struct EdgePage {
    typealias Start = (arguments: [String], address: String)

    let edge: EdgeProxy
    let folder: TemporaryFolder
    let gate: String
    let origin: Int
    let options: RunningEdge.Options

    private var socket: String { folder.file("edge-players.sock") }

    /// The address for players, as the edge's page is to name it.
    private func listener(unix: String) -> String { options.port.map { "127.0.0.1:\($0)" } ?? unix }

    private var address: String { listener(unix: "unix:\(socket)") }

    func start() throws -> Start {
        switch edge {
        case .nginx: try nginx()
        case .caddy: try caddy()
        case .haproxy: try haproxy()
        case .varnish: try varnish()
        case .trafficserver: try trafficServer()
        }
    }

    /// Returns the block that is marked as `kind`. For a patient edge, the wait `brief` is replaced by `long`.
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
        let line = "            auth_request /_gate;\n"
        if options.hasSegments { text = try inserting("nginx-segment", into: text, before: line) }
        if options.hasPackages { text = try inserting("nginx-package", into: text, before: line) }
        let check = "        location = /_gate {\n"
        text = try inserting(text: manifests("nginx"), into: text, before: check)
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "    \($0)_temp_path \(folder.file($0));\n" }.joined()
        text = text.replacing("listen 127.0.0.1:8088", with: "listen \(address)")
            .replacing("worker_processes auto;", with: "worker_processes 1; daemon off;")
            .replacing("http {\n", with: "http {\n\(temporary)")
            .replacing("/run/nginx.pid", with: folder.file("nginx.pid"))
            .replacing("/var/log/nginx/", with: folder.path + "/nginx-")
            .replacing("/var/cache/", with: folder.path + "/")
        if !options.hasOwnUser { text = text.replacing("user www-data;", with: getuid() == 0 ? "user root;" : "") }
        let file = try folder.write("nginx.conf", text)
        return (["-c", file, "-p", folder.path, "-e", folder.file("nginx-start.log")], address)
    }

    /// Returns `text` with the block that is marked as `kind` before or after a line of it.
    private func inserting(
        _ kind: String,
        into text: String,
        before line: String = "",
        after: String = ""
    ) throws
        -> String
    {
        try #require(text.contains(line + after), "the page of \(edge) prints something else")
        return text.replacing(line + after, with: after + (try block(kind)) + line)
    }

    /// Returns a text with another before a line of it.
    private func inserting(text other: String, into text: String, before line: String) throws -> String {
        try #require(text.contains(line), "the page of \(edge) prints something else")
        return text.replacing(line, with: other + line)
    }

    /// Returns the lines that send manifests to their listener, as their page prints them; empty without a listener.
    private func manifests(_ kind: String) throws -> String {
        guard !options.manifests.isEmpty else { return "" }
        let page = "docs/players-without-cookies.md"
        let port = options.manifests.split(separator: ":").last ?? ""
        return try edge.block(kind, of: page, folder, gate: gate, origin: origin)
            .replacing("127.0.0.1:8082", with: options.manifests).replacing("\"8082\"", with: "\"\(port)\"")
    }

    private func caddy() throws -> Start {
        var text = try block("caddyfile", waiting: "response_header_timeout 300ms", "response_header_timeout 10s")
        if options.hasSegments { text = try inserting("caddyfile-segment", into: text, after: "\t\trewrite * ?\n") }
        if options.hasPackages { text = try inserting("caddyfile-package", into: text, after: "\t\trewrite * ?\n") }
        let site = options.port.map { "http://127.0.0.1:\($0) {" } ?? "http:// {\n\tbind unix/\(socket)"
        text = text.replacing("http://127.0.0.1:8088 {", with: site)
        let file = try folder.write("Caddyfile", text)
        return (["run", "--config", file, "--adapter", "caddyfile"], address)
    }

    private func haproxy() throws -> Start {
        try folder.write("playgate.lua", try block("lua", waiting: "local timeout = 75", "local timeout = 10000"))
        var text = try block("haproxy")
        let line = "    http-request set-pathq %[path]\n"
        if options.hasSegments {
            try #require(text.contains(line))
            text = text.replacing(line, with: try block("haproxy-segment"))
        }
        let origin = "    http-request del-header Cookie\n"
        if options.hasPackages { text = try inserting("haproxy-package", into: text, before: origin) }
        text = text.replacing("/etc/haproxy", with: folder.path)
            .replacing("bind 127.0.0.1:8088", with: "bind \(listener(unix: "unix@\(socket)"))")
            .replacing("log /dev/log local0 info", with: "log stdout format raw local0 info")
            .replacing("    user haproxy\n    group haproxy\n", with: "")
        return (["-db", "-f", try folder.write("haproxy.cfg", text)], address)
    }

    private func varnish() throws -> Start {
        var text = try block("vcl", waiting: "_timeout = 300ms", "_timeout = 10s")
        let line = "    set req.url = regsub(req.http.X-Forwarded-Uri, \"\\?.*$\", \"\");\n"
        if options.hasSegments { text = try inserting("vcl-segment", into: text, after: line) }
        if options.hasPackages { text = try inserting("vcl-package", into: text, after: line) }
        let first = "# Every answer may be read by the pages of this origin.\n"
        text = try inserting(text: manifests("vcl"), into: text, before: first)
        let strip = try folder.write("playgate-strip.vcl", try EdgeProxy.file("examples/playgate-strip.vcl"))
        let file = try folder.write(
            "playgate.vcl",
            text.replacing("/etc/varnish/playgate-strip.vcl", with: strip)
        )
        let work = folder.file("varnish")
        let arguments = ["-F", "-j", "none", "-n", work, "-a", listener(unix: socket), "-f", file, "-s", "malloc,16m"]
        return (arguments, address)
    }

    private func trafficServer() throws -> Start {
        let port = try options.port ?? RunningEdge.freePort()
        // A folder of its own for each start: an instance that ends removes its copies of the plugins.
        let name = "trafficserver-\(port)"
        let root = folder.file(name)
        // Traffic Server runs as another user than root.
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
        let layout = try folder.write("\(name)/runroot.yaml", places.joined(separator: "\n") + "\n")
        var remap = try block("remap", waiting: "connect_attempts_timeout=1", "connect_attempts_timeout=20")
        if options.isPatient { remap = remap.replacing("activity_timeout_out=1", with: "activity_timeout_out=20") }
        remap = remap.replacing("/etc/trafficserver", with: "\(root)/etc")
        try folder.write("\(name)/etc/remap.config", remap)
        let line = "local function cut(path) return path end\n"
        var script = try block("lua")
        try #require(script.contains(line))
        if options.hasSegments { script = script.replacing(line, with: try block("lua-segment")) }
        try folder.write("\(name)/etc/playgate.lua", script)
        try folder.write("\(name)/etc/playgate.config", try block("header-rewrite"))
        try folder.write("\(name)/etc/playgate-cors.config", try block("header-rewrite-cors"))
        let records =
            try block("records").replacing("STRING 8088", with: "STRING \(port):ip-in=127.0.0.1")
            + "CONFIG proxy.config.exec_thread.autoconfig INT 0\nCONFIG proxy.config.exec_thread.limit INT 1\n"
            + "CONFIG proxy.config.admin.user_id STRING trafficserver\n"
        try folder.write("\(name)/etc/records.config", records)
        try folder.write("\(name)/etc/storage.config", "\(root)/cache 16M\n")
        try folder.write(
            "\(name)/etc/ip_allow.yaml",
            "ip_allow: [{ apply: in, ip_addrs: 0/0, action: allow, methods: ALL }]\n"
        )
        return (["--run-root=\(layout)"], "127.0.0.1:\(port)")
    }
}
