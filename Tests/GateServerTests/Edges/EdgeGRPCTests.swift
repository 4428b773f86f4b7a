// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import MediaTokens
import Testing

@testable import GateGRPC

/// A call over HTTP/2, made by curl.
struct GRPCCall {
    /// The status of gRPC; `nil` if there was no answer.
    let status: Int?
    let message: [UInt8]

    /// Calls a method at `unix:PATH` or `HOST:PORT`.
    init(
        to address: String,
        message: [UInt8],
        method: String = "envoy.service.auth.v3.Authorization/Check",
        options: [String] = ["--http2-prior-knowledge"],
        scheme: String = "http"
    ) throws {
        let curl = try #require(Program.installed("curl"), "run scripts/setup test")
        let folder = try TemporaryFolder()
        let size = stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: message.count >> $0) }
        let frame: [UInt8] = [0] + size + message
        let base = [
            "-s", "--noproxy", "*", "-D", folder.file("fields"), "-o", folder.file("body"), "-H",
            "Content-Type: application/grpc",
            "-H", "TE: trailers", "--data-binary", "@\(try folder.write("frame", contents: frame))", "--max-time", "20",
        ]
        let socket = address.hasPrefix("unix:") ? ["--unix-socket", String(address.dropFirst(5))] : []
        let host = socket.isEmpty ? address : "gate"
        _ = try CommandRun(curl, arguments: base + socket + options + ["\(scheme)://\(host)/\(method)"])
        let fields = ((try? folder.text("fields")) ?? "").split(whereSeparator: \.isNewline)
        status = fields.last { $0.lowercased().hasPrefix("grpc-status:") }
            .flatMap { Int($0.split(separator: " ").last ?? "") }
        self.message = Array(((try? folder.bytes("body")) ?? []).dropFirst(5))
    }

    /// The contents of a `CheckResponse`: the code of its status, the status of HTTP if it denies, and the body then; `nil` if it
    /// has no status.
    func decision() throws -> (code: UInt64, status: UInt64, body: String)? {
        var (code, denial): (UInt64?, (status: UInt64, body: String)) = (nil, (0, ""))
        var reader = ProtobufReader(message[...])
        while let (field, value) = try reader.next() {
            var part = ProtobufReader(try value.bytes)
            if field == 1 { code = 0 }
            while let (inner, value) = try part.next() {
                switch (field, inner, value) {
                case (1, 1, .number(let number)): code = number
                case (2, 1, .bytes(let bytes)):
                    var status = ProtobufReader(bytes)
                    if case (1, .number(let number))? = try status.next() { denial.status = number }
                case (2, 3, _): denial.body = try value.text
                default: break
                }
            }
        }
        return code.map { ($0, denial.status, denial.body) }
    }
}

