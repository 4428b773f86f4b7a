// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// A running Traffic Server with its plugin `uri_signing`, as docs/how-to/sign-uris.md configures it.
final class SigningTrafficServer {
    let origin: RecordingOrigin
    private let folder: TemporaryFolder
    private let program: Program
    private let address: String

    /// The host that the page names.
    static let host = "cdn.example"

    /// True if Traffic Server and the plugin are installed. Otherwise tests are skipped; in continuous integration they
    /// fail.
    static var isInstalled: Bool {
        let plugin = "\(TrafficServerFolder.plugins)/uri_signing.so"
        return EdgeProxy.trafficserver.isInstalled
            && Requirement.isMet(FileManager.default.fileExists(atPath: plugin))
    }

    /// Starts it.
    ///
    /// - Parameter signing: The text of `uri.json`; that of the page by default.
    init(signing: String? = nil) throws {
        origin = try RecordingOrigin()
        folder = try TemporaryFolder()
        let executable = try #require(EdgeProxy.trafficserver.executable)
        let port = try RunningEdge.freePort()
        let server = try Self.configure(folder, port: port, origin: origin.port, signing: signing)
        let program = try Program(executable, arguments: server.arguments, log: folder.file("trafficserver.log"))
        (self.program, address) = (program, "127.0.0.1:\(port)")
        #expect(eventually { server.isInitialized || !program.isRunning })
        #expect(program.isRunning, "\(program.output)\(TrafficServerFolder.diagnostics(in: folder))")
    }

    deinit {
        program.signal(SIGTERM)
        if !eventually(within: 5, { !program.isRunning }) { program.signal(SIGKILL) }
    }

    /// Requests a target of the host, and returns the response.
    func get(_ target: String, cookie: String? = nil) throws -> HTTPConnection.Response {
        let headers = cookie.map { ["Cookie": $0] } ?? [:]
        return try HTTPConnection(address).request("GET", path: target, headers: headers, host: Self.host)
    }

    /// The block of the page that is marked as `kind`.
    static func block(_ kind: String) throws -> String {
        let page = try EdgeProxy.file("docs/how-to/sign-uris.md")
        let start = try #require(page.range(of: "```\(kind)\n")).upperBound
        let end = try #require(page.range(of: "```\n", range: start..<page.endIndex)).lowerBound
        return String(page[start..<end])
    }

    private static func configure(
        _ folder: TemporaryFolder,
        port: Int,
        origin: Int,
        signing: String?
    ) throws -> TrafficServerFolder {
        let server = try TrafficServerFolder(in: folder, name: "trafficserver-\(port)")
        let remap = try block("remap")
        try #require(remap.contains("http://127.0.0.1:8089/"))
        try server.write("remap.config", contents: remap.replacing("127.0.0.1:8089", with: "127.0.0.1:\(origin)"))
        try server.write("uri.json", contents: try signing ?? block("json"))
        let records = """
            CONFIG proxy.config.http.server_ports STRING \(port):ip-in=127.0.0.1
            CONFIG proxy.config.http.cache.http INT 0

            """
        try server.write("records.config", contents: records + TrafficServerFolder.records)
        return server
    }
}
