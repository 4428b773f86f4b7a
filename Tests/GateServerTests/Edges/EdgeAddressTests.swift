// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateServer
import GateTestSupport
import MediaTokens
import Testing

/// An edge listener with several addresses, such as a unix socket for nginx and TCP for HAProxy.
@Suite struct `An edge listener with several addresses` {
    private static func configuration(_ listen: String, more: String = "") -> String {
        RunningGate.configuration(
            "edge: { listen: \(listen), tokens: [{ query: token }]\(more) }",
            catalogue: "    - { path: /free/, protected: false }"
        )
    }

    private static func check(_ connection: HTTPConnection) throws -> Int {
        let headers = ["X-Forwarded-Uri": "/free/a", "X-Forwarded-Method": "GET"]
        return try connection.request("GET", path: "/v1/check/forward", headers: headers).status
    }

    @Test func `answers at each, and counts their connections together`() async throws {
        let folder = try TemporaryFolder()
        let sockets = ["a.sock", "b.sock"].map { "unix:\(folder.file($0))" }
        let listen = "[\"\(sockets[0])\", \"127.0.0.1:0\", \"\(sockets[1])\"]"
        let more = ", socketMode: \"0666\" }\nadvanced: { limits: { connections: 2, connectionsPerPeer: 2 }"
        try await RunningGate.with(Self.configuration(listen, more: more)) { (gate) throws in
            #expect(gate.edges.count == 3 && sockets.allSatisfy { gate.edges.contains($0) })
            for socket in ["a.sock", "b.sock"] {
                let facts = try FileManager.default.attributesOfItem(atPath: folder.file(socket))
                #expect(facts[.posixPermissions] as? Int == 0o666)
            }
            let connections = try gate.edges.map { try HTTPConnection($0) }
            for connection in connections { #expect(try Self.check(connection) == 200) }
            #expect(try gate.metric("playgate_connections_open{listener=\"edge\"}") == 3)
            #expect(try gate.metric("playgate_connections_total{listener=\"edge\"}") == 3)
            #expect(try gate.log("\"listener\":\"edge\"", count: 3).count == 3)
            // Each address has its own limit: a full one leaves the others free.
            #expect(try gate.admin("GET", path: "/readyz").status == 200)
            let tcp = try #require(gate.edges.first { $0.hasPrefix("127.") })
            let last = try HTTPConnection(tcp)
            #expect(try Self.check(last) == 200)
            let full = try gate.admin("GET", path: "/readyz")
            #expect(full.status == 503 && full.body.contains("\"edge\":\"all 2 connections are open\""), "\(full)")
            #expect(try Self.check(try HTTPConnection(sockets[0])) == 200)
            withExtendedLifetime((connections, last)) {}
        }
    }

    @Test func `trusts peers by the same rules at each`() async throws {
        let folder = try TemporaryFolder()
        let listen = "[\"unix:\(folder.file("a.sock"))\", \"127.0.0.1:0\"]"
        try await RunningGate.with(Self.configuration(listen, more: ", peers: []")) { (gate) throws in
            for address in gate.edges {
                let connection = try HTTPConnection(address)
                if address.hasPrefix("unix:") {
                    #expect(try Self.check(connection) == 200)
                } else {
                    #expect(connection.isClosedByPeer())
                }
            }
        }
    }

    @Test func `may have a socket of systemd among them, and changes with a restart only`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let text = Self.configuration("[\"fd:3\", \"unix:edge.sock\", \"[::1]:8081\"]")
        let file = try folder.write("gate.yaml", contents: text)
        let summary = try GateServer(configurationFile: file, at: GateSample.time).summary
        #expect(summary.edges == ["fd:3", "unix:\(folder.file("edge.sock"))", "[::1]:8081"])

        let other = try TemporaryFolder()
        let socket = "unix:\(other.file("a.sock"))"
        try await RunningGate.with(Self.configuration("\"\(socket)\"")) { (gate) throws in
            let changed = Self.configuration("[\"\(socket)\", \"unix:\(other.file("b.sock"))\"]")
            try gate.folder.write("gate.yaml", contents: changed)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.log("a change of edge.listen takes effect after a restart").count == 1)
            #expect(try Self.check(try HTTPConnection(socket)) == 200)
            #expect(!FileManager.default.fileExists(atPath: other.file("b.sock")))
        }
    }
}
