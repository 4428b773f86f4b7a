// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Foundation
import GateTestSupport
import Keys
import NIOHTTP1
import Platform
import Testing

/// A running gate that accepts grants of another issuer, whose keys it fetches.
@Suite struct `Key sets of others` {
    /// Keys of the other issuer.
    struct Keys {
        let keys: [TokenKey]

        init(_ ids: String...) throws {
            keys = try ids.map { id in
                let binding = KeyBinding(issuer: "other", format: .cat)
                return try TokenKey.generate(.es256, id: KeyID(id), binding: binding).key
            }
        }

        /// The set with the keys at these indices.
        func set(_ indices: Int...) throws -> String { try KeySet(indices.map { keys[$0] }).publishedJWKSet }

        func grant(_ index: Int, at now: Timestamp) throws -> String {
            var claims = CATClaims()
            claims.issuer = "other"
            claims.expires = now.adding(seconds: 3600)
            return try CATIssuer(key: keys[index]).issue(claims).token
        }
    }

    private static func configuration(_ server: KeySetServer, more: String = "") -> String {
        RunningGate.configuration(
            """
            replayStore: { advanced: { capacity: 1000 } }
            advanced: { keySets: { folder: . } }
            grants:
              subjectKey: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
              profiles:
                theirs: { issuer: other }
              issuers: [{ issuer: other, source: { url: "\(server.url)", networks: [127.0.0.1] } }]
            edge: { listen: "127.0.0.1:0", tokens: [{ query: token }] }
            \(more)
            """,
            catalogue: "    - { path: /theirs/, resource: TNT, admits: grant, grant: theirs }"
        )
    }

    private static func check(by gate: RunningGate, grant: String) throws -> String? {
        let headers = ["X-Forwarded-Uri": "/theirs/a.ts?cat=\(grant)", "X-Forwarded-Method": "GET"]
        let answer = try HTTPConnection(gate.edge).request("GET", path: "/v1/check/forward", headers: headers)
        return answer.headers["x-playgate-code"]
    }

    private static func fetches(by gate: RunningGate, result: String = "fetched") throws -> Double? {
        try gate.metric("playgate_key_set_fetches_total{issuer=\"other\",result=\"\(result)\"}")
    }

