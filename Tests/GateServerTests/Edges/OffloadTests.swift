// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateConfiguration
import GateTestSupport
import MediaResources
import MediaTokens
import NIOCore
import NIOHTTP1
import SPOPServer
import Testing

@testable import EdgeChecks
@testable import EdgeListener
@testable import GateServer
@testable import HTTPServer
@testable import PlaybackGate

/// The statements of HAProxy about a request in the arguments of its message, and the gate's reading of them.
@Suite struct `A check by HAProxy's offload` {
    private static func text(_ text: String) -> SPOPValue { .string(ByteBuffer(string: text)) }

    private static func fields(_ fields: [(String, String)]) -> SPOPValue { OffloadExchange.headers(fields) }

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

    /// The request of a notification; `nil` if it is invalid.
    private static func request(_ payload: [UInt8]) -> SPOERequest? {
        guard let messages = SPOPMessages(SPOPReader(payload.span)) else { return nil }
        return SPOERequest(messages)
    }

    @Test(arguments: rows.indices) func `has what its arguments state`(row: Int) {
        let (arguments, expected) = Self.rows[row]
        let message = OffloadExchange.message("playgate-check", arguments: arguments)
        let fields = Self.request(message)?.fields
        #expect(fields.map { fields in fields.indices.map { "\(fields.name($0)): \(fields.value($0))" } } == expected)
        #expect(Self.request(message + message) == nil)
        #expect(Self.request(OffloadExchange.message("other", arguments: arguments)) == nil)
        #expect(Self.request([]) == nil)
    }

    /// The texts of `variables=`, and the names of the variables that an allowed check sets; `nil` for an invalid message.
    static let variables: [(text: String, names: [String]?)] = [
        ("allowed", ["allowed"]), (" code  allowed ", ["allowed", "code"]),
        (
            "allowed status code trace decision set_cookie session mvpd resource requestor expires token grant",
            [
                "allowed", "code", "trace", "decision", "set_cookie", "session", "mvpd", "resource", "requestor",
                "expires", "token", "grant",
            ]
        ),
        ("", nil), ("  ", nil), ("allowed,code", nil), ("allowed codes", nil), ("Allowed", nil), ("allowed\t", nil),
    ]

    @Test(arguments: variables) func `sets the variables that its message names`(text: String, names: [String]?) throws
    {
        let read = { (more: [(String, SPOPValue)]) in
            Self.request(OffloadExchange.message("playgate-check", arguments: [("target", Self.text("/a"))] + more))
        }
        #expect(try #require(read([])).variables == .all)
        let request = read([("variables", Self.text(text))])
        #expect((request == nil) == (names == nil))
        guard let names, let request else { return }
        #expect(try Self.variables(of: .first(Self.answer(), request.variables)).keys.sorted() == names.sorted())
        let refused = try Self.variables(of: .first(Self.refusal(), request.variables))
        #expect(refused["status"] == (text.contains("status") ? .signed(401) : nil))
        #expect(read([("variables", Self.text(text)), ("variables", Self.text(text))]) == nil)
        #expect(read([("variables", .binary(ByteBuffer(string: text)))]) == nil)
    }

    @Test(arguments: variables.filter { $0.names != nil }.map(\.text) + [nil], [128, 160, 300, 16_380])
    func `is answered again as before, but for the trace`(names: String?, limit: Int) throws {
        var answer = try Self.answer()
        // An answer with a new grant is never given again.
        answer.grant = nil
        let named = names.map { [("variables", Self.text($0))] } ?? []
        let message = OffloadExchange.message("playgate-check", arguments: [("target", Self.text("/a"))] + named)
        let request = try #require(Self.request(message))
        let kept = EdgeAnswerCache.Answer(answer, dialect: .spoe, fields: request.fields, revision: 0)
        answer.trace = TraceID.new()
        let again = RepeatedEdgeAnswer(answer: kept, trace: answer.trace)
        let bytes = Self.frame(.again(again), limit: limit)
        #expect(bytes == Self.frame(.first(answer, request.variables), limit: limit))
        #expect(bytes.readableBytes <= 4 + limit)
    }

    /// An answer that has something to say in every variable.
    private static func answer() throws -> EdgeAnswer {
        let entry = Catalogue.Entry(
            key: .path(try PathPattern("/")),
            protection: .resource(try MediaResource(String(repeating: "ü", count: 60)), requestor: "REF30"),
            use: .withinTTL
        )
        let subject = Decision.Subject(
            entry: entry,
            token: try GateSample.content(GateSample.claims(), at: GateSample.time)
        )
        var answer = EdgeAnswer(
            decision: .allow(Decision.Allowance(reason: .withinTTL, subject: subject)),
            trace: TraceID.new(),
            tokenSources: 1,
            sources: [.query("token")],
            keeping: .none,
            session: SessionID(hexadecimal: "e688045c604d5ecc272cf7d83b00ec16")
        )
        answer.grant = DeliveredGrant(token: "t", cookie: "c=t")
        return answer
    }

