// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import HTTPServer
import MediaTokens
import NIOCore
import NIOHTTP1
import SPOPServer
import Testing

@testable import GateService

/// The statements of HAProxy about a request in the arguments of its message, and the gate's reading of them.
@Suite struct `A check by HAProxy's offload` {
    private static func text(_ text: String) -> SPOPValue { .string(ByteBuffer(string: text)) }

    private static func fields(_ fields: [(StaticString, StaticString)]) -> SPOPValue {
        var bytes = ByteBuffer()
        for (name, value) in fields + [("", "")] {
            bytes.writeSPOP(string: name)
            bytes.writeSPOP(string: value)
        }
        return .binary(bytes)
    }

    /// Arguments, and the fields that they become; `nil` for an invalid message.
    static let rows: [(arguments: [(String, SPOPValue)], fields: [String]?)] = [
        ([("target", text("/a?b")), ("method", text("GET"))], [":path: /a?b", ":method: GET"]),
        ([("secure", .bool(true))], [":scheme: https"]), ([("secure", .bool(false))], [":scheme: http"]),
        ([("scheme", text("https"))], [":scheme: https"]),
        ([("client", .ipv4(0xCB00_7109))], [":client: 203.0.113.9"]),
        ([("client", .ipv6(0x2001_0DB8 << 96 | 0xFFFF))], [":client: 2001:db8:0:0:0:0:0:ffff"]),
        ([("client", .null), ("alpn", .null), ("header.cookie", .null)], []),
        (
            [("headers", fields([("host", "a"), ("cookie", "x=1"), ("Cookie", "x=2")]))],
            [":authority: a", "host: a", "cookie: x=1", "Cookie: x=2"]
        ),
        // The client's own word for a fact is not passed on; HAProxy's is.
        (
            [("headers", fields([("X-Original-Geo", "XX"), ("x-original-asn", "1")])), ("geo", text("US"))],
            ["x-original-geo: US"]
        ),
        (
            [("asn", .signed(64500)), ("alpn", text("h2")), ("position", text("1,2")), ("client-key", text("MAEF"))],
            ["x-original-asn: 64500", "x-original-alpn: h2", "x-original-position: 1,2", "x-original-client-key: MAEF"]
        ),
        ([("header.host", text("a")), ("header.Cookie", text("x=1"))], [":authority: a", "host: a", "Cookie: x=1"]),
        ([("header.x-original-geo", text("XX"))], []),
        // Bytes that are not UTF-8 change no other field.
        (
            [
                ("target", .string(ByteBuffer(bytes: [47, 0xC3]))),
                ("header.a", .string(ByteBuffer(bytes: [0xA4, 98]))),
            ],
            [":path: /\u{FFFD}", "a: \u{FFFD}b"]
        ),
        ([("target", text("/a")), ("target", text("/b"))], [":path: /a", ":path: /b"]),
        ([("path", text("/a"))], nil), ([("", text("/a"))], nil), ([("header.", text("a"))], nil),
        ([("header.a:b", text("a"))], nil), ([("header", text("a"))], nil), ([("headers", text("a"))], nil),
        ([("target", .binary(ByteBuffer(string: "/a")))], nil), ([("target", .signed(1))], nil),
        ([("secure", text("1"))], nil), ([("client", text("1.2.3.4"))], nil), ([("other", .null)], nil),
        ([("headers", .binary(ByteBuffer()))], nil), ([("headers", fields([(":path", "/b")]))], nil),
        ([("headers", fields([("a b", "c")]))], nil),
    ]

    @Test(arguments: rows.indices) func `has what its arguments state`(row: Int) {
        let (arguments, expected) = Self.rows[row]
        let message = SPOPMessage(
            name: "playgate-check",
            arguments: arguments.map { SPOPMessage.Argument(name: $0.0, value: $0.1) }
        )
        let fields = SPOEResponder.fields([message])
        #expect(fields.map { fields in fields.indices.map { "\(fields.name($0)): \(fields.value($0))" } } == expected)
        #expect(SPOEResponder.fields([message, message]) == nil)
        #expect(SPOEResponder.fields([SPOPMessage(name: "other", arguments: message.arguments)]) == nil)
        #expect(SPOEResponder.fields([]) == nil)
    }

    private static let spoe = """
        use: { memory: { capacity: 1000 } }
        edge: { spoe: "127.0.0.1:0", tokens: [{ query: token }] }
        """

    /// Greets a gate, sends frames, and reads what the gate sends until it ends the connection.
    private static func exchange(_ address: String, _ frames: [ByteBuffer]) throws -> String {
        let connection = try HTTPConnection(address)
        var bytes = ByteBuffer()
        bytes.writeSPOP(.helloOfHAProxy, of: .none) { frame in
            for (name, value): (StaticString, SPOPValue) in [
                ("supported-versions", text("2.0")), ("max-frame-size", .unsigned(16380)),
                ("capabilities", text("pipelining")),
            ] {
                frame.writeSPOP(string: name)
                frame.writeSPOP(value)
            }
        }
        for frame in frames { bytes.writeImmutableBuffer(frame) }
        bytes.writeSPOP(.disconnectOfHAProxy, of: .none) { _ in }
        try connection.send(Array(bytes.readableBytesView))
        return String(decoding: try connection.rest(), as: UTF8.self)
    }