    @Test func `open what their keys sign, and are fetched again for a key that they have not`() async throws {
        let keys = try Keys("a", "b", "c")
        let server = try await KeySetServer(try keys.set(0))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try Self.check(by: gate, grant: keys.grant(0, at: gate.now)) == "granted" })
            #expect(try gate.metric("playgate_key_set_age_seconds{issuer=\"other\"}") == 0)
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
            server.publish(try keys.set(1))
            let next = try keys.grant(1, at: gate.now)
            #expect(try Self.check(by: gate, grant: next) == "grant_key_unknown")
            #expect(try eventually { try Self.check(by: gate, grant: next) == "granted" })
            // The first key is gone at once, though its signature was known to be good.
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "grant_key_unknown")
            #expect(try gate.log("key set fetched", count: 2).count == 2)
        }
    }

    @Test func `tell a backend to ask again while they are fetched`() async throws {
        let keys = try Keys("a", "b")
        let server = try await KeySetServer(try keys.set(0))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate) == 1 })
            let body = "{\"grant\":\"\(try keys.grant(1, at: gate.now))\"}"
            let first = try gate.post("/v1/grants/renew", body: body)
            #expect(first.code == "grant_key_unknown" && first.json["action"] as? String == "retry")
            #expect(first.json["details"] as? String == "its key set is being fetched")
            #expect(try eventually { try Self.fetches(by: gate) == 2 })
            let second = try gate.post("/v1/grants/renew", body: body)
            #expect(second.code == "grant_key_unknown" && second.json["action"] as? String == "configuration")
        }
    }

    @Test func `are fetched for a backend that asks why a grant is refused, as for an edge`() async throws {
        let keys = try Keys("a", "b", "c")
        let server = try await KeySetServer(try keys.set(0))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate) == 1 })
            let ask = { (index: Int, more: String) in
                let grant = try keys.grant(index, at: gate.now)
                let body = "{\"grant\":\"\(grant)\",\"url\":\"https://cdn.example/theirs/a.ts\"\(more)}"
                return try gate.post("/v1/grants/verify", body: body).json
            }
            let known = try ask(0, "")
            #expect(known["valid"] as? Bool == true && known["action"] as? String == "none", "\(known)")
            server.publish(try keys.set(0, 1))
            // The time of the described request is not that of the throttle.
            let first = try ask(1, ",\"at\":\"2040-01-01T00:00:00Z\"")
            #expect(
                first["code"] as? String == "grant_key_unknown" && first["action"] as? String == "retry",
                "\(first)"
            )
            #expect(try eventually { try ask(1, "")["valid"] as? Bool == true })
            #expect(try Self.fetches(by: gate) == 2)
            // It is too soon for another fetch, and nothing is awaited.
            let other = try ask(2, "")
            #expect(other["code"] as? String == "grant_key_unknown", "\(other)")
            #expect(other["action"] as? String == "configuration" && server.requests == 2, "\(other)")
            gate.now = gate.now.adding(seconds: 30)
            #expect(try ask(2, "")["action"] as? String == "retry")
            #expect(try eventually { try Self.fetches(by: gate) == 3 })
        }
    }

    @Test func `are fetched once in a flood of unknown keys`() async throws {
        let keys = try Keys("a", "b")
        let server = try await KeySetServer(try keys.set(0))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate) == 1 })
            let connection = try HTTPConnection(gate.edge)
            for number in 0..<2000 {
                let binding = KeyBinding(issuer: "other", format: .cat)
                let key = try TokenKey(secret: [UInt8](0..<32), id: KeyID("k\(number)"), binding: binding)
                var claims = CATClaims()
                claims.issuer = "other"
                claims.expires = gate.now.adding(seconds: 60)
                let grant = try CATIssuer(key: key).issue(claims).token
                let headers = ["X-Forwarded-Uri": "/theirs/a.ts?cat=\(grant)", "X-Forwarded-Method": "GET"]
                let answer = try connection.request("GET", path: "/v1/check/forward", headers: headers)
                #expect(answer.headers["x-playgate-code"] == "grant_key_unknown")
            }
            // The next one is not asked for while another is under way.
            #expect(try eventually { try Self.fetches(by: gate) == 2 } && server.requests == 2)
            gate.now = gate.now.adding(seconds: 29)
            #expect(try Self.check(by: gate, grant: try keys.grant(1, at: gate.now)) == "grant_key_unknown")
            gate.now = gate.now.adding(seconds: 1)
            #expect(try Self.check(by: gate, grant: try keys.grant(1, at: gate.now)) == "grant_key_unknown")
            #expect(try eventually { try Self.fetches(by: gate) == 3 } && server.requests == 3)
        }
    }

    @Test func `stay while their server fails, and outlive a restart without it`() async throws {
        let keys = try Keys("a")
        let server = try await KeySetServer(try keys.set(0))
        let folder = try TemporaryFolder()
        let text = Self.configuration(server).replacing("folder: . }", with: "folder: \"\(folder.path)\" }")
        try await RunningGate.with(text) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate) == 1 })
            server.publish("<html>", status: .internalServerError)
            gate.now = gate.now.adding(seconds: 600)
            _ = try Self.check(by: gate, grant: try Keys("x").grant(0, at: gate.now))
            #expect(try eventually { try Self.fetches(by: gate, result: "status_refused") == 1 })
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "granted")
            #expect(try gate.metric("playgate_key_set_age_seconds{issuer=\"other\"}") == 600)
            #expect(try gate.log("key set not fetched").first?.contains("status_refused") == true)
        }
        try await RunningGate.with(text) { (gate) throws in
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "granted")
            #expect(try eventually { try Self.fetches(by: gate, result: "status_refused") ?? 0 >= 1 })
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "granted")
        }
    }

    @Test func `make the gate unready until they are there`() async throws {
        let keys = try Keys("a")
        let server = try await KeySetServer("{\"keys\":[]}")
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate, result: "no_usable_key") == 1 })
            let answer = try gate.admin("GET", path: "/readyz")
            let faults = answer.json["faults"] as? [String: String]
            #expect(answer.status == 503)
            #expect(faults?["keySets"] == "no keys of other: their tokens are refused")
            #expect(try gate.metric("playgate_key_set_age_seconds{issuer=\"other\"}") == .infinity)
            server.publish(try keys.set(0))
            gate.now = gate.now.adding(seconds: 5)
            _ = try Self.check(by: gate, grant: try keys.grant(0, at: gate.now))
            #expect(try eventually { try Self.check(by: gate, grant: keys.grant(0, at: gate.now)) == "granted" })
            #expect(try eventually { try gate.admin("GET", path: "/readyz").status == 200 })
        }
    }

    @Test func `go on over a reload unless their settings change`() async throws {
        let keys = try Keys("a")
        let server = try await KeySetServer(try keys.set(0))
        let text = Self.configuration(server)
        try await RunningGate.with(text) { (gate) throws in
            #expect(try eventually { try Self.fetches(by: gate) == 1 })
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "granted")
            #expect(server.requests == 1)
            try gate.folder.write(
                "gate.yaml",
                contents: text.replacing("folder: . }", with: "folder: ., maximumStale: 1h }")
            )
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(eventually { server.requests == 2 })
            #expect(try Self.check(by: gate, grant: try keys.grant(0, at: gate.now)) == "granted")
            // Without the issuer, nothing is fetched any more.
            let none = text.split(separator: "\n").map { line in
                line.contains("issuers: [") ? "  issuers: [{ issuer: other, source: set.json }]" : String(line)
            }
            try gate.folder.write("set.json", contents: try keys.set(0))
            try gate.folder.write("gate.yaml", contents: none.joined(separator: "\n"))
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try Self.fetches(by: gate) == nil)
        }
    }

    @Test func `have metrics that are on the page`() async throws {
        let page = try String(contentsOfFile: "\(repository)/docs/reference/metrics.md", encoding: .utf8)
        let server = try await KeySetServer(try Keys("a").set(0))
        try await RunningGate.with(Self.configuration(server)) { (gate) throws in
            let text = try gate.admin("GET", path: "/metrics").body
            let names = text.split(separator: "\n").filter { $0.hasPrefix("# TYPE ") }.map {
                $0.split(separator: " ")[2]
            }
            #expect(names.contains("playgate_key_set_fetches_total") && names.contains("playgate_key_set_age_seconds"))
            for name in names { #expect(page.contains("`\(name)"), "\(name)") }
        }
    }
}
