// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Foundation
import GateService
import GateTestSupport
import Testing

@Suite struct `Callers of the API` {
    private static func key(_ name: String, _ key: String, _ scopes: String) -> String {
        let digest = SHA256.digest(key).hexadecimal
        return "    - { name: \(name), sha256: \"\(digest)\", scopes: [\(scopes)] }\n"
    }

    private static let configuration = RunningGate.configuration(
        api: "  keys:\n" + key("backend", "key-1", "playback") + key("operator", "key-2", "revoke, catalogue, verify")
    )

    @Test(
        arguments: [
            ("Bearer key-1", "/v1/playback", 200, nil), ("bearer key-1", "/v1/playback", 200, nil),
            ("Bearer key-2", "/v1/playback", 403, "scope_missing"),
            ("Bearer key-1", "/v1/revocations", 403, "scope_missing"),
            ("Bearer key-2", "/v1/revocations", 201, nil), ("Bearer key-3", "/v1/playback", 401, "credential_unknown"),
            ("Bearer ", "/v1/playback", 401, "credential_missing"),
            ("Basic a2V5LTE6", "/v1/playback", 401, "credential_missing"),
            (nil, "/v1/playback", 401, "credential_missing"), ("key-1", "/v1/playback", 401, "credential_missing"),
            ("Bearer key-1 ", "/v1/playback", 200, nil), ("Bearer KEY-1", "/v1/playback", 401, "credential_unknown"),
        ] as [(String?, String, Int, String?)]
    )
    func `may do what their scopes say`(authorization: String?, path: String, status: Int, code: String?) async throws {
        try await RunningGate.with(Self.configuration) { gate in
            let body = path == "/v1/playback" ? "{\"media\":\"trailer\"}" : "{\"mvpd\":\"X\"}"
            let headers = authorization.map { ["Authorization": $0] } ?? [:]
            let answer = try gate.post(path, body, headers: headers)
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
            let other = RunningGate.configuration(api: "  keys:\n" + Self.key("backend", "key-9", "catalogue"))
            try gate.folder.write("gate.yaml", other)
            #expect(try gate.admin("POST", "/reload").status == 200)
            #expect(try gate.get("/v1/catalogue/tnt", headers: ["Authorization": "Bearer key-9"]).status == 200)
            #expect(try gate.get("/v1/catalogue/tnt", headers: ["Authorization": "Bearer key-2"]).status == 401)
            #expect(try gate.log("takes effect after a restart", count: 0).isEmpty)
        }
    }

    @Test func `do not see secrets of the configuration`() async throws {
        try await RunningGate.with(Self.configuration + "\nlog: { salt: very-salty }\n") { gate in
            let text = try gate.admin("GET", "/config").body
            #expect(text.contains("\"name\":\"backend\""))
            #expect(!text.contains("very-salty"))
            #expect(!text.contains(SHA256.digest("key-1").hexadecimal))
        }
    }
}
