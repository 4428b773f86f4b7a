// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// An edge that tests run with the configuration of its page in `docs/how-to/edges`, with other paths and ports.
enum EdgeProxy: String, CaseIterable {
    case nginx
    /// nginx with the check inside: it asks the gate only for what only the gate can tell.
    case nginxModule = "nginx-module"
    case caddy
    case haproxy
    case varnish
    /// Varnish with the check inside.
    case varnishModule = "varnish-module"
    case trafficserver
    /// Traffic Server with the check inside.
    case trafficserverModule = "trafficserver-module"
    case envoy
    case envoyGRPC = "envoy-grpc"
    /// Envoy with the check inside.
    case envoyModule = "envoy-module"

    /// The installed edges that ask the gate for each request.
    static let allCases: [EdgeProxy] = installed([
        .nginx, .caddy, .haproxy, .varnish, .trafficserver, .envoy, .envoyGRPC,
    ])

    /// All installed edges.
    static let deciding: [EdgeProxy] =
        allCases + installed([.nginxModule, .varnishModule, .envoyModule, .trafficserverModule])

    /// The installed edges that ask the gate for all requests if they cannot have its policy.
    static let asking: [EdgeProxy] = allCases + installed([.envoyModule, .trafficserverModule])

    /// Returns those of `edges` that are installed. ``The edge that tests run`` names the others.
    static func installed(_ edges: [EdgeProxy]) -> [EdgeProxy] { edges.filter(\.isInstalled) }

    /// A file of this repository.
    static func file(_ name: String) throws -> String {
        try String(contentsOfFile: "\(repository)/\(name)", encoding: .utf8)
    }

    /// The sources of tokens, as the example and the pages print them.
    static let tokens: Result<String, any Error> = Result {
        let printed = try file("docs/concepts/edges.md").split(separator: "\n").first { $0.hasPrefix("  tokens: ") }
        let line = String(try #require(printed).dropFirst("  ".count))
        try #require(try file("examples/gate.yaml").contains("  \(line)\n"), "the example prints other sources")
        return line
    }

    /// The page of the block that is marked as `kind`.
    private func pageName(of kind: String) -> String {
        switch kind {
        case "nginx-segment", "nginx-segment-map", "nginx-package", "nginx-package-map": "nginx-rules"
        case "nginx-facts": "nginx-module-rules"
        case "yaml-grpc", "yaml-grpc-cluster": "envoy-grpc"
        case "lua-package": "envoy-rules"
        case "lua-segment" where self != .trafficserver: "envoy-rules"
        default: self == .envoyGRPC ? "envoy" : rawValue
        }
    }

    /// The block of the edge's page that is marked as `kind`, with the common placeholders replaced.
    func block(
        _ kind: String,
        of name: String? = nil,
        in folder: TemporaryFolder,
        gate: String,
        origin: Int
    ) throws -> String {
        let page = try Self.file(name ?? "docs/how-to/edges/\(pageName(of: kind)).md")
        let start = try #require(page.range(of: "```\(kind)\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        return String(page[start..<end])
            .replacing("/run/playgate/edge.sock", with: gate)
            .replacing("/run/playgate/spoe.sock", with: gate)
            .replacing("/run/playgate/grpc.sock", with: gate)
            .replacing("127.0.0.1:8081", with: gate)
            .replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)")
            .replacing("\"8089\"", with: "\"\(origin)\"")
    }

    var executable: String? {
        switch self {
        case .nginx: Program.installed("nginx")
        case .nginxModule, .varnishModule, .envoyModule, .trafficserverModule: Program.installed("env")
        case .caddy: Program.installed("caddy")
        case .haproxy: Program.installed("haproxy")
        case .varnish: Program.installed("varnishd")
        case .trafficserver: Program.installed("traffic_server")
        case .envoy, .envoyGRPC: Program.oracle("envoy/_bin/envoy")
        }
    }

    /// True if the program of the edge is installed, and its module is built.
    var isComplete: Bool {
        switch self {
        case .nginxModule: NginxModule.isBuilt
        case .varnishModule: VarnishModule.isBuilt
        case .envoyModule: EnvoyModule.isBuilt
        case .trafficserverModule: TrafficServerModule.isBuilt
        default: executable != nil
        }
    }

    /// True if tests can run the edge. Otherwise they are skipped; in continuous integration they fail.
    var isInstalled: Bool { Requirement.isMet(isComplete) }
}