/// Envoy's checks over gRPC, without Envoy.
@Suite struct `A check over gRPC` {
    private static func configuration(_ addresses: String = "\"grpc:127.0.0.1:0\"", more: String = "") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            edge: { listen: ["127.0.0.1:0", \(addresses)], tokens: [{ query: token }, { cookie: media-token }]\(more) }
            """,
            catalogue: EdgeProxy.catalogue
        )
    }

    /// Writes a message as Envoy does.
    private static func message(
        for target: String,
        method: String = "GET",
        host: String = "gate",
        headers: [(String, String)] = [],
        raw: Bool = false
    ) -> [UInt8] {
        var writer = ProtobufWriter()
        writer.write(field: 1) { attributes in
            attributes.write(field: 4) { request in
                request.write(field: 2) { http in
                    http.write(method, field: 2)
                    http.write(target, field: 4)
                    http.write(host, field: 5)
                    let write = { (name: String, value: String, field: UInt8, into: inout ProtobufWriter) in
                        into.write(field: field) { entry in
                            entry.write(name, field: 1)
                            entry.write(value, field: raw ? 3 : 2)
                        }
                    }
                    if raw {
                        http.write(field: 13) { map in for (name, value) in headers { write(name, value, 1, &map) } }
                    } else {
                        for (name, value) in headers { write(name, value, 3, &http) }
                    }
                }
            }
        }
        return writer.bytes
    }

    @Test(arguments: [false, true]) func `is decided as over HTTP`(raw: Bool) async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let (good, other) = (try gate.token(), try gate.token(GateSample.claims(session: "another")))
            let foreign = try GateSample.foreign.get().issuer.issue(GateSample.claims(), at: gate.now).serialized
            let rows: [(target: String, method: String, headers: [(String, String)])] = [
                ("/live/tnt/a", "GET", []), ("/live/seg/a?token=\(good)", "GET", []),
                ("/live/seg/a?token=\(good)", "POST", []),
                ("/live/seg/a", "HEAD", [("cookie", "media-token=\(good)")]),
                ("/live/seg/a?token=\(foreign)", "GET", []),
                ("/live/seg/a?token=\(good)", "GET", [("cookie", "media-token=\(other)")]), ("/live/free/a", "GET", []),
                ("/live/none", "GET", []), ("/live/seg/../free/a", "GET", []),
                ("/live/seg/%2fa?token=\(good)", "GET", []),
                ("live/seg/a", "GET", []), ("/live/seg/a#b", "GET", []), ("/live/seg/a", "GET", [("host", "other")]),
                ("/live/tnt/a?token=\(good)", "GET", [("range", "bytes=1-")]), ("http://gate/live/free/a", "GET", []),
            ]
            for row in rows {
                let fields = row.headers.map { "\($0.0): \($0.1)\r\n" }.joined()
                let connection = try HTTPConnection(gate.edge)
                try connection.send(
                    "\(row.method) /v1/check/envoy\(row.target) HTTP/1.1\r\nHost: gate\r\n\(fields)\r\n"
                )
                let expected = try connection.response(hasBody: row.method != "HEAD")
                let message = Self.message(for: row.target, method: row.method, headers: row.headers, raw: raw)
                let call = try GRPCCall(to: gate.grpc, message: message)
                let decision = try #require(try call.decision(), "\(row) \(call)")
                let (code, status) = (expected.headers["x-playgate-code"] ?? "", UInt64(expected.status))
                if status == 200 {
                    #expect(decision.code == 0 && decision.status == 0, "\(row) \(decision)")
                } else {
                    #expect(
                        decision.code == (status == 401 ? 16 : 7) && decision.status == status,
                        "\(row) \(decision)"
                    )
                    #expect(decision.body == code + "\n", "\(row) \(decision)")
                }
                #expect(String(decoding: call.message, as: UTF8.self).contains(code), "\(row)")
            }
        }
    }

    @Test func `uses a token up, once for both listeners`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let token = try gate.token()
            let message = Self.message(for: "/live/tnt/a?token=\(token)")
            #expect(try GRPCCall(to: gate.grpc, message: message).decision()?.code == 0)
            #expect(try GRPCCall(to: gate.grpc, message: message).decision()?.body == "token_already_used\n")
            let http = try HTTPConnection(gate.edge).request("GET", path: "/v1/check/envoy/live/tnt/a?token=\(token)")
            #expect(http.headers["x-playgate-code"] == "token_already_used")
            #expect(try gate.metric("playgate_edge_requests_total{edge=\"grpc\",status=\"200\"}") == 1)
        }
    }

    /// An absent status would allow.
    @Test func `is denied if it cannot be read`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let good = Self.message(for: "/live/free/a")
            let messages: [[UInt8]] = [
                [], [0x0A, 0], Array("garbage".utf8), Array(good.dropLast()), good + good, [0, 0, 0, 0, 0, 0],
            ]
            for message in messages {
                let call = try GRPCCall(to: gate.grpc, message: message)
                let decision = try #require(try call.decision(), "\(message) \(call)")
                #expect(call.status == 0 && decision.code == 7 && decision.status == 403, "\(message) \(decision)")
                #expect(decision.body == "edge_request_invalid\n", "\(message) \(decision)")
            }
            // Over the limit of a message, and no such method: errors of gRPC, which Envoy answers by status_on_error.
            let large = Self.message(for: "/live/free/a", headers: [("a", String(repeating: "b", count: 200_000))])
            let refused = try GRPCCall(to: gate.grpc, message: large)
            #expect(refused.status != 0 && refused.message.isEmpty, "\(refused)")
            #expect(
                try GRPCCall(to: gate.grpc, message: good, method: "envoy.service.auth.v3.Authorization/Open").status
                    == 12
            )
        }
    }

    @Test func `accepts no word of a client as a fact, and no peer from afar`() async throws {
        let folder = try TemporaryFolder()
        let addresses = "\"grpc:unix:\(folder.file("grpc.sock"))\", \"grpc:127.0.0.1:0\""
        let more = ", peers: []"
        try await RunningGate.with(Self.configuration(addresses, more: more)) {
            (gate) throws in
            let free = Self.message(for: "/live/free/a")
            for address in gate.grpcAddresses {
                let call = try GRPCCall(to: address, message: free)
                if address.hasPrefix("unix:") {
                    #expect(try call.decision()?.code == 0)
                } else {
                    #expect(call.status == nil)
                }
            }
            #expect(gate.grpcAddresses.count == 2)
        }
    }

    @Test func `comes to a gate that says if it is ready`() async throws {
        try await RunningGate.with(Self.configuration()) { (gate) throws in
            let method = "grpc.health.v1.Health/Check"
            let name = { (name: String) -> [UInt8] in [0x0A, UInt8(name.utf8.count)] + Array(name.utf8) }
            for service: [UInt8] in [[], name("envoy.service.auth.v3.Authorization")] {
                let call = try GRPCCall(to: gate.grpc, message: service, method: method)
                #expect(call.status == 0 && call.message == [8, 1], "\(call)")
            }
            #expect(try GRPCCall(to: gate.grpc, message: name("other"), method: method).status == 5)
            #expect(try GRPCCall(to: gate.grpc, message: [0x0A, 9], method: method).status == 3)
            #expect(try GRPCCall(to: gate.grpc, message: [], method: "grpc.health.v1.Health/Watch").status == 12)
            // The certificate of the issuer has expired.
            gate.now = gate.now.adding(seconds: 40 * 365 * 86_400)
            #expect(try gate.admin("GET", path: "/readyz").status == 503)
            #expect(try GRPCCall(to: gate.grpc, message: [], method: method).message == [8, 2])
        }
    }
}
