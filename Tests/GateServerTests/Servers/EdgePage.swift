// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// The start of an edge, as its page describes.
struct EdgePage {
    typealias Start = (arguments: [String], address: String)

    let edge: EdgeProxy
    let folder: TemporaryFolder
    let gate: String
    let origin: Int
    let options: RunningEdge.Options

    var socket: String { folder.file("edge-players.sock") }

    /// The address for players, as the edge's page is to name it.
    func listener(unix: String) -> String { options.port.map { "127.0.0.1:\($0)" } ?? unix }

    var address: String { listener(unix: "unix:\(socket)") }

    func start() throws -> Start {
        switch edge {
        case .nginx: try nginx()
        case .nginxModule: try nginxModule()
        case .caddy: try caddy()
        case .haproxy: try haproxy()
        case .varnish: try varnish()
        case .varnishModule: try varnishModule()
        case .trafficserver: try trafficServer()
        case .trafficserverModule: try trafficServerModule()
        case .envoy, .envoyGRPC: try envoy()
        case .envoyModule: try envoyModule()
        }
    }

    /// True if an edge at `address` accepts requests.
    func isUp(_ address: String) -> Bool {
        guard (try? HTTPConnection(address)) != nil else { return false }
        guard edge == .trafficserver || edge == .trafficserverModule else { return true }
        // One that is held is not initialized before it is released.
        if FileManager.default.fileExists(atPath: Self.hold(in: folder)) { return true }
        let port = address.split(separator: ":").last ?? ""
        return TrafficServerFolder.isInitialized(folder.file("trafficserver-\(port)"))
    }

    /// Returns the block that is marked as `kind`, with these waits replaced for a patient edge.
    func block(_ kind: String, waiting waits: KeyValuePairs<String, String> = [:]) throws -> String {
        try waiting(waits, in: try edge.block(kind, in: folder, gate: gate, origin: origin))
    }

    /// Returns a text of the page with each of these waits replaced for a patient edge: on a busy machine, an edge may come to
    /// look at a connection or an answer after its usual wait for it.
    private func waiting(_ waits: KeyValuePairs<String, String>, in text: String) throws -> String {
        try waits.reduce(text) { text, wait in
            try #require(text.contains(wait.key), "the page of \(edge) waits in another way")
            return options.isPatient ? text.replacing(wait.key, with: wait.value) : text
        }
    }

    /// Returns a text of the page with the replacements of the options, which name the origin as the page does.
    func replaced(_ text: String) throws -> String {
        try options.replacing.reduce(text) { text, row in
            try #require(text.contains(row.key), "the page of \(edge) prints something else")
            return text.replacing(row.key, with: row.value.replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)"))
        }
    }

    private func nginx() throws -> Start {
        var text = try replaced(
            try block("nginx", waiting: ["_timeout 300ms": "_timeout 10s", "_timeout 100ms": "_timeout 10s"])
        )
        let line = "            auth_request /_gate;\n"
        if options.hasSegments { text = try inserting("nginx-segment", into: text, before: line) }
        if options.hasPackages { text = try inserting("nginx-package", into: text, before: line) }
        let map = "[^?]*/(?:/|(?:[.]|%2[Ee]){1,2}(?:[/?]|$))\" \"\";\n"
        if options.hasSegments { text = try inserting("nginx-segment-map", into: text, after: map) }
        if options.hasPackages { text = try inserting("nginx-package-map", into: text, after: map) }
        let check = "        location = /_gate {\n"
        text = try inserting(text: manifests("nginx"), into: text, before: check)
        text = try inFolder(text)
        let file = try folder.write("nginx.conf", contents: text)
        return (["-c", file, "-p", folder.path, "-e", folder.file("nginx-start.log")], address)
    }

    /// Returns a configuration of nginx that needs no rights of the system.
    func inFolder(_ page: String) throws -> String {
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map { "    \($0)_temp_path \(folder.file($0));\n" }.joined()
        var text = page.replacing("listen 127.0.0.1:8088", with: "listen \(address)")
            .replacing("worker_processes auto;", with: "worker_processes 1; daemon off;")
            .replacing("http {\n", with: "http {\n\(temporary)")
            .replacing("/run/nginx.pid", with: folder.file("nginx.pid"))
            .replacing("/var/log/nginx/", with: folder.path + "/nginx-")
            .replacing("/var/cache/", with: folder.path + "/")
        if !options.hasOwnUser { text = text.replacing("user www-data;", with: getuid() == 0 ? "user root;" : "") }
        return text
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
        let page = "docs/how-to/players-without-cookies.md"
        let port = options.manifests.split(separator: ":").last ?? ""
        return try edge.block(kind, of: page, in: folder, gate: gate, origin: origin)
            .replacing("127.0.0.1:8082", with: options.manifests).replacing("\"8082\"", with: "\"\(port)\"")
    }

    private func caddy() throws -> Start {
        var text = try block(
            "caddyfile",
            waiting: ["header_timeout 300ms": "header_timeout 10s", "dial_timeout 100ms": "dial_timeout 10s"]
        )
        if options.hasSegments { text = try inserting("caddyfile-segment", into: text, after: "\t\trewrite * ?\n") }
        if options.hasPackages { text = try inserting("caddyfile-package", into: text, after: "\t\trewrite * ?\n") }
        if options.hasBalancer {
            text = try inserting("caddyfile-balancer", into: text, before: "\t\t\tmethod GET\n")
        }
        let printed = "http://:8088 {\n\tbind 127.0.0.1\n"
        try #require(text.contains(printed), "the page of \(edge) listens in another way")
        let site =
            options.port.map { printed.replacing("8088", with: "\($0)") } ?? "http:// {\n\tbind unix/\(socket)\n"
        text = text.replacing(printed, with: site)
        let file = try folder.write("Caddyfile", contents: text)
        return (["run", "--config", file, "--adapter", "caddyfile"], address)
    }

