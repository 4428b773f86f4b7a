// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

@Suite struct `A listener` {
    private static func limits(_ text: String) -> String {
        RunningGate.configuration("advanced: { limits: { \(text) } }\n", api: "  anonymous: true\n  hosts: [gate, g]\n")
    }

    @Test func `listens on a unix socket`() async throws {
        let folder = try TemporaryFolder()
        let configuration = RunningGate.configuration()
            .replacing(
                "  listen: 127.0.0.1:0\n  anonymous",
                with: "  listen: unix:\(folder.file("api.sock"))\n  anonymous"
            )
        try await RunningGate.with(configuration) { (gate) throws in
            #expect(gate.api == "unix:\(folder.file("api.sock"))")
            #expect(try gate.play(token: try gate.token()).status == 200)
        }
    }

    @Test func `reuses a connection for many requests, sent ahead of the answers too`() async throws {
        try await RunningGate.with { (gate) throws in
            let connection = try gate.connect()
            let body = "{\"media\":\"trailer\"}"
            let request =
                "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            try connection.send(String(repeating: request, count: 20))
            for _ in 0..<20 { #expect(try connection.response().status == 200) }
            try connection.send(request.replacing("Host: g", with: "Host: g\r\nConnection: close"))
            #expect(try connection.response().status == 200)
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `answers clients that close their end behind their requests`() async throws {
        try await RunningGate.with { (gate) throws in
            let body = "{\"media\":\"trailer\"}"
            let request =
                "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
            for _ in 0..<20 {
                let connection = try gate.connect()
                try connection.send(request + request)
                connection.endSending()
                for _ in 0..<2 { #expect(try connection.response().status == 200) }
                try #require(connection.isClosedByPeer())
            }
            // In the middle of a request there is no response, only the end of the connection.
            let connection = try gate.connect()
            try connection.send("POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Length: 10\r\n\r\n{")
            connection.endSending()
            #expect(connection.isClosedByPeer())
        }
    }

    @Test(arguments: [
        "", "GET /v1/codes HTTP/1.1\r\nHost: g\r\n",
        "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    ])
    func `closes on a client that does not finish its request`(start: String) async throws {
        try await RunningGate.with(Self.limits("requestTimeout: 200ms, idleTimeout: 1h")) { (gate) throws in
            let connection = try gate.connect()
            try connection.send(start)
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `closes on a client that sends a byte at a time for ever`() async throws {
        try await RunningGate.with(Self.limits("requestTimeout: 300ms")) { (gate) throws in
            let connection = try gate.connect()
            try connection.send("GET /v1/codes HTTP/1.1\r\nHost: g\r\nX: ")
            #expect(eventually { (try? connection.send("x")) == nil })
        }
    }

    @Test func `closes on a client that does not finish its second request either`() async throws {
        try await RunningGate.with(Self.limits("requestTimeout: 300ms, idleTimeout: 1h")) { (gate) throws in
            let connection = try gate.connect()
            #expect(try connection.request("GET", path: "/v1/codes").status == 200)
            try connection.send("GET /v1/codes HTTP/1.1\r\nHost: g\r\nX: ")
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `asks for the key before the body, and reads none of what is refused`() async throws {
        let keys = "  keys: [{ name: a, sha256: \"\(String(repeating: "0", count: 64))\", scopes: [playback] }]\n"
        try await RunningGate.with(RunningGate.configuration(api: keys)) { (gate) throws in
            let json = "Content-Type: application/json\r\nContent-Length: 50000\r\nExpect: 100-continue\r\n"
            for (line, more, status) in [
                ("POST /v1/playback/batch", json, 401),
                ("POST /v1/playback", "\(json)Authorization: Bearer x\r\n", 401),
                ("POST /v1/nothing", json, 404), ("PUT /v1/playback", json, 405), ("GET /v1/codes", json, 200),
            ] {
                let connection = try gate.connect()
                try connection.send("\(line) HTTP/1.1\r\nHost: g\r\n\(more)\r\n")
                // The status is not 100: the gate does not read the body.
                #expect(try connection.response().status == status, "\(line)")
            }
        }
    }

    /// Malformed bytes after a request end the connection, but the response to the request is sent.
    @Test(arguments: ["\u{1}", "x x x\r\n\r\n", "GET / HTTP/1.1\r\n\u{2}: x\r\n\r\n"])
    func `answers what came before malformed bytes`(garbage: String) async throws {
        try await RunningGate.with { (gate) throws in
            for last in ["", "Connection: close\r\n"] {
                let connection = try gate.connect()
                let request = "GET /v1/codes/expired HTTP/1.1\r\nHost: g\r\n"
                try connection.send("\(request)\r\n\(request)\(last)\r\n\(garbage)")
                for _ in 0..<2 { #expect(try connection.response().status == 200) }
                try #require(connection.isClosedByPeer())
            }
        }
    }

    @Test func `gives a client that reads nothing no more answers than it accepts, and all in order when it does`()
        async throws
    {
        try await RunningGate.with { (gate) throws in
            let connection = try gate.connect()
            let paths = (0..<30).map { $0.isMultiple(of: 3) ? "/openapi.yaml" : "/v1/codes/expired" }
            try connection.send(paths.map { "GET \($0) HTTP/1.1\r\nHost: g\r\n\r\n" }.joined())
            for path in paths {
                let answer = try connection.response()
                #expect(answer.status == 200 && answer.body.hasPrefix("openapi") == (path == "/openapi.yaml"))
            }
            try connection.send("GET /openapi.yaml HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
            #expect(try connection.response().body.hasPrefix("openapi"))
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `answers a body that is too large before it comes, and closes`() async throws {
        try await RunningGate.with(Self.limits("bodyBytes: 1024, requestTimeout: 10m, idleTimeout: 1h")) {
            (gate) throws in
            let head = "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"
            let chunk = "401\r\n\(String(repeating: " ", count: 1025))\r\n"
            for start in ["Content-Length: 1025\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n\(chunk)"] {
                for rest in ["", "more"] {
                    let connection = try gate.connect()
                    try connection.send(head + start)
                    #expect(try connection.response().status == 413)
                    try? connection.send(rest)
                    try #require(connection.isClosedByPeer())
                }
            }
        }
    }

    @Test func `lets a client go on that asks first`() async throws {
        try await RunningGate.with { (gate) throws in
            let body = "{\"media\":\"trailer\"}"
            let connection = try gate.connect()
            try connection.send(
                "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
            )
            #expect(try connection.response(hasBody: false).status == 100)
            try connection.send(body)
            #expect(try connection.response().status == 200)
        }
    }

    @Test func `reuses a socket that a killed process has left`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("api.sock")
        let configuration = RunningGate.configuration()
            .replacing(
                "  listen: 127.0.0.1:0\n  anonymous",
                with: "  listen: unix:\(path)\n  socketMode: \"0600\"\n  anonymous"
            )
        try Self.leaveSocket(path)
        try await RunningGate.with(configuration) { (gate) throws in
            #expect(try gate.play("trailer").status == 200)
            let facts = try FileManager.default.attributesOfItem(atPath: path)
            #expect(facts[.posixPermissions] as? Int == 0o600)
        }
    }

    /// Creates a socket file without a listener.
    private static func leaveSocket(_ path: String) throws {
        let python = try #require(Program.installed("python3"))
        let script = "import socket, sys; s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1])"
        #expect(try CommandRun(python, arguments: ["-c", script, path]).status == 0)
        #expect(FileManager.default.fileExists(atPath: path))
    }

    @Test func `closes on a client that is idle for too long`() async throws {
        try await RunningGate.with(Self.limits("idleTimeout: 200ms")) { (gate) throws in
            let connection = try gate.connect()
            #expect(try connection.request("GET", path: "/v1/codes").status == 200)
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `accepts no more headers than it may`() async throws {
        try await RunningGate.with(Self.limits("headerBytes: 2048")) { (gate) throws in
            let fits = try gate.get("/v1/codes", headers: ["X": String(repeating: "x", count: 1500)])
            #expect(fits.status == 200)
            let connection = try gate.connect()
            try connection.send(
                "GET /v1/codes HTTP/1.1\r\nHost: g\r\nX: \(String(repeating: "x", count: 4000))\r\n\r\n"
            )
            #expect(try connection.response().status == 400)
            #expect(connection.isClosedByPeer())
        }
    }

    @Test func `lets no more connections in than it may`() async throws {
        try await RunningGate.with(Self.limits("connections: 2, connectionsPerPeer: 2")) { (gate) throws in
            let first = try gate.connect()
            #expect(try first.request("GET", path: "/v1/codes").status == 200)
            let second = try gate.connect()
            #expect(try second.request("GET", path: "/v1/codes").status == 200)
            // The third waits until another connection closes.
            let third = try gate.connect()
            try third.send("GET /v1/codes HTTP/1.1\r\nHost: g\r\n\r\n")
            try first.send("GET /v1/codes HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n")
            #expect(try first.response().status == 200)
            #expect(first.isClosedByPeer())
            #expect(try third.response().status == 200)
        }
    }

    static let malformed = [
        "\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{0}\u{1}\u{2}\r\n\r\n",
        "GET / HTTP/1.1\r\nBad Header: x\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n",
        "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Length: -1\r\n\r\n",
        "POST /v1/playback HTTP/1.1\r\nHost: g\r\nContent-Length: 99999999999999999999\r\n\r\n",
        "POST /v1/playback HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n",
        "POST /v1/playback HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\nabc",
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\u{16}\u{3}\u{1}", "GET http://[ HTTP/1.1\r\nHost: g\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: g\r\n folded: x\r\n\r\n", "GET /\u{7F} HTTP/1.1\r\nHost: g\r\n\r\n",
    ]

    @Test func `survives broken HTTP`() async throws {
        try await RunningGate.with(Self.limits("requestTimeout: 200ms")) { (gate) throws in
            for text in Self.malformed {
                let connection = try gate.connect()
                try connection.send(text)
                // Any response is a refusal, and the gate keeps working.
                let answer = try HTTPConnection.unlessClosed { try connection.response() }
                if let answer, text.contains("\r\n\r\n") {
                    #expect((400..<500).contains(answer.status), "\(text.debugDescription)")
                }
            }
            #expect(try gate.play(token: try gate.token()).status == 200)
        }
    }
}
