// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Foundation
import GateService
import GateTestSupport
import MediaTokens
import Testing

/// The paths of a hosted service, as docs/operations.md describes them, and their twin in JSON.
@Suite struct `The paths of a hosted service` {
    private static let secret = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="
    private static let key = "pg_test"

    private static func configuration(_ tvs: String = "  tvs: { get: true }\n") -> String {
        RunningGate.configuration(
            """
            use: { memory: { capacity: 1000 } }
            keys: { k1: { secret: \(secret) }, akamai: { secret: 0f0f0f0f, encoding: hex } }
            grants:
              subjectKey: \(secret)
              profiles:
                live: { issuer: playgate, key: k1, host: cdn.example, deliver: [segment] }
                akamai: { format: edgeauth, key: akamai, host: akamai.example, settings: { name: hdnts } }
            """,
            catalogue: """
                    - { path: /film/master.m3u8, resource: TNT, grant: [live, akamai] }
                """,
            api: """
                  keys:
                    - { name: mover, sha256: \(SHA256.digest(key).hexadecimal), scopes: [tvs, playback], resources: [TBS] }
                    - { name: other, sha256: \(SHA256.digest("pg_other").hexadecimal), scopes: [tvs] }
                \(tvs)
                """
        )
    }

    private static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let letter = UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
            return letter ? String(UnicodeScalar(byte)) : "%" + String(Int(byte) + 0x100, radix: 16).dropFirst()
        }.joined()
    }

    private static func form(_ parameters: [(String, String)]) -> String {
        parameters.map { "\($0.0)=\(encoded($0.1))" }.joined(separator: "&")
    }

    private static func post(
        _ gate: RunningGate,
        _ path: String,
        _ body: String,
        key: String = key
    ) throws -> HTTPConnection.Response {
        let headers = ["Authorization": "Bearer \(key)", "Content-Type": "application/x-www-form-urlencoded"]
        return try gate.post(path, body, headers: headers)
    }

    private static func parameters(
        _ gate: RunningGate,
        resource: String = "TNT",
        cdn: String = "akamai",
        url: String = "https://akamai.example/film/master.m3u8"
    ) throws -> [(String, String)] {
        let token = try gate.token(GateSample.claims(resource: resource, session: UUID().uuidString))
        let name = Data(resource.utf8).base64EncodedString()
        return [("mediaToken", token), ("resource", name), ("cdn", cdn), ("url", url)]
    }

    @Test func `validate a token without consuming it, by POST and GET, also with two slashes`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let parameters = Array(try Self.parameters(gate, resource: "TBS").prefix(2))
            for path in ["/tvs/v1/validate", "//tvs/v1/validate"] {
                let answer = try Self.post(gate, path, Self.form(parameters))
                #expect(answer.status == 200 && answer.body == "VALID_TOKEN", "\(answer)")
            }
            // A plus sign that was not encoded arrives as a space.
            let query = "mediaToken=\(parameters[0].1)&resource=\(parameters[1].1)"
            let headers = ["Authorization": "Bearer \(Self.key)"]
            #expect(try gate.get("/tvs/v1/validate?" + query, headers: headers).status == 200)
            let wrong = try Self.post(gate, "/tvs/v1/validate", "mediaToken=AAAA&resource=VEJT")
            #expect(wrong.status == 403 && wrong.body == "INVALID_TOKEN_FORMAT (invalid_envelope)", "\(wrong)")
            // The caller's list does not have it.
            let unlisted = try Self.post(gate, "/tvs/v1/validate", Self.form(Array(try Self.parameters(gate).prefix(2))))
            #expect(unlisted.status == 403 && unlisted.body == "INVALID_RESOURCE_ID (resource_mismatch)")
        }
    }

    @Test func `sign a URL once for a token`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let parameters = try Self.parameters(gate)
            let answer = try Self.post(gate, "/tvs/v1/sign", Self.form(parameters))
            #expect(answer.status == 200, "\(answer)")
            #expect(answer.body.hasPrefix("https://akamai.example/hdnts=exp=") && answer.body.hasSuffix("/film/master.m3u8"))
            #expect(answer.values("Cache-Control") == ["no-store"])
            let again = try Self.post(gate, "/tvs/v1/sign", Self.form(parameters))
            #expect(again.status == 403 && again.body.contains("token_already_used"), "\(again)")
            #expect(!again.body.contains(parameters[0].1))
            // A resource of the caller's list, for a URL that the catalogue does not have.
            let listed = try Self.parameters(gate, resource: "TBS", cdn: "live", url: "https://cdn.example/else/a.m3u8")
            let own = try Self.post(gate, "/tvs/v1/sign", Self.form(listed))
            #expect(own.status == 200 && own.body.hasPrefix("https://cdn.example/~cat="), "\(own)")
        }
    }

    @Test func `refuse what the caller may not say`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let refused: [([(String, String)], Int)] = [
                (try Self.parameters(gate, cdn: "nowhere"), 400),
                (try Self.parameters(gate, url: "http://akamai.example/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example.evil/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/../other/a.m3u8"), 400),
                (try Self.parameters(gate, url: "https://user@akamai.example/film/master.m3u8"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/master.m3u8?x=1"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/film/master.m3u8#x"), 400),
                (try Self.parameters(gate, url: "https://akamai.example/else/a.m3u8"), 403),
                (try Self.parameters(gate) + [("cdn", "live")], 400), (Array(try Self.parameters(gate).prefix(3)), 400),
            ]
            for (parameters, status) in refused {
                let answer = try Self.post(gate, "/tvs/v1/sign", Self.form(parameters))
                #expect(answer.status == status, "\(parameters.dropFirst()): \(answer)")
            }
            // The catalogue has it, but a list of another caller does not make it this one's.
            let foreign = try Self.parameters(gate, resource: "TBS", cdn: "live", url: "https://cdn.example/else/a.m3u8")
            #expect(try Self.post(gate, "/tvs/v1/sign", Self.form(foreign), key: "pg_other").status == 403)
            #expect(try Self.post(gate, "/tvs/v1/sign", "", key: "wrong").status == 401)
            #expect(try gate.post("/tvs/v1/sign", "{}", headers: ["Authorization": "Bearer \(Self.key)"]).status == 415)
        }
    }

    @Test func `are off unless they are configured, and can be without GET`() async throws {
        try await RunningGate.with(Self.configuration("")) { gate in
            let answer = try Self.post(gate, "/tvs/v1/validate", "mediaToken=a&resource=b")
            #expect(answer.status == 404)
        }
        try await RunningGate.with(Self.configuration("  tvs: { get: false }\n")) { gate in
            let headers = ["Authorization": "Bearer \(Self.key)"]
            let answer = try gate.get("/tvs/v1/validate?mediaToken=a&resource=b", headers: headers)
            #expect(answer.status == 405 && answer.values("Allow") == ["POST"])
        }
    }

    @Test func `have a twin in JSON that signs for one profile of an entry`() async throws {
        try await RunningGate.with(Self.configuration()) { gate in
            let token = try gate.token()
            let headers = ["Authorization": "Bearer \(Self.key)", "Content-Type": "application/json"]
            let body = "{\"path\":\"/film/master.m3u8\",\"token\":\"\(token)\",\"profile\":\"akamai\"}"
            let answer = try gate.post("/v1/sign", body, headers: headers)
            #expect(answer.status == 200 && answer.json["allowed"] as? Bool == true, "\(answer)")
            #expect((answer.json["url"] as? String)?.hasPrefix("https://akamai.example/hdnts=") ?? false)
            let again = try gate.post("/v1/sign", body, headers: headers)
            #expect(again.status == 403 && again.json["allowed"] as? Bool == false, "\(again)")
            let unknown = body.replacingOccurrences(of: "akamai", with: "nowhere")
            #expect(try gate.post("/v1/sign", unknown, headers: headers).status == 400)
        }
    }
}