    private static func refusal() -> EdgeAnswer {
        EdgeAnswer(
            decision: .refuse(Decision.Refusal(code: .tokenMissing, subject: .nothing)),
            trace: TraceID.new(),
            tokenSources: 0,
            sources: [],
            keeping: .none
        )
    }

    /// The variables that an answer sets.
    private static func variables(of answer: SPOEAnswer) throws -> [String: SPOPValue] {
        let bytes = frame(answer, limit: 16_380)
        return try OffloadExchange.variables(try SPOPFrame(bytes.readableBytesUInt8Span.extracting(4...)))
    }

    /// The frame of an answer, with its length.
    private static func frame(_ answer: SPOEAnswer, limit: Int) -> ByteBuffer {
        var output = SPOPOutput()
        output.acknowledge(SPOPFrame.ID(stream: 300, frame: 1), limit: limit, with: answer)
        return output.drain()
    }

    private static let spoe = """
        replayStore: { advanced: { capacity: 1000 } }
        edge: { listen: "spoe:127.0.0.1:0", tokens: [{ query: token }] }
        """

    /// Sends frames to a gate, and returns what the gate sends as text.
    private static func exchange(with address: String, frames: [ByteBuffer]) throws -> String {
        String(decoding: try OffloadExchange.send(frames, to: address), as: UTF8.self)
    }

    @Test func `is decided, and a mistake in the page opens nothing`() async throws {
        let catalogue = "    - { path: /free/, protected: false }"
        try await RunningGate.with(RunningGate.configuration(Self.spoe, catalogue: catalogue)) { (gate) throws in
            #expect(gate.edges.isEmpty && gate.offloads.count == 1)
            let facts: [(String, SPOPValue)] = [("target", Self.text("/free/a")), ("method", Self.text("GET"))]
            let message = { (name: String, more: [(String, SPOPValue)]) in
                [OffloadExchange.notification(name, arguments: facts + more)]
            }
            let answered = try Self.exchange(with: gate.offloads[0], frames: message("playgate-check", []))
            #expect(answered.contains("unprotected"), "\(answered)")
            for mistaken in [
                message("playgate-check", [("tokens", Self.text("a"))]), message("other", []),
                message("playgate-check", facts),
                [OffloadExchange.notification("playgate-check", arguments: [("method", Self.text("GET"))])],
                [OffloadExchange.notification("playgate-check", arguments: [("target", Self.text("/free/a"))])],
                [OffloadExchange.notification("playgate-check", arguments: [])],
            ] {
                let answered = try Self.exchange(with: gate.offloads[0], frames: mistaken)
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
        let spoe = Self.spoe.replacing("tokens:", with: "peers: [], tokens:")
        try await RunningGate.with(RunningGate.configuration(spoe)) { (gate) throws in
            #expect(try HTTPConnection(gate.offloads[0]).isClosedByPeer())
            let refused = "playgate_connections_refused_total{listener=\"spoe\",reason=\"untrusted_peer\"}"
            #expect(try gate.metric(refused) == 1)
        }
        // A reload that trusts the peer no longer ends its connection.
        try await RunningGate.with(RunningGate.configuration(Self.spoe)) { (gate) throws in
            let connection = try HTTPConnection(gate.offloads[0])
            try gate.folder.write("gate.yaml", contents: RunningGate.configuration(spoe))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            var bytes = OffloadExchange.hello()
            bytes.writeImmutableBuffer(OffloadExchange.notification("playgate-check", arguments: []))
            try connection.send(Array(bytes.readableBytesView))
            #expect(String(decoding: try connection.rest(), as: UTF8.self).contains("peer_not_trusted"))
        }
    }

    @Test func `has a listener with or without another, which changes with a restart only`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("signer.pem", contents: try GateSample.trusted.get().keys.signerCertificate)
        let both = Self.spoe.replacing("\"spoe:127.0.0.1:0\"", with: "[\"[::1]:8081\", \"spoe:127.0.0.1:0\"]")
        for (text, edges) in [(both, ["[::1]:8081"]), (Self.spoe, [])] {
            let file = try folder.write("gate.yaml", contents: RunningGate.configuration(text))
            let summary = try GateServer(configurationFile: file, at: GateSample.time).summary
            #expect(summary.edges == edges && summary.offloads == ["127.0.0.1:0"])
        }
        try await RunningGate.with(RunningGate.configuration(Self.spoe)) { (gate) throws in
            let other = Self.spoe.replacing("spoe:127.0.0.1:0", with: "spoe:unix:other.sock")
            try gate.folder.write("gate.yaml", contents: RunningGate.configuration(other))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.log("a change of edge.listen takes effect after a restart").count == 1)
        }
    }
}
