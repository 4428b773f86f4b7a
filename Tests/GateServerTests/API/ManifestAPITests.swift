// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import GateTestSupport
import Testing

@Suite struct `The rewriting of manifests by the API` {
    private static let playlist = "#EXTM3U\n#EXTINF:2,\nseg1.ts\n#EXTINF:2,\nhttps://second.example/seg2.ts\n"

    private static func rewrite(
        by gate: RunningGate,
        changes: [String: String?] = [:],
        body: String = playlist
    ) throws -> HTTPConnection.Response {
        var headers: [String: String] = [
            "Content-Type": "application/vnd.apple.mpegurl",
            "X-Playgate-Manifest-URL": "https://cdn.example/film/tnt/low/index.m3u8?a=b",
        ]
        for (name, value) in changes { headers[name] = value }
        return try gate.post("/v1/manifests/rewrite", body: body, headers: headers)
    }

    private static func grant(_ gate: RunningGate) throws -> String {
        let answer = try gate.play(path: "/film/tnt/master.m3u8", token: try gate.token())
        return try #require((answer.json["grant"] as? [String: Any])?["token"] as? String, "\(answer)")
    }

    private static func with(
        manifest: [String] = [],
        body: @escaping @Sendable (RunningGate) throws -> Void
    ) async throws {
        try await ManifestGate.with(try ScriptedOrigin([:]), manifest: manifest, body: body)
    }

    @Test func `writes the given grant`() async throws {
        try await Self.with(manifest: ["hosts: [second.example]"]) { (gate) throws in
            let grant = try Self.grant(gate)
            let answer = try Self.rewrite(by: gate, changes: ["X-Playgate-Grant": grant])
            #expect(answer.status == 200, "\(answer)")
            let marked = "https://second.example/~cat=\(grant)/seg2.ts"
            #expect(answer.references == ["/~cat=\(grant)/film/tnt/low/seg1.ts", marked])
            #expect(answer.values("Content-Type") == ["application/vnd.apple.mpegurl"])
            #expect(answer.values("Cache-Control") == ["private, no-store"])
            let changes = ["X-Playgate-Grant": grant, "X-Playgate-Manifest-Mode": "query"]
            #expect(try Self.rewrite(by: gate, changes: changes).references[0] == "seg1.ts?cat=\(grant)")
        }
    }

    @Test func `refuses what it cannot rewrite, by a code`() async throws {
        try await Self.with { (gate) throws in
            let grant = try Self.grant(gate)
            let url = "X-Playgate-Manifest-URL"
            for (changes, body, status, code) in [
                ([:], "EXTM3U", 422, "manifest_malformed"),
                (["X-Playgate-Grant": nil], Self.playlist, 400, "invalid_request"),
                (["X-Playgate-Grant": "x"], Self.playlist, 403, "grant_malformed"),
                (["X-Playgate-Grant": "a b"], Self.playlist, 400, "invalid_request"),
                ([url: nil], Self.playlist, 400, "invalid_request"),
                ([url: "/film"], Self.playlist, 400, "invalid_request"),
                ([url: "https://cdn.example/unknown/a.m3u8"], Self.playlist, 404, "unknown_media"),
                (["X-Playgate-Manifest-Mode": "cookie"], Self.playlist, 400, "invalid_request"),
                (["Content-Type": "text/plain"], Self.playlist, 415, "manifest_type_unsupported"),
                (["Content-Type": "image/png"], "PNG", 415, "manifest_type_unsupported"),
                (["Content-Type": "application/json"], "{}", 422, "manifest_malformed"),
            ] as [([String: String?], String, Int, String)] {
                let all = ["X-Playgate-Grant": grant as String?].merging(changes) { $1 }
                let answer = try Self.rewrite(by: gate, changes: all, body: body)
                #expect(answer.status == status && answer.code == code, "\(changes): \(answer)")
            }
            #expect(try gate.get("/v1/manifests/rewrite").status == 405)
            gate.now = gate.now.adding(seconds: ManifestGate.life)
            #expect(try Self.rewrite(by: gate, changes: ["X-Playgate-Grant": grant]).code == "grant_expired")
        }
    }

    @Test func `needs a caller with the scope grant`() async throws {
        let configuration = ManifestGate.configuration(origin: "http://127.0.0.1:1")
            .replacing(
                "  anonymous: true\n  hosts: [gate, g]\n",
                with: "  keys: [{ name: a, sha256: \"\(String(repeating: "0", count: 64))\", scopes: [grant] }]\n"
            )
        try await RunningGate.with(configuration) { (gate) throws in
            #expect(try Self.rewrite(by: gate, changes: ["X-Playgate-Grant": "x"]).status == 401)
        }
    }
}
