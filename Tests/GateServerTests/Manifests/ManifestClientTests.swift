// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import NIOHTTP1
import Testing

/// The clients of a manifest listener: players themselves, proxies in front, and scripts of other sites.
@Suite struct `A client of the manifest listener` {
    private static let film = """
        #EXTM3U
        #EXTINF:2,
        https://cdn.example/film/tnt/seg1.ts
        #EXTINF:2,
        https://second.example/film/tnt/seg2.ts
        #EXTINF:2,
        http://cdn.example:8080/film/tnt/seg3.ts
        #EXT-X-ENDLIST

        """
    private static let path = "/film/tnt/film.m3u8"

    private static func origin() throws -> ScriptedOrigin { try ScriptedOrigin([path: film]) }

    /// The hosts of the references that carry a grant.
    private static func marked(_ answer: HTTPConnection.Response) -> [String] {
        answer.references.filter { $0.contains("cat=") }.compactMap { URL(string: $0)?.host() }
    }

    @Test func `that is a proxy says by which host and scheme it was requested`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let facts = [
                "X-Forwarded-Host": "cdn.example", "X-Forwarded-Proto": "https", "X-Forwarded-For": "192.0.2.1",
            ]
            let token = try gate.token().percentEncoded
            let answer = try gate.manifest(at: "\(Self.path)?token=\(token)", headers: facts, host: "127.0.0.1:8082")
            #expect(answer.status == 200 && Self.marked(answer) == ["cdn.example"], "\(answer)")
        }
    }

    @Test func `that is not trusted is believed nothing`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["peers: []"]) { (gate) throws in
            let facts = ["X-Forwarded-Host": "second.example", "X-Forwarded-Proto": "https", "X-Original-Geo": "US"]
            let token = try gate.token().percentEncoded
            let answer = try gate.manifest(at: "\(Self.path)?token=\(token)", headers: facts, host: "cdn.example:8080")
            // The listener has no TLS: the manifest came by http.
            #expect(answer.status == 200, "\(answer)")
            #expect(
                answer.references.filter { $0.contains("cat=") }.allSatisfy { $0.hasPrefix("http://cdn.example:8080/") }
            )
        }
    }

    @Test(arguments: [
        "X-Original-ASN: x", "X-Original-Geo: 1", "X-Original-Position: x", "X-Original-ASN: 1\r\nx-original-asn: 2",
    ])
    func `says nothing in fields that only edges set, also through a proxy`(fields: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let grant = try #require(try gate.start(Self.path).grants.first)
            let connection = try HTTPConnection(gate.manifests)
            try connection.send("GET \(Self.path)?cat=\(grant) HTTP/1.1\r\nHost: cdn.example\r\n\(fields)\r\n\r\n")
            #expect(try connection.response().status == 200)
        }
    }

    @Test func `gets grants for the configured hosts too`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: ["hosts: [second.example]"]) { (gate) throws in
            let facts = ["X-Forwarded-Proto": "https"]
            let answer = try gate.manifest(at: "\(Self.path)?token=\(try gate.token().percentEncoded)", headers: facts)
            #expect(Self.marked(answer) == ["cdn.example", "second.example"], "\(answer)")
        }
    }

    @Test(arguments: [
        "X-Forwarded-For: 192.0.2.1, 192.0.2.2", "X-Forwarded-For: unknown", "X-Forwarded-Proto: gopher",
    ])
    func `is answered if a fact that no claim needs is malformed`(fields: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let connection = try HTTPConnection(gate.manifests)
            let target = "\(Self.path)?token=\(try gate.token().percentEncoded)"
            try connection.send("GET \(target) HTTP/1.1\r\nHost: cdn.example\r\n\(fields)\r\n\r\n")
            #expect(try connection.response().status == 200)
        }
    }

    @Test(arguments: [
        "X-Forwarded-Host: a\r\nX-Forwarded-Host: b", "X-Forwarded-Host: a b", "Host: other",
    ])
    func `whose facts contradict each other is refused`(fields: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let connection = try HTTPConnection(gate.manifests)
            let target = "\(Self.path)?token=\(try gate.token().percentEncoded)"
            try connection.send("GET \(target) HTTP/1.1\r\nHost: cdn.example\r\n\(fields)\r\n\r\n")
            let answer = try connection.response()
            #expect(answer.status == 403 && answer.code == "edge_request_invalid", "\(answer)")
            #expect(origin.heads.isEmpty)
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "PURGE"])
    func `may only read`(method: String) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let answer = try gate.manifest(at: Self.path, method: method)
            #expect(answer.status == 405 && answer.code == "method_not_permitted", "\(answer)")
            #expect(answer.values("Allow") == ["GET, HEAD, OPTIONS"])
            #expect(origin.heads.isEmpty)
        }
    }

    private static let preflight = [
        "Origin": "https://player.example", "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "x-media-token",
    ]

    @Test func `of another site may read if it is named`() async throws {
        let origin = try Self.origin()
        let cors =
            "cors: { origins: [https://player.example, http://localhost:8000], advanced: { maxAge: 60s, allowHeaders: [X-Session] } }"
        try await ManifestGate.with(origin, manifest: [cors]) { (gate) throws in
            let preflight = try gate.manifest(at: Self.path, method: "OPTIONS", headers: Self.preflight)
            #expect(
                preflight.status == 204 && preflight.values("Access-Control-Allow-Origin") == ["https://player.example"]
            )
            #expect(preflight.values("Access-Control-Allow-Methods") == ["GET, HEAD"])
            #expect(preflight.values("Access-Control-Max-Age") == ["60"] && preflight.values("Content-Length").isEmpty)
            let names = preflight.values("Access-Control-Allow-Headers").joined()
            #expect(
                ["Range", "X-Media-Token", "CTA-Common-Access-Token", "X-Session"].allSatisfy { names.contains($0) },
                "\(names)"
            )
            let token = try gate.token().percentEncoded
            let answer = try gate.manifest(
                at: "\(Self.path)?token=\(token)",
                headers: ["Origin": "https://player.example"]
            )
            #expect(answer.status == 200 && answer.values("Access-Control-Allow-Origin") == ["https://player.example"])
            let exposed = ["X-Playgate-Code, X-Playgate-Session, X-Playgate-Trace"]
            #expect(answer.values("Access-Control-Expose-Headers") == exposed)
            #expect(answer.values("Vary") == ["Origin"] && answer.values("Access-Control-Allow-Credentials").isEmpty)
            // A script may read why it was refused.
            let refused = try gate.manifest(at: Self.path, headers: ["Origin": "https://player.example"])
            #expect(refused.values("Access-Control-Expose-Headers") == exposed)
            #expect(refused.status == 401 && refused.values("Access-Control-Allow-Origin").count == 1)
            let other = try gate.manifest(at: Self.path, headers: ["Origin": "https://other.example"])
            #expect(other.values("Access-Control-Expose-Headers").isEmpty)
            #expect(other.values("Access-Control-Allow-Origin").isEmpty && other.values("Vary") == ["Origin"])
            #expect(origin.heads.count == 1)
        }
    }

    @Test(arguments: [
        ("cors: { origins: \"*\" }", ["*"], [String]()),
        (
            "cors: { origins: [https://player.example], advanced: { credentials: true } }", ["https://player.example"],
            ["true"]
        ),
        ("mode: segment", [], []),
    ])
    func `of another site may read by the configuration`(
        line: String,
        origins: [String],
        credentials: [String]
    ) async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin, manifest: [line]) { (gate) throws in
            for (method, status) in [("OPTIONS", 204), ("GET", 401)] {
                let answer = try gate.manifest(at: Self.path, method: method, headers: Self.preflight)
                #expect(answer.status == status && answer.values("Access-Control-Allow-Origin") == origins, "\(answer)")
                #expect(answer.values("Access-Control-Allow-Credentials") == credentials)
                #expect(
                    answer.values("Access-Control-Allow-Methods").count == (method == "OPTIONS" ? origins.count : 0)
                )
            }
        }
    }

    @Test func `gets other rules after a reload, and none after the section is gone`() async throws {
        let origin = try Self.origin()
        try await ManifestGate.with(origin) { (gate) throws in
            let file = try gate.folder.text("gate.yaml")
            try gate.folder.write(
                "gate.yaml",
                contents: file + "\n  mode: query\n  advanced: { suffixes: [.m3u8, .txt] }\n"
            )
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            let answer = try gate.start(Self.path, viewer: "two")
            #expect(answer.references.contains { $0.contains("?cat=") } || answer.status == 200, "\(answer)")
            #expect(try gate.start("/film/tnt/a.txt", viewer: "three").code == "origin_not_found")
            let without = try #require(file.range(of: "\nmanifest:")).lowerBound
            try gate.folder.write("gate.yaml", contents: String(file[..<without]) + "\n")
            #expect(try gate.admin("POST", path: "/reload").status == 200)
            #expect(try gate.start(Self.path, viewer: "four").code == "manifest_path_not_served")
            #expect(try gate.log("manifest.listen takes effect after a restart").count == 1)
        }
    }
}