    private static func notification(_ name: StaticString, _ arguments: [(StaticString, SPOPValue)]) -> ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeSPOP(.notify, of: SPOPFrame.ID(stream: 1, frame: 1)) { frame in
            frame.writeSPOP(string: name)
            frame.writeInteger(UInt8(arguments.count))
            for (name, value) in arguments {
                frame.writeSPOP(string: name)
                frame.writeSPOP(value)
            }
        }
        return bytes
    }

    @Test func `is decided, and a mistake in the page opens nothing`() async throws {
        let catalogue = "    - { path: /free/, protected: false }"
        try await RunningGate.with(RunningGate.configuration(Self.spoe, catalogue: catalogue)) { (gate) throws in
            #expect(gate.edges.isEmpty && gate.offloads.count == 1)
            let facts: [(StaticString, SPOPValue)] = [("target", Self.text("/free/a")), ("method", Self.text("GET"))]
            let message = { (name: StaticString, more: [(StaticString, SPOPValue)]) in
                [Self.notification(name, facts + more)]
            }
            let answered = try Self.exchange(gate.offloads[0], message("playgate-check", []))
            #expect(answered.contains("unprotected"), "\(answered)")
            for mistaken in [
                message("playgate-check", [("tokens", Self.text("a"))]), message("other", []),
                message("playgate-check", facts),
                [Self.notification("playgate-check", [("method", Self.text("GET"))])],
                [Self.notification("playgate-check", [("target", Self.text("/free/a"))])],
                [Self.notification("playgate-check", [])],
            ] {
                let answered = try Self.exchange(gate.offloads[0], mistaken)
                #expect(answered.contains("edge_request_invalid") && !answered.contains("unprotected"), "\(answered)")
            }
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"spoe\",status=\"200\"}") == 1)
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"spoe\",status=\"403\"}") == 6)
            let ended = try gate.metric("playgate_spoe_disconnects_total{by=\"haproxy\",status=\"99\"}")
            #expect(ended == 7)
            #expect(try gate.log("\"listener\":\"spoe\"").count == 1)
        }
    }

    @Test func `is taken from trusted peers only`() async throws {
        let spoe = Self.spoe.replacing("tokens:", with: "trustLoopback: false, tokens:")
        try await RunningGate.with(RunningGate.configuration(spoe)) { (gate) throws in
            #expect(try HTTPConnection(gate.offloads[0]).isClosedByPeer())
            let refused = "playgate_connections_refused_total{listener=\"spoe\",reason=\"untrusted_peer\"}"
            #expect(try gate.metric(refused) == 1)
        }
        // A reload that trusts the peer no longer ends its connection.
        try await RunningGate.with(RunningGate.configuration(Self.spoe)) { (gate) throws in
            let connection = try HTTPConnection(gate.offloads[0])
            try gate.folder.write("gate.yaml", RunningGate.configuration(spoe))
            #expect(try gate.admin("POST", "/reload").status == 200)
            var bytes = ByteBuffer()
            bytes.writeSPOP(.helloOfHAProxy, of: .none) { frame in
                for name: StaticString in ["supported-versions", "capabilities"] {
                    frame.writeSPOP(string: name)
                    frame.writeSPOP(Self.text("2.0"))
                }
                frame.writeSPOP(string: "max-frame-size")
                frame.writeSPOP(.unsigned(1024))
            }
            bytes.writeImmutableBuffer(Self.notification("playgate-check", []))
            try connection.send(Array(bytes.readableBytesView))
            #expect(String(decoding: try connection.rest(), as: UTF8.self).contains("peer_not_trusted"))
        }
    }

    @Test func `has a listener with or without another, which changes with a restart only`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", try GateSample.trusted.get().keys.signerCertificate)
        let both = Self.spoe.replacing("spoe:", with: "listen: \"[::1]:8081\", spoe:")
        for (text, edges) in [(both, ["[::1]:8081"]), (Self.spoe, [])] {
            let file = try folder.write("gate.yaml", RunningGate.configuration(text))
            let summary = try GateServer(configurationFile: file, at: GateSample.time).summary
            #expect(summary.edges == edges && summary.offloads == ["127.0.0.1:0"])
        }
        try await RunningGate.with(RunningGate.configuration(Self.spoe)) { (gate) throws in
            let other = Self.spoe.replacing("127.0.0.1:0", with: "unix:other.sock")
            try gate.folder.write("gate.yaml", RunningGate.configuration(other))
            #expect(try gate.admin("POST", "/reload").status == 200)
            #expect(try gate.log("a change of edge.spoe takes effect after a restart").count == 1)
        }
    }
}