extension EdgeProxy {
    /// Runs `body` with a gate and this edge in front of it, which must be installed. Tokens are in the documented
    /// sources; with `segment`, also in path segments with that prefix.
    ///
    /// - Parameters:
    ///   - packages: True if the edge accepts packages of signed URIs from paths.
    ///   - edge: Additional lines of the gate's `edge` section.
    ///   - use: The gate's section `replayStore`.
    ///   - more: More sections of the gate's configuration. `EDGE` in it is the edge's address, `ORIGIN` the origin's.
    ///   - isOnPort: True if players reach the edge over TCP, as on its page.
    ///   - replacing: Replacements in the edge's page.
    ///   - isManaged: True if Traffic Server runs under its manager.
    func withGate(
        segment: String? = nil,
        packages: Bool = false,
        catalogue: String = catalogue,
        edge: String = "",
        use: String = "{ advanced: { capacity: 1000 } }",
        more: String = "",
        isOnPort: Bool = false,
        replacing: [String: String] = [:],
        isManaged: Bool = false,
        folder: TemporaryFolder? = nil,
        _ body: @escaping @Sendable (RunningGate, RunningEdge) throws -> Void
    ) async throws {
        let folder = try folder ?? TemporaryFolder()
        let listen = asksOverTCP ? "127.0.0.1:0" : "unix:\(folder.file("edge.sock"))"
        var tokens = try Self.tokens.get()
        if let segment { tokens = tokens.replacing("]", with: ", { segment: \"\(segment)\" }]") }
        let port = isOnPort ? try RunningEdge.freePort() : nil
        let origin = try RecordingOrigin()
        let grpc = asksOverHTTP ? "" : ", \"grpc:unix:\(folder.file("grpc.sock"))\""
        var configuration = RunningGate.configuration(
            """
            replayStore: \(use)
            edge: { listen: ["\(listenPrefix)\(listen)"\(grpc)], \(tokens)\(edge) }
            \(more.replacing("EDGE", with: "127.0.0.1:\(port ?? 1)").replacing("ORIGIN", with: "127.0.0.1:\(origin.port)"))
            """,
            catalogue: catalogue
        )
        if decidesInside { configuration = NginxModule.configuration(configuration, in: folder) }
        try await RunningGate.with(configuration) { (gate) throws in
            let address = asksOverTCP ? gate.edge : folder.file(asksOverHTTP ? "edge.sock" : "grpc.sock")
            if decidesInside { try NginxModule.follow(gate, in: folder) }
            let options = RunningEdge.Options(
                hasSegments: segment != nil || !more.isEmpty,
                tokenSegment: segment,
                hasPackages: packages,
                port: port,
                replacing: replacing,
                isManaged: isManaged,
                origin: origin,
                manifests: gate.manifests
            )
            try body(gate, try RunningEdge(self, in: folder, gate: address, options: options))
        }
    }

    /// The catalogue entries for edges, in addition to `/live/tnt/`.
    static let catalogue = """
            - { path: /live/seg/, resource: TNT, admits: ttl }
            - { path: /live/free/, protected: false }
        """
}

/// A running edge, in its own folder.
final class RunningEdge {
    /// The differences from the edge's page.
    struct Options {
        /// True if the edge waits longer for the gate than its page configures, because other tests may occupy all cores.
        var isPatient = true
        /// True if the edge accepts tokens from path segments, as its page describes.
        var hasSegments = false
        /// The prefix of segments with media tokens; `nil` for none.
        var tokenSegment: String?
        /// True if the edge accepts packages of signed URIs from paths, as its page describes.
        var hasPackages = false
        /// True if the edge is behind a load balancer on this machine, as its page describes.
        var hasBalancer = false
        /// True if the workers run as the user that the page names, instead of the user of the tests.
        var hasOwnUser = false
        /// The port on 127.0.0.1 for players, as on the page; `nil` for a unix socket, where the edge can have one.
        var port: Int?
        /// Replacements in the text of the page.
        var replacing: [String: String] = [:]
        /// True if Traffic Server runs under its manager, which has it reload its configuration.
        var isManaged = false
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
    init(_ edge: EdgeProxy, in folder: TemporaryFolder, gate: String, options: Options = Options()) throws {
        origin = try options.origin ?? RecordingOrigin()
        self.folder = folder
        let executable = try #require(edge.executable, "\(edge) is not installed: run scripts/setup test")
        let page = EdgePage(edge: edge, folder: folder, gate: gate, origin: origin.port, options: options)
        let start = try page.start()
        let program = try Program(executable, arguments: start.arguments, log: folder.file("\(edge).log"))
        (self.program, address) = (program, start.address)
        // Varnish compiles its configuration first.
        #expect(eventually(within: 120) { page.isUp(start.address) || !program.isRunning })
        #expect(program.isRunning, "\(program.output)\(TrafficServerFolder.diagnostics(in: folder))")
    }

    /// All that the edge has logged, in any file and to its output.
    func logs() throws -> String {
        let files = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".log") }
        return files.map { (try? String(contentsOfFile: folder.file($0), encoding: .utf8)) ?? "" }.joined()
    }

    /// The number of its process.
    var process: Int32 { program.identifier }

    /// Has nginx read its configuration again.
    func reload() { program.signal(SIGHUP) }

    /// Ends the edge, which then has written all its logs.
    func stop() {
        program.signal(SIGTERM)
        if !eventually(within: 5, { !program.isRunning }) { program.signal(SIGKILL) }
    }

    /// Returns a port without a listener, below the range of ephemeral ports.
    static func freePort() throws -> Int { try GateTestSupport.freePort() }

    deinit { stop() }

    func connect() throws -> HTTPConnection { try HTTPConnection(address) }

    func get(_ target: String, headers: [String: String] = [:]) throws -> HTTPConnection.Response {
        try connect().request("GET", path: target, headers: headers)
    }
}
