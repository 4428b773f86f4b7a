// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Connections of peers, trusted and untrusted, and their limits.
@Suite struct `A peer` {
    private static func configuration(_ edge: String, listen: String = "127.0.0.1:0") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge: { listen: "\(listen)", tokens: [{ query: token }]\(edge) }
            """,
            catalogue: "    - { path: /free/, protected: false }"
        )
    }

    private static let headers = ["X-Forwarded-Uri": "/free/a", "X-Forwarded-Method": "GET"]

    private static func check(_ connection: HTTPConnection) throws -> Int {
        try connection.request("GET", path: "/v1/check/forward", headers: headers).status
    }

    @Test(.needsOwnAddress, arguments: [false, true])
    func `2: from afar is closed at once, unless it is trusted`(isTrusted: Bool) async throws {
        let address = try #require(try ownAddress())
        let peers = isTrusted ? "\(address)/31" : "233.252.0.0/24, \"2001:db8::/32\""
        let edge = ", peers: [loopback, \(peers)] }\nadvanced: { limits: { connections: 4 }"
        try await RunningGate.with(Self.configuration(edge, listen: "0.0.0.0:0")) { (gate) throws in
            let port = try #require(gate.edge.split(separator: ":").last)
            let connect = { try HTTPConnection("\(address):\(port)") }
            if isTrusted {
                #expect(try Self.check(try connect()) == 200)
                return
            }
            // Untrusted peers are refused in any number, idle or not, and occupy no places of the edges.
            let strangers = try (0..<20).map { _ in try connect() }
            for stranger in strangers { try #require(stranger.isClosedByPeer()) }
            let own = try (0..<2).map { _ in try HTTPConnection("127.0.0.1:\(port)") }
            for connection in own { #expect(try Self.check(connection) == 200) }
            let refused = "playgate_connections_refused_total{listener=\"edge\",reason=\"untrusted_peer\"}"
            #expect(try eventually { try gate.metric(refused) == 20 })
            #expect(try gate.log("untrusted_peer").count == 1)
        }
    }

    @Test func `of this machine needs to be trusted too, if the configuration says so`() async throws {
        try await RunningGate.with(Self.configuration(", peers: []")) { (gate) throws in
            #expect(try HTTPConnection(gate.edge).isClosedByPeer())
        }
        let named = ", peers: [127.0.0.1]"
        try await RunningGate.with(Self.configuration(named)) { (gate) throws in
            #expect(try Self.check(try HTTPConnection(gate.edge)) == 200)
        }
        let folder = try TemporaryFolder()
        let socket = "unix:\(folder.file("edge.sock"))"
        try await RunningGate.with(Self.configuration(", peers: []", listen: socket)) { (gate) throws in
            #expect(try Self.check(try HTTPConnection(gate.edge)) == 200)
        }
    }

    @Test func `gets no more connections than its quota, and they come back`() async throws {
        let limits = " }\nadvanced: { limits: { connections: 8, connectionsPerPeer: 3 }"
        try await RunningGate.with(Self.configuration(limits)) { (gate) throws in
            var connections = try (0..<3).map { _ in try HTTPConnection(gate.edge) }
            for connection in connections { #expect(try Self.check(connection) == 200) }
            #expect(try HTTPConnection(gate.edge).isClosedByPeer())
            let quota = "playgate_connections_refused_total{listener=\"edge\",reason=\"peer_quota\"}"
            #expect(try gate.metric(quota) == 1)
            #expect(try gate.metric("playgate_connections_open{listener=\"edge\"}") == 3)
            connections.removeLast()
            #expect(try eventually { try gate.metric("playgate_connections_open{listener=\"edge\"}") == 2 })
            #expect(try Self.check(try HTTPConnection(gate.edge)) == 200)
        }
    }

    @Test func `that opens the last connection makes the gate unready, until one is free`() async throws {
        let limits = " }\nadvanced: { limits: { connections: 2, connectionsPerPeer: 2 }"
        try await RunningGate.with(Self.configuration(limits)) { (gate) throws in
            #expect(try gate.admin("GET", path: "/readyz").status == 200)
            var connections = try (0..<2).map { _ in try HTTPConnection(gate.edge) }
            for connection in connections { #expect(try Self.check(connection) == 200) }
            let full = try gate.admin("GET", path: "/readyz")
            #expect(full.status == 503 && full.body.contains("\"edge\":\"all 2 connections are open\""), "\(full)")
            connections.removeAll()
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
        }
    }
}
