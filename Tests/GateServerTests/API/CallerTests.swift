// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateTestSupport
import Testing

@Suite struct `Callers of the API` {
    private static func key(named name: String, secret key: String, scopes: String) -> String {
        let digest = SHA256.digest(key).hexadecimal
        return "    - { name: \(name), sha256: \"\(digest)\", scopes: [\(scopes)] }\n"
    }

    private static let configuration = RunningGate.configuration(
        api: "  keys:\n" + key(named: "backend", secret: "key-1", scopes: "playback")
            + key(named: "operator", secret: "key-2", scopes: "revoke, catalogue, verify")
    )

    @Test(
        arguments: [
            ("Bearer key-1", "/v1/playback", 200, "unprotected"), ("bearer key-1", "/v1/playback", 200, "unprotected"),
            ("Bearer key-2", "/v1/playback", 403, "scope_missing"),
            ("Bearer key-1", "/v1/revocations", 403, "scope_missing"),
            ("Bearer key-2", "/v1/revocations", 201, nil), ("Bearer key-3", "/v1/playback", 401, "credential_unknown"),
            ("Bearer ", "/v1/playback", 401, "credential_missing"),
            ("Basic a2V5LTE6", "/v1/playback", 401, "credential_missing"),
            (nil, "/v1/playback", 401, "credential_missing"), ("key-1", "/v1/playback", 401, "credential_missing"),
            ("Bearer key-1 ", "/v1/playback", 200, "unprotected"),
            ("Bearer KEY-1", "/v1/playback", 401, "credential_unknown"),
        ] as [(String?, String, Int, String?)]
    )
    func `may do what their scopes say`(authorization: String?, path: String, status: Int, code: String?) async throws {
        try await RunningGate.with(Self.configuration) { gate in
            let body = path == "/v1/playback" ? "{\"media\":\"trailer\"}" : "{\"mvpd\":\"X\"}"
            let headers = authorization.map { ["Authorization": $0] } ?? [:]
            let answer = try gate.post(path, body: body, headers: headers)
            #expect(answer.status == status)
            #expect(answer.code == code)
            if status == 401 { #expect(answer.headers["www-authenticate"] == "Bearer") }
            if status == 200 { #expect(try gate.log("\"caller\":\"backend\"").count == 1) }
        }
    }

    @Test func `with two keys at once are nobody`() async throws {
        try await RunningGate.with(Self.configuration) { gate in
            let connection = try gate.connect()
            try connection.send(
                "GET /v1/catalogue/tnt HTTP/1.1\r\nHost: g\r\nAuthorization: Bearer key-2\r\nAuthorization: Bearer key-1\r\n\r\n"
            )
            #expect(try connection.response().code == "credential_unknown")
        }
    }

    @Test func `need no key for what explains the API`() async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            #expect(try gate.get("/openapi.yaml").status == 200)
            #expect(try gate.get("/v1/codes").status == 200)
            #expect(try gate.get("/v1/catalogue/tnt").status == 401)
        }
    }

    @Test func `are others after a reload`() async throws {
        try await RunningGate.with(Self.configuration) { (gate) throws in
            let other = RunningGate.configuration(
                api: "  keys:\n" + Self.key(named: "backend", secret: "key-9", scopes: "catalogue")
            )
            try gate.folder.write("gate.yaml", contents: other)
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.get("/v1/catalogue/tnt", headers: ["Authorization": "Bearer key-9"]).status == 200)
            #expect(try gate.get("/v1/catalogue/tnt", headers: ["Authorization": "Bearer key-2"]).status == 401)
            #expect(try gate.log("takes effect after a restart", count: 0).isEmpty)
        }
    }

    @Test func `do not see secrets of the configuration`() async throws {
        try await RunningGate.with(Self.configuration + "\nlog: { advanced: { salt: very-salty } }\n") { gate in
            let text = try gate.admin("GET", path: "/config").body
            #expect(text.contains("\"name\":\"backend\""))
            #expect(!text.contains("very-salty"))
            #expect(!text.contains(SHA256.digest("key-1").hexadecimal))
        }
    }

    /// A page in a browser reaches an open API by DNS rebinding: the host is then the page's.
    @Test(arguments: [
        ("127.0.0.1", 200), ("127.0.0.1:8080", 200), ("[::1]", 200), ("localhost", 200), ("gate.internal", 200),
        ("evil.example", 403), ("127.0.0.1.evil.example", 403), ("", 403),
    ]) func `of an open API name it by its address or a known name`(host: String, status: Int) async throws {
        let configuration = RunningGate.configuration(api: "  anonymous: true\n  hosts: [gate.internal]\n")
        try await RunningGate.with(configuration) { gate in
            let body = "{\"media\":\"trailer\"}"
            let headers = ["Content-Type": "application/json"]
            let answer = try gate.connect().request(
                "POST",
                path: "/v1/playback",
                headers: headers,
                body: body,
                host: host
            )
            #expect(answer.status == status, "\(answer)")
            if status == 403 { #expect(answer.code == "host_refused") }
        }
        // Who has a key is no page.
        try await RunningGate.with(Self.configuration) { gate in
            let headers = ["Authorization": "Bearer key-1", "Content-Type": "application/json"]
            let body = "{\"media\":\"trailer\"}"
            let answer = try gate.connect().request(
                "POST",
                path: "/v1/playback",
                headers: headers,
                body: body,
                host: host
            )
            #expect(answer.status == (host.isEmpty ? 400 : 200) || answer.status == 200)
        }
    }

    /// Those without a key share half of the connections, and the idlest of them goes.
    @Test func `with a key get an answer while others hold all the connections that they can`() async throws {
        let configuration = Self.configuration + "\nadvanced: { limits: { connections: 8, connectionsPerPeer: 8 } }\n"
        try await RunningGate.with(configuration) { gate in
            let headers = ["Authorization": "Bearer key-1", "Content-Type": "application/json"]
            let play = { (connection: HTTPConnection) in
                try connection.request("POST", path: "/v1/playback", headers: headers, body: "{\"media\":\"trailer\"}")
                    .status
            }
            let known = try (0..<2).map { _ in try gate.connect() }
            for connection in known { #expect(try play(connection) == 200) }
            let idle = try (0..<6).map { _ in
                let connection = try gate.connect()
                #expect(try connection.request("GET", path: "/v1/codes").status == 200)
                return connection
            }
            // Four of the six are left: the two idlest made room.
            #expect(idle[0].isClosedByPeer() && idle[1].isClosedByPeer())
            #expect(try eventually { try gate.metric("playgate_connections_open{listener=\"api\"}") == 6 })
            for connection in known { #expect(try play(connection) == 200) }
            let late = try (0..<3).map { _ in try gate.connect() }
            for connection in late { #expect(try play(connection) == 200) }
            #expect(try late.map { try play($0) } == [200, 200, 200])
        }
    }
}