    private func haproxy() throws -> Start {
        try folder.write(
            "playgate.spoe",
            contents: try block("spoe", waiting: ["timeout processing 300ms": "timeout processing 10s"])
        )
        var text = try replaced(try block("haproxy"))
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
        return (["-db", "-f", try folder.write("haproxy.cfg", contents: text)], address)
    }

    private func varnish() throws -> Start {
        var text = try block(
            "vcl",
            waiting: ["_timeout = 300ms": "_timeout = 10s", "_timeout = 100ms": "_timeout = 10s"]
        )
        let line = "    set req.url = regsub(req.http.X-Forwarded-Uri, \"\\?.*$\", \"\");\n"
        if options.hasSegments { text = try inserting("vcl-segment", into: text, after: line) }
        if options.hasPackages { text = try inserting("vcl-package", into: text, after: line) }
        let first = "# Every answer may be read by the pages of this origin.\n"
        text = try inserting(text: manifests("vcl"), into: text, before: first)
        let strip = try folder.write("playgate-strip.vcl", contents: try EdgeProxy.file("examples/playgate-strip.vcl"))
        let file = try folder.write(
            "playgate.vcl",
            contents: text.replacing("/etc/varnish/playgate-strip.vcl", with: strip)
        )
        let work = folder.file("varnish")
        let arguments = ["-F", "-j", "none", "-n", work, "-a", listener(unix: socket), "-f", file, "-s", "malloc,16m"]
        return (arguments, address)
    }

    private func envoy() throws -> Start {
        var text = try replaced(try edge.asksOverHTTP ? block("yaml") : overGRPC(block("yaml")))
        let waits: KeyValuePairs = [
            "timeout: 0.3s": "timeout: 10s", "connect_timeout: 0.1s": "connect_timeout: 10s",
            "connect_timeout: 1s": "connect_timeout: 10s",
        ]
        text = try waiting(waits, in: text)
        let line = "                            headers:replace(\":path\", path)\n"
        if options.hasSegments { text = try inserting("lua-segment", into: text, before: line) }
        if options.hasPackages { text = try inserting("lua-package", into: text, before: line) }
        return (try envoyArguments(text, workers: 1), address)
    }

    /// Returns the arguments of an Envoy with a configuration of a page, with its addresses replaced.
    func envoyArguments(_ text: String, workers: Int) throws -> [String] {
        let players = "{ socket_address: { address: 127.0.0.1, port_value: 8088 } }"
        let listener =
            options.port.map { players.replacing("8088", with: "\($0)") } ?? "{ pipe: { path: \(socket) } }"
        try #require(text.contains(players), "the page of Envoy listens in another way")
        let own = text.replacing(players, with: listener).replacing("port_value: 8089", with: "port_value: \(origin)")
        let file = try folder.write("envoy.yaml", contents: own)
        return ["-c", file, "--concurrency", "\(workers)", "--disable-hot-restart", "--log-level", "warning"]
    }

    /// Returns a configuration of the page with what it has for gRPC instead of HTTP.
    private func overGRPC(_ text: String) throws -> String {
        let parts = [
            ("http_service:\n", "- name: envoy.filters.http.lua\n", "yaml-grpc"),
            ("- name: gate\n", "- name: origin\n", "yaml-grpc-cluster"),
        ]
        return try parts.reduce(text) { text, part in
            let from = try #require(text.range(of: part.0)).lowerBound
            let to = try #require(text.range(of: part.1, range: from..<text.endIndex)).lowerBound
            // Whole lines.
            let lineStart = { (index: String.Index) in
                text[..<index].lastIndex(of: "\n").map(text.index(after:)) ?? index
            }
            let (start, end) = (lineStart(from), lineStart(to))
            return try text[..<start] + block(part.2) + text[end...]
        }
    }

    private func trafficServer() throws -> Start {
        let port = try options.port ?? RunningEdge.freePort()
        // A folder of its own for each start: an instance that ends removes its copies of the plugins.
        let server = try TrafficServerFolder(in: folder, name: "trafficserver-\(port)")
        var remap = try block(
            "remap",
            waiting: [
                "connect_attempts_timeout=1": "connect_attempts_timeout=20",
                "activity_timeout_out=1": "activity_timeout_out=20",
            ]
        )
        remap = remap.replacing("/etc/trafficserver", with: "\(server.path)/etc")
        try server.write("remap.config", contents: remap)
        let line = "local function cut(path) return path end\n"
        var script = try block("lua")
        try #require(script.contains(line))
        if options.hasSegments { script = script.replacing(line, with: try block("lua-segment")) }
        try server.write("playgate.lua", contents: script)
        try server.write("playgate.config", contents: try block("header-rewrite"))
        try server.write("playgate-cors.config", contents: try block("header-rewrite-cors"))
        let records =
            try block("records").replacing("STRING 8088", with: "STRING \(port):ip-in=127.0.0.1")
            + TrafficServerFolder.records
        try server.write("records.config", contents: records)
        return (server.arguments, "127.0.0.1:\(port)")
    }
}
